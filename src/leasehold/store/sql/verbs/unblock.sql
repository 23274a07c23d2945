-- unblock: waiting → ready or scheduled, for jobs whose last parent has ended.
create or replace function leasehold.unblock(p_limit int) returns table (jobs int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_free uuid[];
begin
  select array_agg(x.job_id) into v_free from (
    select w.job_id from leasehold.waiting w where w.reason = 'parents' and w.remaining = 0
     order by w.job_id limit p_limit for update skip locked) x;
  perform leasehold.go_on(v_free);
  jobs := coalesce(cardinality(v_free), 0);
  return next;
end $$;
