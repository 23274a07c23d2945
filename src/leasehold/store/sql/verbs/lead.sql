-- lead: asks to be, or stay, the leader. Whoever has not ticked for five seconds has given it up. A gap of fifteen seconds
-- means that nobody could write: every lease counts anew from then on. Answers the term, or nothing.
create or replace function leasehold.lead(p_worker bigint) returns table (term bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  v_now timestamptz := leasehold.now();
begin
  return query update leasehold.leader l
     set term = l.term + (l.worker is distinct from p_worker)::int, worker = p_worker, tick_at = v_now,
         resumed_at = case when l.tick_at < v_now - interval '15 seconds' or l.tick_at > v_now + interval '15 seconds' then v_now else l.resumed_at end
   where l.worker is null or l.worker = p_worker or l.tick_at < v_now - interval '5 seconds' or l.tick_at > v_now + interval '15 seconds'
  returning l.term;
  if found then
    -- A clock that was set back must not leave a lease that outlives its holder by hours.
    with long as materialized (
      select u.id, h.lease from leasehold.runner u cross join leasehold.house h
       where u.dead_at is null and u.expires_at > v_now + h.lease + interval '1 second' order by u.id for no key update of u
    )
    update leasehold.runner u set expires_at = v_now + l.lease from long l where u.id = l.id;
  end if;
end $$;
