"""A database for proofs: its clock stands still, and one question reads all rooms."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import psycopg
from psycopg.adapt import Loader

from leasehold.store.call import Call, statement
from proof.model import POISON, Bundle, Model, Segment

T = TypeVar("T")
Tables = dict[str, list[Any]]

CLOCK = """
create or replace function leasehold.now() returns timestamptz language sql volatile parallel safe
as $$ select pg_catalog.current_setting('proof.now')::timestamptz $$;
create function leasehold.us(timestamptz) returns bigint language sql immutable parallel safe
as $$ select (extract(epoch from $1) * 1000000)::bigint $$;
"""
EMPTIED = (
    *("job", "job_kept", "ready", "scheduled", "waiting", "dispatched", "running", "attempt"),
    *("attempt_kept", "dead", "job_key", "cancel_request", "runner", "worker", "audit"),
    *("checkpoint", "tally_delta", "sleeper"),
)
COUNTS = "claim_no, moves, attempts, interrupted"
LOOKS = {
    "job": ("id, duplicate_of", "job"),
    "ready": (
        f"job_id, queue, priority, us(turn), {COUNTS}, us(deadline), segment, task",
        "ready",
    ),
    "scheduled": (f"job_id, queue, priority, us(run_at), {COUNTS}, us(deadline)", "scheduled"),
    "waiting": (
        f"job_id, queue, priority, us(run_at), {COUNTS}, us(deadline), reason, note",
        "waiting",
    ),
    "dispatched": (
        f"job_id, queue, priority, us(turn), {COUNTS}, us(deadline), dispatch_no, us(expires_at)",
        "dispatched",
    ),
    "running": (
        (
            "r.id, runner, us(claimed_at), held, begun, queue, (select json_agg(json_build_array("
            "m.job, m.claim, us(m.turn), m.priority, m.moves, m.attempts, m.interrupted) "
            "order by n) from unnest(r.job_ids, r.claim_nos, r.turns, r.priorities, r.moves, "
            "r.attempts, r.interrupted) with ordinality "
            "m(job, claim, turn, priority, moves, attempts, interrupted, n))"
        ),
        "running r",
    ),
    "attempt": (
        "job_id, claim_no, outcome, us(claimed_at), us(ended_at), runner, run_ms, error, result",
        "attempt",
    ),
    "dead": (f"job_id, queue, priority, us(died_at), {COUNTS}, reason, error", "dead"),
    "key": ("tenant, task, key, job_id", "job_key"),
    "wish": ("job_id, claim_no, runner, reason", "cancel_request"),
    "runner": ("id, worker, us(expires_at), us(dead_at), to_json(begun)", "runner"),
    "leader": ("term, worker, us(tick_at), us(resumed_at)", "leader"),
    "segment": (
        (
            "s.number, s.generation, s.sealed, "
            "pg_relation_size('leasehold.ready_' || s.number) > 0, s.empty, "
            "s.number = o.last_value % 4"
        ),
        "segment s, leasehold.open_segment o",
    ),
    "worker": ("id", "worker"),
    "audit": ("1", "audit"),
}


def one_look() -> str:
    parts = (
        f"'{name}', (select coalesce(json_agg(json_build_array({columns})), '[]') "
        f"from leasehold.{table})".replace("us(", "leasehold.us(")
        for name, (columns, table) in LOOKS.items()
    )
    return f"select json_build_object({', '.join(parts)})"


class TextOfId(Loader):
    def load(self, data: Any) -> str:
        return bytes(data).decode()


class Microseconds(Loader):
    def load(self, data: Any) -> int:
        return microseconds(bytes(data).decode())


def microseconds(text: str) -> int:
    passed = datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds


def iso(moment: int) -> str:
    seconds, part = divmod(moment, 1_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{part:06}+00"


class Ground:
    def __init__(self, dsn: str) -> None:
        self.connection = psycopg.connect(dsn, autocommit=True, options="-c timezone=UTC")
        self.connection.prepare_threshold = 2
        for name, loader in (("uuid", TextOfId), ("timestamptz", Microseconds)):
            self.connection.adapters.register_loader(name, loader)
        self.connection.execute("set synchronous_commit = off")
        self.connection.execute(CLOCK.encode())
        self.connection.execute("update leasehold.house set poison = %s", (POISON,))
        self._look = one_look().encode()
        today = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
        self.noon = microseconds(today.isoformat())
        self._resets = 0

    def close(self) -> None:
        self.connection.close()

    def call(self, now: int, call: Call[T]) -> T:
        """The verb's answer when the clock stands there; one round trip."""
        with self.connection.pipeline():
            self.connection.execute("select set_config('proof.now', %s, false)", (iso(now),))
            cursor = self.connection.execute(statement(call, "%s").encode(), call.arguments)
        return call.read(cursor.fetchall())

    def run(self, sql: str, arguments: Sequence[Any] = ()) -> None:
        self.connection.execute(sql.encode(), arguments)

    def reset(self, now: int) -> Model:
        """Nothing in any room; the segments stay as they were left."""
        self._resets += 1
        with self.connection.pipeline():
            if self._resets % 25 == 1:  # the dead entries of the walks before cost time
                names = ", ".join(f"leasehold.{table}" for table in EMPTIED)
                self.connection.execute(f"truncate {names}".encode())
            else:
                for table in EMPTIED:
                    self.connection.execute(f"delete from leasehold.{table}".encode())
            self.connection.execute(
                "update leasehold.leader set term = 0, worker = null, tick_at = %s::timestamptz, "
                "resumed_at = %s::timestamptz",
                (iso(now), iso(now)),
            )
        model = Model(now)
        model.leader.tick_at = model.leader.resumed_at = now
        for number, generation, sealed, dirty, empty, is_open in self.tables()["segment"]:
            model.segments.append(Segment(generation, sealed, dirty, empty))
            model.open = number if is_open else model.open
        return model

    def tables(self) -> Tables:
        rows = self.connection.execute(self._look).fetchone()
        assert rows is not None
        return in_order(rows[0])


