-- arrive: nothing → ready, scheduled or waiting. Whatever inserts into job enqueues: INSERT, COPY, an ORM.
create or replace function leasehold.arrive() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan as $$
declare
  v_now     timestamptz := leasehold.now();
  v_low     uuid := leasehold.id_floor(v_now - interval '1 hour');
  v_high    uuid := leasehold.id_floor(v_now + interval '1 hour');
  v_twins   uuid[] := '{}';
  v_twin    record;
  v_holder  uuid;
  v_segment int;
  s         record;
begin
  select count(*) as n, bool_or(key is not null) as keyed, bool_or(hold is not null or run_at is not null or delay is not null) as later,
         -- "is not true", so that a null where none may be is found too.
         bool_or((id >= v_low and id < v_high and octet_length(queue) between 1 and 63 and octet_length(task) between 1 and 200
                  and jsonb_typeof(payload) = 'object' and priority between -32768 and 32767 and isfinite(enqueued_at)) is not true) as odd,
         bool_or((max_attempts < 1 or timeout <= 0 or timeout > 2592000 or octet_length(tenant) not between 1 and 63 or octet_length(key) not between 1 and 500
                  or octet_length(name) not between 1 and 200 or octet_length("group") not between 1 and 200 or cardinality(tags) > 64
                  or jsonb_typeof(headers) <> 'object' or run_at not between '1970-01-01Z' and '9999-12-31Z' or deadline not between '1970-01-01Z' and '9999-12-31Z'
                  or delay not between '-36500 days' and '36500 days' or (run_at is not null and delay is not null)) is true) as odder
    into s from fresh;
  if s.n = 0 then
    return null;
  elsif s.odd or s.odder then
    perform leasehold.refuse(array(select row(f.*)::leasehold.job from fresh f), v_low, v_high);
  end if;

  if s.keyed then
    insert into leasehold.job_key (tenant, task, key, job_id)
    select coalesce(tenant, ''), task, key, id from fresh where key is not null order by 1, 2, 3, 4
    on conflict do nothing;
    -- Whoever did not get its key asks who has it: a live job makes it a twin, an ended one gives way.
    -- The key is locked before the question, so that the answer comes from a snapshot taken after.
    for v_twin in select f.id, f.task, f.key, coalesce(f.tenant, '') as tenant from fresh f
                   where f.key is not null and not exists (select from leasehold.job_key k where k.job_id = f.id) order by 4, 2, 3, 1
    loop
      loop -- again where retain just swept the key of one that has ended
        insert into leasehold.job_key (tenant, task, key, job_id) values (v_twin.tenant, v_twin.task, v_twin.key, v_twin.id) on conflict do nothing;
        select k.job_id into v_holder from leasehold.job_key k
         where (k.tenant, k.task, k.key) = (v_twin.tenant, v_twin.task, v_twin.key) for update;
        exit when found;
      end loop;
      continue when v_holder = v_twin.id;
      if exists (select from fresh f where f.id = v_holder) or leasehold.is_live(v_holder) then
        update leasehold.job set duplicate_of = v_holder where id = v_twin.id;
        v_twins := v_twins || v_twin.id;
      else
        update leasehold.job_key k set job_id = v_twin.id
         where (k.tenant, k.task, k.key) = (v_twin.tenant, v_twin.task, v_twin.key);
      end if;
    end loop;
  end if;

  if s.later then
    insert into leasehold.scheduled (run_at, job_id, priority, queue, deadline)
    select coalesce(run_at, enqueued_at + delay), id, priority, queue, deadline from fresh
     where hold is null and coalesce(run_at, enqueued_at + delay) > v_now and id <> all (v_twins);
    insert into leasehold.waiting (since, job_id, priority, reason, queue, run_at, note, deadline)
    select v_now, id, priority, 'held', queue, coalesce(run_at, enqueued_at + delay), hold, deadline from fresh
     where hold is not null and id <> all (v_twins);
  end if;

  v_segment := leasehold.open_segment();
  if s.later or s.keyed then
    insert into leasehold.ready (turn, job_id, segment, priority, queue, task, payload, deadline, timeout, max_attempts, tenant, headers)
    select enqueued_at, id, v_segment, priority, queue, task, case when pg_column_size(payload) <= 1000 then payload end,
           deadline, timeout, max_attempts, tenant, headers
      from fresh where hold is null and coalesce(run_at, enqueued_at + delay, '-infinity') <= v_now and id <> all (v_twins);
  else
    insert into leasehold.ready (turn, job_id, segment, priority, queue, task, payload, deadline, timeout, max_attempts, tenant, headers)
    select enqueued_at, id, v_segment, priority, queue, task, case when pg_column_size(payload) <= 1000 then payload end,
           deadline, timeout, max_attempts, tenant, headers from fresh;
  end if;

  if (select sql_notify from leasehold.house) then
    perform leasehold.wake(array(select distinct queue from fresh), s.n::int);
  end if;
  return null;
end $$;
create or replace trigger arrive after insert on leasehold.job
  referencing new table as fresh for each statement execute function leasehold.arrive();
