-- beat: one statement keeps the leases of all runners of a worker, and reconciles what they know with what is written.
-- p_runners: [{"id", "loop_age", "bundles": [ids], "begun": [jobs]}]. Answers one document:
--   dead     runners that were reaped: their jobs are somebody else's
--   gone     [runner, bundle] that the runner named and the database no longer has
--   cancel   [runner, job, claim, reason] that somebody wants stopped
--   leader_age  seconds since a leader ticked
-- Bundles the runner does not know are those whose claim was answered to nobody: after ten seconds they go back unharmed.
create or replace function leasehold.beat(p_worker bigint, p_runners jsonb, p_tally jsonb default null) returns table (news jsonb)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  v_now    timestamptz := leasehold.now();
  v_ids    bigint[] := array(select (r ->> 'id')::bigint from jsonb_array_elements(p_runners) r);
  v_alive  bigint[];
  v_gone   jsonb;
  v_astray record;
begin
  update leasehold.worker w set beat_at = v_now where w.id = p_worker;
  with said as (
    select * from jsonb_to_recordset(p_runners) as s(id bigint, loop_age real, begun uuid[])
  ), mine as materialized (
    select u.id from leasehold.runner u where u.id = any(v_ids) and u.worker = p_worker and u.dead_at is null order by u.id for no key update
  ), kept as (
    update leasehold.runner u set expires_at = v_now + (select lease from leasehold.house), loop_age = coalesce(s.loop_age, 0), begun = coalesce(s.begun, '{}')
      from said s join mine using (id) where u.id = s.id returning u.id
  )
  select coalesce(array_agg(k.id), '{}') into v_alive from kept k;
  for v_astray in
    select r.id, r.runner from jsonb_to_recordset(p_runners) as s(id bigint, bundles bigint[])
      join leasehold.running r on r.runner = s.id
     where s.id = any(v_alive) and r.id <> all (s.bundles) -- null: its loop is blocked, it cannot say
       and r.claimed_at < v_now - interval '10 seconds'
     order by r.id for update of r skip locked
  loop
    perform leasehold.settle(v_astray.runner, array[v_astray.id], (
      select jsonb_agg(jsonb_build_object('job', m.job_id, 'claim', m.claim_no, 'outcome', 'released'))
        from leasehold.running r cross join lateral unnest(r.job_ids, r.claim_nos) as m(job_id, claim_no) where r.id = v_astray.id));
  end loop;
  select jsonb_agg(jsonb_build_array(s.id, b.bundle)) into v_gone
    from jsonb_to_recordset(p_runners) as s(id bigint, bundles bigint[]) cross join lateral unnest(s.bundles) as b(bundle)
   where not exists (select from leasehold.running r where r.id = b.bundle and r.runner = s.id);
  if p_tally is not null then
    insert into leasehold.tally_delta select date_trunc('minute', v_now), t.* from jsonb_to_recordset(p_tally)
      as t(queue text, task text, outcome text, n bigint, run_ms bigint, wait_ms bigint);
  end if;
  return query select jsonb_build_object(
    'dead', to_jsonb(array(select x from unnest(v_ids) x where x <> all (v_alive))),
    'gone', coalesce(v_gone, '[]'),
    'cancel', coalesce((select jsonb_agg(jsonb_build_array(c.runner, c.job_id, c.claim_no, c.reason)) from leasehold.cancel_request c where c.runner = any(v_ids)), '[]'),
    'leader_age', (select case when isfinite(l.tick_at) then least(extract(epoch from v_now - l.tick_at), 1e9) else 1e9 end from leasehold.leader l));
end $$;
