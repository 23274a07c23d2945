-- discard: dead → gone. What was asked and its history stay until their day is retired; the copy in the dead letter goes now.
-- A job that dies while it is looked for is looked for again.
create or replace function leasehold.discard(p_jobs uuid[], p_actor text, p_reason text default null)
returns table (job_id uuid, verdict text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  v_rest   uuid[] := p_jobs;
  v_gone   uuid[] := '{}';
  v_more   uuid[];
  v_states text[];
  v_again  boolean;
begin
  for v_try in 1 .. 20 loop
    with at as materialized (
      select d.job_id from leasehold.dead d where d.job_id = any(v_rest) order by d.job_id for update
    ), gone as (
      delete from leasehold.dead d using at where d.job_id = at.job_id returning d.job_id
    )
    select coalesce(array_agg(g.job_id), '{}') into v_more from gone g;
    v_gone := v_gone || v_more;
    v_rest := array(select x from unnest(v_rest) x where x <> all (v_more));
    select coalesce(array_agg(coalesce(s.state, 'not_found') order by r.n), '{}'), coalesce(bool_or(d.job_id is not null), false) into v_states, v_again
      from unnest(v_rest) with ordinality as r(x, n) left join leasehold.state_of(v_rest) s on s.job_id = r.x
      left join leasehold.dead d on d.job_id = r.x;
    exit when not v_again;
  end loop;
  insert into leasehold.audit (at, actor, verb, note, job_ids) values (leasehold.now(), p_actor, 'discard', p_reason, p_jobs);
  return query select x, 'discarded' from unnest(v_gone) x union all select * from unnest(v_rest, v_states);
end $$;
