-- shrink: so many members have left these bundles; those struck left without a line of history and go from the lists.
-- The caller holds the bundles' row locks. A bundle that holds nobody is gone.
create or replace function leasehold.shrink(p_bundles bigint[], p_left int[], p_struck uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set enable_nestloop = on set enable_seqscan = off set enable_hashjoin = off
set plan_cache_mode = force_generic_plan as $$
begin
  delete from leasehold.running r using unnest(p_bundles, p_left) as l(id, n) where r.id = l.id and r.held <= l.n;
  if cardinality(p_struck) = 0 then
    update leasehold.running r set held = r.held - l.n from unnest(p_bundles, p_left) as l(id, n) where r.id = l.id;
  else
    update leasehold.running r set held = r.held - l.n, begun = k.begun, job_ids = k.job_ids, claim_nos = k.claim_nos, turns = k.turns,
           priorities = k.priorities, moves = k.moves, attempts = k.attempts, interrupted = k.interrupted
      from unnest(p_bundles, p_left) as l(id, n) cross join lateral (
        select count(*) filter (where m.n <= o.begun) as begun, array_agg(m.job_id order by m.n) as job_ids, array_agg(m.claim_no order by m.n) as claim_nos,
               array_agg(m.turn order by m.n) as turns, array_agg(m.priority order by m.n) as priorities, array_agg(m.moves order by m.n) as moves,
               array_agg(m.attempts order by m.n) as attempts, array_agg(m.interrupted order by m.n) as interrupted
          from leasehold.running o
          cross join lateral unnest(o.job_ids, o.claim_nos, o.priorities, o.turns, o.moves, o.attempts, o.interrupted)
            with ordinality as m(job_id, claim_no, priority, turn, moves, attempts, interrupted, n)
         where o.id = l.id and m.job_id <> all (p_struck)) k
     where r.id = l.id;
  end if;
end $$;
