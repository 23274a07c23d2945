-- retain: what has had its time goes, in bounded batches: dead letters, kept jobs that ended, wishes and checkpoints of jobs that
-- are gone, runners long dead, keys nobody holds.
create or replace function leasehold.retain(p_limit int) returns table (gone int)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  v_now  timestamptz := leasehold.now();
  v_rows int;
  v_jobs uuid[];
  h      leasehold.house;
begin
  select * into h from leasehold.house;
  delete from leasehold.dead d using (
    select x.job_id from leasehold.dead x where x.died_at < v_now - h.keep_dead order by x.died_at limit p_limit for update skip locked) old where d.job_id = old.job_id;
  get diagnostics gone = row_count;
  if pg_try_advisory_xact_lock(1279869254, 6) then -- nobody opens an ended job again meanwhile
    v_jobs := array(select k.id from leasehold.job_kept k cross join lateral leasehold.last_attempt(array[k.id]) a
                     where a.ended and a.ended_at < v_now - h.keep and not exists (select from leasehold.dead d where d.job_id = k.id) order by k.id limit p_limit);
    delete from leasehold.job_kept k where k.id = any(v_jobs);
    delete from leasehold.attempt_kept k where k.job_id = any(v_jobs);
    gone := gone + cardinality(v_jobs);
  end if;
  delete from leasehold.cancel_request c using (select x.job_id from leasehold.cancel_request x limit p_limit) old
   where c.job_id = old.job_id and c.requested_at < v_now - interval '1 minute' and not exists (select from leasehold.held_by(array[c.job_id]));
  delete from leasehold.checkpoint c where c.job_id in (select x.job_id from leasehold.checkpoint x
    where x.updated_at < v_now - h.keep and not leasehold.is_live(x.job_id) order by x.updated_at limit p_limit);
  get diagnostics v_rows = row_count;
  gone := gone + v_rows;
  v_jobs := array(select x.job_id from leasehold.job_key x
                   where x.job_id < leasehold.id_floor(v_now - h.keep) and not leasehold.is_live(x.job_id) order by x.job_id limit p_limit for update skip locked);
  -- Asked again now that nobody else can give the key away: somebody may have retried the job meanwhile.
  delete from leasehold.job_key k where k.job_id = any(v_jobs) and not leasehold.is_live(k.job_id);
  get diagnostics v_rows = row_count;
  gone := gone + v_rows;
  delete from leasehold.runner u where u.dead_at < v_now - interval '1 day' and not exists (select from leasehold.running r where r.runner = u.id);
  delete from leasehold.worker w where w.beat_at < v_now - interval '1 day';
  return next;
end $$;
