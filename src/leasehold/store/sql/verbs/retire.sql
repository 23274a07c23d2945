-- retire: the oldest day of job and attempt that is past its keep is left by what still lives: its live jobs and their history are
-- copied to the kept tables, and from then on ids below the floor count only there. Answers the tables to detach and drop, oldest
-- first, also those of days left before: whoever asks detaches them, calls `retire_rest` for stragglers, and drops them.
create or replace function leasehold.retire() returns table (job_table text, attempt_table text, kept int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  v_day   record;
  v_floor uuid;
begin
  perform pg_advisory_xact_lock(1279869254, 7);
  if not pg_try_advisory_xact_lock(1279869254, 6) then
    return; -- somebody opens an ended job again: it is retired another time
  end if;
  v_floor := (select floor from leasehold.house);
  for v_day in
    select c.relname::text as name, d.day, leasehold.id_floor(d.day::timestamp at time zone 'UTC') as low,
           leasehold.id_floor((d.day + 1)::timestamp at time zone 'UTC') as high
      from pg_class c cross join lateral (select to_date(right(c.relname, 8), 'YYYYMMDD') as day) d
     where c.relnamespace = 'leasehold'::regnamespace and c.relname ~ '^job_\d{8}$' and c.relkind = 'r'
       and (d.day + 1)::timestamp at time zone 'UTC' < leasehold.now() - (select greatest(keep, interval '1 day') from leasehold.house)
     order by d.day limit 1
  loop
    job_table := v_day.name;
    attempt_table := 'attempt' || right(v_day.name, 9);
    kept := 0;
    if v_day.high > v_floor then
      kept := leasehold.keep_living('leasehold.job', 'leasehold.attempt', v_day.low, v_day.high);
      update leasehold.house set floor = v_day.high where floor < v_day.high;
    end if;
    return next;
  end loop;
end $$;
