-- go_on: waiting → ready or scheduled, for jobs that the caller has picked: each goes where it would be had it not waited.
create or replace function leasehold.go_on(p_jobs uuid[]) returns setof uuid
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_now   timestamptz := leasehold.now();
  v_ready leasehold.entry[];
  v_later uuid[];
begin
  with gone as (
    select (l.entry).* from leasehold.leave_rooms(p_jobs, array['waiting']) l
  ), later as (
    insert into leasehold.scheduled (run_at, job_id, priority, claim_no, moves, attempts, interrupted, queue, deadline)
    select g.due, g.job_id, g.priority, g.claim_no, g.moves + 1, g.attempts, g.interrupted, g.queue, j.deadline
      from gone g join leasehold.job_body j on j.id = g.job_id and j.id = any(p_jobs) where g.due > v_now returning job_id
  )
  select array_agg((g.job_id, g.queue, g.priority, v_now, g.claim_no, g.moves + 1, g.attempts, g.interrupted)::leasehold.entry)
           filter (where g.due is null or g.due <= v_now), array_agg(g.job_id) filter (where g.due > v_now)
    into v_ready, v_later from gone g;
  perform leasehold.enter_ready(coalesce(v_ready, '{}'));
  return query select e.job_id from unnest(v_ready) e union all select unnest(v_later);
end $$;
