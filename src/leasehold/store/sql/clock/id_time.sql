-- id_time: when a job with this id was made, to the millisecond.
create or replace function leasehold.id_time(p_id uuid) returns timestamptz
language sql immutable parallel safe as $$
  select to_timestamp(('x' || left(replace(p_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0) $$;
