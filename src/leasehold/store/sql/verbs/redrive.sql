-- redrive: dead → ready for up to p_limit jobs, oldest first, chosen by queue, task, tenant, error class and time of death.
-- The caller comes back while it gets rows.
create or replace function leasehold.redrive(p_filter jsonb, p_limit int, p_actor text, p_reason text default null, p_queue text default null, p_priority int default null)
returns table (job_id uuid, verdict text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  v_jobs uuid[];
begin
  perform pg_advisory_xact_lock_shared(1279869254, 6); -- before the rows, as purge does
  select coalesce(array_agg(x.job_id order by x.job_id), '{}') into v_jobs from (
    select d.job_id from leasehold.dead d
     where (p_filter ->> 'queue' is null or d.queue = p_filter ->> 'queue') and (p_filter ->> 'task' is null or d.task = p_filter ->> 'task')
       and (p_filter ->> 'tenant' is null or d.tenant = p_filter ->> 'tenant') and (p_filter ->> 'error' is null or d.error ->> 'type' = p_filter ->> 'error')
       and (p_filter ->> 'reason' is null or d.reason = p_filter ->> 'reason')
       and d.died_at >= coalesce((p_filter ->> 'since')::timestamptz, '-infinity') and d.died_at < coalesce((p_filter ->> 'until')::timestamptz, 'infinity')
     order by d.died_at, d.job_id limit p_limit for update skip locked) x;
  return query select * from leasehold.retry(v_jobs, p_actor, coalesce(p_reason, 'redriven by ' || p_actor), p_queue, p_priority);
end $$;
