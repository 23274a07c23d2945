-- take: dispatched → running. A runner that got ids from a transport makes them its own; a stale or second message takes nothing.
create or replace function leasehold.take(p_runner bigint, p_jobs uuid[], p_dispatch_nos bigint[])
returns table (bundle bigint, job_id uuid, claim_no int, queue text, task text, payload jsonb, attempts smallint, interrupted smallint,
               priority int, turn timestamptz, deadline timestamptz, timeout real, max_attempts smallint, tenant text, headers jsonb)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
begin
  perform leasehold.with_lease(p_runner, array(select distinct d.queue from leasehold.dispatched d where d.job_id = any(p_jobs)));
  return query
    with due as materialized (
      select d.job_id from unnest(p_jobs, p_dispatch_nos) as m(job_id, dispatch_no)
        join leasehold.dispatched d on d.job_id = m.job_id and d.dispatch_no = m.dispatch_no order by d.job_id for update of d skip locked
    ), gone as materialized (
      delete from leasehold.dispatched d using due where d.job_id = due.job_id returning d.*
    ), held as (
      insert into leasehold.running (runner, claimed_at, held, begun, queue, job_ids, claim_nos, turns, priorities, moves, attempts, interrupted)
      select p_runner, leasehold.now(), count(*), count(*), g.queue, array_agg(g.job_id), array_agg(g.claim_no + 1), array_agg(g.turn), array_agg(g.priority),
             array_agg(g.moves), array_agg(g.attempts), array_agg(g.interrupted) from gone g group by g.queue
      returning running.id, running.queue
    )
    select h.id, g.job_id, g.claim_no + 1, g.queue, j.task, j.payload, g.attempts, g.interrupted, g.priority, g.turn, j.deadline, j.timeout,
           j.max_attempts, j.tenant, j.headers
      from gone g join held h on h.queue = g.queue join leasehold.job_body j on j.id = g.job_id and j.id = any(p_jobs)
     order by g.priority, g.turn, g.job_id;
end $$;
