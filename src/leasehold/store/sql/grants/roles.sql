-- roles: what each kind of connection may do. The four roles hold rights only, nobody logs in as one: grant them to your users.
--   leasehold_producer  enqueues, in SQL or through the verb, and asks how its jobs stand
--   leasehold_runner    what a worker does
--   leasehold_operator  the people's verbs, and everything a reader sees
--   leasehold_reader    looks
-- On a server where this role may not create roles, an administrator makes the four first; until then only the owner works.
do $$
declare
  v_role text;
begin
  foreach v_role in array array['leasehold_producer', 'leasehold_runner', 'leasehold_operator', 'leasehold_reader'] loop
    if not exists (select from pg_catalog.pg_roles r where r.rolname = v_role) then
      begin
        execute format('create role %I nologin', v_role);
      exception
        when insufficient_privilege then raise notice 'role % is missing and may not be made by %', v_role, current_user;
        when duplicate_object or unique_violation then null; -- another migrate made it just now
      end;
    end if;
  end loop;
end $$;

revoke all on schema leasehold from public;
revoke all on all tables in schema leasehold from public;
revoke all on all sequences in schema leasehold from public;
revoke all on all functions in schema leasehold from public;
alter default privileges in schema leasehold revoke all on functions from public;
alter default privileges in schema leasehold revoke all on tables from public;

do $$
declare
  v_grant record;
begin
  for v_grant in
    select * from (values
      ('leasehold_producer', array['enqueue', 'wake', 'watch', 'now', 'new_id', 'id_floor', 'id_time', 'twins', 'standing', 'clock_now']),
      ('leasehold_runner', array['claim', 'finish', 'release', 'take', 'dispatch', 'sleep', 'wake', 'watch', 'enrol', 'hire', 'leave', 'beat', 'save', 'lead',
        'reap', 'promote', 'unblock', 'expire', 'rotate', 'partition', 'fold', 'retain', 'retire', 'retire_rest', 'bodies', 'checkpoints', 'clock_now', 'now', 'standing']),
      ('leasehold_operator', array['cancel', 'hold', 'resume', 'retry', 'redrive', 'discard', 'purge', 'wake', 'standing', 'clock_now', 'now', 'watch', 'in_room', 'held_by',
        'locate', 'backlog', 'fleet', 'jobs_page', 'timeline', 'prospects', 'redrivable', 'health_server', 'health_schema', 'health_jobs']),
      ('leasehold_reader', array['standing', 'clock_now', 'now', 'in_room', 'held_by',
        'locate', 'backlog', 'fleet', 'jobs_page', 'timeline', 'prospects', 'redrivable', 'health_server', 'health_schema', 'health_jobs'])) as g(role, functions)
     where exists (select from pg_catalog.pg_roles r where r.rolname = g.role)
  loop
    execute format('grant usage on schema leasehold to %I', v_grant.role);
    execute (select string_agg(format('grant execute on function %s to %I', p.oid::regprocedure, v_grant.role), '; ')
               from pg_catalog.pg_proc p where p.pronamespace = 'leasehold'::regnamespace and p.proname = any(v_grant.functions));
    if v_grant.role = 'leasehold_producer' then
      grant insert (id, priority, queue, task, payload, run_at, delay, deadline, timeout, max_attempts, name, key, tenant, "group", tags, headers, hold),
            select (id, duplicate_of) on leasehold.job to leasehold_producer;
    elsif v_grant.role in ('leasehold_reader', 'leasehold_operator') then
      execute format('grant select on all tables in schema leasehold to %I', v_grant.role);
    end if;
  end loop;
end $$;
