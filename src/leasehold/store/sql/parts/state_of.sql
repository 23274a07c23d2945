-- state_of: the one word for where each job is. Jobs that are nowhere, and those whose key was taken, have no row.
create or replace function leasehold.state_of(p_jobs uuid[]) returns table (job_id uuid, state text)
language sql stable set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
  select b.id, coalesce(i.room, case h.begun when true then 'running' when false then 'assigned' end,
                        case a.outcome when 'poisoned' then 'failed' else a.outcome::text end, 'unknown')
    from leasehold.job_body b
    left join leasehold.in_room(p_jobs) i on i.job_id = b.id
    left join leasehold.held_by(p_jobs) h on h.job_id = b.id
    left join leasehold.last_attempt(p_jobs) a on a.job_id = b.id and a.ended
   where b.id = any(p_jobs) and b.duplicate_of is null $$;
