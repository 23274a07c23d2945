-- timeline: all that is known of one job, as one document: what was asked, each line of history, where it is now, who holds it,
-- what it kept, what people did with it. Nothing when it is not here.
create or replace function leasehold.timeline(p_job uuid) returns table (document jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
  with t as materialized (select leasehold.now() as now)
  select jsonb_build_object(
    'now', t.now, 'job', to_jsonb(b) - 'payload', 'payload', b.payload, 'state', coalesce(s.state, case when b.duplicate_of is null then 'unknown' else 'duplicate' end),
    'room', case when i.room is not null then jsonb_build_object('name', i.room, 'queue', (i.entry).queue, 'priority', (i.entry).priority, 'due', (i.entry).due,
              'moves', (i.entry).moves, 'attempts', (i.entry).attempts, 'interrupted', (i.entry).interrupted, 'reason', i.reason, 'note', i.note,
              'remaining', i.remaining, 'since', w.since, 'returns_at', o.expires_at) end,
    'holder', case when h.job_id is not null then jsonb_build_object('runner', h.runner, 'bundle', h.bundle, 'claim_no', h.claim_no, 'claimed_at', h.claimed_at,
              'begun', h.begun, 'queue', h.queue, 'moves', h.moves, 'attempts', h.attempts, 'interrupted', h.interrupted, 'worker', k.id, 'host', k.host,
              'pid', u.pid, 'lease_left', extract(epoch from u.expires_at - t.now), 'dead', u.dead_at is not null, 'loop_age', u.loop_age,
              'beat_age', extract(epoch from t.now - k.beat_at)) end,
    'attempts', coalesce((select jsonb_agg(to_jsonb(a) || jsonb_build_object('host', rw.host) order by a.claim_no) from (
              select x.claim_no, x.claimed_at, x.ended_at, x.runner, x.run_ms, x.outcome, x.error, x.result from leasehold.attempt_all x
               where x.job_id = b.id order by x.claim_no desc limit 500) a
              left join leasehold.runner ru on ru.id = a.runner left join leasehold.worker rw on rw.id = ru.worker), '[]'),
    'checkpoint', (select jsonb_build_object('updated_at', c.updated_at, 'progress', c.progress, 'note', c.note, 'state', c.data, 'metadata', c.metadata)
                     from leasehold.checkpoint c where c.job_id = b.id),
    'wish', (select jsonb_build_object('requested_at', c.requested_at, 'reason', c.reason) from leasehold.cancel_request c where c.job_id = b.id),
    'dead', (select jsonb_build_object('died_at', d.died_at, 'reason', d.reason, 'moves', d.moves, 'attempts', d.attempts, 'interrupted', d.interrupted)
               from leasehold.dead d where d.job_id = b.id),
    'audit', coalesce((select jsonb_agg(jsonb_build_object('at', y.at, 'verb', y.verb, 'actor', y.actor, 'role', y.role, 'note', y.note) order by y.at) from (
              select * from leasehold.audit x where x.at >= b.enqueued_at - interval '1 minute' order by x.at desc limit 5000) y where b.id = any(y.job_ids)), '[]'))
    from t join leasehold.job_body b on b.id = p_job
    left join leasehold.state_of(array[p_job]) s on true
    left join leasehold.in_room(array[p_job]) i on true
    left join leasehold.held_by(array[p_job]) h on true
    left join leasehold.waiting w on w.job_id = b.id
    left join leasehold.dispatched o on o.job_id = b.id
    left join leasehold.runner u on u.id = h.runner
    left join leasehold.worker k on k.id = u.worker $$;
