-- keep_living: copies jobs with ids from p_low to below p_high that still live, with their history, to the kept tables.
-- Those kept before count as living: a run that ended in between left its last line in the old day.
create or replace function leasehold.keep_living(p_jobs regclass, p_attempts regclass, p_low uuid, p_high uuid) returns int
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_live uuid[];
begin
  select coalesce(array_agg(x.id), '{}') into v_live from (
    select r.job_id as id from leasehold.ready r where r.job_id >= p_low and r.job_id < p_high
    union select s.job_id from leasehold.scheduled s where s.job_id >= p_low and s.job_id < p_high
    union select w.job_id from leasehold.waiting w where w.job_id >= p_low and w.job_id < p_high
    union select d.job_id from leasehold.dispatched d where d.job_id >= p_low and d.job_id < p_high
    union select d.job_id from leasehold.dead d where d.job_id >= p_low and d.job_id < p_high
    union select k.id from leasehold.job_kept k where k.id >= p_low and k.id < p_high
    union select m from leasehold.running b cross join lateral unnest(b.job_ids) as m where m >= p_low and m < p_high) x;
  execute format('insert into leasehold.job_kept select j.* from %s j where j.id = any($1) on conflict do nothing', p_jobs) using v_live;
  execute format('insert into leasehold.attempt_kept select a.* from %s a where a.job_id = any($1) on conflict do nothing', p_attempts) using v_live;
  return cardinality(v_live);
end $$;
