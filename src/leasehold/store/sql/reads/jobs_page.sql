-- jobs_page: one page of jobs, newest first, by state, queue, task, tenant, group, key, name, tag, error, since, until (jsonb texts).
-- A state is read from its room, anything else from job by the narrowest index; at most p_scan candidates are looked at in one call.
-- Each row carries the cursor for what comes after it; a last row without a job says that the look ended before the page was full.
create or replace function leasehold.jobs_page(p_filter jsonb, p_limit int, p_scan int, p_after text default null)
returns table (job_id uuid, state text, task text, queue text, priority int, tenant text, key text, name text, attempts int, progress real,
               error jsonb, enqueued_at timestamptz, at timestamptz, cursor text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  f_state text := p_filter ->> 'state';
  f_queue text := p_filter ->> 'queue';
  f_task  text := p_filter ->> 'task';
  f_error text := p_filter ->> 'error';
  v_since timestamptz := coalesce((p_filter ->> 'since')::timestamptz, '-infinity');
  v_until timestamptz := coalesce((p_filter ->> 'until')::timestamptz, 'infinity');
  v_low   uuid := '00000000-0000-0000-0000-000000000000';
  v_high  uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  v_at    timestamptz := 'infinity';                 -- the cursor: nothing at or past it
  v_jobs  uuid[];
  v_ats   timestamptz[];
  v_keep  uuid[];                                    -- of the candidates, those in the state; null is all
  v_page  uuid[];
  v_scan  int := case when p_filter - array['state', 'queue'] = '{}' and case when p_filter ? 'queue' then p_filter ->> 'state' in ('ready', 'failed')
                        else coalesce(p_filter ->> 'state', 'ready') in ('ready', 'scheduled', 'waiting', 'dispatched', 'failed') end
                      then p_limit else p_scan end;      -- nothing to sort out: a page is a page
begin
  if p_after is not null then
    v_at := split_part(p_after, '/', 1)::timestamptz;
    v_high := split_part(p_after, '/', 2)::uuid;
  end if;
  if isfinite(v_since) then
    v_low := leasehold.id_floor(v_since);
  end if;
  if f_state is null and f_error is not null then
    f_state := 'failed';
  end if;

  if f_state = 'failed' then
    select array_agg(x.job_id order by x.died_at desc, x.job_id desc), array_agg(x.died_at order by x.died_at desc, x.job_id desc) into v_jobs, v_ats from (
      select d.job_id, d.died_at from leasehold.dead d
       where (d.died_at, d.job_id) < (v_at, v_high) and d.died_at >= v_since and (f_queue is null or d.queue = f_queue) and (f_task is null or d.task = f_task)
       order by d.died_at desc, d.job_id desc limit v_scan) x;
  elsif f_state in ('running', 'assigned') then
    select array_agg(x.job_id order by x.claimed_at desc, x.job_id desc), array_agg(x.claimed_at order by x.claimed_at desc, x.job_id desc) into v_jobs, v_ats from (
      select m.job_id, r.claimed_at from leasehold.running r cross join lateral unnest(r.job_ids, r.claim_nos) as m(job_id, claim_no)
       where (r.claimed_at, m.job_id) < (v_at, v_high) and (f_queue is null or r.queue = f_queue)
         and not exists (select from leasehold.attempt_all a where a.job_id = m.job_id and a.claim_no = m.claim_no)
       order by r.claimed_at desc, m.job_id desc limit v_scan) x;
  elsif f_state = 'ready' then
    with recursive line (queue, priority, n) as (
      (select r.queue, r.priority, 1 from leasehold.ready r where f_queue is null or r.queue = f_queue order by 1, 2 limit 1)
      union all
      select x.queue, x.priority, line.n + 1 from line cross join lateral (
        select r.queue, r.priority from leasehold.ready r where (r.queue, r.priority) > (line.queue, line.priority) and (f_queue is null or r.queue = f_queue)
         order by 1, 2 limit 1) x where line.n < 1000
    ), newest as (
      select y.* from line cross join lateral (
        select r.job_id, r.turn from leasehold.ready r where r.queue = line.queue and r.priority = line.priority and (r.turn, r.job_id) < (v_at, v_high)
         order by r.turn desc, r.job_id desc limit v_scan) y
       order by y.turn desc, y.job_id desc limit v_scan
    )
    select array_agg(n.job_id order by n.turn desc, n.job_id desc), array_agg(n.turn order by n.turn desc, n.job_id desc) into v_jobs, v_ats from newest n;
  elsif f_state = 'scheduled' then
    v_jobs := array(select s.job_id from leasehold.scheduled s where s.job_id < v_high and s.job_id >= v_low order by s.job_id desc limit v_scan);
  elsif f_state = 'waiting' then
    v_jobs := array(select w.job_id from leasehold.waiting w where w.job_id < v_high and w.job_id >= v_low order by w.job_id desc limit v_scan);
  elsif f_state = 'dispatched' then
    v_jobs := array(select d.job_id from leasehold.dispatched d where d.job_id < v_high and d.job_id >= v_low order by d.job_id desc limit v_scan);
  elsif p_filter ? 'name' then
    v_jobs := array(select b.id from leasehold.job_body b where b.name = p_filter ->> 'name' and b.id < v_high order by b.id desc limit v_scan);
  elsif p_filter ? 'key' then
    v_jobs := array(select x.id from (
      select l.job_id as id from leasehold.locate(array[p_filter ->> 'key']) l
      union select b.id from (select j.id, j.key from leasehold.job_body j where j.id < v_high order by j.id desc limit v_scan) b where b.key = p_filter ->> 'key') x
     where x.id < v_high order by x.id desc);
  elsif p_filter ? 'tenant' then
    v_jobs := array(select b.id from leasehold.job_body b where b.tenant = p_filter ->> 'tenant' and b.id < v_high and b.id >= v_low order by b.id desc limit v_scan);
  elsif p_filter ? 'group' then
    v_jobs := array(select b.id from leasehold.job_body b where b."group" = p_filter ->> 'group' and b.id < v_high and b.id >= v_low order by b.id desc limit v_scan);
  else
    v_jobs := array(select b.id from leasehold.job_body b where b.id < v_high and b.id >= v_low order by b.id desc limit v_scan);
  end if;

  if f_state in ('running', 'assigned') then
    v_keep := array(select s.job_id from leasehold.state_of(v_jobs) s where s.state = f_state);
  elsif f_state in ('succeeded', 'cancelled', 'expired') then
    v_keep := array(select l.job_id from leasehold.last_attempt(v_jobs) l where l.outcome::text = f_state);
  elsif f_state in ('scheduled', 'waiting', 'dispatched') and f_queue is not null then
    v_keep := array(select i.job_id from leasehold.in_room(v_jobs) i where (i.entry).queue = f_queue);
  end if;
  v_page := array(
    select b.id from unnest(v_jobs) with ordinality as c(id, n) join leasehold.job_body b on b.id = c.id and b.id = any(v_jobs)
     where b.duplicate_of is null and b.enqueued_at >= v_since and b.enqueued_at < v_until and (v_keep is null or b.id = any(v_keep))
       and (f_queue is null or f_state in ('scheduled', 'waiting', 'dispatched', 'failed', 'running', 'assigned', 'ready') or b.queue = f_queue)
       and (f_task is null or b.task = f_task) and (not p_filter ? 'tenant' or b.tenant = p_filter ->> 'tenant')
       and (not p_filter ? 'group' or b."group" = p_filter ->> 'group') and (not p_filter ? 'key' or b.key = p_filter ->> 'key')
       and (not p_filter ? 'name' or b.name = p_filter ->> 'name') and (not p_filter ? 'tag' or p_filter ->> 'tag' = any(b.tags))
       and (f_error is null or exists (select from leasehold.attempt_all a where a.job_id = b.id and a.error ->> 'type' = f_error))
     order by c.n limit p_limit);

  return query
    select b.id, coalesce(s.state, 'unknown'), b.task, coalesce((i.entry).queue, h.queue, b.queue), coalesce((i.entry).priority, h.priority, b.priority),
           b.tenant, b.key, b.name,
           (select count(*) from leasehold.attempt_all a where a.job_id = b.id and a.outcome in ('succeeded', 'failed', 'retried', 'interrupted', 'poisoned', 'sent_on'))::int,
           c.progress, e.error, b.enqueued_at,
           coalesce(case s.state when 'scheduled' then (i.entry).due when 'ready' then (i.entry).due end, h.claimed_at, l.ended_at, b.enqueued_at),
           coalesce((v_ats[array_position(v_jobs, b.id)])::text, 'infinity') || '/' || b.id
      from unnest(v_page) with ordinality as p(id, n)
      join leasehold.job_body b on b.id = p.id and b.id = any(v_page)
      left join leasehold.state_of(v_page) s on s.job_id = b.id
      left join leasehold.in_room(v_page) i on i.job_id = b.id
      left join leasehold.held_by(v_page) h on h.job_id = b.id
      left join leasehold.last_attempt(v_page) l on l.job_id = b.id and l.ended
      left join leasehold.checkpoint c on c.job_id = b.id
      left join lateral (select a.error - 'trace' as error from leasehold.attempt_all a where a.job_id = b.id and a.error is not null order by a.claim_no desc limit 1) e on true
     order by p.n;
  if cardinality(v_page) < p_limit and cardinality(v_jobs) >= v_scan then
    cursor := coalesce((v_ats[cardinality(v_ats)])::text, 'infinity') || '/' || v_jobs[cardinality(v_jobs)];
    return next;
  end if;
end $$;
