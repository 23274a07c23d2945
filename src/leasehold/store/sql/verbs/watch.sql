-- watch: somebody listens on this channel for the end of these jobs. Answers with those that have ended already.
create or replace function leasehold.watch(p_jobs uuid[], p_channel text) returns table (job_id uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
begin
  insert into leasehold.awaited (job_id, channel) select distinct x, p_channel from unnest(p_jobs) x order by 1 on conflict do nothing;
  return query select a.job_id from leasehold.last_attempt(p_jobs) a where a.ended;
end $$;
