"""What is wrong with the house: findings, each with why it matters and what to do.

Every check is a function of facts; `examine` gathers the facts. Nothing here changes anything.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from leasehold.errors import SchemaNewer
from leasehold.operate.ask import Ask
from leasehold.operate.status import Status, status
from leasehold.store import migrate, reads
from leasehold.store.connect import Connection

Severity = Literal["wrong", "warning", "note"]
Facts = Mapping[str, Any]

OLDEST: Final = 160_000  # server_version_num of the oldest Postgres we are tested on
DAYS: Final = 14
PINNED: Final = 600.0  # seconds a transaction may stay open before it is named
PINNED_XIDS: Final = 1_000_000
SKEW: Final = 2.0
NEWEST: Final = 2_000  # jobs that are looked at one by one
OPEN_MOST: Final = 200_000_000  # bytes of the open segment when no other is free
HEADROOM: Final = 0.1
ROLES: Final = ("producer", "runner", "operator", "reader")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`wrong` and `warning` make `leasehold doctor` fail; a `note` does not. `fix` names a repair."""

    code: str
    severity: Severity
    what: str
    why: str
    do: str
    fix: str | None = None


def examine(connection: Connection, ask: Ask, clock: Callable[[], float]) -> list[Finding]:
    """All findings, the gravest first. `clock` tells this machine's time, to compare."""
    installed = list(_installed(connection))
    if any(finding.severity == "wrong" for finding in installed):
        return installed
    began = clock()
    server = ask(reads.health_server())
    server["distance"] = server["clock"] - (began + clock()) / 2
    schema = ask(reads.health_schema())
    found = [
        *installed,
        *(finding for check in SERVER for finding in check(server)),
        *(finding for check in SCHEMA for finding in check(schema)),
        *_jobs(ask(reads.health_jobs(NEWEST))),
        *_fleet(status(ask)),
    ]
    return sorted(found, key=lambda finding: ("wrong", "warning", "note").index(finding.severity))


# Is it there, and does it fit?


def _installed(connection: Connection) -> Iterator[Finding]:
    done, known = migrate.applied(connection), {script.number: script for script in migrate.migrations()}
    if not done:
        yield Finding(
            code="schema_missing", severity="wrong", what="Leasehold's schema is not in this database",
            why="no job can be enqueued or run here", do="leasehold migrate", fix="migrate",
        )  # fmt: skip
    elif unknown := done - known.keys():
        yield Finding(
            code="schema_newer", severity="wrong", what=str(SchemaNewer(max(unknown), max(known))),
            why="an older release must not work on a newer schema", do="install the newer release here",
        )  # fmt: skip
    elif missing := [script.name for number, script in known.items() if number not in done]:
        yield Finding(
            code="schema_older", severity="wrong", what=f"the schema lacks {', '.join(missing)}",
            why="this release needs them", do="leasehold migrate", fix="migrate",
        )  # fmt: skip


# The schema.


def _digests(schema: Facts) -> Iterator[Finding]:
    known = {script.number: script for script in migrate.migrations()}
    for row in schema["migrations"]:
        script = known.get(row["number"])
        if script and script.digest != row["digest"]:
            yield Finding(
                code="migration_differs", severity="warning",
                what=f"migration {row['name']} was applied with another text than this release has",
                why="the tables may not be what this release expects",
                do="find out which build migrated this database; compare its tables with a fresh one's",
            )  # fmt: skip


_BODY: Final = re.compile(
    r"create or replace function leasehold\.(\w+)\(.*?as \$\$(.*?)\$\$", re.IGNORECASE | re.DOTALL
)


def _functions(schema: Facts) -> Iterator[Finding]:
    files = {name: body for s in (*migrate.clock(), *migrate.code()) for name, body in _BODY.findall(s.text)}
    there = schema["functions"]
    if there.get("now") != files["now"]:
        yield Finding(
            code="clock_replaced", severity="wrong", what="leasehold.now() is not the production one",
            why="a clock moved by hand decides leases, retries and deadlines: this is a test's database, or was one",
            do="leasehold migrate puts the real clock back", fix="migrate",
        )  # fmt: skip
    other = sorted(name for name, body in files.items() if name != "now" and there.get(name) != body)
    if other:
        shown = ", ".join(other[:5]) + (f" and {len(other) - 5} more" if len(other) > 5 else "")  # noqa: PLR2004
        yield Finding(
            code="functions_differ", severity="warning",
            what=f"{len(other)} functions differ from this release's: {shown}",
            why="another release migrated last, or somebody changed them by hand",
            do="leasehold migrate, with the newest release you run", fix="migrate",
        )  # fmt: skip


