-- end_jobs: jobs that left a room without a run end here, with one line of history each, and whoever awaits them hears.
create or replace function leasehold.end_jobs(p_entries leasehold.entry[], p_outcome leasehold.outcome, p_error jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform leasehold.write_attempts(array(
    select (e.job_id, null, leasehold.now(), null, e.claim_no + 1, null, p_outcome, p_error, null)::leasehold.attempt_kept from unnest(p_entries) e));
  perform leasehold.tell(array(select e.job_id from unnest(p_entries) e));
end $$;
