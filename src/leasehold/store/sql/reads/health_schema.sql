-- health_schema: what is installed here: migrations, the text of every function, rights of PUBLIC, roles, days ahead and behind, as one document.
create or replace function leasehold.health_schema() returns table (document jsonb)
language sql stable security definer set search_path = pg_catalog, pg_temp set jit = off as $$
  with today as materialized (select (leasehold.now() at time zone 'UTC')::date as day)
  select jsonb_build_object(
    'migrations', (select coalesce(jsonb_agg(jsonb_build_object('number', m.number, 'name', m.name, 'digest', m.digest) order by m.number), '[]') from leasehold.migration m),
    'functions', (select coalesce(jsonb_object_agg(p.proname, p.prosrc), '{}') from pg_proc p where p.pronamespace = 'leasehold'::regnamespace),
    'public', coalesce((select jsonb_agg(distinct x.what) from (
       select 'schema leasehold' as what from pg_namespace n cross join lateral aclexplode(n.nspacl) a where n.nspname = 'leasehold' and a.grantee = 0
       union all
       select 'table ' || c.relname from pg_class c cross join lateral aclexplode(c.relacl) a where c.relnamespace = 'leasehold'::regnamespace and a.grantee = 0
       union all
       select 'function ' || p.proname from pg_proc p cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
        where p.pronamespace = 'leasehold'::regnamespace and a.grantee = 0 limit 20) x), '[]'),
    'roles', coalesce((select jsonb_agg(r.rolname) from pg_roles r
       where r.rolname in ('leasehold_producer', 'leasehold_runner', 'leasehold_operator', 'leasehold_reader')), '[]'),
    'ahead', (select min(x.n) from (select (select max(to_date(right(c.relname, 8), 'YYYYMMDD')) from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = p.parent and c.relname ~ '_\d{8}$') - t.day as n from today t, (values ('leasehold.job'::regclass), ('leasehold.attempt'::regclass)) p(parent)) x),
    'gap', (select min(d.day) from today t cross join lateral (select t.day + g as day from generate_series(0, 13) g) d
       where to_regclass('leasehold.job_' || to_char(d.day, 'YYYYMMDD')) is null or to_regclass('leasehold.attempt_' || to_char(d.day, 'YYYYMMDD')) is null),
    'behind', coalesce((select jsonb_agg(c.relname order by c.relname) from pg_class c cross join today t cross join leasehold.house h
       where c.relnamespace = 'leasehold'::regnamespace and c.relkind = 'r' and c.relname ~ '^(job|attempt)_\d{8}$'
         and to_date(right(c.relname, 8), 'YYYYMMDD') < t.day - (extract(epoch from h.keep) / 86400)::int - 2), '[]'),
    'segments', (select jsonb_agg(jsonb_build_object('number', s.number, 'sealed', s.sealed, 'open', (select last_value % 4 from leasehold.open_segment) = s.number,
       'bytes', pg_relation_size(('leasehold.ready_' || s.number)::regclass),
       'writers', (select coalesce(jsonb_agg(jsonb_build_object('pid', a.pid, 'role', a.usename, 'program', a.application_name,
          'seconds', extract(epoch from clock_timestamp() - a.xact_start))), '[]') from pg_locks l join pg_stat_activity a on a.pid = l.pid
          where l.locktype = 'advisory' and l.classid = 1279869254 and l.objid = s.number and l.objsubid = 2 and l.mode = 'ShareLock'
            and l.database = (select oid from pg_database where datname = current_database())
            and a.xact_start < clock_timestamp() - interval '1 minute')) order by s.number) from leasehold.segment s)) $$;
