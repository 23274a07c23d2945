-- held_by: who runs these jobs now. The live bundles are few; members with an attempt have ended.
create or replace function leasehold.held_by(p_jobs uuid[])
returns table (job_id uuid, claim_no int, bundle bigint, runner bigint, claimed_at timestamptz, begun boolean,
               queue text, priority int, turn timestamptz, moves int, attempts smallint, interrupted smallint)
language sql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
  select m.job_id, m.claim_no, r.id, r.runner, r.claimed_at, m.n <= r.begun or coalesce(m.job_id = any(u.begun), false),
         r.queue, m.priority, m.turn, m.moves, m.attempts, m.interrupted
    from leasehold.running r
    left join leasehold.runner u on u.id = r.runner
    cross join lateral unnest(r.job_ids, r.claim_nos, r.priorities, r.turns, r.moves, r.attempts, r.interrupted)
      with ordinality as m(job_id, claim_no, priority, turn, moves, attempts, interrupted, n)
   where r.job_ids && p_jobs and m.job_id = any(p_jobs)
     and not exists (select from leasehold.attempt_all a
                      where a.job_id = any(p_jobs) and a.job_id = m.job_id and a.claim_no = m.claim_no) $$;
