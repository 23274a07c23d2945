"""Two verbs at once, in every order in which their steps can fall.

A verb is one statement: pausing between statements shows nothing. In the test database triggers
on the rooms pause a session inside of its verb: at each of its gates it waits for a lock that the
explorer holds. One session at a time goes on, to its next gate, to its end, or until it waits for
the other one. A schedule is the order of those goes: "AABB".
"""

import json
import os
import re
import select
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import psycopg
from psycopg import pq

GATES = int(os.environ.get("LEASEHOLD_GATES", "4"))  # of one verb; more are thinned out evenly
# So often a session is stopped although it could go on.
PREEMPTIONS = int(os.environ.get("LEASEHOLD_PREEMPTIONS", "2"))

NAMES = (
    "r1",
    "r2",
    "s1",
    "w1",
    "p1",
    "d1",
    "x1",
    "x2",
    "k1",
    "k2",
    "e1",
    "e2",
    "nA1",
    "nA2",
    "nB1",
    "nB2",
)
PARTS = dict.fromkeys(("k1", "nA1", "nB1"), "key K")
PARTS |= dict.fromkeys(("x1", "x2", "nA2", "nB2"), "key L")
HOUSE = "house"
ROOMS = (
    *("job", "ready", "scheduled", "waiting", "dispatched", "running", "attempt", "dead"),
    *("job_key", "cancel_request", "runner", "segment", "checkpoint"),
    *("job_kept", "attempt_kept", "house"),
)

INSTALL = """
create schema proof;
create table proof.name (name text primary key, id uuid not null);
insert into proof.name select n, leasehold.new_id() from unnest(%(names)s::text[]) n;
-- All but the new ones are ten days old: their day may be retired.
update proof.name set id = overlay(id::text placing left(leasehold.id_floor(
  clock_timestamp() - interval '10 days')::text, 13) from 1)::uuid where name !~ '^n';
create function proof.id(text) returns uuid language sql stable
as $$ select id from proof.name where name = $1 $$;

create function proof.gate(p_name text) returns void language plpgsql as $$
declare
  v_me   text := current_setting('proof.session', true);
  v_seen text;
  v_name text;
  v_stop int;
begin
  if coalesce(v_me, '') = '' then
    return;
  end if;
  v_seen := current_setting('proof.seen') || p_name || ',';
  perform set_config('proof.seen', v_seen, true);
  v_name := p_name || '#' ||
    (length(v_seen) - length(replace(v_seen, ',' || p_name || ',', ',' || p_name)));
  if current_setting('proof.stops') = '*' then
    raise notice 'gate %%', v_name;
  elsif position(',' || v_name || ',' in current_setting('proof.stops')) > 0 then
    v_stop := current_setting('proof.stopped')::int;
    perform set_config('proof.stopped', (v_stop + 1)::text, true);
    raise notice 'gate %%', v_name;
    perform pg_advisory_lock(777, v_me::int * 2 + v_stop %% 2);
    perform pg_advisory_unlock(777, v_me::int * 2 + v_stop %% 2);
  end if;
end $$;
create function proof.before_row() returns trigger language plpgsql as $$
begin
  perform proof.gate(regexp_replace(tg_table_name, '_\\d+$', '') || '.' || lower(tg_op));
  return case tg_op when 'DELETE' then old else new end;
end $$;
create function proof.after_statement() returns trigger language plpgsql as $$
begin
  perform proof.gate(regexp_replace(tg_table_name, '_\\d+$', '') || '.' || lower(tg_op) || '.done');
  return null;
end $$;
create function proof.before_truncate() returns trigger language plpgsql as $$
begin
  perform proof.gate('ready.truncate');
  return null;
end $$;
"""

