-- backlog: how many jobs sit in each room, by queue: exact up to p_exact, beyond that an estimate from a sample of the pages.
-- A queue's line is counted from its head and no further; nothing here reads a room of millions.
create or replace function leasehold.backlog(p_exact int) returns table (queue text, room text, jobs bigint, exact boolean, head timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  v_share float8;                                    -- of the pages, in percent, that a sample reads
begin
  v_share := least(100, 100.0 * 300 * 8192 / greatest((select sum(pg_relation_size(i.inhrelid)) from pg_inherits i where i.inhparent = 'leasehold.ready'::regclass), 1));
  return query
    with recursive line (queue, n) as (
      (select r.queue, 1 from leasehold.ready r order by r.queue limit 1)
      union all
      select x.queue, line.n + 1 from line cross join lateral (
        select r.queue from leasehold.ready r where r.queue > line.queue order by r.queue limit 1) x where line.n < 1000
    ), counted as materialized (
      select l.queue, (select count(*) from (select from leasehold.ready r where r.queue = l.queue limit p_exact + 1) c) as n,
             (select r.turn from leasehold.ready r where r.queue = l.queue order by r.priority, r.turn, r.job_id limit 1) as head
        from line l
    ), sampled as materialized (
      select r.queue, count(*) * 100 / v_share as n from leasehold.ready r tablesample system (v_share)
       where exists (select from counted c where c.n > p_exact) group by r.queue
    )
    select c.queue, 'ready', case when c.n <= p_exact then c.n else greatest(c.n, round(coalesce(s.n, 0))::bigint) end, c.n <= p_exact, c.head
      from counted c left join sampled s on s.queue = c.queue;

  v_share := least(100, 100.0 * 300 * 8192 / greatest(pg_relation_size('leasehold.scheduled'), 1));
  return query select s.queue, 'scheduled', round(count(*) * 100 / v_share)::bigint, v_share = 100, min(s.run_at)
    from leasehold.scheduled s tablesample system (v_share) group by s.queue;
  return query select s.queue, 'due', count(*), count(*) <= p_exact, min(s.run_at)
    from (select x.queue, x.run_at from leasehold.scheduled x where x.run_at <= leasehold.now() order by x.run_at limit p_exact) s group by s.queue;
  v_share := least(100, 100.0 * 300 * 8192 / greatest(pg_relation_size('leasehold.waiting'), 1));
  return query select w.queue, 'waiting', round(count(*) * 100 / v_share)::bigint, v_share = 100, min(w.since)
    from leasehold.waiting w tablesample system (v_share) group by w.queue;
  v_share := least(100, 100.0 * 300 * 8192 / greatest(pg_relation_size('leasehold.dispatched'), 1));
  return query select d.queue, 'dispatched', round(count(*) * 100 / v_share)::bigint, v_share = 100, min(d.dispatched_at)
    from leasehold.dispatched d tablesample system (v_share) group by d.queue;
  return query select r.queue, 'running', sum(r.held)::bigint, true, min(r.claimed_at) from leasehold.running r group by r.queue;
  v_share := least(100, 100.0 * 300 * 8192 / greatest(pg_relation_size('leasehold.dead'), 1));
  return query select d.queue, 'dead', round(count(*) * 100 / v_share)::bigint, v_share = 100, min(d.died_at)
    from leasehold.dead d tablesample system (v_share) group by d.queue;
end $$;
