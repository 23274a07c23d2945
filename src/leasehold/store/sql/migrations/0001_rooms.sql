-- 0001_rooms: the rooms of a job's life, and what stands beside them.
-- Columns are ordered wide to narrow, so that a row carries no padding.

-- What was asked. Written once; task, queue and payload are enough for a plain INSERT.
-- None of these columns is declared not null: Postgres would show the whole row, payload and all, to whoever left one out.
-- `arrive` refuses it by name instead.
create table leasehold.job (
  id           uuid        not null default leasehold.new_id(),
  enqueued_at  timestamptz default leasehold.now(),
  priority     int         default 100,              -- lower goes first
  queue        text        default 'default',
  task         text,
  payload      jsonb       default '{}',             -- the task's arguments by name
  run_at       timestamptz,                          -- not before
  delay        interval,                             -- the same, counted from the statement
  deadline     timestamptz,                          -- not after: the job expires
  timeout      real,                                 -- seconds an attempt may take
  max_attempts smallint,
  name         text,                                 -- the caller's own id
  key          text,                                 -- one live job for each (tenant, task, key)
  tenant       text,
  "group"      text,
  tags         text[],
  headers      jsonb,                                -- for programs: trace context and the like
  hold         text,                                 -- enqueue it held, for this reason
  duplicate_of uuid,                                 -- its key was taken: this one never runs
  primary key (id)
) partition by range (id);
create index on leasehold.job (tenant, id) where tenant is not null;
create index on leasehold.job ("group", id) where "group" is not null;
create index on leasehold.job (name) where name is not null;

-- Jobs still alive when their day is retired.
create table leasehold.job_kept (like leasehold.job including defaults including indexes);

-- May run now. Three segments take turns: one is open and takes every entry, a sealed one only empties and is
-- then truncated, which needs no vacuum and which no old snapshot prevents. An entry with moves > 0 came back from
-- elsewhere, so its key cannot be told from the job row: those alone are indexed by job.
create table leasehold.ready (
  turn         timestamptz not null,
  job_id       uuid        not null,
  segment      int         not null,
  priority     int         not null,
  claim_no     int         not null default 0,
  moves        int         not null default 0,
  attempts     smallint    not null default 0,
  interrupted  smallint    not null default 0,
  queue        text        not null,
  task         text        not null,
  payload      jsonb,                                -- null: too large to copy, read it from the job
  deadline     timestamptz,
  timeout      real,
  max_attempts smallint,
  tenant       text,
  headers      jsonb
) partition by list (segment);
create index on leasehold.ready (queue, priority, turn, job_id);
create index on leasehold.ready (job_id) where moves > 0;
create index on leasehold.ready (deadline) where deadline is not null;
create table leasehold.ready_0 partition of leasehold.ready for values in (0)
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200000, vacuum_truncate = off);
create table leasehold.ready_1 partition of leasehold.ready for values in (1)
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200000, vacuum_truncate = off);
create table leasehold.ready_2 partition of leasehold.ready for values in (2)
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200000, vacuum_truncate = off);

create table leasehold.segment (
  number     int     primary key,
  generation bigint  not null,
  sealed     boolean not null,                       -- nothing can enter it any more; the open one is never sealed
  empty      boolean not null,                       -- sealed and truncated: claims need not look
  swept      bigint  not null default 0              -- of a sealed one: the blocks before this have no row left
);
insert into leasehold.segment values (0, 1, false, false), (1, 0, true, true), (2, 0, true, true);
-- Which one is open: generation * 4 + number. A sequence is read past every snapshot, so that a writer in a
-- REPEATABLE READ transaction cannot enter a segment that was sealed meanwhile.
create sequence leasehold.open_segment minvalue 0;
select pg_catalog.setval('leasehold.open_segment', 4);

-- May run later.
create table leasehold.scheduled (
  run_at      timestamptz not null,
  job_id      uuid        primary key,
  priority    int         not null,
  claim_no    int         not null default 0,
  moves       int         not null default 0,
  attempts    smallint    not null default 0,
  interrupted smallint    not null default 0,
  queue       text        not null,
  deadline    timestamptz
);
create index on leasehold.scheduled (run_at);
create index on leasehold.scheduled (deadline) where deadline is not null;