OLD_DAY = """
do $$
declare
  v_day  timestamptz := date_trunc('day', clock_timestamp() - interval '10 days', 'UTC');
  v_room text;
begin
  foreach v_room in array array['job', 'attempt'] loop
    execute format('create table leasehold.%I partition of leasehold.%I '
      'for values from (%L) to (%L)',
      v_room || to_char(v_day at time zone 'UTC', '_YYYYMMDD'), v_room,
      leasehold.id_floor(v_day), leasehold.id_floor(v_day + interval '1 day'));
  end loop;
end $$;
"""
SCENARIO = """
create function proof.reset() returns void language plpgsql as $$
declare
  v_long  timestamptz := clock_timestamp() - interval '1 minute';
  v_table text;
begin
  set local session_replication_role = replica; -- no gate and no enqueue while the stage is set
  foreach v_table in array array['job', 'ready', 'scheduled', 'waiting', 'dispatched', 'running',
    'attempt', 'dead', 'job_key', 'cancel_request', 'runner', 'worker', 'audit', 'checkpoint',
    'job_kept', 'attempt_kept'] loop
    execute 'delete from leasehold.' || v_table;
  end loop;
  update leasehold.house set floor = '00000000-0000-0000-0000-000000000000';
  if pg_relation_size('leasehold.ready_2') > 0 then
    truncate leasehold.ready_2;
  end if;
  if pg_relation_size('leasehold.ready_1') > 8192 then -- rotate tells blocks apart
    truncate leasehold.ready_1;
  end if;
  update leasehold.segment set generation = (array[4, 2, 3])[number + 1], sealed = number = 1,
    empty = false, swept = 0;
  perform setval('leasehold.open_segment', 16);
  perform setval('leasehold.running_id_seq', 100);
  update leasehold.leader set term = 1, worker = 1, tick_at = clock_timestamp(),
    resumed_at = clock_timestamp() - interval '1 hour';
  insert into leasehold.worker (id, started_at, beat_at, pid, host, version, queues)
    overriding system value values (1, v_long, v_long, 1, 'h', '0', '{q}');
  insert into leasehold.runner (id, worker, started_at, expires_at, pid)
    overriding system value values (1, 1, v_long, v_long, 1),
      (2, 1, v_long, clock_timestamp() + interval '20 seconds', 2);
  insert into leasehold.job (id, enqueued_at, queue, task, key, deadline, tenant)
    select proof.id(n), v_long, 'q', 't',
      case n when 'k1' then 'K' when 'e2' then 'E' when 'x1' then 'L' end,
      case when n in ('r2', 's1', 'w1', 'd1') then v_long end, 'acme'
    from unnest(array['r1', 'r2', 's1', 'w1', 'p1', 'd1', 'x1', 'x2', 'k1', 'k2', 'e2']) n;
  insert into leasehold.job_kept (id, enqueued_at, queue, task, tenant)
    values (proof.id('e1'), v_long, 'q', 't', 'acme');
  insert into leasehold.ready
      (turn, job_id, segment, priority, moves, queue, task, payload, deadline)
    values (v_long, proof.id('r1'), 0, 100, 0, 'q', 't', '{}', null),
      (v_long, proof.id('r2'), 1, 100, 1, 'q', 't', '{}', v_long);
  insert into leasehold.scheduled (run_at, job_id, priority, queue, deadline)
    values (v_long, proof.id('s1'), 100, 'q', v_long);
  insert into leasehold.waiting (since, job_id, priority, reason, queue, deadline)
    values (v_long, proof.id('w1'), 100, 'held', 'q', v_long),
      (v_long, proof.id('p1'), 100, 'parents', 'q', null);
  insert into leasehold.dispatched (dispatched_at, expires_at, dispatch_no, job_id, turn, priority,
      claim_no, moves, attempts, interrupted, transport, queue, deadline)
    overriding system value
    values (v_long, v_long, 1, proof.id('d1'), v_long, 100, 0, 1, 0, 0, 'redis', 'q', v_long);
  insert into leasehold.running (id, runner, claimed_at, held, begun, queue, job_ids, claim_nos,
      turns, priorities, moves, attempts, interrupted)
    overriding system value
    values (1, 1, v_long, 2, 1, 'q', array[proof.id('x1'), proof.id('x2')], '{1,1}',
      array[v_long, v_long], '{100,100}', '{0,0}', '{0,0}', '{0,0}');
  insert into leasehold.attempt (job_id, claimed_at, ended_at, runner, claim_no, outcome)
    values (proof.id('k1'), v_long, v_long, 1, 1, 'failed'),
      (proof.id('k2'), v_long, v_long, 1, 1, 'failed'),
      (proof.id('e2'), v_long, v_long, 1, 1, 'succeeded');
  insert into leasehold.attempt_kept (job_id, claimed_at, ended_at, runner, claim_no, outcome)
    values (proof.id('e1'), v_long, clock_timestamp() - interval '8 days', 1, 1, 'succeeded');
  insert into leasehold.dead (died_at, enqueued_at, job_id, priority, claim_no, moves, attempts,
      interrupted, reason, queue, task, payload, key)
    values (v_long, v_long, proof.id('k1'), 100, 1, 1, 1, 0, 'failed', 'q', 't', '{}', 'K'),
      (v_long, v_long, proof.id('k2'), 100, 1, 1, 1, 0, 'failed', 'q', 't', '{}', null);
  insert into leasehold.job_key (tenant, task, key, job_id)
    select 'acme', 't', k, proof.id(n)
    from unnest(array['K', 'E', 'L'], array['k1', 'e2', 'x1']) as x(k, n);
  set local session_replication_role = origin;
end $$;
"""
COUNTS = "claim_no, moves, attempts, interrupted"
NEW = "> clock_timestamp() - interval '30 seconds'"
# Ids become names, moments become old or new: what is left is the same however long it took.
LOOKS = {
    "job": ("id, duplicate_of", "job_body"),
    "ready": (f"job_id, queue, priority, turn {NEW}, {COUNTS}, segment", "ready"),
    "scheduled": (f"job_id, queue, priority, run_at > clock_timestamp(), {COUNTS}", "scheduled"),
    "waiting": (f"job_id, queue, priority, run_at is null, {COUNTS}, reason", "waiting"),
    "dispatched": (f"job_id, queue, dispatch_no = 1, expires_at {NEW}, {COUNTS}", "dispatched"),
    "running": (
        "m.job, r.runner, r.queue, m.claim, m.n <= r.begun, m.moves, m.attempts, m.interrupted",
        (
            "running r cross join lateral unnest(r.job_ids, r.claim_nos, r.moves, r.attempts, "
            "r.interrupted) with ordinality m(job, claim, moves, attempts, interrupted, n) "
            "where not exists (select from leasehold.attempt_all a "
            "where a.job_id = m.job and a.claim_no = m.claim)"
        ),
    ),
    "attempt": (
        f"job_id, claim_no, outcome, runner, claimed_at is null, ended_at {NEW}, error ->> 'type'",
        "attempt_all",
    ),
    "dead": (f"job_id, died_at {NEW}, {COUNTS}, reason", "dead"),
    "key": ("tenant, task, key, job_id", "job_key"),
    "wish": ("job_id, claim_no, runner", "cancel_request"),
    "runner": ("id, dead_at is null, expires_at > clock_timestamp(), begun", "runner"),
    "leader": ("term, worker", "leader"),
    "worker": ("id", "worker"),
    "checkpoint": ("job_id, progress", "checkpoint"),
    "house": ("floor > '00000000-0000-0000-0000-000000000000'", "house"),
    "segment": ("number, generation, sealed, empty", "segment"),
    "open": ("last_value", "open_segment"),
    "audit": ("verb, cardinality(job_ids)", "audit"),
}
# These answer with a number only, and what they passed over they find the next time.
COUNTING = frozenset({"promote", "unblock", "expire", "reap", "crash", "retain", "purge"})
SWEEPS = COUNTING | {"beat", "leave", "claim", "dispatch", "rotate", "retire"}

