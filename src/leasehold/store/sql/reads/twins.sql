-- twins: which of these jobs found their key taken, and by whom.
create or replace function leasehold.twins(p_jobs uuid[]) returns table (job_id uuid, duplicate_of uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
  select j.id, j.duplicate_of from leasehold.job j where j.id = any(p_jobs) and j.duplicate_of is not null $$;