-- Waits for something that is not time.
create table leasehold.waiting (
  since       timestamptz not null,
  job_id      uuid        primary key,
  priority    int         not null,
  claim_no    int         not null default 0,
  moves       int         not null default 0,
  attempts    smallint    not null default 0,
  interrupted smallint    not null default 0,
  remaining   int         not null default 0,        -- parents that have not ended yet
  reason      text        not null,                  -- held, parents
  queue       text        not null,
  run_at      timestamptz,                           -- where it goes when let go: null is ready
  note        text,                                  -- what the person who held it said
  deadline    timestamptz
);
create index on leasehold.waiting (job_id) where reason = 'parents' and remaining = 0;
create index on leasehold.waiting (deadline) where deadline is not null;

-- Handed to an outside transport, not yet taken.
create table leasehold.dispatched (
  dispatched_at timestamptz not null,
  expires_at    timestamptz not null,                -- not taken by then: it comes back
  dispatch_no   bigint      generated always as identity,
  job_id        uuid        primary key,
  turn          timestamptz not null,
  priority      int         not null,
  claim_no      int         not null,
  moves         int         not null,
  attempts      smallint    not null,
  interrupted   smallint    not null,
  transport     text        not null,
  queue         text        not null,
  deadline      timestamptz
);
create index on leasehold.dispatched (expires_at);
create index on leasehold.dispatched (deadline) where deadline is not null;

