-- finish: running → ended, scheduled, ready or dead. Runs that succeeded come as columns, the others as p_others (see settle).
-- Fenced by job, claim number and runner; answers nothing for what was done, and a row for each that was not:
-- 'already' when this very claim has its attempt from this runner, 'lost' when the job is somebody else's by now.
-- With p_strict a lost one raises, so that the caller's transaction cannot commit beside it.
create or replace function leasehold.finish(p_runner bigint, p_bundles bigint[], p_jobs uuid[], p_claims int[], p_run_ms int[], p_results jsonb[] default null,
                                            p_others jsonb default null, p_strict boolean default false)
returns table (job_id uuid, claim_no int, verdict text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
set enable_seqscan = off set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_now   timestamptz := leasehold.now();
  v_floor uuid;
  v_alive boolean;
  v_done  record;
  v_jobs  uuid[] := p_jobs;
  v_nos   int[] := p_claims;
begin
  select h.floor, exists (select from leasehold.runner u where u.id = p_runner and u.dead_at is null) into v_floor, v_alive from leasehold.house h;
  if v_alive then
    -- runner + 0: by the bundle's own key, never by the runner's index, where behind a held snapshot all its past bundles stand.
    perform from leasehold.running r where r.id = any(p_bundles) and r.runner + 0 = p_runner order by r.id for update;
  end if;
  if v_alive and cardinality(p_jobs) > 0 then
    with mine as materialized (
      select r.id, r.claimed_at, r.job_ids, r.claim_nos from leasehold.running r where r.id = any(p_bundles) and r.runner + 0 = p_runner
    ), held as materialized (
      select m.id as bundle, m.claimed_at, x.job_id, x.claim_no from mine m cross join lateral unnest(m.job_ids, m.claim_nos) as x(job_id, claim_no)
    ), ended as materialized (
      select h.bundle, h.claimed_at, o.* from unnest(p_jobs, p_claims, p_run_ms, p_results) as o(job_id, claim_no, run_ms, result)
        join held h on h.job_id = o.job_id and h.claim_no = o.claim_no
    ), written as (
      insert into leasehold.attempt (job_id, claimed_at, ended_at, runner, claim_no, run_ms, outcome, result)
      select e.job_id, e.claimed_at, v_now, p_runner, e.claim_no, e.run_ms, 'succeeded', e.result from ended e where e.job_id >= v_floor
       order by e.job_id on conflict do nothing returning job_id, claim_no
    ), kept as (
      insert into leasehold.attempt_kept (job_id, claimed_at, ended_at, runner, claim_no, run_ms, outcome, result)
      select e.job_id, e.claimed_at, v_now, p_runner, e.claim_no, e.run_ms, 'succeeded', e.result from ended e where e.job_id < v_floor
       order by e.job_id on conflict do nothing returning job_id, claim_no
    ), new as ( -- of held, not of ended: a run may be told twice in one call
      select h.bundle, h.job_id, h.claim_no from held h join (select * from written union all select * from kept) w using (job_id, claim_no)
    ), counts as (
      select n.bundle, count(*)::int as n from new n group by n.bundle
    )
    select (select array_agg(c.bundle order by c.bundle) from counts c) as bundles, (select array_agg(c.n order by c.bundle) from counts c) as counts,
           array_agg(n.job_id) as jobs, array_agg(n.claim_no) as nos, count(*)::int as n into v_done from new n;
    if v_done.n > 0 then
      perform leasehold.shrink(v_done.bundles, v_done.counts, '{}');
      perform leasehold.tell(p_jobs);
    end if;
    if v_done.n = cardinality(p_jobs) then
      v_jobs := '{}'; v_nos := '{}';
    elsif v_done.n > 0 then
      select coalesce(array_agg(o.job_id), '{}') as jobs, coalesce(array_agg(o.claim_no), '{}') as nos into v_done
        from unnest(v_jobs, v_nos) as o(job_id, claim_no) where (o.job_id, o.claim_no) not in (select * from unnest(v_done.jobs, v_done.nos));
      v_jobs := v_done.jobs; v_nos := v_done.nos;
    end if;
  end if;
  if p_others is not null then
    v_jobs := v_jobs || array(select (e ->> 'job')::uuid from jsonb_array_elements(p_others) with ordinality as x(e, n) order by n);
    v_nos := v_nos || array(select (e ->> 'claim')::int from jsonb_array_elements(p_others) with ordinality as x(e, n) order by n);
    if v_alive then
      select coalesce(array_agg(o.job_id), '{}') as jobs, coalesce(array_agg(o.claim_no), '{}') as nos into v_done
        from unnest(v_jobs, v_nos) as o(job_id, claim_no)
       where (o.job_id, o.claim_no) not in (select s.job_id, s.claim_no from leasehold.settle(p_runner, p_bundles, p_others) s);
      v_jobs := v_done.jobs; v_nos := v_done.nos;
    end if;
  end if;
  if cardinality(v_jobs) = 0 then
    return;
  end if;
  for job_id, claim_no, verdict in select * from leasehold.refusals(p_runner, v_jobs, v_nos)
  loop
    if p_strict and verdict = 'lost' then
      raise exception using errcode = 'LH001', message = format('the lease on job %s (claim %s) is lost: %s', job_id, claim_no, coalesce(
          (select format('runner %s holds it since %s, claim %s', h.runner, h.claimed_at, h.claim_no) from leasehold.held_by(array[job_id]) h),
          (select format('it is %s now', s.state) from leasehold.state_of(array[job_id]) s), 'it is gone')),
        hint = 'This transaction cannot commit. Let the error through; the job''s new run does the work.';
    end if;
    return next;
  end loop;
end $$;