ALL = "array(select id from proof.name where name !~ '^n' order by name)"
VERBS = {
    "enqueue": "leasehold.enqueue(jsonb_build_array("
    "jsonb_build_object('id', proof.id('n{me}1'), 'task', 't', 'queue', 'q', 'key', 'K', "
    "'tenant', 'acme'), "
    "jsonb_build_object('id', proof.id('n{me}2'), 'task', 't', 'queue', 'q', 'key', 'L', "
    "'tenant', 'acme')))",
    "claim": "job_id, claim_no from leasehold.claim(2, '{{q}}', null, 9, 9) "
    "where job_id is not null",
    "finish": "leasehold.finish(1, '{{1}}', array[proof.id('x1')], '{{1}}', '{{5}}', null, "
    "jsonb_build_array(jsonb_build_object("
    "'job', proof.id('x2'), 'claim', 1, 'outcome', 'retried')))",
    "finish_badly": "leasehold.finish(1, '{{1}}', '{{}}', '{{}}', '{{}}', null, jsonb_build_array("
    "jsonb_build_object('job', proof.id('x1'), 'claim', 1, 'outcome', 'failed'), "
    "jsonb_build_object('job', proof.id('x2'), 'claim', 1, 'outcome', 'snoozed', 'delay', 600)))",
    "release": "leasehold.release(1, '{{1}}', array[proof.id('x1'), proof.id('x2')], '{{1,1}}')",
    "reap": "leasehold.reap(100)",
    "crash": "leasehold.reap(100, 1, array[proof.id('x1')])",
    "promote": "jobs from leasehold.promote(100)",
    "unblock": "leasehold.unblock(100)",
    "expire": "leasehold.expire(100)",
    "dispatch": "job_id, task from leasehold.dispatch('q', 'redis', 2, 60)",
    "take": "job_id, claim_no from leasehold.take(2, array[proof.id('d1')], '{{1}}')",
    "cancel": f"leasehold.cancel({ALL}, 'ann')",
    "hold": f"leasehold.hold({ALL}, 'ann')",
    "resume": f"leasehold.resume({ALL}, 'ann')",
    "retry": f"leasehold.retry({ALL}, 'ann')",
    "redrive": "leasehold.redrive('{{}}', 100, 'ann')",
    "discard": f"leasehold.discard({ALL}, 'ann')",
    "beat": "news - 'leader_age' from leasehold.beat(1, "
    '\'[{{"id": 1, "bundles": []}}, {{"id": 2, "bundles": []}}]\')',
    "rotate": "sealed, emptied, opened from leasehold.rotate(0)",
    "lead": "leasehold.lead(1)",
    "leave": "leasehold.leave(1)",
    "retain": "leasehold.retain(100)",
    "retire": "job_table from leasehold.retire()",
    "purge": "leasehold.purge('acme', 100, 'ann')",
    "save": "leasehold.save(1, jsonb_build_array(jsonb_build_object("
    "'bundle', 1, 'job', proof.id('x1'), 'progress', 5)))",
}


