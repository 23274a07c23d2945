-- promote: scheduled → ready, for jobs whose time has come. Answers how many, and in how many seconds the next one is due.
create or replace function leasehold.promote(p_limit int) returns table (jobs int, next_in float8)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := leasehold.now();
  v_due leasehold.entry[];
begin
  with due as materialized (
    select s.job_id from leasehold.scheduled s where s.run_at <= v_now order by s.run_at limit p_limit for update skip locked
  ), moved as (
    delete from leasehold.scheduled s using due where s.job_id = due.job_id returning s.*
  )
  select coalesce(array_agg((m.job_id, m.queue, m.priority, v_now, m.claim_no, m.moves + 1, m.attempts, m.interrupted)::leasehold.entry
                            order by m.run_at, m.job_id), '{}') into v_due from moved m;
  perform leasehold.enter_ready(v_due);
  jobs := cardinality(v_due);
  select extract(epoch from s.run_at - v_now) into next_in from leasehold.scheduled s order by s.run_at limit 1;
  return next;
end $$;
