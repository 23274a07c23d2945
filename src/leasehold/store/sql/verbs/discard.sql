-- discard: dead → gone. What was asked and its history stay until their day is retired; the copy in the dead letter goes now.
create or replace function leasehold.discard(p_jobs uuid[], p_actor text, p_reason text default null)
returns table (job_id uuid, verdict text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_gone uuid[];
begin
  with at as materialized (
    select d.job_id from leasehold.dead d where d.job_id = any(p_jobs) order by d.job_id for update
  ), gone as (
    delete from leasehold.dead d using at where d.job_id = at.job_id returning d.job_id
  )
  select coalesce(array_agg(g.job_id), '{}') into v_gone from gone g;
  insert into leasehold.audit (at, actor, verb, note, job_ids) values (leasehold.now(), p_actor, 'discard', p_reason, p_jobs);
  return query select x, 'discarded' from unnest(v_gone) x
    union all select x, coalesce(s.state, 'not_found') from unnest(p_jobs) x left join leasehold.state_of(p_jobs) s on s.job_id = x where x <> all (v_gone);
end $$;
