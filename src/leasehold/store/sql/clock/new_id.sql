-- new_id: a UUIDv7 made from database time. Its eight bits after the variant's octet carry the shard (00: the only one).
-- One expression, so that a multi-row INSERT pays a few hundred nanoseconds a row and no function call.
create or replace function leasehold.new_id() returns uuid
language sql volatile parallel safe as $$
  select pg_catalog.encode(pg_catalog.overlay(pg_catalog.set_bit(pg_catalog.set_bit(
           pg_catalog.overlay(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()),
             pg_catalog.substring(pg_catalog.int8send((pg_catalog.date_part('epoch', leasehold.now()) * 1000)::bigint), 3), 1, 6),
           52, 1), 53, 1), '\x00'::bytea, 10, 1), 'hex')::uuid $$;
