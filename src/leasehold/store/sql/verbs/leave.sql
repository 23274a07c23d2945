-- leave: a worker goes for good. What its runners still hold is given back unharmed, its leadership is open to others at once.
create or replace function leasehold.leave(p_worker bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  v_runner bigint;
begin
  for v_runner in select u.id from leasehold.runner u where u.worker = p_worker order by u.id loop
    perform leasehold.reap(1000, v_runner, '{}');
  end loop;
  delete from leasehold.worker w where w.id = p_worker;
  update leasehold.leader l set worker = null where l.worker = p_worker;
end $$;