def _rights(schema: Facts) -> Iterator[Finding]:
    if schema["public"]:
        yield Finding(
            code="public_rights", severity="wrong", what=f"PUBLIC may use {', '.join(schema['public'])}",
            why="every role of this server, also one that a stranger got, could use it",
            do="leasehold migrate takes these rights away", fix="migrate",
        )  # fmt: skip
    if missing := [role for role in ROLES if f"leasehold_{role}" not in schema["roles"]]:
        names = ", ".join(f"leasehold_{role}" for role in missing)
        yield Finding(
            code="roles_missing", severity="warning", what=f"the roles {names} are not there",
            why="only the schema's owner can work here: nobody can be given less than everything",
            do="let a role with CREATEROLE run `leasehold migrate`, or create them NOLOGIN and migrate", fix="migrate",
        )  # fmt: skip


def _days(schema: Facts) -> Iterator[Finding]:
    if schema["gap"]:
        yield Finding(
            code="days_missing", severity="wrong" if (schema["ahead"] or 0) < 2 else "warning",  # noqa: PLR2004 - tomorrow
            what=f"no partition is made for {schema['gap']}; days are made {schema['ahead']} ahead, {DAYS} at least are wanted",
            why="on a day without its partition every enqueue fails",
            do="leasehold migrate makes them; a running worker's leader does so every hour", fix="partition",
        )  # fmt: skip
    if schema["behind"]:
        names = ", ".join(schema["behind"][:4])
        more = f" and {len(schema['behind']) - 4} more" if len(schema["behind"]) > 4 else ""  # noqa: PLR2004
        yield Finding(
            code="days_not_retired", severity="warning", what=f"days past their keep are still there: {names}{more}",
            why="they take disk and are searched by every look at a job",
            do="a leader retires them within ten minutes: start a worker, and end whoever reads them for hours",
        )  # fmt: skip


def _segments(schema: Facts) -> Iterator[Finding]:
    segments = schema["segments"] or []
    for segment in segments:
        writers = segment["writers"]
        if not segment["sealed"] and not segment["open"] and writers:
            who = "; ".join(f"pid {w['pid']} ({w['role']}, {w['program']}) for {w['seconds']:.0f} s" for w in writers[:3])
            yield Finding(
                code="segment_unsealed", severity="warning",
                what=f"segment {segment['number']} of ready is closed, but a transaction that writes to it is open: {who}",
                why="until it is sealed the claims walk its dead rows",
                do="commit or end that transaction: select pg_terminate_backend(PID)",
            )  # fmt: skip
    free = any(s["sealed"] and not s["open"] and s["bytes"] == 0 for s in segments)
    grown = next((s for s in segments if s["open"] and s["bytes"] > OPEN_MOST), None)
    if grown and not free:
        yield Finding(
            code="segment_none_free", severity="warning",
            what=f"no segment of ready is free, and the open one has grown to {grown['bytes'] // 1_000_000} MB",
            why="dead rows at its head slow every claim down until one is emptied",
            do="add workers, or find the queue nobody serves: leasehold status",
        )  # fmt: skip


# The server.


def _version(server: Facts) -> Iterator[Finding]:
    if server["version"] < OLDEST:
        yield Finding(
            code="server_old", severity="wrong", what=f"the server is Postgres {server['version'] // 10_000}",
            why="Leasehold is made for and tested on 16 and newer", do="upgrade the server",
        )  # fmt: skip
    if server["standby"]:
        yield Finding(
            code="standby", severity="wrong", what="this server is a standby", why="nothing can be written here",
            do="use the primary's address, or add target_session_attrs=read-write to it",
        )  # fmt: skip


