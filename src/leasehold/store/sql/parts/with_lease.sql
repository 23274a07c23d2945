-- with_lease: from here to the end of the caller's transaction nobody can declare this runner dead; raises when it is already.
-- An advisory lock and not a row's: to lock the row is to write it, and a claim that finds nothing would wait for the disk.
create or replace function leasehold.with_lease(p_runner bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock_shared(1279869255, (p_runner % 2147483647)::int);
  -- A statement of its own: it sees what was committed before the lock was ours.
  if (select u.dead_at is null and u.role = session_user from leasehold.runner u where u.id = p_runner) is not true then
    raise exception using errcode = 'LH002', message = format('runner %s has lost its lease', p_runner);
  end if;
end $$;
