-- purge: a tenant leaves. Its waiting jobs are cancelled, those that run are asked to stop, and whatever of it has ended goes with
-- payload, history, dead letter and state. Bounded: the caller comes back until nothing is left. Answers what went and what still runs.
create or replace function leasehold.purge(p_tenant text, p_limit int, p_actor text) returns table (gone int, running int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  v_some  uuid[];
  v_ended uuid[];
begin
  perform pg_advisory_xact_lock(1279869254, 6); -- nobody opens an ended job again meanwhile
  select coalesce(array_agg(x.id), '{}') into v_some from (
    select b.id from leasehold.job_body b where b.tenant = p_tenant order by b.id limit p_limit) x;
  perform leasehold.cancel(array(select s.job_id from leasehold.state_of(v_some) s
    where s.state in ('ready', 'scheduled', 'waiting', 'dispatched', 'assigned', 'running')), p_actor, 'its tenant is purged');
  select count(*) into running from leasehold.held_by(v_some);
  -- What is held is left alone until its run has ended; everything else is over now.
  select coalesce(array_agg(x order by x), '{}') into v_ended from unnest(v_some) x
   where x not in (select h.job_id from leasehold.held_by(v_some) h) and x not in (select i.job_id from leasehold.in_room(v_some) i);
  delete from leasehold.attempt a where a.job_id = any(v_ended);
  delete from leasehold.attempt_kept a where a.job_id = any(v_ended);
  delete from leasehold.dead d where d.job_id = any(v_ended);
  delete from leasehold.checkpoint c where c.job_id = any(v_ended);
  delete from leasehold.job_key k where k.job_id = any(v_ended);
  delete from leasehold.job j where j.id = any(v_ended);
  delete from leasehold.job_kept j where j.id = any(v_ended);
  gone := cardinality(v_ended);
  insert into leasehold.audit (at, actor, verb, note, job_ids) values (leasehold.now(), p_actor, 'purge', p_tenant, '{}');
  return next;
end $$;
