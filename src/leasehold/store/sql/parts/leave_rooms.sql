-- leave_rooms: takes these jobs out of the named rooms; whoever calls puts each into its next one, or ends it.
-- Locks in job order within a room, rooms always in this order, and waits for a claim that is just taking one:
-- that one is not among the answers then, and the caller looks again.
create or replace function leasehold.leave_rooms(p_jobs uuid[], p_rooms text[])
returns table (job_id uuid, room text, entry leasehold.entry)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
begin
  if 'ready' = any(p_rooms) then
    return query with at as materialized (
      select r.segment, r.ctid from leasehold.ready r join leasehold.job_body j
          on r.queue = j.queue and r.priority = j.priority and r.turn = j.enqueued_at and r.job_id = j.id
       where j.id = any(p_jobs) and r.moves = 0 order by r.job_id for update of r
    ) delete from leasehold.ready r using at where r.segment = at.segment and r.ctid = at.ctid
      returning r.job_id, 'ready', (r.job_id, r.queue, r.priority, r.turn, r.claim_no, r.moves, r.attempts, r.interrupted)::leasehold.entry;
    return query with at as materialized (
      select r.segment, r.ctid from leasehold.ready r where r.job_id = any(p_jobs) and r.moves > 0 order by r.job_id for update
    ) delete from leasehold.ready r using at where r.segment = at.segment and r.ctid = at.ctid
      returning r.job_id, 'ready', (r.job_id, r.queue, r.priority, r.turn, r.claim_no, r.moves, r.attempts, r.interrupted)::leasehold.entry;
  end if;
  if 'scheduled' = any(p_rooms) then
    return query with at as materialized (
      select s.job_id from leasehold.scheduled s where s.job_id = any(p_jobs) order by s.job_id for update
    ) delete from leasehold.scheduled s using at where s.job_id = at.job_id
      returning s.job_id, 'scheduled', (s.job_id, s.queue, s.priority, s.run_at, s.claim_no, s.moves, s.attempts, s.interrupted)::leasehold.entry;
  end if;
  if 'waiting' = any(p_rooms) then
    return query with at as materialized (
      select w.job_id from leasehold.waiting w where w.job_id = any(p_jobs) order by w.job_id for update
    ) delete from leasehold.waiting w using at where w.job_id = at.job_id
      returning w.job_id, 'waiting', (w.job_id, w.queue, w.priority, w.run_at, w.claim_no, w.moves, w.attempts, w.interrupted)::leasehold.entry;
  end if;
  if 'dispatched' = any(p_rooms) then
    return query with at as materialized (
      select d.job_id from leasehold.dispatched d where d.job_id = any(p_jobs) order by d.job_id for update
    ) delete from leasehold.dispatched d using at where d.job_id = at.job_id
      returning d.job_id, 'dispatched', (d.job_id, d.queue, d.priority, d.turn, d.claim_no, d.moves, d.attempts, d.interrupted)::leasehold.entry;
  end if;
end $$;
