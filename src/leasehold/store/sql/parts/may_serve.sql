-- may_serve: raises when this database role is bound to some queues and one of these is none of them.
create or replace function leasehold.may_serve(p_queues text[]) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from leasehold.role_queue q where q.role = session_user) and exists (
       select from unnest(p_queues) as w(queue) where not exists (
         select from leasehold.role_queue q where q.role = session_user and q.queue = w.queue)) then
    raise exception using errcode = '42501', message = format('role %s may not work on all of the queues %s', session_user, p_queues);
  end if;
end $$;
