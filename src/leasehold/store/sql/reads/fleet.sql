-- fleet: the workers with their runners, who leads, and what ended in the last p_minutes, as one document.
create or replace function leasehold.fleet(p_minutes int) returns table (document jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off as $$
  with t as materialized (select leasehold.now() as now)
  select jsonb_build_object(
    'now', t.now,
    'database', current_database(),
    'workers', coalesce((
      select jsonb_agg(jsonb_build_object(
        'id', w.id, 'host', w.host, 'pid', w.pid, 'version', w.version, 'stopping', w.stopping, 'started_at', w.started_at,
        'beat_age', extract(epoch from t.now - w.beat_at), 'queues', w.queues, 'tasks', w.tasks,
        'runners', coalesce((
          select jsonb_agg(jsonb_build_object(
            'id', u.id, 'pid', u.pid, 'started_at', u.started_at, 'lease_left', extract(epoch from u.expires_at - t.now), 'dead', u.dead_at is not null,
            'loop_age', u.loop_age, 'held', coalesce((select sum(r.held) from leasehold.running r where r.runner = u.id), 0)) order by u.id)
            from (select * from leasehold.runner x where x.worker = w.id order by x.dead_at is not null, x.id desc limit 100) u
           where u.dead_at is null or u.dead_at > t.now - interval '5 minutes'), '[]')) order by w.id)
        from (select * from leasehold.worker x order by x.beat_at desc limit 1000) w), '[]'),
    'leader', (select case when l.worker is null then null else jsonb_build_object('worker', l.worker, 'term', l.term,
                 'tick_age', case when isfinite(l.tick_at) then least(extract(epoch from t.now - l.tick_at), 1e9) else 1e9 end, 'resumed_age', case when isfinite(l.resumed_at) then least(extract(epoch from t.now - l.resumed_at), 1e9) else 1e9 end) end
                 from leasehold.leader l),
    'minutes', p_minutes,
    'rates', coalesce((
      select jsonb_agg(to_jsonb(x)) from (
        select y.queue, y.outcome, sum(y.n)::bigint as n, sum(y.run_ms)::bigint as run_ms, sum(y.wait_ms)::bigint as wait_ms from (
          select * from leasehold.tally a where a.minute >= date_trunc('minute', t.now) - make_interval(mins => p_minutes)
          union all
          select * from leasehold.tally_delta d where d.minute >= date_trunc('minute', t.now) - make_interval(mins => p_minutes)) y
         group by y.queue, y.outcome order by y.queue, y.outcome) x), '[]'))
    from t $$;
