-- save: what a job keeps between attempts: progress, a note, data. Only who holds it writes; answers those that were held.
-- p_saved: [{"bundle", "job", "progress", "note", "data"}]; what is left out stays as it was.
create or replace function leasehold.save(p_runner bigint, p_saved jsonb) returns table (job_id uuid)
language sql security definer set search_path = pg_catalog, pg_temp set jit = off as $$
  insert into leasehold.checkpoint as c (job_id, updated_at, progress, note, data)
  select s.job, leasehold.now(), s.progress, s.note, s.data
    from jsonb_to_recordset(p_saved) as s(bundle bigint, job uuid, progress real, note text, data jsonb)
    join leasehold.held_by(array(select (e ->> 'job')::uuid from jsonb_array_elements(p_saved) e)) h
      on h.job_id = s.job and h.bundle = s.bundle and h.runner = p_runner
   where exists (select from leasehold.runner u where u.id = p_runner and u.dead_at is null)
   order by s.job
  on conflict on constraint checkpoint_pkey do update set updated_at = excluded.updated_at, progress = coalesce(excluded.progress, c.progress),
     note = coalesce(excluded.note, c.note), data = coalesce(excluded.data, c.data)
  returning c.job_id $$;
