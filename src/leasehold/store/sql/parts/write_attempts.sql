-- write_attempts: adds lines to history, tells which were new. A job whose own day is retired has its history among the kept.
create or replace function leasehold.write_attempts(p_attempts leasehold.attempt_kept[])
returns table (job_id uuid, claim_no int)
language sql volatile set search_path = pg_catalog, pg_temp as $$
  with here as (
    insert into leasehold.attempt
    select a.* from unnest(p_attempts) a where a.job_id >= (select floor from leasehold.house)
     order by a.job_id on conflict do nothing returning job_id, claim_no
  ), kept as (
    insert into leasehold.attempt_kept
    select a.* from unnest(p_attempts) a where a.job_id < (select floor from leasehold.house)
     order by a.job_id on conflict do nothing returning job_id, claim_no
  )
  select * from here union all select * from kept $$;
