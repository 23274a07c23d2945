-- standing: how jobs stand, for whoever has their ids: state, who holds them, what came of them. Absent ones have no row.
-- A job whose key was taken stands where the holder of the key stands.
create or replace function leasehold.standing(p_jobs uuid[])
returns table (asked uuid, job_id uuid, state text, task text, queue text, attempts int, progress real, note text, result jsonb, error jsonb,
               enqueued_at timestamptz, started_at timestamptz, ended_at timestamptz, runner bigint, due timestamptz, reason text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  v_asked uuid[];
  v_ids   uuid[];
begin
  -- The ids stand in the plan as constants: only the days they belong to are opened.
  select array_agg(b.id), array_agg(coalesce(b.duplicate_of, b.id)) into v_asked, v_ids from leasehold.job_body b where b.id = any(p_jobs);
  return query
    with history as materialized (
      select a.* from leasehold.attempt_all a where a.job_id = any(v_ids)
    ), last as (
      select distinct on (h.job_id) h.* from history h order by h.job_id, h.claim_no desc
    ), told as (
      select h.job_id, count(*) filter (where h.outcome in ('succeeded', 'failed', 'retried'))::int as runs,
             (array_agg(h.error order by h.claim_no desc) filter (where h.error is not null))[1] as error from history h group by h.job_id
    )
    select w.asked, b.id,
           coalesce(i.room, case h.begun when true then 'running' when false then 'assigned' end,
                    case l.outcome when 'poisoned' then 'failed' else l.outcome::text end, 'unknown'),
           b.task, coalesce((i.entry).queue, h.queue, b.queue), coalesce(t.runs, 0) + coalesce(h.begun, false)::int, case when l.outcome = 'succeeded' then 100 else c.progress end, c.note,
           l.result, case when l.outcome = 'succeeded' and i.room is null and h.job_id is null then l.error else t.error end, b.enqueued_at, coalesce(h.claimed_at, l.claimed_at), case when l.outcome <= 'poisoned' then l.ended_at end,
           h.runner, (i.entry).due, coalesce(i.note, i.reason)
      from unnest(v_asked, v_ids) as w(asked, id)
      join leasehold.job_body b on b.id = w.id and b.id = any(v_ids)
      left join leasehold.in_room(v_ids) i on i.job_id = b.id
      left join leasehold.held_by(v_ids) h on h.job_id = b.id
      left join leasehold.checkpoint c on c.job_id = b.id
      left join last l on l.job_id = b.id
      left join told t on t.job_id = b.id;
end $$;
