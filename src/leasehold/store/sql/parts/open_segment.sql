-- open_segment: the segment that takes entries now, held open until the caller's transaction ends.
-- Whoever seals it takes the same lock exclusively; the second look tells that it did not come between.
create or replace function leasehold.open_segment() returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_seen bigint;
  v_now  bigint;
begin
  loop
    select last_value into v_seen from leasehold.open_segment;
    perform pg_advisory_xact_lock_shared(1279869254, (v_seen % 4)::int);
    select last_value into v_now from leasehold.open_segment;
    exit when v_now = v_seen;
  end loop;
  return v_now % 4;
end $$;
