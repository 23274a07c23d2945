-- retire_rest: after a day's tables are detached nobody can write to them: what arrived in them late is copied to the kept ones.
create or replace function leasehold.retire_rest(p_job_table text, p_attempt_table text) returns table (kept int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  v_day date;
begin
  if p_job_table !~ '^job_\d{8}$' or p_attempt_table !~ '^attempt_\d{8}$' then
    raise exception using errcode = '22023', message = format('retire_rest takes the tables of a day, not %s and %s', p_job_table, p_attempt_table);
  end if;
  v_day := to_date(right(p_job_table, 8), 'YYYYMMDD');
  kept := leasehold.keep_living(format('leasehold.%I', p_job_table)::regclass, format('leasehold.%I', p_attempt_table)::regclass,
    leasehold.id_floor(v_day::timestamp at time zone 'UTC'), leasehold.id_floor((v_day + 1)::timestamp at time zone 'UTC'));
  return next;
end $$;
