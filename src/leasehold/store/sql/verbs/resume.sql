-- resume: waiting → ready or scheduled, for jobs a person held. Answers resumed, or the state in which it was not held.
-- A job that is held while it is looked for is looked for again.
create or replace function leasehold.resume(p_jobs uuid[], p_actor text, p_reason text default null)
returns table (job_id uuid, verdict text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  v_rest   uuid[] := p_jobs;
  v_free   uuid[] := '{}';
  v_more   uuid[];
  v_states text[];
  v_again  boolean;
begin
  for v_try in 1 .. 20 loop
    select coalesce(array_agg(x.job_id), '{}') into v_more from (
      select w.job_id from leasehold.waiting w where w.job_id = any(v_rest) and w.reason = 'held' order by w.job_id for update) x;
    v_more := array(select g from leasehold.go_on(v_more) g);
    v_free := v_free || v_more;
    v_rest := array(select x from unnest(v_rest) x where x <> all (v_more));
    select coalesce(array_agg(coalesce(s.state, 'not_found') order by r.n), '{}'), coalesce(bool_or(w.job_id is not null), false) into v_states, v_again
      from unnest(v_rest) with ordinality as r(x, n) left join leasehold.state_of(v_rest) s on s.job_id = r.x
      left join leasehold.waiting w on w.job_id = r.x and w.reason = 'held';
    exit when not v_again;
  end loop;
  insert into leasehold.audit (at, actor, verb, note, job_ids) values (leasehold.now(), p_actor, 'resume', p_reason, p_jobs);
  return query select x, 'resumed' from unnest(v_free) x union all select * from unnest(v_rest, v_states);
end $$;
