-- refusals: why these ends were not written: 'already' when this very claim has its attempt from this runner, else 'lost'.
create or replace function leasehold.refusals(p_runner bigint, p_jobs uuid[], p_claims int[]) returns table (job_id uuid, claim_no int, verdict text)
language sql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
  select o.job_id, o.claim_no, case when a.runner = p_runner and a.outcome not in ('interrupted', 'poisoned') then 'already' else 'lost' end
    from unnest(p_jobs, p_claims) as o(job_id, claim_no)
    left join leasehold.attempt_all a on a.job_id = any(p_jobs) and a.job_id = o.job_id and a.claim_no = o.claim_no $$;
