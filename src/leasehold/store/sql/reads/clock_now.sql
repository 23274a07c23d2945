-- clock_now: what time it is for the database, in microseconds since 2000: clients measure their distance from it.
create or replace function leasehold.clock_now() returns table (microseconds bigint)
language sql volatile security definer set search_path = pg_catalog, pg_temp set jit = off as $$
  select (extract(epoch from leasehold.now() - '2000-01-01 00:00:00+00'::timestamptz) * 1000000)::bigint $$;
