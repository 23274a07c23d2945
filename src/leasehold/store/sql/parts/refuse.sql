-- refuse: says which column of the first row that cannot be a job is wrong, and what it takes. Never shows a value but an id's time.
create or replace function leasehold.refuse(p_rows leasehold.job[], p_low uuid, p_high uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_row  leasehold.job;
  v_said text;
begin
  foreach v_row in array p_rows loop
    v_said := case
      when v_row.id < p_low or v_row.id >= p_high then format('id: an id whose time is %s was not made here; the database says %s. '
        'Leave id out, or take it from leasehold.new_id(); an id of your own goes into the column name', leasehold.id_time(v_row.id), leasehold.now())
      when v_row.queue is null or octet_length(v_row.queue) not between 1 and 63 then 'queue: takes 1 to 63 bytes'
      when v_row.task is null or octet_length(v_row.task) not between 1 and 200 then 'task: takes 1 to 200 bytes'
      when v_row.payload is null or jsonb_typeof(v_row.payload) <> 'object' then 'payload: takes a JSON object, the task''s arguments by name'
      when v_row.priority is null or v_row.priority not between -32768 and 32767 then 'priority: takes -32768 to 32767; lower goes first'
      when v_row.enqueued_at is null or not isfinite(v_row.enqueued_at) then 'enqueued_at: leave it out, the database knows the time'
      when v_row.max_attempts < 1 then 'max_attempts: takes 1 to 32767'
      when v_row.timeout <= 0 or v_row.timeout > 2592000 then 'timeout: takes seconds above 0, at most 2592000 (30 days)'
      when octet_length(v_row.tenant) not between 1 and 63 then 'tenant: takes 1 to 63 bytes'
      when octet_length(v_row.key) not between 1 and 500 then 'key: takes 1 to 500 bytes'
      when octet_length(v_row.name) not between 1 and 200 then 'name: takes 1 to 200 bytes'
      when octet_length(v_row."group") not between 1 and 200 then 'group: takes 1 to 200 bytes'
      when cardinality(v_row.tags) > 64 then 'tags: takes at most 64'
      when jsonb_typeof(v_row.headers) <> 'object' then 'headers: takes a JSON object'
      when v_row.run_at is not null and v_row.delay is not null then 'run_at and delay: write one of them'
      when v_row.run_at not between '1970-01-01Z' and '9999-12-31Z' then 'run_at: takes a time from 1970 to 9999; a job that waits for a person is enqueued with hold'
      when v_row.deadline not between '1970-01-01Z' and '9999-12-31Z' then 'deadline: takes a time from 1970 to 9999; leave it out for none'
      when v_row.delay not between '-36500 days' and '36500 days' then 'delay: takes at most 36500 days'
    end;
    if v_said is not null then
      raise exception using errcode = '22023', message = 'leasehold.job.' || v_said;
    end if;
  end loop;
end $$;
