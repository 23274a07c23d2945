-- hold: ready, scheduled → waiting, until a person resumes it. Answers held, or the state in which it cannot be held.
-- A job that moves while it is looked for is looked for again.
create or replace function leasehold.hold(p_jobs uuid[], p_actor text, p_reason text default null)
returns table (job_id uuid, verdict text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  v_rest   uuid[] := p_jobs;
  v_held   uuid[] := '{}';
  v_more   uuid[];
  v_states text[];
begin
  for v_try in 1 .. 20 loop
    with gone as materialized (
      select l.room, (l.entry).* from leasehold.leave_rooms(v_rest, array['ready', 'scheduled']) l
    ), held as (
      insert into leasehold.waiting (since, job_id, priority, claim_no, moves, attempts, interrupted, reason, queue, run_at, note, deadline)
      select leasehold.now(), g.job_id, g.priority, g.claim_no, g.moves + 1, g.attempts, g.interrupted, 'held', g.queue,
             case g.room when 'scheduled' then g.due end, p_reason, j.deadline
        from gone g join leasehold.job_body j on j.id = g.job_id and j.id = any(v_rest) order by g.job_id returning waiting.job_id
    )
    select coalesce(array_agg(h.job_id), '{}') into v_more from held h;
    v_held := v_held || v_more;
    v_rest := array(select x from unnest(v_rest) x where x <> all (v_more));
    v_states := array(select coalesce(s.state, 'not_found') from unnest(v_rest) with ordinality as r(x, n)
                        left join leasehold.state_of(v_rest) s on s.job_id = r.x order by r.n);
    exit when not v_states && array['ready', 'scheduled'];
  end loop;
  insert into leasehold.audit (at, actor, verb, note, job_ids) values (leasehold.now(), p_actor, 'hold', p_reason, p_jobs);
  return query select x, 'held' from unnest(v_held) x union all select * from unnest(v_rest, v_states);
end $$;
