-- claim: ready → running. Up to p_limit jobs from the runner's queues, tasks it knows only, each queue in order of priority,
-- turn and id across the segments. p_begin says how many of them the runner begins at once.
-- The last row carries no job but marks: {segment: {generation, queues: {queue: [priority, turn, id]}}}. In a sealed segment
-- nothing enters, so all up to the mark is gone and need not be walked again when the next claim brings them along. They are
-- a hint for speed: a claim that finds nothing behind its marks looks from the true head.
-- enable_sort and the rest are off because the index has the order already, whatever the statistics say; the plans are generic
-- because making one anew for each claim cost six times what running it did.
create or replace function leasehold.claim(p_runner bigint, p_queues text[], p_tasks text[], p_limit int, p_begin int, p_marks jsonb default null)
returns table (bundle bigint, job_id uuid, claim_no int, queue text, task text, payload jsonb, attempts smallint, interrupted smallint,
               priority int, turn timestamptz, deadline timestamptz, timeout real, max_attempts smallint, tenant text, headers jsonb, marks jsonb)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_left   int := p_limit;
  v_begin  int := p_begin;
  v_full   int[];       -- the segments that may have rows
  v_sealed bigint[];    -- the generation of each, null where rows can enter
  v_queue  text;
  v_marked boolean;
  v_marks  jsonb := '{}';
  v_low_p  int[];       -- where reading begins in each
  v_low_t  timestamptz[];
  v_low_j  uuid[];
  v_heads  record;
  v_seg    int;         -- which one is read, and how far
  v_to_p   int;
  v_to_t   timestamptz;
  v_to_j   uuid;
  v_more   boolean;     -- another one's head stands there
  v_taken  record;
  v_bundle bigint;
