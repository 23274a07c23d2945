-- in_room: where these jobs wait, if they do. A ready entry that never moved is found by the key that its job row
-- tells, any other by its own index: ready needs no index on every job.
create or replace function leasehold.in_room(p_jobs uuid[])
returns table (job_id uuid, room text, entry leasehold.entry, deadline timestamptz, reason text, note text, remaining int)
language sql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
  select r.job_id, 'ready', (r.job_id, r.queue, r.priority, r.turn, r.claim_no, r.moves, r.attempts, r.interrupted)::leasehold.entry,
         r.deadline, null, null, 0
    from leasehold.job_body j
    join leasehold.ready r on r.queue = j.queue and r.priority = j.priority and r.turn = j.enqueued_at and r.job_id = j.id
   where j.id = any(p_jobs) and r.moves = 0
  union all
  select r.job_id, 'ready', (r.job_id, r.queue, r.priority, r.turn, r.claim_no, r.moves, r.attempts, r.interrupted)::leasehold.entry,
         r.deadline, null, null, 0
    from leasehold.ready r where r.job_id = any(p_jobs) and r.moves > 0
  union all
  select s.job_id, 'scheduled', (s.job_id, s.queue, s.priority, s.run_at, s.claim_no, s.moves, s.attempts, s.interrupted)::leasehold.entry,
         s.deadline, null, null, 0
    from leasehold.scheduled s where s.job_id = any(p_jobs)
  union all
  select w.job_id, 'waiting', (w.job_id, w.queue, w.priority, w.run_at, w.claim_no, w.moves, w.attempts, w.interrupted)::leasehold.entry,
         w.deadline, w.reason, w.note, w.remaining
    from leasehold.waiting w where w.job_id = any(p_jobs)
  union all
  select d.job_id, 'dispatched', (d.job_id, d.queue, d.priority, d.turn, d.claim_no, d.moves, d.attempts, d.interrupted)::leasehold.entry,
         d.deadline, d.transport, null, 0
    from leasehold.dispatched d where d.job_id = any(p_jobs) $$;
