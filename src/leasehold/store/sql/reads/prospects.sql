-- prospects: what stands between a waiting job and its run: workers that serve its queue, that know its task, and the line before it.
create or replace function leasehold.prospects(p_queue text, p_task text, p_job uuid, p_most int) returns table (document jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
  with live as materialized (
    select w.queues, w.tasks, w.host from leasehold.worker w where exists (
      select from leasehold.runner u where u.worker = w.id and u.dead_at is null and u.expires_at > leasehold.now()) and not w.stopping
  ), own as materialized (
    select (i.entry).priority, (i.entry).due as turn from leasehold.in_room(array[p_job]) i where i.room = 'ready'
  )
  select jsonb_build_object(
    'workers', (select count(*) from live), 'serving', (select count(*) from live l where p_queue = any(l.queues)),
    'knowing', (select count(*) from live l where p_task = any(l.tasks)),
    'able', (select count(*) from live l where p_queue = any(l.queues) and p_task = any(l.tasks)),
    'queues', coalesce((select jsonb_agg(distinct q) from live l cross join lateral unnest(l.queues) q), '[]'),
    'ahead', (select count(*) from (select from own cross join lateral (
                select from leasehold.ready r where r.queue = p_queue and (r.priority, r.turn, r.job_id) < (own.priority, own.turn, p_job) limit p_most + 1) x) c),
    'running', (select coalesce(sum(r.held), 0) from leasehold.running r where r.queue = p_queue),
    'leader_age', (select case when isfinite(l.tick_at) then least(extract(epoch from leasehold.now() - l.tick_at), 1e9) else 1e9 end from leasehold.leader l)) $$;
