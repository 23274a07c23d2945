-- id_floor: the lowest id that a job made at this time can have; the bounds of days and windows.
create or replace function leasehold.id_floor(p_at timestamptz) returns uuid
language sql stable parallel safe as $$
  select (lpad(to_hex((date_part('epoch', p_at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;