begin
  perform leasehold.with_lease(p_runner, p_queues);
  -- The sequence decides which one is open: a rotation that has not committed may have opened it, and a job may be in it.
  select array_agg(s.number) filter (where not s.empty or s.number = o.last_value % 4),
         array_agg(case when s.sealed and s.number <> o.last_value % 4 then s.generation end order by s.number)
    into v_full, v_sealed from leasehold.segment s cross join leasehold.open_segment o;

  foreach v_queue in array p_queues loop
    exit when v_left <= 0;
    v_marked := p_marks is not null;
    <<from_marks>>
    loop
      v_low_p := '{-2147483648,-2147483648,-2147483648}';
      v_low_t := '{-infinity,-infinity,-infinity}';
      v_low_j := '{00000000-0000-0000-0000-000000000000,00000000-0000-0000-0000-000000000000,00000000-0000-0000-0000-000000000000}';
      if v_marked then
        select array_agg(coalesce((m.at ->> 0)::int, v_low_p[s.n + 1]) order by s.n), array_agg(coalesce((m.at ->> 1)::timestamptz, v_low_t[s.n + 1]) order by s.n),
               array_agg(coalesce((m.at ->> 2)::uuid, v_low_j[s.n + 1]) order by s.n), coalesce(bool_or(m.at is not null), false)
          into v_low_p, v_low_t, v_low_j, v_marked
          from generate_series(0, 2) as s(n)
          left join lateral (select p_marks -> s.n::text -> 'queues' -> v_queue as at
                              where (p_marks -> s.n::text ->> 'generation')::bigint = v_sealed[s.n + 1]) m on true;
      end if;
      loop
        v_seg := v_full[1]; v_more := false; v_to_p := 2147483647; v_to_t := 'infinity'; v_to_j := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
        if cardinality(v_full) > 1 then
          -- The segment with the least head is read up to where the next one's head stands.
          select coalesce(array_agg(h.n), '{}') as n, array_agg(h.priority) as priority, array_agg(h.turn) as turn, array_agg(h.job_id) as job_id
            into v_heads
            from (select s.n, x.* from unnest(v_full) as s(n) cross join lateral (
                    select r.priority, r.turn, r.job_id from leasehold.ready r
                     where r.segment = s.n and r.queue = v_queue and (r.priority, r.turn, r.job_id) >= (v_low_p[s.n + 1], v_low_t[s.n + 1], v_low_j[s.n + 1])
                       and (p_tasks is null or r.task = any(p_tasks))
                     order by r.priority, r.turn, r.job_id limit 1) x
                   order by x.priority, x.turn, x.job_id limit 2) h;
          exit when cardinality(v_heads.n) = 0;
          v_seg := v_heads.n[1]; v_more := cardinality(v_heads.n) > 1;
          if v_more then
            v_to_p := v_heads.priority[2]; v_to_t := v_heads.turn[2]; v_to_j := v_heads.job_id[2];
          end if;
        end if;
        select array_agg(x.ctid) as at, count(*)::int as n, (array_agg(x.priority))[count(*)] as priority, (array_agg(x.turn))[count(*)] as turn,
               (array_agg(x.job_id))[count(*)] as job_id
          into v_taken
          from (select r.ctid, r.priority, r.turn, r.job_id from leasehold.ready r
                 where r.segment = v_seg and r.queue = v_queue
                   and (r.priority, r.turn, r.job_id) >= (v_low_p[v_seg + 1], v_low_t[v_seg + 1], v_low_j[v_seg + 1])
                   and (r.priority, r.turn, r.job_id) <= (v_to_p, v_to_t, v_to_j)
                   and (p_tasks is null or r.task = any(p_tasks))
                 order by r.priority, r.turn, r.job_id limit v_left for update skip locked) x;
        if v_taken.n > 0 then
          v_bundle := nextval('leasehold.running_id_seq');
          return query
            with gone as materialized (
              delete from leasehold.ready r where r.segment = v_seg and r.ctid = any(v_taken.at) returning r.*
            ), mine as materialized (
              select * from gone g order by g.priority, g.turn, g.job_id
            ), held as (
              insert into leasehold.running (id, runner, claimed_at, held, begun, queue, job_ids, claim_nos, turns, priorities, moves, attempts, interrupted)
              overriding system value
              select v_bundle, p_runner, leasehold.now(), count(*), least(count(*), v_begin), v_queue, array_agg(m.job_id), array_agg(m.claim_no + 1),
                     array_agg(m.turn), array_agg(m.priority), array_agg(m.moves), array_agg(m.attempts), array_agg(m.interrupted) from mine m
            )
            select v_bundle, m.job_id, m.claim_no + 1, m.queue, m.task, m.payload, m.attempts, m.interrupted, m.priority, m.turn,
                   m.deadline, m.timeout, m.max_attempts, m.tenant, m.headers, null::jsonb from mine m;
          v_left := v_left - v_taken.n;
          v_begin := greatest(v_begin - v_taken.n, 0);
          v_low_p[v_seg + 1] := v_taken.priority; v_low_t[v_seg + 1] := v_taken.turn; v_low_j[v_seg + 1] := v_taken.job_id;
          if v_sealed[v_seg + 1] is not null then
            v_marks := jsonb_set(v_marks, array[v_seg::text], jsonb_build_object('generation', v_sealed[v_seg + 1], 'queues',
              coalesce(v_marks -> v_seg::text -> 'queues', '{}') || jsonb_build_object(v_queue, jsonb_build_array(v_taken.priority, v_taken.turn, v_taken.job_id))));
          end if;
          exit from_marks when v_left <= 0;
        end if;
        -- Nothing more of this segment goes before the next one's head: the rest there is somebody else's.
        exit when not v_more;
        v_low_p[v_seg + 1] := v_to_p; v_low_t[v_seg + 1] := v_to_t; v_low_j[v_seg + 1] := v_to_j;
      end loop;
      exit from_marks when not v_marked;
      v_marked := false;
    end loop;
  end loop;
  if v_left < p_limit and v_marks <> '{}' then
    return query select null::bigint, null::uuid, null::int, null::text, null::text, null::jsonb, null::smallint, null::smallint, null::int,
      null::timestamptz, null::timestamptz, null::real, null::smallint, null::text, null::jsonb, v_marks;
  end if;
end $$;