# What retire_rest does when nobody can write to the retired day any more.
STRAGGLERS = """
select leasehold.keep_living('leasehold.job', 'leasehold.attempt',
  leasehold.id_floor(d), leasehold.id_floor(d + interval '1 day'))
from leasehold.house, date_trunc('day', leasehold.id_time(proof.id('r1')), 'UTC') d
where floor > '00000000-0000-0000-0000-000000000000'"""


@dataclass(frozen=True)
class Outcome:
    """What two verbs answered and left behind."""

    answers: tuple[str, str]
    tables: str

    def parts(self, verbs: Sequence[str]) -> dict[str, frozenset[str]]:
        """By job, with those that want its key or share its bundle; the rest of the house is one
        part more. A verb moves each of its jobs at once or not at all, but passes over a job that
        somebody else is just moving: what holds for a job alone need not hold for all of them."""
        found: dict[str, set[str]] = {}
        for who, verb, answer in zip("AB", verbs, self.answers, strict=True):
            if answer.startswith("error"):
                found.setdefault(HOUSE, set()).add(f"{who} {answer}")
            elif verb not in COUNTING:
                for row in json.loads(answer):
                    found.setdefault(part_of(row), set()).add(f"{who} answers {row}")
        for table, rows in json.loads(self.tables).items():
            for row in rows:
                found.setdefault(part_of(row), set()).add(f"{table} {row}")
        return {part: frozenset(said) for part, said in found.items()}


