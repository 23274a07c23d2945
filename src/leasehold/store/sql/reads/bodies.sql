-- bodies: the arguments of jobs whose payload was too large to travel with the claim.
create or replace function leasehold.bodies(p_jobs uuid[]) returns table (job_id uuid, payload jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
  select b.id, b.payload from leasehold.job_body b where b.id = any(p_jobs) $$;
