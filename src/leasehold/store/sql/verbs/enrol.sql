-- enrol: a supervisor says that it is here, for which queues, and which tasks its code knows. Makes days ahead if there are too few.
create or replace function leasehold.enrol(p_pid int, p_host text, p_version text, p_queues text[], p_tasks text[]) returns table (worker bigint)
language sql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
  insert into leasehold.worker (started_at, beat_at, pid, host, version, role, queues, tasks)
  values (leasehold.now(), leasehold.now(), p_pid, p_host, p_version, session_user, p_queues, p_tasks) returning id $$;
