-- fold: the tally's deltas become one row a minute, queue, task and outcome.
create or replace function leasehold.fold(p_limit int) returns table (folded int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
begin
  with picked as materialized (
    select d.ctid from leasehold.tally_delta d limit p_limit for update skip locked
  ), gone as (
    delete from leasehold.tally_delta d using picked where d.ctid = picked.ctid returning d.*
  ), folded as (
    insert into leasehold.tally as t (minute, queue, task, outcome, n, run_ms, wait_ms)
    select g.minute, g.queue, g.task, g.outcome, sum(g.n), sum(g.run_ms), sum(g.wait_ms) from gone g group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict on constraint tally_pkey do update set n = t.n + excluded.n, run_ms = t.run_ms + excluded.run_ms, wait_ms = t.wait_ms + excluded.wait_ms
  )
  select count(*) into folded from gone;
  return next;
end $$;
