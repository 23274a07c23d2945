-- dispatch: ready → dispatched. Up to p_limit jobs of a queue go to an outside transport; not taken within p_patience
-- seconds they come back. The dispatch number tells a stale message from the one that counts.
create or replace function leasehold.dispatch(p_queue text, p_transport text, p_limit int, p_patience float8)
returns table (job_id uuid, dispatch_no bigint, task text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
  perform leasehold.may_serve(array[p_queue]);
  return query
    with at as materialized (
      select r.segment, r.ctid from leasehold.ready r where r.queue = p_queue
       order by r.priority, r.turn, r.job_id limit p_limit for update skip locked
    ), gone as materialized (
      delete from leasehold.ready r using at where r.segment = at.segment and r.ctid = at.ctid returning r.*
    ), sent as (
      insert into leasehold.dispatched (dispatched_at, expires_at, job_id, turn, priority, claim_no, moves, attempts, interrupted, transport, queue, deadline)
      select leasehold.now(), leasehold.now() + make_interval(secs => p_patience), g.job_id, g.turn, g.priority, g.claim_no, g.moves + 1, g.attempts,
             g.interrupted, p_transport, g.queue, g.deadline from gone g order by g.priority, g.turn, g.job_id
      returning dispatched.job_id, dispatched.dispatch_no
    )
    select s.job_id, s.dispatch_no, g.task from sent s join gone g on g.job_id = s.job_id order by s.dispatch_no;
end $$;
