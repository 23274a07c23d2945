-- sleep: this runner is idle and wants to be woken for these queues. It looks once more after saying so, then waits.
create or replace function leasehold.sleep(p_runner bigint, p_queues text[]) returns void
language sql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
  insert into leasehold.sleeper (queue, runner) select q, p_runner from unnest(p_queues) q on conflict do nothing $$;