-- One row a claim: the jobs one runner took in one statement. Members that ended have an attempt, members that left
-- without one are struck from the lists; at held = 0 the row goes.
create table leasehold.running (
  id          bigint        generated always as identity primary key,
  runner      bigint        not null,
  claimed_at  timestamptz   not null,
  held        int           not null,
  begun       int           not null,                -- so many of the first were begun at once
  queue       text          not null,
  job_ids     uuid[]        not null,
  claim_nos   int[]         not null,
  turns       timestamptz[] not null,
  priorities  int[]         not null,
  moves       int[]         not null,
  attempts    smallint[]    not null,
  interrupted smallint[]    not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- Ids and times do not compress; trying costs half a microsecond a job. The counters do: mostly they are all alike.
alter table leasehold.running alter job_ids set storage external, alter turns set storage external;
create index on leasehold.running (runner);

create type leasehold.outcome as enum
  ('succeeded', 'failed', 'cancelled', 'expired', 'poisoned',   -- the job has ended
   'retried', 'interrupted', 'sent_on', 'reopened');            -- it goes on

-- History: one row for each claim number that is over. Leaves together with its job.
create table leasehold.attempt (
  job_id     uuid        not null,
  claimed_at timestamptz,                            -- null: it ended without a run
  ended_at   timestamptz not null,
  runner     bigint,
  claim_no   int         not null,
  run_ms     int,                                    -- measured by the runner
  outcome    leasehold.outcome not null,
  error      jsonb,                                  -- {"type", "message", "trace"}
  result     jsonb,
  primary key (job_id, claim_no)
) partition by range (job_id);
create table leasehold.attempt_kept (like leasehold.attempt including indexes);

-- The dead letter: a full copy of the job with its last error.
create table leasehold.dead (
  died_at      timestamptz not null,
  enqueued_at  timestamptz not null,
  job_id       uuid        primary key,
  priority     int         not null,
  claim_no     int         not null,
  moves        int         not null,
  attempts     smallint    not null,
  interrupted  smallint    not null,
  reason       text        not null,                 -- failed, poison
  queue        text        not null,
  task         text        not null,
  payload      jsonb       not null,
  error        jsonb,
  deadline     timestamptz,
  timeout      real,
  max_attempts smallint,
  name         text,
  key          text,
  tenant       text,
  "group"      text,
  tags         text[],
  headers      jsonb
);
create index on leasehold.dead (died_at);
create index on leasehold.dead (queue, died_at);
create index on leasehold.dead (task, died_at);

-- Who holds a key. The row outlives its job until somebody else takes the key or it is swept.
create table leasehold.job_key (
  tenant text not null default '',
  task   text not null,
  key    text not null,
  job_id uuid not null,
  primary key (tenant, task, key)
);
create index on leasehold.job_key (job_id);

-- What a job keeps between attempts.
create table leasehold.checkpoint (
  job_id     uuid        primary key,
  updated_at timestamptz not null,
  progress   real,                                   -- 0 to 100
  note       text,
  data       jsonb,                                  -- the job's own state
  metadata   jsonb
) with (fillfactor = 70);

-- Somebody wants a running job to stop; the beat carries it to the runner.
create table leasehold.cancel_request (
  job_id       uuid        primary key,
  claim_no     int         not null,
  runner       bigint      not null,
  requested_at timestamptz not null,
  reason       text
);
create index on leasehold.cancel_request (runner);

-- A worker is a supervisor process, a runner one of its children. The runner row is the lease.
create table leasehold.worker (
  id         bigint      generated always as identity primary key,
  started_at timestamptz not null,
  beat_at    timestamptz not null,
  pid        int         not null,
  stopping   boolean     not null default false,
  host       text        not null,
  version    text        not null,
  role       name        not null default session_user,
  queues     text[]      not null,
  tasks      text[]      not null default '{}'
) with (fillfactor = 70);
create table leasehold.runner (
  id         bigint      generated always as identity primary key,
  worker     bigint      not null,
  started_at timestamptz not null,
  expires_at timestamptz not null,
  dead_at    timestamptz,                            -- for ever: a dead runner never claims again
  pid        int         not null,
  loop_age   real        not null default 0,         -- seconds since its event loop last turned
  role       name        not null default session_user,
  begun      uuid[]      not null default '{}'       -- prefetched jobs that had begun at the last beat
) with (fillfactor = 50);
create index on leasehold.runner (worker);
create index on leasehold.runner (expires_at) where dead_at is null;

-- Idle runners that want to be woken, and jobs whose end somebody waits for. Unlogged: after a crash both say so again.
create unlogged table leasehold.sleeper (
  queue  text   not null,
  runner bigint not null,
  primary key (queue, runner)
);
create unlogged table leasehold.awaited (
  job_id  uuid not null,
  channel text not null,
  primary key (job_id, channel)
);

-- Which queues a database role may work on. A role without a row may work on all.
create table leasehold.role_queue (
  role  name not null,
  queue text not null,
  primary key (role, queue)
);

-- One row: what holds for the whole house.
create table leasehold.house (
  one         boolean  primary key default true check (one),
  id          uuid     not null default pg_catalog.gen_random_uuid(),  -- tells a restored copy apart
  floor       uuid     not null default '00000000-0000-0000-0000-000000000000',  -- older ids live in the kept tables
  ahead       int      not null default 60,                    -- so many days of partitions are made ahead
  keep        interval not null default '7 days',              -- how long an ended job stays
  keep_dead   interval not null default '90 days',
  lease       interval not null default '30 seconds',
  poison      smallint not null default 3,                     -- so many interruptions and it is poison
  sql_notify  boolean  not null default false                  -- plain SQL producers wake idle runners
);
insert into leasehold.house default values;

create table leasehold.leader (
  one        boolean     primary key default true check (one),
  term       bigint      not null default 0,
  worker     bigint,
  tick_at    timestamptz not null default '-infinity',
  resumed_at timestamptz not null default '-infinity' -- after an outage everybody gets a whole lease
);
insert into leasehold.leader default values;

-- What ended, by minute. Runners append deltas with their beat, the leader folds them: no row is hot.
create table leasehold.tally_delta (
  minute  timestamptz not null,
  queue   text        not null,
  task    text        not null,
  outcome text        not null,
  n       bigint      not null,
  run_ms  bigint      not null,
  wait_ms bigint      not null
);
create table leasehold.tally (
  minute  timestamptz not null,
  queue   text        not null,
  task    text        not null,
  outcome text        not null,
  n       bigint      not null,
  run_ms  bigint      not null,
  wait_ms bigint      not null,
  primary key (minute, queue, task, outcome)
);

create table leasehold.audit (
  id      bigint      generated always as identity primary key,
  at      timestamptz not null,
  role    name        not null default session_user,
  actor   text        not null,
  verb    text        not null,
  note    text,
  job_ids uuid[]      not null
);
create index on leasehold.audit (at);

-- A job on its way between rooms: where it stands in line, and what was counted of it.
create type leasehold.entry as (
  job_id uuid, queue text, priority int, due timestamptz,
  claim_no int, moves int, attempts smallint, interrupted smallint
);
