-- last_attempt: the newest line of each job's history, and whether it says that the job has ended.
create or replace function leasehold.last_attempt(p_jobs uuid[])
returns table (job_id uuid, claim_no int, outcome leasehold.outcome, ended boolean, runner bigint, ended_at timestamptz)
language sql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
  select distinct on (a.job_id) a.job_id, a.claim_no, a.outcome, a.outcome <= 'poisoned', a.runner, a.ended_at
    from leasehold.attempt_all a where a.job_id = any(p_jobs)
   order by a.job_id, a.claim_no desc $$;
