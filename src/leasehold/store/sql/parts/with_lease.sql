-- with_lease: from here to the end of the caller's transaction nobody can declare this runner dead; raises when it is already, or
-- when its database role is bound to some queues and one of these is none of them.
-- An advisory lock and not a row's: to lock the row is to write it, and a claim that finds nothing would wait for the disk.
create or replace function leasehold.with_lease(p_runner bigint, p_queues text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_alive boolean;
  v_bound boolean;
begin
  perform pg_advisory_xact_lock_shared(1279869255, (p_runner % 2147483647)::int);
  -- A statement of its own: it sees what was committed before the lock was ours.
  select u.dead_at is null and u.role = session_user, exists (select from leasehold.role_queue q where q.role = session_user)
    into v_alive, v_bound from leasehold.runner u where u.id = p_runner;
  if v_alive is not true then
    raise exception using errcode = 'LH002', message = format('runner %s has lost its lease', p_runner);
  elsif v_bound then
    perform leasehold.may_serve(p_queues);
  end if;
end $$;