def strays(outcome: Outcome, serial: Sequence[Outcome], verbs: Sequence[str]) -> list[str]:
    """The parts that look as after neither order."""
    mine, others = outcome.parts(verbs), [one.parts(verbs) for one in serial]
    nothing: frozenset[str] = frozenset()
    found = []
    for part in sorted({part for one in (mine, *others) for part in one}):
        here, there = mine.get(part, nothing), [one.get(part, nothing) for one in others]
        if here not in there:
            near = min(there, key=lambda other: len(here ^ other))
            found.append(f"{part}: {sorted(here - near)} instead of {sorted(near - here)}")
    return found


def part_of(row: Sequence[Any]) -> str:
    return next((PARTS.get(cell, cell) for cell in row if cell in NAMES), HOUSE)


@dataclass
class Session:
    """One of the two: fresh, at a gate, blocked by the other, or ended."""

    name: str
    number: int
    connection: psycopg.Connection[Any]
    state: str = "fresh"
    stops: int = 0
    answer: str = ""
    unlocked: int | None = None
    passed: list[str] = field(default_factory=list)
    news: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pid = self.connection.info.backend_pid
        self.pgconn = self.connection.pgconn
        self.poll = select.poll()
        self.poll.register(self.pgconn.socket, select.POLLIN)
        self.connection.add_notice_handler(self._noticed)

    def _noticed(self, said: psycopg.errors.Diagnostic) -> None:
        if (said.message_primary or "").startswith("gate "):
            self.news.append(str(said.message_primary)[5:])

    def begin(self, verb: str, stops: str) -> None:
        self.state, self.stops, self.answer = "fresh", 0, ""
        self.passed, self.news = [], []
        self._statement = (
            f"select set_config('proof.session', '{self.number}', true), "
            f"set_config('proof.stops', '{stops}', true), set_config('proof.seen', ',', true), "
            f"set_config('proof.stopped', '0', true); {statement(verb, self.name)}"
        )

    def send(self) -> None:
        self.pgconn.send_query(self._statement.encode())

    def heard(self, milliseconds: int) -> bool:
        """Whether it came to a gate or to its end meanwhile."""
        if self._read():
            return True
        if not self.poll.poll(milliseconds):
            return False
        self.pgconn.consume_input()
        return self._read()

    def _read(self) -> bool:
        while True:
            busy = self.pgconn.is_busy()  # takes in what came, notices too
            if self.news:
                self.passed.append(self.news.pop(0))
                self.stops += 1
                self.state = "gate"
                return True
            if busy:
                return False
            result = self.pgconn.get_result()
            if result is None:
                self.state = "ended"
                return True
            self.answer = answer_of(result)


def statement(verb: str, me: str) -> str:
    call = VERBS[verb].format(me=me)
    return f"select {call}" if " from " in call.split("(")[0] else f"select * from {call}"


def answer_of(result: pq.abc.PGresult) -> str:
    if result.status == pq.ExecStatus.FATAL_ERROR:
        state = result.error_field(pq.DiagnosticField.SQLSTATE) or b""
        said = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b""
        return f"error {state.decode()} {said.decode()}"
    rows = [
        [(result.get_value(r, c) or b"null").decode() for c in range(result.nfields)]
        for r in range(result.ntuples)
    ]
    return json.dumps(sorted(rows))


