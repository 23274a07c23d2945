-- job_body, attempt_all: jobs and their history, wherever retirement has put them. What is older than the floor
-- counts only where it was kept, so that a day on its way out is never seen twice.
create or replace view leasehold.job_body as
  select j.* from leasehold.job j where j.id >= (select h.floor from leasehold.house h)
  union all select * from leasehold.job_kept;
create or replace view leasehold.attempt_all as
  select a.* from leasehold.attempt a where a.job_id >= (select h.floor from leasehold.house h)
  union all select * from leasehold.attempt_kept;
