-- standing: how jobs stand, for whoever has their ids: state, who holds them, what came of them. Absent ones have no row.
-- A job whose key was taken stands where the holder of the key stands.
create or replace function leasehold.standing(p_jobs uuid[])
returns table (asked uuid, job_id uuid, state text, task text, queue text, attempts int, progress real, note text, result jsonb, error jsonb,
               enqueued_at timestamptz, started_at timestamptz, ended_at timestamptz, runner bigint, due timestamptz, reason text)
language sql stable security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
  with who as materialized (
    select b.id as asked, coalesce(b.duplicate_of, b.id) as id from leasehold.job_body b where b.id = any(p_jobs)
  ), ids as materialized (select array_agg(w.id) as list from who w)
  select w.asked, b.id, coalesce(s.state, 'unknown'), b.task, b.queue,
         (select count(*) from leasehold.attempt_all a where a.job_id = b.id and a.outcome in ('succeeded', 'failed', 'retried', 'interrupted', 'poisoned', 'sent_on'))::int,
         case when s.state = 'succeeded' then 100 else c.progress end, c.note, l.result, coalesce(l.error, e.error), b.enqueued_at,
         coalesce(h.claimed_at, l.claimed_at), l.ended_at, h.runner, (i.entry).due, coalesce(i.note, i.reason)
    from who w cross join ids
    join leasehold.job_body b on b.id = w.id and b.id = any(ids.list)
    left join leasehold.state_of(ids.list) s on s.job_id = b.id
    left join leasehold.in_room(ids.list) i on i.job_id = b.id
    left join leasehold.held_by(ids.list) h on h.job_id = b.id
    left join leasehold.checkpoint c on c.job_id = b.id
    left join lateral (select a.* from leasehold.attempt_all a where a.job_id = b.id and a.outcome <= 'poisoned' order by a.claim_no desc limit 1) l on s.state not in
      ('ready', 'scheduled', 'waiting', 'dispatched', 'assigned', 'running')
    left join lateral (select a.error from leasehold.attempt_all a where a.job_id = b.id and a.error is not null order by a.claim_no desc limit 1) e on true $$;
