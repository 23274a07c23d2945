-- enter_ready: the given jobs may run now; what a claim hands out is read from the job once, here.
-- A payload over a thousand bytes stays in the job: copying it costs more than reading it when it is claimed.
create or replace function leasehold.enter_ready(p_entries leasehold.entry[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  v_jobs    uuid[] := array(select e.job_id from unnest(p_entries) e);
  v_segment int;
begin
  if cardinality(v_jobs) = 0 then
    return;
  end if;
  v_segment := leasehold.open_segment();
  insert into leasehold.ready (turn, job_id, segment, priority, claim_no, moves, attempts, interrupted, queue, task, payload,
                               deadline, timeout, max_attempts, tenant, headers)
  select e.due, e.job_id, v_segment, e.priority, e.claim_no, e.moves, e.attempts, e.interrupted, e.queue, j.task,
         case when pg_column_size(j.payload) <= 1000 then j.payload end, j.deadline, j.timeout, j.max_attempts, j.tenant, j.headers
    from unnest(p_entries) e join leasehold.job_body j on j.id = e.job_id and j.id = any(v_jobs)
   order by e.job_id;
  perform leasehold.wake(array(select distinct e.queue from unnest(p_entries) e), cardinality(v_jobs));
end $$;
