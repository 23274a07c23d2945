-- enqueue: nothing → ready, scheduled or waiting. One statement for any number of jobs, from any driver.
-- A job that brings its id may be sent again after a lost answer: it is stored once.
create or replace function leasehold.enqueue(p_jobs jsonb) returns table (job_id uuid, duplicate_of uuid)
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  v_known  constant text[] := array['id', 'queue', 'task', 'payload', 'priority', 'run_at', 'delay', 'deadline', 'deadline_in', 'timeout', 'max_attempts',
                                    'name', 'key', 'tenant', 'group', 'tags', 'headers', 'hold'];
  v_low    uuid := leasehold.id_floor(leasehold.now() - interval '1 day');
  v_high   uuid := leasehold.id_floor(leasehold.now() + interval '1 day');
  v_ids    uuid[];
  v_keyed  boolean;
  v_astray boolean;
  v_odd    text;
begin
  select array_agg(coalesce((e.job ->> 'id')::uuid, leasehold.new_id()) order by e.n), bool_or(e.job ? 'key'),
         bool_or((e.job ->> 'id')::uuid < v_low or (e.job ->> 'id')::uuid >= v_high),
         min((e.job - v_known)::text) filter (where e.job - v_known <> '{}')
    into v_ids, v_keyed, v_astray, v_odd
    from jsonb_array_elements(p_jobs) with ordinality as e(job, n);
  if v_odd is not null then
    raise exception using errcode = '22023', message = format('leasehold.enqueue knows no field %s', (select min(k) from jsonb_object_keys(v_odd::jsonb) k)),
      hint = format('A job has the fields %s.', array_to_string(v_known, ', '));
  end if;
  if v_astray then -- where no day is made for it, Postgres would only say that there is no partition
    raise exception using errcode = '22023',
      message = format('leasehold.job.id: an id whose time is %s was not made here; the database says %s',
                       (select leasehold.id_time(x) from unnest(v_ids) x where x < v_low or x >= v_high limit 1), leasehold.now());
  end if;
  insert into leasehold.job (id, queue, task, payload, priority, run_at, delay, deadline, timeout, max_attempts,
                             name, key, tenant, "group", tags, headers, hold)
  select v_ids[j.n], coalesce(j.queue, 'default'), j.task, coalesce(j.payload, '{}'), coalesce(j.priority, 100), j.run_at,
         make_interval(secs => j.delay), coalesce(j.deadline, leasehold.now() + make_interval(secs => j.deadline_in)), j.timeout, j.max_attempts,
         j.name, j.key, j.tenant, j."group", j.tags, j.headers, j.hold
    from rows from (jsonb_to_recordset(p_jobs) as (queue text, task text, payload jsonb, priority int, run_at timestamptz, delay float8,
           deadline timestamptz, deadline_in float8, timeout real, max_attempts smallint, name text, key text, tenant text, "group" text,
           tags text[], headers jsonb, hold text)) with ordinality as j(queue, task, payload, priority, run_at, delay, deadline, deadline_in,
           timeout, max_attempts, name, key, tenant, "group", tags, headers, hold, n)
   order by j.n
  on conflict (id) do nothing;
  if v_keyed then
    return query select i.id, t.duplicate_of from unnest(v_ids) with ordinality as i(id, n)
      left join leasehold.twins(v_ids) t on t.job_id = i.id order by i.n;
  else
    return query select i.id, null::uuid from unnest(v_ids) with ordinality as i(id, n) order by i.n;
  end if;
end $$;
