-- wake: these queues have news, about p_jobs of them. Wakes as many of the runners that said they sleep, and one more in case one died.
create or replace function leasehold.wake(p_queues text[], p_jobs int default 1) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_runner bigint;
begin
  if exists (select from leasehold.sleeper l where l.queue = any(p_queues)) then
    for v_runner in
      with up as materialized (
        select distinct on (l.runner) l.runner from leasehold.sleeper l where l.queue = any(p_queues) limit p_jobs + 1
      ), gone as (
        delete from leasehold.sleeper l using (
          select s.ctid from leasehold.sleeper s join up on up.runner = s.runner for update of s skip locked) x where l.ctid = x.ctid returning l.runner
      )
      select distinct g.runner from gone g
    loop
      perform pg_notify('leasehold_runner_' || v_runner, 'jobs');
    end loop;
  end if;
end $$;