def _settings(server: Facts) -> Iterator[Finding]:
    has: Mapping[str, str] = server["settings"]
    for name, severity, why in (
        ("fsync", "wrong", "a crash of the machine can lose acknowledged jobs and destroy the whole database"),
        ("full_page_writes", "wrong", "a crash of the machine can destroy pages of the database"),
        ("synchronous_commit", "warning", "a crash loses the last acknowledged enqueues and finishes"),
        ("track_counts", "warning", "autovacuum does not see which tables need it, and the rooms bloat"),
        ("autovacuum", "warning", "nobody cleans dead rows away, and the rooms bloat"),
    ):
        if has.get(name) == "off":
            yield Finding(
                code=f"setting_{name}", severity=severity, what=f"{name} is off", why=why,  # type: ignore[arg-type]
                do=f"alter system set {name} = on; select pg_reload_conf()",
            )  # fmt: skip
    most, used = int(has["max_connections"]), server["connections"]
    free = most - int(has.get("superuser_reserved_connections", "3")) - used
    if free < most * HEADROOM:
        yield Finding(
            code="connections_short", severity="warning", what=f"{used} of {most} connections are in use",
            why="workers that cannot connect cannot beat, and lose their leases",
            do="raise max_connections, or put pgbouncer in transaction mode before your own programs",
        )  # fmt: skip
    if has.get("idle_in_transaction_session_timeout") == "0":
        yield Finding(
            code="idle_unbounded", severity="note", what="idle_in_transaction_session_timeout is 0",
            why="a program that forgets to commit holds its locks and every dead row for ever",
            do="alter system set idle_in_transaction_session_timeout = '10min'; select pg_reload_conf()",
        )  # fmt: skip


def _clock(server: Facts) -> Iterator[Finding]:
    if abs(server["distance"]) > SKEW:
        way = "ahead of" if server["distance"] > 0 else "behind"
        yield Finding(
            code="clock_skew", severity="warning", what=f"the server's clock is {abs(server['distance']):.1f} s {way} this machine's",
            why="Leasehold goes by the server's clock alone, but times you pass as run_at or deadline are this machine's",
            do="let both keep time with NTP",
        )  # fmt: skip


def _sessions(server: Facts) -> Iterator[Finding]:
    pinned = {pin["name"] for pin in server["pins"] if pin["kind"] == "session" and (pin["seconds"] or 0) > PINNED}
    for idle in server["idle"]:
        if str(idle["pid"]) not in pinned:
            yield Finding(
                code="idle_in_transaction", severity="warning",
                what=f"pid {idle['pid']} ({idle['role']}, {idle['program'] or 'unnamed'}) has been idle in a transaction for {idle['seconds']:.0f} s, after: {idle['query']}",
                why="it holds its locks, and its jobs are enqueued for nobody until it commits",
                do=f"commit there, or: select pg_terminate_backend({idle['pid']})",
            )  # fmt: skip
    for pin in server["pins"]:
        yield from _pin(pin)


def _pin(pin: Facts) -> Iterator[Finding]:
    seconds, age = pin["seconds"] or 0, pin["age"] or 0
    who, do = pin["name"], ""
    match pin["kind"]:
        case "session" if seconds > PINNED:
            who = f"pid {pin['name']} ({pin['role']}, {pin['program'] or 'unnamed'}) with a transaction open for {seconds:.0f} s, at: {pin['query']}"
            do = f"end that transaction, or: select pg_terminate_backend({pin['name']})"
        case "prepared" if seconds > PINNED:
            who = f"the prepared transaction {pin['name']!r} of {pin['role']}, {seconds:.0f} s old"
            do = f"commit prepared '{pin['name']}', or rollback prepared '{pin['name']}'"
        case "slot" if age > PINNED_XIDS or pin["program"] == "inactive":
            who = f"the {pin['program']} replication slot {pin['name']}, {age} transactions behind"
            do = f"let its consumer catch up, or: select pg_drop_replication_slot('{pin['name']}')"
        case "standby" if age > PINNED_XIDS:
            who = f"the standby {pin['name']} ({pin['program']}) by hot_standby_feedback, {age} transactions behind"
            do = "end the long query on that standby"
        case _:
            return
    yield Finding(
        code="xmin_pinned", severity="warning", what=f"old row versions are held back by {who}",
        why="nothing that died since then can be cleaned away anywhere in this database; the rooms and your own tables bloat",
        do=do,
    )  # fmt: skip


