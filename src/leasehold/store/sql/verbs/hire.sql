-- hire: a runner process of this worker begins, with a lease of its own. Its code may be newer than what the worker enrolled with.
create or replace function leasehold.hire(p_worker bigint, p_pid int, p_queues text[] default null, p_tasks text[] default null)
returns table (runner bigint, lease float8)
language sql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
  with known as (
    update leasehold.worker w set queues = p_queues, tasks = p_tasks where w.id = p_worker and (w.queues, w.tasks) is distinct from (p_queues, p_tasks)
       and p_queues is not null and p_tasks is not null
  )
  insert into leasehold.runner (worker, started_at, expires_at, pid, role)
  select p_worker, leasehold.now(), leasehold.now() + h.lease, p_pid, session_user from leasehold.house h
  returning id, (select extract(epoch from lease)::float8 from leasehold.house) $$;
