-- cancel: waiting, ready, scheduled, dispatched → ended; for a running job a wish that travels to its runner.
-- Answers a row a job: cancelled, requested, ended, not_found. A job that moves while it is looked for is looked for again.
create or replace function leasehold.cancel(p_jobs uuid[], p_actor text, p_reason text default null)
returns table (job_id uuid, verdict text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  v_rest uuid[] := array(select distinct x from unnest(p_jobs) x order by x);
  v_left leasehold.entry[];
  v_held record;
  v_over uuid[];
begin
  for v_try in 1 .. 20 loop
    v_left := array(select l.entry from leasehold.leave_rooms(v_rest, array['ready', 'scheduled', 'waiting', 'dispatched']) l);
    perform leasehold.end_jobs(v_left, 'cancelled', jsonb_build_object('type', 'Cancelled', 'message', coalesce(p_reason, 'cancelled by ' || p_actor)));
    return query select e.job_id, 'cancelled' from unnest(v_left) e;
    v_rest := array(select x from unnest(v_rest) x where x not in (select e.job_id from unnest(v_left) e) order by x);
    -- A finish that holds the bundle goes first; what it left is looked at after its lock is ours.
    perform from leasehold.running r where r.job_ids && v_rest order by r.id for share;
    for v_held in select * from leasehold.held_by(v_rest) h order by h.job_id loop
      insert into leasehold.cancel_request (job_id, claim_no, runner, requested_at, reason)
      values (v_held.job_id, v_held.claim_no, v_held.runner, leasehold.now(), coalesce(p_reason, 'cancelled by ' || p_actor))
      on conflict on constraint cancel_request_pkey do update
        set claim_no = excluded.claim_no, runner = excluded.runner, requested_at = excluded.requested_at, reason = excluded.reason
        where cancel_request.claim_no <> excluded.claim_no; -- the wish of a run before is nobody's any more, the first of this one stands
      perform pg_notify('leasehold_runner_' || v_held.runner, 'cancel');
      job_id := v_held.job_id; verdict := 'requested';
      v_rest := array_remove(v_rest, v_held.job_id);
      return next;
    end loop;
    v_over := array(select a.job_id from leasehold.last_attempt(v_rest) a where a.ended);
    return query select x, 'ended' from unnest(v_over) x;
    v_rest := array(select x from unnest(v_rest) x where x <> all (v_over) order by x);
    return query select x, 'not_found' from unnest(v_rest) x where not exists (
      select from leasehold.job_body b where b.id = x and b.id = any(v_rest) and b.duplicate_of is null);
    v_rest := array(select b.id from leasehold.job_body b where b.id = any(v_rest) and b.duplicate_of is null order by b.id);
    exit when cardinality(v_rest) = 0;
  end loop;
  if cardinality(v_rest) > 0 then
    raise exception using errcode = '40001', message = format('cancel: job %s keeps moving; try again', v_rest[1]);
  end if;
  insert into leasehold.audit (at, actor, verb, note, job_ids) values (leasehold.now(), p_actor, 'cancel', p_reason, p_jobs);
end $$;
