-- hire: a runner process of this worker begins, with a lease of its own.
create or replace function leasehold.hire(p_worker bigint, p_pid int) returns table (runner bigint, lease float8)
language sql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
  insert into leasehold.runner (worker, started_at, expires_at, pid, role)
  select p_worker, leasehold.now(), leasehold.now() + h.lease, p_pid, session_user from leasehold.house h
  returning id, (select extract(epoch from lease)::float8 from leasehold.house) $$;
