-- reap: running or dispatched, holder lost → ready, or dead when it happened too often. First the lease row is locked and
-- looked at again, and no claim is under way; then it is marked dead for ever, then its jobs move: a beat that was accepted meanwhile keeps them.
-- Lease time only runs while a leader ticks: after an outage everybody has a whole lease before anyone is reaped.
-- With p_runner its own supervisor reports a crash, p_begun are the jobs it had begun: no waiting for the lease.
create or replace function leasehold.reap(p_limit int, p_runner bigint default null, p_begun uuid[] default null)
returns table (runner bigint, jobs bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  v_now    timestamptz := leasehold.now();
  v_left   int := case when p_runner is null then p_limit else 2147483647 end; -- what one runner holds is bounded by its prefetch
  v_late   bigint;
  v_bundle record;
  v_back   leasehold.entry[];
begin
  if p_runner is not null then
    perform pg_advisory_xact_lock(1279869255, (p_runner % 2147483647)::int); -- a claim of its own ends first
    update leasehold.runner u set dead_at = v_now, begun = coalesce(p_begun, u.begun) where u.id = p_runner and u.dead_at is null;
    delete from leasehold.sleeper l where l.runner = p_runner;
  else
    for v_late in
      select u.id from leasehold.runner u cross join leasehold.house h cross join leasehold.leader l
       where u.dead_at is null and u.expires_at < v_now and l.resumed_at + h.lease < v_now and l.tick_at > v_now - interval '15 seconds'
       order by u.id limit p_limit for no key update of u skip locked
    loop
      continue when not pg_try_advisory_xact_lock(1279869255, (v_late % 2147483647)::int); -- it claims: it is looked at again soon
      update leasehold.runner u set dead_at = v_now where u.id = v_late;
      delete from leasehold.sleeper l where l.runner = v_late;
    end loop;
  end if;
  for v_bundle in
    select r.id, r.runner, r.job_ids, r.claim_nos, r.begun, coalesce(u.begun, '{}') as began, u.id is not null as known
      from leasehold.running r left join leasehold.runner u on u.id = r.runner
     where (u.id is null or u.dead_at is not null) and (p_runner is null or r.runner = p_runner)
     order by r.id limit v_left for update of r skip locked
  loop
    exit when v_left <= 0;
    v_left := v_left - cardinality(v_bundle.job_ids);
    runner := v_bundle.runner;
    select count(*) into jobs from leasehold.settle(v_bundle.runner, array[v_bundle.id], (
      select coalesce(jsonb_agg(jsonb_build_object('job', m.job_id, 'claim', m.claim_no, 'outcome',
               case when not coalesce(case when p_begun is null then m.n <= v_bundle.begun end, false) and m.job_id <> all (v_bundle.began) then 'released'
                    when m.interrupted + 1 >= h.poison then 'poisoned' else 'interrupted' end,
               'error', case when (coalesce(case when p_begun is null then m.n <= v_bundle.begun end, false) or m.job_id = any (v_bundle.began))
                             then jsonb_build_object('type', 'Interrupted', 'message',
                                    format('runner %s vanished while the job ran (%s of %s times before it is poison)', v_bundle.runner, m.interrupted + 1, h.poison)) end)), '[]')
        from leasehold.house h, leasehold.running r
       cross join lateral unnest(r.job_ids, r.claim_nos, r.interrupted) with ordinality as m(job_id, claim_no, interrupted, n)
       where r.id = v_bundle.id));
    delete from leasehold.running r where r.id = v_bundle.id; -- members with an attempt were counted off already
    return next;
  end loop;
  if p_runner is null then
    with lost as (
      delete from leasehold.dispatched d using (
        select x.job_id from leasehold.dispatched x where x.expires_at < v_now order by x.job_id limit p_limit for update skip locked) due
       where d.job_id = due.job_id returning d.*
    )
    select array_agg((l.job_id, l.queue, l.priority, v_now, l.claim_no, l.moves + 1, l.attempts, l.interrupted)::leasehold.entry) into v_back from lost l;
    if v_back is not null then
      perform leasehold.enter_ready(v_back);
      runner := null; jobs := cardinality(v_back);
      return next;
    end if;
  end if;
end $$;
