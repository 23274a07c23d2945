-- tell: these jobs have ended; wakes whoever waits for one of them. Mostly nobody does, and then nothing is sent.
create or replace function leasehold.tell(p_jobs uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_heard record;
begin
  if exists (select from leasehold.awaited) then
    for v_heard in delete from leasehold.awaited a where a.job_id = any(p_jobs) returning a.channel, a.job_id loop
      perform pg_notify(v_heard.channel, v_heard.job_id::text);
    end loop;
  end if;
end $$;
