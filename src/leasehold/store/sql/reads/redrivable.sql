-- redrivable: how many dead jobs `redrive` would take by this filter, by task and error; no more than p_most are looked at.
create or replace function leasehold.redrivable(p_filter jsonb, p_most int) returns table (task text, error text, reason text, jobs bigint, newest timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
  select x.task, x.error, x.reason, count(*), max(x.died_at) from (
    select d.task, d.error ->> 'type' as error, d.reason, d.died_at from leasehold.dead d
     where (p_filter ->> 'queue' is null or d.queue = p_filter ->> 'queue') and (p_filter ->> 'task' is null or d.task = p_filter ->> 'task')
       and (p_filter ->> 'tenant' is null or d.tenant = p_filter ->> 'tenant') and (p_filter ->> 'error' is null or d.error ->> 'type' = p_filter ->> 'error')
       and (p_filter ->> 'reason' is null or d.reason = p_filter ->> 'reason')
       and d.died_at >= coalesce((p_filter ->> 'since')::timestamptz, '-infinity') and d.died_at < coalesce((p_filter ->> 'until')::timestamptz, 'infinity')
     order by d.died_at limit p_most) x
   group by x.task, x.error, x.reason order by count(*) desc, x.task limit 100 $$;
