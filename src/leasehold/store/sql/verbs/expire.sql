-- expire: waiting, ready, scheduled, dispatched → ended, for jobs past their deadline. Jobs that run are let finish.
create or replace function leasehold.expire(p_limit int) returns table (jobs int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_now  timestamptz := leasehold.now();
  v_late leasehold.entry[];
begin
  with r as materialized (
    select x.segment, x.ctid from leasehold.ready x where x.deadline < v_now limit p_limit for update skip locked
  ), ready as (
    delete from leasehold.ready x using r where x.segment = r.segment and x.ctid = r.ctid returning x.job_id, x.queue, x.priority, x.turn, x.claim_no, x.moves, x.attempts, x.interrupted
  ), s as materialized (
    select x.job_id from leasehold.scheduled x where x.deadline < v_now order by x.job_id limit p_limit for update skip locked
  ), scheduled as (
    delete from leasehold.scheduled x using s where x.job_id = s.job_id returning x.job_id, x.queue, x.priority, x.run_at, x.claim_no, x.moves, x.attempts, x.interrupted
  ), w as materialized (
    select x.job_id from leasehold.waiting x where x.deadline < v_now order by x.job_id limit p_limit for update skip locked
  ), waiting as (
    delete from leasehold.waiting x using w where x.job_id = w.job_id returning x.job_id, x.queue, x.priority, x.run_at, x.claim_no, x.moves, x.attempts, x.interrupted
  ), d as materialized (
    select x.job_id from leasehold.dispatched x where x.deadline < v_now order by x.job_id limit p_limit for update skip locked
  ), dispatched as (
    delete from leasehold.dispatched x using d where x.job_id = d.job_id returning x.job_id, x.queue, x.priority, x.turn, x.claim_no, x.moves, x.attempts, x.interrupted
  )
  select coalesce(array_agg(g::leasehold.entry), '{}') into v_late from (
    select * from ready union all select * from scheduled union all select * from waiting union all select * from dispatched) g;
  perform leasehold.end_jobs(v_late, 'expired', jsonb_build_object('type', 'Expired', 'message', 'its deadline passed before it could run'));
  jobs := cardinality(v_late);
  return next;
end $$;