class Explorer:
    def __init__(self, dsn: str, audit: Callable[[psycopg.Connection[Any]], list[str]]) -> None:
        self._audit = audit
        self.driver = psycopg.connect(dsn, autocommit=True)
        install(self.driver)
        self.names = {
            str(id_): name for name, id_ in self.driver.execute("select name, id from proof.name")
        }
        self._id = re.compile("|".join(self.names))
        self._look = one_look().encode()
        sessions = [psycopg.connect(dsn, autocommit=True) for _ in "AB"]
        for session in sessions:
            session.execute("set synchronous_commit = off")
            session.execute("set deadlock_timeout = '20ms'")
            session.execute("set statement_timeout = '20s'")
        self.a, self.b = (Session("AB"[n], n, sessions[n]) for n in range(2))
        self.driver.execute("select pg_advisory_lock(777, n) from generate_series(0, 3) n")
        self.schedules = self.late = 0
        self._gates: dict[str, list[str]] = {}

    def close(self) -> None:
        for connection in (self.a.connection, self.b.connection, self.driver):
            connection.close()

    # One schedule

    def gates(self, verb: str) -> list[str]:
        """Those it comes by when it is alone, thinned out."""
        if verb not in self._gates:
            self.reset()
            self.a.begin(verb, "*")
            self._alone(self.a)
            found = [gate for gate in self.a.passed if gate.endswith(("#1", "#2"))]
            if len(found) > GATES:
                found = [found[n * (len(found) - 1) // (GATES - 1)] for n in range(GATES)]
            self._gates[verb] = list(dict.fromkeys(found))
        return self._gates[verb]

    def serial(
        self, first: Session, second: Session, verbs: Sequence[str], again: int = 0
    ) -> Outcome:
        """One after the other; `again` says how often both are repeated then, unseen."""
        self.reset()
        for session, verb in zip((self.a, self.b), verbs, strict=True):
            session.begin(verb, "")
        self._alone(first)
        self._alone(second)
        return self._outcome(verbs, again)

    def run(
        self, verbs: Sequence[str], prefix: str, again: int = 0
    ) -> tuple[str, list[str], Outcome]:
        """Follows the prefix, then lets whoever goes go on. Answers the schedule, who else could
        have gone at each of its letters, and the outcome."""
        stops = [f",{','.join(self.gates(verb))}," for verb in verbs]
        self.reset()
        self.schedules += 1
        for session, verb, gates in zip((self.a, self.b), verbs, stops, strict=True):
            session.begin(verb, gates)
        went, could = "", []
        while enabled := [s for s in (self.a, self.b) if s.state in {"fresh", "gate"}]:
            letters = "".join(s.name for s in enabled)
            if len(went) < len(prefix) and prefix[len(went)] in letters:
                chosen = prefix[len(went)]
            else:
                chosen = went[-1] if went and went[-1] in letters else letters[0]
            went += chosen
            could.append(letters)
            session, other = (self.a, self.b) if chosen == "A" else (self.b, self.a)
            self._go(session, other)
            if other.state == "blocked" and session.state == "ended":
                self._settle(other, session)
            if self.a.state == self.b.state == "blocked":  # a deadlock: Postgres ends one of them
                while not (self.a.heard(5) or self.b.heard(5)):
                    pass
                for one, two in ((self.a, self.b), (self.b, self.a)):
                    if one.state == "blocked":
                        self._settle(one, two)
        return went, could, self._outcome(verbs, again)

    def _go(self, session: Session, other: Session) -> None:
        if session.state == "fresh":
            session.send()
        else:
            # The lock of the gate before is free by now. This one's is let go of for good: the
            # session told of its gate a moment before it waits there.
            key = session.number * 2 + (session.stops - 1) % 2
            self._lock_again(session)
            self.driver.execute("select pg_advisory_unlock(777, %s)", (key,))
            session.unlocked = key
        session.state = "going"
        self._settle(session, other)

    def _settle(self, session: Session, other: Session) -> None:
        while not session.heard(2):
            blockers = self.driver.execute("select pg_blocking_pids(%s)", (session.pid,)).fetchone()
            if blockers and other.pid in blockers[0] and other.state != "ended":
                session.state = "blocked"
                return

    def _alone(self, session: Session, *, go_on: bool = False) -> None:
        if not go_on:
            session.send()
        while session.state != "ended":
            session.heard(1000)

    def _lock_again(self, session: Session) -> None:
        if session.unlocked is not None:
            self.driver.execute("select pg_advisory_lock(777, %s)", (session.unlocked,))
            session.unlocked = None

    def reset(self) -> None:
        self._lock_again(self.a)
        self._lock_again(self.b)
        self.driver.execute("select proof.reset()")

    def _outcome(self, verbs: Sequence[str], again: int) -> Outcome:
        if "retire" in verbs:
            self.driver.execute(STRAGGLERS)
        answers = (self._named(self.a.answer), self._named(self.b.answer))
        for _ in range(again):
            for session, verb in zip((self.a, self.b), verbs, strict=True):
                if verb in SWEEPS:
                    session.begin(verb, "")
                    self._alone(session)
        return Outcome(answers, self.tables())

    def tables(self, without: str = "") -> str:
        row = self.driver.execute(self._look).fetchone()
        assert row is not None
        tables = json.loads(self._named(row[0]))
        tables.pop(without, None)
        return json.dumps({name: sorted(rows, key=repr) for name, rows in tables.items()})

    def stop_at(self, verb: str, gate: int) -> None:
        """The verb alone, until somebody cancels its statement at its gate of this number."""
        self.reset()
        self.a.begin(verb, f",{self.gates(verb)[gate]},")
        self._go(self.a, self.b)
        self.driver.execute("select pg_cancel_backend(%s)", (self.a.pid,))
        self._alone(self.a, go_on=True)

    def _named(self, text: str) -> str:
        return self._id.sub(lambda found: self.names[found[0]], text)

    # All schedules of two verbs

    def explore(self, verbs: Sequence[str]) -> Iterator[tuple[str, Outcome]]:
        """Depth first through the choices, with so many preemptions at most."""
        todo, seen = [""], set()
        while todo:
            prefix = todo.pop()
            schedule, could, outcome = self.run(verbs, prefix)
            if schedule in seen:
                continue
            seen.add(schedule)
            yield schedule, outcome
            for n in range(len(prefix), len(schedule)):
                for letter in could[n].replace(schedule[n], ""):
                    other = schedule[:n] + letter
                    if preemptions(other, could) <= PREEMPTIONS:
                        todo.append(other)

    def wrong(self, verbs: Sequence[str]) -> list[str]:
        """The schedules of two verbs whose outcome no order of the two alone could have."""
        serial = self.serials(verbs)
        found = []
        for schedule, outcome in self.explore(verbs):
            if outcome in serial:
                continue
            faults = self._audit(self.driver)
            faults += [f"error {a}" for a in outcome.answers if a.startswith("error 40P01")]
            faults += strays(outcome, serial, verbs)
            if faults and SWEEPS & {*verbs} and self._comes_right(verbs, schedule):
                self.late += 1
            elif faults:
                found.append(f"{','.join(verbs)}:{schedule} {'; '.join(faults)}")
        return found

    def serials(self, verbs: Sequence[str], again: int = 0) -> list[Outcome]:
        orders = ((self.a, self.b), (self.b, self.a))
        return [self.serial(one, two, verbs, again) for one, two in orders]

    def _comes_right(self, verbs: Sequence[str], schedule: str) -> bool:
        """A verb that passes over what somebody else holds comes back for it a moment later."""
        _, _, outcome = self.run(verbs, schedule, again=2)
        outcome = Outcome(("[]", "[]"), outcome.tables)
        serial = [Outcome(("[]", "[]"), o.tables) for o in self.serials(verbs, again=2)]
        return not (strays(outcome, serial, verbs) or self._audit(self.driver))


def preemptions(schedule: str, could: Sequence[str]) -> int:
    return sum(
        before != after and before in could[n]
        for n, (before, after) in enumerate(pairwise(schedule), 1)
    )


def install(connection: psycopg.Connection[Any]) -> None:
    connection.execute(OLD_DAY)
    names = ", ".join(f"'{name}'" for name in NAMES)
    connection.execute(INSTALL.replace("%(names)s", f"array[{names}]").replace("%%", "%").encode())
    connection.execute(SCENARIO.encode())
    for room in ROOMS:
        connection.execute(
            f"create trigger proof_row before insert or update or delete on leasehold.{room} "
            f"for each row execute function proof.before_row()".encode()
        )
        connection.execute(
            f"create trigger proof_done after insert or update or delete on leasehold.{room} "
            f"for each statement execute function proof.after_statement()".encode()
        )
    for number in range(3):
        connection.execute(
            f"create trigger proof_truncate before truncate on leasehold.ready_{number} "
            f"for each statement execute function proof.before_truncate()".encode()
        )


def one_look() -> str:
    parts = (
        f"'{name}', (select coalesce(json_agg(json_build_array({columns})), '[]') "
        f"from leasehold.{table})"
        for name, (columns, table) in LOOKS.items()
    )
    return f"select json_build_object({', '.join(parts)})::text"
