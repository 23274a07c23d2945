-- is_live: has this job still something before it? A job goes on until its last line of history says that it ended.
create or replace function leasehold.is_live(p_job uuid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from leasehold.job_body b where b.id = p_job and b.duplicate_of is null)
     and not exists (select from leasehold.last_attempt(array[p_job]) a where a.ended) $$;
