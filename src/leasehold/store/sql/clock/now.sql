-- now: the one clock that decides facts. The test kit replaces this function to move time by hand.
-- No SET here: Postgres puts a plain expression like this one straight into the caller's plan.
create or replace function leasehold.now() returns timestamptz
language sql volatile parallel safe as $$ select pg_catalog.clock_timestamp() $$;