def _bloat(server: Facts) -> Iterator[Finding]:
    for table in server["bloat"]:
        yield Finding(
            code="bloat", severity="warning",
            what=f"leasehold.{table['name']} has {table['dead']} dead rows to {table['live']} live ones ({table['bytes'] // 1_000_000} MB)",
            why="every look at it walks past them", do=f"see what holds back vacuum above, then: vacuum leasehold.{table['name']}",
        )  # fmt: skip


SERVER: Final[tuple[Callable[[Facts], Iterator[Finding]], ...]] = (
    *(_version, _settings, _clock, _sessions, _bloat),
)
SCHEMA: Final[tuple[Callable[[Facts], Iterator[Finding]], ...]] = (
    *(_digests, _functions, _rights, _days, _segments),
)


# The jobs, and who runs them.


def _jobs(jobs: Facts) -> Iterator[Finding]:
    if strays := jobs["strays"]:
        shown = ", ".join(strays[:3])
        yield Finding(
            code="strays", severity="wrong",
            what=f"of the newest {jobs['looked']} jobs {len(strays)} or more are in no room and have no end: {shown}",
            why="they will never run: rows were inserted with the trigger disabled, restored without it, or a room was changed by hand",
            do="enqueue them again, and leave triggers on: a plain INSERT or COPY into leasehold.job enqueues",
        )  # fmt: skip
    for lost in jobs["lost"]:
        yield Finding(
            code="lost_holder", severity="warning", what=f"runner {lost['runner']} is dead and still has {lost['held']} jobs",
            why="nobody runs them", do="a leader takes them back within seconds: start a worker",
        )  # fmt: skip
    for late in jobs["overdue"]:
        yield Finding(
            code="lease_over", severity="warning",
            what=f"the lease of runner {late['runner']} on {late['host']} ended {late['seconds']:.0f} s ago; it holds {late['held']} jobs",
            why="no leader has taken its jobs back", do="start a worker: one of them leads",
        )  # fmt: skip
    for slow in jobs["blocked"]:
        yield Finding(
            code="loop_blocked", severity="warning",
            what=f"the event loop of runner {slow['runner']} on {slow['host']} had not turned for {slow['seconds']:.0f} s at its last beat",
            why="none of its jobs goes on while one blocks", do="its worker's log shows the code: move it into a task with run='thread' or 'process'",
        )  # fmt: skip


def _fleet(house: Status) -> Iterator[Finding]:
    alive = [worker for worker in house.workers if worker.alive]
    if alive and (house.leader is None or not house.leader.ticking):
        age = f"for {house.leader.tick_age:.0f} s" if house.leader else "since the last one left"
        yield Finding(
            code="no_leader", severity="wrong", what=f"workers are alive, but no leader has ticked {age}",
            why="nothing is promoted, reaped, expired or retired", do="look into the workers' logs for 'leader'",
        )  # fmt: skip
    elif house.leader and house.leader.resumed_age < 60 and house.leader.term > 1:  # noqa: PLR2004 - a minute
        yield Finding(
            code="leader_resumed", severity="note", what=f"the leader has resumed {house.leader.resumed_age:.0f} s ago",
            why="after an outage every lease counts anew, so lost runners' jobs come back later than usual", do="wait a minute",
        )  # fmt: skip
    for name in house.stranded:
        jobs = next(queue["ready"].jobs + queue.due for queue in house.queues if queue.name == name)
        yield Finding(
            code="queue_unserved", severity="wrong", what=f"queue {name!r} has {jobs} jobs that could run, and no live worker",
            why="they wait for ever", do=f"leasehold worker module:app --queue {name}",
        )  # fmt: skip
    versions = sorted({worker.version for worker in alive})
    if len(versions) > 1:
        yield Finding(
            code="versions_mixed", severity="note", what=f"workers of several releases are alive: {', '.join(versions)}",
            why="fine while you roll out", do="finish the roll-out",
        )  # fmt: skip
