-- jobs: one row a job with all there is to know of it, whichever room it is in. For looking: a page of it by id, tenant or group
-- is an index scan; counting it is not what it is for.
create or replace view leasehold.jobs as
  select b.id, b.task, b.queue as first_queue, coalesce((i.entry).queue, h.queue, b.queue) as queue, b.payload,
         coalesce(i.room, case h.begun when true then 'running' when false then 'assigned' end,
                  case l.outcome when 'poisoned' then 'failed' else l.outcome::text end, 'unknown') as state,
         case when l.outcome = 'succeeded' and i.room is null and h.job_id is null then 100 else c.progress end as progress, c.note,
         l.result, case when l.outcome = 'succeeded' and i.room is null and h.job_id is null then l.error else coalesce(l.error, e.error) end as error,
         coalesce((i.entry).attempts, h.attempts + h.begun::int, d.attempts, t.charged)::int as attempts, b.max_attempts, coalesce((i.entry).priority, h.priority, b.priority) as priority,
         case i.room when 'scheduled' then (i.entry).due when 'ready' then (i.entry).due else b.run_at end as due,
         h.runner as lease_owner, u.expires_at as lease_expires_at, w.beat_at as heartbeat_at,
         b.enqueued_at as created_at, coalesce(h.claimed_at, t.claimed_at) as started_at, case when i.room is null and h.job_id is null then l.ended_at end as completed_at,
         coalesce((i.entry).moves, h.moves, d.moves, 0) as moves, coalesce((i.entry).interrupted, h.interrupted, d.interrupted, t.reaps)::int as reaps,
         greatest(t.last_at, h.claimed_at, b.enqueued_at) as moved_at,
         b.tenant, b."group", b.key, b.name, b.tags, b.headers, b.deadline, b.timeout, i.reason as waits_for
    from leasehold.job_body b
    left join lateral leasehold.in_room(array[b.id]) i on true
    left join lateral leasehold.held_by(array[b.id]) h on true
    left join leasehold.runner u on u.id = h.runner
    left join leasehold.worker w on w.id = u.worker
    left join leasehold.checkpoint c on c.job_id = b.id
    left join leasehold.dead d on d.job_id = b.id
    left join lateral (select a.outcome, a.result, a.error, a.ended_at from leasehold.attempt_all a
                        where a.job_id = b.id and a.outcome <= 'poisoned' order by a.claim_no desc limit 1) l on true
    left join lateral (select a.error from leasehold.attempt_all a where a.job_id = b.id and a.error is not null order by a.claim_no desc limit 1) e on true
    left join lateral (select count(*) filter (where a.outcome in ('succeeded', 'failed', 'retried')) as charged, count(*) filter (where a.outcome in ('interrupted', 'poisoned')) as reaps,
                              max(a.claimed_at) as claimed_at, max(a.ended_at) as last_at
                         from leasehold.attempt_all a where a.job_id = b.id) t on true
   where b.duplicate_of is null;
