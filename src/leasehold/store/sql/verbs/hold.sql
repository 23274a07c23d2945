-- hold: ready, scheduled → waiting, until a person resumes it. Answers held, or the state in which it cannot be held.
create or replace function leasehold.hold(p_jobs uuid[], p_actor text, p_reason text default null)
returns table (job_id uuid, verdict text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_held uuid[];
begin
  with gone as materialized (
    select l.room, (l.entry).* from leasehold.leave_rooms(p_jobs, array['ready', 'scheduled']) l
  ), held as (
    insert into leasehold.waiting (since, job_id, priority, claim_no, moves, attempts, interrupted, reason, queue, run_at, note, deadline)
    select leasehold.now(), g.job_id, g.priority, g.claim_no, g.moves + 1, g.attempts, g.interrupted, 'held', g.queue,
           case g.room when 'scheduled' then g.due end, p_reason, j.deadline
      from gone g join leasehold.job_body j on j.id = g.job_id and j.id = any(p_jobs) order by g.job_id returning waiting.job_id
  )
  select coalesce(array_agg(h.job_id), '{}') into v_held from held h;
  insert into leasehold.audit (at, actor, verb, note, job_ids) values (leasehold.now(), p_actor, 'hold', p_reason, p_jobs);
  return query select x, 'held' from unnest(v_held) x
    union all select x, coalesce(s.state, 'not_found') from unnest(p_jobs) x left join leasehold.state_of(p_jobs) s on s.job_id = x where x <> all (v_held);
end $$;
