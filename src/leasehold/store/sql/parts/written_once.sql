-- written_once: a job is not changed after it was asked for: its rooms would not hear of it. Only `arrive` marks a twin.
create or replace function leasehold.written_once() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = '55000', message = 'leasehold.job is written once: an UPDATE would reach no runner',
    hint = 'Cancel, hold or retry the job (leasehold cancel JOB, or the functions of these names), and enqueue another one.';
end $$;
create or replace trigger written_once before update of id, enqueued_at, priority, queue, task, payload, run_at, delay, deadline, timeout, max_attempts,
  name, key, tenant, "group", tags, headers, hold on leasehold.job for each statement execute function leasehold.written_once();
