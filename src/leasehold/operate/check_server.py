"""What doctor finds in the server: version, settings, clock, sessions, bloat."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from leasehold.operate.finding import Facts, Finding, Severity

OLDEST: Final = 160_000  # server_version_num of the oldest Postgres we are tested on
PINNED: Final = 600.0  # seconds a transaction may stay open before it is named
PINNED_XIDS: Final = 1_000_000
SKEW: Final = 2.0
HEADROOM: Final = 0.1


def _version(server: Facts) -> Iterator[Finding]:
    if server["version"] < OLDEST:
        yield Finding(
            code="server_old",
            severity="wrong",
            what=f"the server is Postgres {server['version'] // 10_000}",
            why="Leasehold is made for and tested on 16 and newer",
            do="upgrade the server",
        )
    if server["standby"]:
        yield Finding(
            code="standby",
            severity="wrong",
            what="this server is a standby",
            why="nothing can be written here",
            do="use the primary's address, or add target_session_attrs=read-write to it",
        )


_GUARDS: Final[tuple[tuple[str, Severity, str], ...]] = (
    (
        "fsync",
        "wrong",
        "a crash of the machine can lose acknowledged jobs and destroy the whole database",
    ),
    ("full_page_writes", "wrong", "a crash of the machine can destroy pages of the database"),
    (
        "synchronous_commit",
        "warning",
        "a crash loses the last acknowledged enqueues and finishes",
    ),
    (
        "track_counts",
        "warning",
        "autovacuum does not see which tables need it, and the rooms bloat",
    ),
    ("autovacuum", "warning", "nobody cleans dead rows away, and the rooms bloat"),
)


def _settings(server: Facts) -> Iterator[Finding]:
    has: Mapping[str, str] = server["settings"]
    for name, severity, why in _GUARDS:
        if has.get(name) == "off":
            yield Finding(
                code=f"setting_{name}",
                severity=severity,
                what=f"{name} is off",
                why=why,
                do=f"alter system set {name} = on; select pg_reload_conf()",
            )
    most, used = int(has["max_connections"]), server["connections"]
    free = most - int(has.get("superuser_reserved_connections", "3")) - used
    if free < most * HEADROOM:
        yield Finding(
            code="connections_short",
            severity="warning",
            what=f"{used} of {most} connections are in use",
            why="workers that cannot connect cannot beat, and lose their leases",
            do=(
                "raise max_connections, or put pgbouncer in transaction mode before your own "
                "programs"
            ),
        )
    if has.get("idle_in_transaction_session_timeout") == "0":
        yield Finding(
            code="idle_unbounded",
            severity="note",
            what="idle_in_transaction_session_timeout is 0",
            why="a program that forgets to commit holds its locks and every dead row for ever",
            do=(
                "alter system set idle_in_transaction_session_timeout = '10min'; select "
                "pg_reload_conf()"
            ),
        )


def _clock(server: Facts) -> Iterator[Finding]:
    if abs(server["distance"]) > SKEW:
        way = "ahead of" if server["distance"] > 0 else "behind"
        yield Finding(
            code="clock_skew",
            severity="warning",
            what=f"the server's clock is {abs(server['distance']):.1f} s {way} this machine's",
            why=(
                "Leasehold goes by the server's clock alone, but times you pass as run_at or "
                "deadline are this machine's"
            ),
            do="let both keep time with NTP",
        )


def _sessions(server: Facts) -> Iterator[Finding]:
    pinned = {
        pin["name"]
        for pin in server["pins"]
        if pin["kind"] == "session" and (pin["seconds"] or 0) > PINNED
    }
    for idle in server["idle"]:
        if str(idle["pid"]) not in pinned:
            yield Finding(
                code="idle_in_transaction",
                severity="warning",
                what=(
                    f"pid {idle['pid']} ({idle['role']}, {idle['program'] or 'unnamed'}) has been "
                    f"idle in a transaction for {idle['seconds']:.0f} s, after: {idle['query']}"
                ),
                why="it holds its locks, and its jobs are enqueued for nobody until it commits",
                do=f"commit there, or: select pg_terminate_backend({idle['pid']})",
            )
    for pin in server["pins"]:
        yield from _pin(pin)


def _pin(pin: Facts) -> Iterator[Finding]:
    seconds, age = pin["seconds"] or 0, pin["age"] or 0
    who, do = pin["name"], ""
    match pin["kind"]:
        case "session" if seconds > PINNED:
            who = (
                f"pid {pin['name']} ({pin['role']}, {pin['program'] or 'unnamed'}) with a "
                f"transaction open for {seconds:.0f} s, at: {pin['query']}"
            )
            do = f"end that transaction, or: select pg_terminate_backend({pin['name']})"
        case "prepared" if seconds > PINNED:
            who = f"the prepared transaction {pin['name']!r} of {pin['role']}, {seconds:.0f} s old"
            do = f"commit prepared '{pin['name']}', or rollback prepared '{pin['name']}'"
        case "slot" if age > PINNED_XIDS or pin["program"] == "inactive":
            who = f"the {pin['program']} replication slot {pin['name']}, {age} transactions behind"
            do = f"let its consumer catch up, or: select pg_drop_replication_slot('{pin['name']}')"
        case "standby" if age > PINNED_XIDS:
            who = (
                f"the standby {pin['name']} ({pin['program']}) by hot_standby_feedback, {age} "
                "transactions behind"
            )
            do = "end the long query on that standby"
        case _:
            return
    yield Finding(
        code="xmin_pinned",
        severity="warning",
        what=f"old row versions are held back by {who}",
        why=(
            "nothing that died since then can be cleaned away anywhere in this database; the "
            "rooms and your own tables bloat"
        ),
        do=do,
    )


def _bloat(server: Facts) -> Iterator[Finding]:
    for table in server["bloat"]:
        yield Finding(
            code="bloat",
            severity="warning",
            what=(
                f"leasehold.{table['name']} has {table['dead']} dead rows to {table['live']} live "
                f"ones ({table['bytes'] // 1_000_000} MB)"
            ),
            why="every look at it walks past them",
            do=f"see what holds back vacuum above, then: vacuum leasehold.{table['name']}",
        )


CHECKS: Final[tuple[Callable[[Facts], Iterator[Finding]], ...]] = (
    *(_version, _settings, _clock, _sessions, _bloat),
)
