-- settle: members of bundles whose row locks the caller holds leave running, each by its outcome:
--   succeeded, cancelled, expired        an attempt, and the job has ended
--   failed, poisoned                     an attempt, and the job is in dead
--   retried, interrupted, sent_on        an attempt, and the job goes on: ready, or scheduled when due later
--   snoozed, released                    no attempt; the same ways on
-- Somebody's wish that the job stop overrules going on. Answers with those that were held; the rest had left before.
create or replace function leasehold.settle(p_runner bigint, p_bundles bigint[], p_endings jsonb)
returns table (job_id uuid, claim_no int)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  v_now  timestamptz := leasehold.now();
  v_jobs uuid[] := array(select (e ->> 'job')::uuid from jsonb_array_elements(p_endings) e);
  v_mine record;
begin
  with told as materialized (
    -- Of a run that is told twice in one call the first telling counts.
    select distinct on (t.job, t.claim) *
      from rows from (jsonb_to_recordset(p_endings) as (job uuid, claim int, outcome text, run_ms int, error jsonb, result jsonb, delay float8,
             run_at timestamptz, queue text, priority int, state jsonb, metadata jsonb, keeps text[])) with ordinality
           as t(job, claim, outcome, run_ms, error, result, delay, run_at, queue, priority, state, metadata, keeps, n)
     order by t.job, t.claim, t.n
  ), held as materialized (
    select r.id as bundle, r.claimed_at, r.queue, m.*
      from leasehold.running r cross join lateral unnest(r.job_ids, r.claim_nos, r.priorities, r.turns, r.moves, r.attempts, r.interrupted)
           as m(job_id, claim_no, priority, turn, moves, attempts, interrupted)
     where r.id = any(p_bundles) and r.runner + 0 = p_runner and m.job_id = any(v_jobs)
       and not exists (select from leasehold.attempt_all a where a.job_id = any(v_jobs) and a.job_id = m.job_id and a.claim_no = m.claim_no)
  ), mine as materialized (
    select h.bundle, h.claimed_at, t.run_ms, t.error, t.result, w.reason as wish,
           case when w.job_id is not null and t.outcome in ('retried', 'interrupted', 'sent_on', 'snoozed', 'released') then 'cancelled' else t.outcome end as outcome,
           (h.job_id, coalesce(t.queue, h.queue), coalesce(t.priority, h.priority),
            -- Its old turn, but a clock that was set back makes nobody wait.
            case when t.outcome = 'released' and t.delay is null then least(h.turn, v_now) else coalesce(t.run_at, v_now + make_interval(secs => coalesce(t.delay, 0))) end,
            h.claim_no, h.moves + 1, h.attempts + (t.outcome in ('retried', 'failed'))::int, h.interrupted + (t.outcome in ('interrupted', 'poisoned'))::int
           )::leasehold.entry as entry
      from told t join held h on h.job_id = t.job and h.claim_no = t.claim
      left join leasehold.cancel_request w on w.job_id = h.job_id and w.claim_no = h.claim_no
  ), saved as (
    -- keeps names what the run said about its state or metadata; null there takes it away.
    insert into leasehold.checkpoint as c (job_id, updated_at, data, metadata)
    select t.job, v_now, t.state, t.metadata from told t join mine m on (m.entry).job_id = t.job where t.keeps is not null order by t.job
    on conflict on constraint checkpoint_pkey do update set updated_at = excluded.updated_at,
       data = case when (select 'state' = any(t.keeps) from told t where t.job = c.job_id) then excluded.data else c.data end,
       metadata = case when (select 'metadata' = any(t.keeps) from told t where t.job = c.job_id) then excluded.metadata else c.metadata end
  ), gone as (
    delete from leasehold.cancel_request w using mine m where w.job_id = (m.entry).job_id
  ), later as (
    insert into leasehold.scheduled (run_at, job_id, priority, claim_no, moves, attempts, interrupted, queue, deadline)
    select (m.entry).due, (m.entry).job_id, (m.entry).priority, (m.entry).claim_no, (m.entry).moves, (m.entry).attempts, (m.entry).interrupted,
           (m.entry).queue, j.deadline
      from mine m join leasehold.job_body j on j.id = (m.entry).job_id and j.id = any(v_jobs)
     where m.outcome in ('retried', 'interrupted', 'sent_on', 'snoozed', 'released') and (m.entry).due > v_now order by j.id
  ), buried as (
    insert into leasehold.dead (died_at, enqueued_at, job_id, priority, claim_no, moves, attempts, interrupted, reason, queue, task, payload, error,
                                deadline, timeout, max_attempts, name, key, tenant, "group", tags, headers)
    select v_now, j.enqueued_at, j.id, (m.entry).priority, (m.entry).claim_no, (m.entry).moves, (m.entry).attempts, (m.entry).interrupted,
           case m.outcome when 'poisoned' then 'poison' else 'failed' end, (m.entry).queue, j.task, j.payload, m.error,
           j.deadline, j.timeout, j.max_attempts, j.name, j.key, j.tenant, j."group", j.tags, j.headers
      from mine m join leasehold.job_body j on j.id = (m.entry).job_id and j.id = any(v_jobs)
     where m.outcome in ('failed', 'poisoned') order by j.id
  )
  select coalesce(array_agg((m.entry).job_id), '{}') as jobs, coalesce(array_agg((m.entry).claim_no), '{}') as claims,
         coalesce(array_agg(m.bundle), '{}') as bundles,
         coalesce(array_agg(((m.entry).job_id, m.claimed_at, v_now, p_runner, (m.entry).claim_no, m.run_ms, m.outcome,
                             case when m.outcome = 'cancelled' then coalesce(m.error, jsonb_build_object('type', 'Cancelled', 'message', m.wish)) else m.error end,
                             m.result)::leasehold.attempt_kept) filter (where m.outcome not in ('snoozed', 'released')), '{}') as attempts,
         coalesce(array_agg((m.entry).job_id) filter (where m.outcome in ('snoozed', 'released')), '{}') as struck,
         coalesce(array_agg((m.entry).job_id) filter (where m.outcome in ('succeeded', 'failed', 'cancelled', 'expired', 'poisoned')), '{}') as ended,
         coalesce(array_agg(m.entry) filter (where m.outcome in ('retried', 'interrupted', 'sent_on', 'snoozed', 'released')
                                               and (m.entry).due <= v_now), '{}') as ready
    into v_mine from mine m;
  perform leasehold.write_attempts(v_mine.attempts);
  perform leasehold.shrink(array_agg(b.id), array_agg(b.n::int), v_mine.struck)
     from (select x.id, count(*) as n from unnest(v_mine.bundles) as x(id) group by x.id order by x.id) b;
  perform leasehold.enter_ready(v_mine.ready);
  perform leasehold.tell(v_mine.ended);
  return query select * from unnest(v_mine.jobs, v_mine.claims);
end $$;
