-- release: running → ready, or scheduled for p_delay seconds. Nothing is charged: shutdown, prefetched but not begun,
-- a task this runner does not know. Answers with the jobs that were held.
create or replace function leasehold.release(p_runner bigint, p_bundles bigint[], p_jobs uuid[], p_claims int[], p_delay float8 default null)
returns table (job_id uuid, claim_no int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
begin
  if not exists (select from leasehold.runner u where u.id = p_runner and u.dead_at is null) then
    return; -- reaping has its jobs, or will have them
  end if;
  perform from leasehold.running r where r.id = any(p_bundles) and r.runner + 0 = p_runner order by r.id for update;
  return query select * from leasehold.settle(p_runner,
    array(select r.id from leasehold.running r where r.id = any(p_bundles) and r.runner + 0 = p_runner),
    (select coalesce(jsonb_agg(jsonb_build_object('job', o.job_id, 'claim', o.claim_no, 'outcome', 'released', 'delay', p_delay)), '[]')
       from unnest(p_jobs, p_claims) as o(job_id, claim_no)));
end $$;
