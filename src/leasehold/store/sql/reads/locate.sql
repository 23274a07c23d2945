-- locate: which jobs a person means: by id, by the caller's own name for it, or by the key it holds. What is nowhere has no row.
create or replace function leasehold.locate(p_asked text[]) returns table (asked text, job_id uuid, duplicate_of uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
  with recursive asked as materialized (
    select distinct x as said from unnest(p_asked) x
  ), ids as materialized (
    select a.said, a.said::uuid as id from asked a where a.said ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  ), by_id as (
    select i.said, b.id, b.duplicate_of from ids i join leasehold.job_body b on b.id = i.id and b.id = any(array(select id from ids))
  ), rest as materialized (
    select a.said from asked a where a.said not in (select said from by_id)
  ), by_name as (
    select r.said, n.id, n.duplicate_of from rest r cross join lateral (
      select b.id, b.duplicate_of from leasehold.job_body b where b.name = r.said order by b.id desc limit 20) n
  ), kept (tenant, task, n) as (
    -- Keys are found by tenant and task: their pairs are few, and each step goes to the next one.
    (select k.tenant, k.task, 1 from leasehold.job_key k where exists (select from rest) order by 1, 2 limit 1)
    union all
    select x.tenant, x.task, kept.n + 1 from kept cross join lateral (
      select k.tenant, k.task from leasehold.job_key k where (k.tenant, k.task) > (kept.tenant, kept.task) order by 1, 2 limit 1) x
     where kept.n < 10000
  ), by_key as (
    select r.said, b.id, b.duplicate_of from rest r cross join kept
     cross join lateral (select x.job_id from leasehold.job_key x where x.tenant = kept.tenant and x.task = kept.task and x.key = r.said limit 1) k
     cross join lateral (select x.id, x.duplicate_of from leasehold.job_body x where x.id = k.job_id limit 1) b
     where r.said not in (select said from by_name)
  )
  select * from by_id union all select * from by_name union all select * from by_key $$;
