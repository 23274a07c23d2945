-- health_server: the server as an operator must know it: version, settings that lose or slow jobs, room for connections, and
-- whoever holds back the cleaning of dead rows, as one document.
create or replace function leasehold.health_server() returns table (document jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off as $$
  select jsonb_build_object(
    'version', current_setting('server_version_num')::int, 'clock', extract(epoch from clock_timestamp()), 'standby', pg_is_in_recovery(),
    'settings', (select jsonb_object_agg(s.name, s.setting) from pg_settings s where s.name in ('fsync', 'full_page_writes', 'synchronous_commit', 'track_counts',
       'autovacuum', 'max_connections', 'superuser_reserved_connections', 'idle_in_transaction_session_timeout', 'max_prepared_transactions')),
    'connections', (select count(*) from pg_stat_activity a where a.backend_type = 'client backend'),
    'idle', coalesce((select jsonb_agg(to_jsonb(x)) from (
       select a.pid, a.usename as role, a.application_name as program, extract(epoch from clock_timestamp() - a.xact_start) as seconds, left(a.query, 120) as query
         from pg_stat_activity a where a.datname = current_database() and a.state like 'idle in transaction%' and a.xact_start < clock_timestamp() - interval '1 minute'
        order by a.xact_start limit 20) x), '[]'),
    'pins', coalesce((select jsonb_agg(to_jsonb(x)) from (
       (select 'session' as kind, a.pid::text as name, a.usename as role, a.application_name as program,
               extract(epoch from clock_timestamp() - a.xact_start) as seconds, age(a.backend_xmin)::bigint as age, left(a.query, 120) as query
          from pg_stat_activity a where a.backend_xmin is not null and a.backend_type = 'client backend' and a.pid <> pg_backend_pid() order by a.xact_start limit 5)
       union all
       (select 'slot', s.slot_name, null, case when s.active then 'active' else 'inactive' end, null, greatest(age(s.xmin), age(s.catalog_xmin))::bigint, null
          from pg_replication_slots s where s.xmin is not null or s.catalog_xmin is not null order by 6 desc nulls last limit 5)
       union all
       (select 'prepared', p.gid, p.owner, p.database, extract(epoch from clock_timestamp() - p.prepared), age(p.transaction)::bigint, null
          from pg_prepared_xacts p order by p.prepared limit 5)
       union all
       (select 'standby', r.application_name, r.usename, host(r.client_addr), null, age(r.backend_xmin)::bigint, null
          from pg_stat_replication r where r.backend_xmin is not null order by 6 desc limit 5)) x), '[]'),
    'bloat', coalesce((select jsonb_agg(to_jsonb(x)) from (
       select s.relname as name, s.n_live_tup as live, s.n_dead_tup as dead, pg_relation_size(s.relid) as bytes from pg_stat_user_tables s
        where s.schemaname = 'leasehold' and s.n_dead_tup > 200000 and s.n_dead_tup > 4 * s.n_live_tup order by s.n_dead_tup desc limit 10) x), '[]')) $$;