def members(bundle: Bundle) -> list[list[Any]]:
    return [
        [m.job, m.claim_no, m.turn, m.priority, m.moves, m.attempts, m.interrupted]
        for m in bundle.members
    ]


def tables_of(model: Model) -> Tables:
    """What the database must hold."""
    jobs = model.jobs.values()
    found: Tables = {"job": [[j.id, j.duplicate_of] for j in jobs]}
    for room, entries in model.rooms.items():
        found[room] = []
        for e in entries.values():
            row = [e.job, e.queue, e.priority, e.due, e.claim_no, e.moves, e.attempts]
            row += [e.interrupted, model.jobs[e.job].deadline]
            match room:
                case "ready":
                    row += [e.segment, model.jobs[e.job].task]
                case "waiting":
                    row += [e.reason, e.note]
                case "dispatched":
                    row += [e.dispatch_no, e.expires_at]
            found[room].append(row)
    found["running"] = [
        [b.id, b.runner, b.claimed_at, b.held, b.begun, b.queue, members(b)]
        for b in model.running.values()
    ]
    found["attempt"] = [
        [job, claim, a.outcome, a.claimed_at, a.ended_at, a.runner, a.run_ms, a.error, a.result]
        for job, lines in model.attempts.items()
        for claim, a in lines.items()
    ]
    found["dead"] = [
        [
            *(job, d.queue, d.priority, d.died_at, d.claim_no),
            *(d.moves, d.attempts, d.interrupted, d.reason, d.error),
        ]
        for job, d in model.dead.items()
    ]
    found["key"] = [[*slot, job] for slot, job in model.keys.items()]
    found["wish"] = [[job, *wish] for job, wish in model.wishes.items()]
    found["runner"] = [
        [n, r.worker, r.expires_at, r.dead_at, r.begun] for n, r in model.runners.items()
    ]
    leader = model.leader
    found["leader"] = [[leader.term, leader.worker, leader.tick_at, leader.resumed_at]]
    found["segment"] = [
        [n, s.generation, s.sealed, s.dirty, s.empty, n == model.open]
        for n, s in enumerate(model.segments)
    ]
    found["worker"] = [[n] for n in model.workers]
    found["audit"] = [[1]] * model.audited
    return in_order(found)


def in_order(tables: Tables) -> Tables:
    for bundle in tables["running"]:
        if bundle[4] == len(bundle[6]):  # all begun: then the order in it means nothing
            bundle[6].sort()
    return {name: sorted(rows, key=repr) for name, rows in tables.items()}


def differences(actual: Tables, wanted: Tables) -> list[str]:
    return [
        f"{name}: the database has {[r for r in actual[name] if r not in wanted[name]]}, "
        f"the model {[r for r in wanted[name] if r not in actual[name]]}"
        for name in wanted
        if actual[name] != wanted[name]
    ]
