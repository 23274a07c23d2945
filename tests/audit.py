"""What must be true of a whole database whenever nobody is in the middle of something."""

from leasehold.store.connect import Connection

PLACES = """
with entries as (
  select 'ready' as room, job_id, claim_no from leasehold.ready
  union all select 'scheduled', job_id, claim_no from leasehold.scheduled
  union all select 'waiting', job_id, claim_no from leasehold.waiting
  union all select 'dispatched', job_id, claim_no from leasehold.dispatched
  union all
  select 'running', m.job_id, m.claim_no from leasehold.running r
   cross join lateral unnest(r.job_ids, r.claim_nos) as m(job_id, claim_no)
   where not exists (select from leasehold.attempt_all a
                      where a.job_id = m.job_id and a.claim_no = m.claim_no)
), lines as (
  select *, outcome <= 'poisoned' as ended,
         lead(outcome) over (partition by job_id order by claim_no) as next
    from leasehold.attempt_all
), last as (
  select distinct on (job_id) * from lines order by job_id, claim_no desc
), jobs as (
  select b.*, b.duplicate_of is null and not coalesce(l.ended, false) as live,
         array(select e.room from entries e where e.job_id = b.id order by 1) as rooms,
         l.claim_no as last_no, l.outcome, l.ended_at
    from leasehold.job_body b left join last l on l.job_id = b.id
)
"""

RULES = {
    "a live job is in exactly one room": """
      select id, rooms from jobs where live and cardinality(rooms) <> 1""",
    "an ended job, and one whose key was taken, is in none": """
      select id, rooms, outcome from jobs where not live and cardinality(rooms) > 0""",
    "a room holds jobs that exist": """
      select * from entries where job_id not in (select id from jobs)""",
    "no attempt is beyond the claim number": """
      select e.*, j.last_no from entries e join jobs j on j.id = e.job_id
       where j.last_no > e.claim_no - (e.room = 'running')::int""",
    "one attempt per claim number": """
      select job_id, claim_no from lines group by 1, 2 having count(*) > 1""",
    "after the end comes a retry by hand or nothing, and that only after an end": """
      select job_id, claim_no, outcome, next from lines
       where ended is distinct from (next = 'reopened') and next is not null""",
    "a bundle holds its members without an attempt": """
      select r.id, r.held, n.held as members from leasehold.running r cross join lateral (
        select count(*) as held from unnest(r.job_ids, r.claim_nos) as m(job_id, claim_no)
         where not exists (select from leasehold.attempt_all a
                            where a.job_id = m.job_id and a.claim_no = m.claim_no)) n
       where r.held <> n.held or r.held = 0
          or not (r.begun between 0 and cardinality(r.job_ids))""",
    "the lists of a bundle are equally long": """
      select id from leasehold.running
       where array_remove(array[cardinality(claim_nos), cardinality(turns), cardinality(priorities),
             cardinality(moves), cardinality(attempts), cardinality(interrupted)],
             cardinality(job_ids)) <> '{}'""",
    "a key has one live job": """
      select tenant, task, key, array_agg(id) from jobs
       where live and key is not null group by 1, 2, 3 having count(*) > 1""",
    "a live job holds its key": """
      select id from jobs j where live and key is not null and not exists (
        select from leasehold.job_key k where k.job_id = j.id
           and (k.tenant, k.task, k.key) = (coalesce(j.tenant, ''), j.task, j.key))""",
    "in dead are only jobs that failed": """
      select d.job_id, j.outcome from leasehold.dead d left join jobs j on j.id = d.job_id
       where j.outcome is null or j.outcome not in ('failed', 'poisoned')""",
    "a job that failed is in dead, until somebody discards it or its time is over": """
      select j.id from jobs j, leasehold.house h
       where outcome in ('failed', 'poisoned') and ended_at > leasehold.now() - h.keep_dead
         and j.id not in (select job_id from leasehold.dead)
         and j.id not in (select unnest(job_ids) from leasehold.audit where verb = 'discard')""",
    "an empty segment has no row, and is sealed": """
      select s.* from leasehold.segment s
       where s.empty and (not s.sealed
          or exists (select from leasehold.ready r where r.segment = s.number))""",
    "one segment is open, and it is not sealed": """
      select s.* from leasehold.segment s, leasehold.open_segment o
       where s.number = o.last_value % 4
         and (s.sealed or s.empty or s.generation <> o.last_value / 4)""",
}


def audit(connection: Connection) -> list[str]:
    """What is broken, each with some of the rows that show it."""
    looks = [
        f"(select {n}, to_jsonb(x) from ({sql}) x limit 5)" for n, sql in enumerate(RULES.values())
    ]
    found = connection.execute(f"{PLACES} {' union all '.join(looks)}".encode()).fetchall()
    return [f"{list(RULES)[n]}: {row}" for n, row in found]
