-- health_jobs: what should not be among the jobs: rows in no room and without an end, and what lost runners still hold. Only the
-- newest p_most jobs of the last day are looked at.
create or replace function leasehold.health_jobs(p_most int) returns table (document jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
  with t as materialized (select leasehold.now() as now), newest as materialized (
    select array_agg(x.id) as list from (
      select j.id, j.enqueued_at from leasehold.job j, t where j.id >= leasehold.id_floor(t.now - interval '1 day') order by j.id desc limit p_most) x, t
     where x.enqueued_at < t.now - interval '1 minute'
  )
  select jsonb_build_object(
    'looked', coalesce(cardinality(newest.list), 0),
    'strays', coalesce((select jsonb_agg(s.job_id) from (select s.job_id from leasehold.state_of(newest.list) s where s.state = 'unknown' limit 20) s), '[]'),
    'lost', coalesce((select jsonb_agg(to_jsonb(x)) from (
       select r.runner, sum(r.held) as held, extract(epoch from t.now - max(u.dead_at)) as dead_for from leasehold.running r left join leasehold.runner u on u.id = r.runner
        where u.id is null or u.dead_at < t.now - interval '10 seconds' group by r.runner order by r.runner limit 20) x), '[]'),
    'overdue', coalesce((select jsonb_agg(to_jsonb(x)) from (
       select u.id as runner, k.host, extract(epoch from t.now - u.expires_at) as seconds, coalesce((select sum(r.held) from leasehold.running r where r.runner = u.id), 0) as held
         from leasehold.runner u left join leasehold.worker k on k.id = u.worker
        where u.dead_at is null and u.expires_at < t.now - interval '30 seconds' order by u.expires_at limit 20) x), '[]'),
    'blocked', coalesce((select jsonb_agg(to_jsonb(x)) from (
       select u.id as runner, k.host, u.loop_age as seconds from leasehold.runner u left join leasehold.worker k on k.id = u.worker
        where u.dead_at is null and u.expires_at > t.now and u.loop_age > 5 order by u.loop_age desc limit 20) x), '[]'))
    from t, newest $$;
