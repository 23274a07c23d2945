-- checkpoints: what these jobs kept from earlier attempts.
create or replace function leasehold.checkpoints(p_jobs uuid[])
returns table (job_id uuid, progress real, note text, data jsonb, metadata jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off as $$
  select c.job_id, c.progress, c.note, c.data, c.metadata from leasehold.checkpoint c where c.job_id = any(p_jobs) $$;
