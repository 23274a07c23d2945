-- partition: makes the days of job and attempt, p_days ahead, so that an enqueue never finds its day missing.
-- A day is made as a table of its own and then attached: that never waits for a writer, nor makes one wait.
create or replace function leasehold.partition(p_days int default null) returns table (made int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  v_today date := (leasehold.now() at time zone 'UTC')::date;
  v_day   date;
  v_table text;
  v_name  text;
begin
  perform pg_advisory_xact_lock(1279869254, 7);
  made := 0;
  for v_day in select v_today + g from generate_series(-1, coalesce(p_days, (select ahead from leasehold.house))) g loop
    foreach v_table in array array['job', 'attempt'] loop
      v_name := v_table || to_char(v_day, '_YYYYMMDD');
      continue when to_regclass('leasehold.' || v_name) is not null;
      execute format('create table leasehold.%I (like leasehold.%I including defaults including constraints)', v_name, v_table);
      execute format('alter table leasehold.%I attach partition leasehold.%I for values from (%L) to (%L)', v_table, v_name,
                     leasehold.id_floor(v_day::timestamp at time zone 'UTC'), leasehold.id_floor((v_day + 1)::timestamp at time zone 'UTC'));
      made := made + 1;
    end loop;
  end loop;
  return next;
end $$;
