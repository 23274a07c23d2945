-- resume: waiting → ready or scheduled, for jobs a person held. Answers resumed, or the state in which it was not held.
create or replace function leasehold.resume(p_jobs uuid[], p_actor text, p_reason text default null)
returns table (job_id uuid, verdict text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_free uuid[];
begin
  select array_agg(x.job_id) into v_free from (
    select w.job_id from leasehold.waiting w where w.job_id = any(p_jobs) and w.reason = 'held' order by w.job_id for update) x;
  v_free := array(select g from leasehold.go_on(coalesce(v_free, '{}')) g);
  insert into leasehold.audit (at, actor, verb, note, job_ids) values (leasehold.now(), p_actor, 'resume', p_reason, p_jobs);
  return query select x, 'resumed' from unnest(v_free) x
    union all select x, coalesce(s.state, 'not_found') from unnest(p_jobs) x left join leasehold.state_of(p_jobs) s on s.job_id = x where x <> all (v_free);
end $$;
