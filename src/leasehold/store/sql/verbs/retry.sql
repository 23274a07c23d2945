-- retry: dead or ended → ready, the same job with its history and fresh attempts. Answers retried, or why not: key_taken when
-- another live job has its key by now, the state of one that has not ended, not_found.
create or replace function leasehold.retry(p_jobs uuid[], p_actor text, p_reason text default null, p_queue text default null, p_priority int default null)
returns table (job_id uuid, verdict text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  v_now    timestamptz := leasehold.now();
  v_rest   uuid[] := p_jobs;
  v_done   uuid[] := '{}';
  v_job    record;
  v_given  uuid[] := '{}';
  v_taken  uuid[];
  v_back   leasehold.entry[];
  v_states text[];
begin
  perform pg_advisory_xact_lock_shared(1279869254, 6); -- none of them is retired, purged or swept meanwhile
  for v_try in 1 .. 20 loop
    v_taken := '{}';
    perform from leasehold.dead d where d.job_id = any(v_rest) order by d.job_id for update; -- before the keys, as redrive does
    for v_job in select b.id, coalesce(b.tenant, '') as tenant, b.task, b.key from leasehold.job_body b
                  where b.id = any(v_rest) and b.key is not null and b.duplicate_of is null order by 2, 3, 4, 1
    loop
      loop -- again where retain just swept the key
        insert into leasehold.job_key (tenant, task, key, job_id) values (v_job.tenant, v_job.task, v_job.key, v_job.id) on conflict do nothing;
        perform from leasehold.job_key k where (k.tenant, k.task, k.key) = (v_job.tenant, v_job.task, v_job.key) for update;
        exit when found;
      end loop;
      -- A statement of its own: who holds the key is asked after its lock is ours.
      -- One of this very call that was given the key is not live yet, but will be.
      update leasehold.job_key k set job_id = v_job.id
       where (k.tenant, k.task, k.key) = (v_job.tenant, v_job.task, v_job.key)
         and (k.job_id = v_job.id or not (k.job_id = any(v_given) or leasehold.is_live(k.job_id)));
      if found then
        v_given := v_given || v_job.id;
      else
        v_taken := v_taken || v_job.id;
      end if;
    end loop;
    with ended as materialized (
      select a.job_id, a.claim_no + 1 as claim_no from leasehold.last_attempt(v_rest) a
        join leasehold.job_body b on b.id = a.job_id and b.id = any(v_rest) where a.ended and a.job_id <> all (v_taken)
    ), reopened as materialized (
      -- Of two people who retry one job at once, one writes this line.
      select w.* from leasehold.write_attempts(array(
        select (e.job_id, null, v_now, null, e.claim_no, null, 'reopened', jsonb_build_object('type', 'Retry', 'message', coalesce(p_reason, 'retried by ' || p_actor)), null)::leasehold.attempt_kept
          from ended e)) w
    ), risen as (
      delete from leasehold.dead d using reopened r where d.job_id = r.job_id returning d.job_id, d.queue, d.priority, d.moves
    )
    select coalesce(array_agg((b.id, coalesce(p_queue, d.queue, b.queue), coalesce(p_priority, d.priority, b.priority), v_now, r.claim_no,
                               coalesce(d.moves, r.claim_no) + 1, 0, 0)::leasehold.entry), '{}')
      into v_back
      from reopened r join leasehold.job_body b on b.id = r.job_id and b.id = any(v_rest) left join risen d on d.job_id = r.job_id;
    perform leasehold.enter_ready(v_back);
    v_done := v_done || array(select e.job_id from unnest(v_back) e);
    v_rest := array(select x from unnest(v_rest) x where x <> all (v_done));
    -- A job that ends while it is looked for is looked for again.
    v_states := array(select case when r.x = any(v_taken) then 'key_taken' else coalesce(s.state, 'not_found') end
                        from unnest(v_rest) with ordinality as r(x, n) left join leasehold.state_of(v_rest) s on s.job_id = r.x order by r.n);
    exit when not v_states && array['succeeded', 'failed', 'cancelled', 'expired'];
  end loop;
  insert into leasehold.audit (at, actor, verb, note, job_ids) values (v_now, p_actor, 'retry', p_reason, p_jobs);
  return query select x, 'retried' from unnest(v_done) x union all select * from unnest(v_rest, v_states);
end $$;
