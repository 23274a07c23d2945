"""What the server says of itself: WAL written, transactions, locks held.

For benchmarks and for tests that count.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from leasehold.store.connect import Connection

ROOMS = (
    "leasehold.job, leasehold.attempt, leasehold.ready, leasehold.running, leasehold.scheduled, "
    "leasehold.waiting, leasehold.dead, leasehold.tally_delta"
)


@dataclass(frozen=True, slots=True)
class Counters:
    wal: int
    commits: int


def clear(connection: Connection) -> None:
    connection.execute(f"truncate {ROOMS}".encode())
    connection.execute("checkpoint")


def counters(connection: Connection) -> Counters:
    row = connection.execute(
        "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn, xact_commit"
        " from pg_stat_database where datname = current_database()"
    ).fetchone()
    assert row is not None  # noqa: S101 - there is a database
    return Counters(int(row[0]), int(row[1]))


def ended(connection: Connection) -> int:
    """Runs written so far, counted."""
    row = connection.execute("select count(*) from leasehold.attempt").fetchone()
    assert row is not None  # noqa: S101 - count(*) has a row
    return int(row[0])


def sleeping(connection: Connection, queue: str) -> bool:
    """Does a runner wait to be woken for this queue?"""
    row = connection.execute(
        "select exists (select from leasehold.sleeper l where l.queue = %s)", (queue,)
    ).fetchone()
    return row is not None and bool(row[0])


def waiting(connection: Connection) -> int:
    row = connection.execute("select count(*) from leasehold.ready").fetchone()
    assert row is not None  # noqa: S101 - count(*) has a row
    return int(row[0])


def span(connection: Connection) -> float:
    """Seconds from the first claim to the last end."""
    row = connection.execute(
        "select extract(epoch from max(ended_at) - min(claimed_at)) from leasehold.attempt"
    ).fetchone()
    assert row is not None  # noqa: S101 - an aggregate has a row
    return float(row[0])


def locks(connection: Connection) -> int:
    """How many locks this connection's transaction holds, one on its own id left out."""
    row = connection.execute(
        "select count(*) from pg_locks where pid = pg_backend_pid() and locktype <> 'virtualxid'"
    ).fetchone()
    assert row is not None  # noqa: S101 - count(*) has a row
    return int(row[0])


def server_cpu(connection: Connection) -> float:
    """CPU seconds of the server's processes, with those that have ended.

    0 where it cannot be seen: on another machine, or another system than Linux.
    """
    row = connection.execute(
        "select pg_postmaster_start_time(), current_setting('data_directory')"
    ).fetchone()
    if row is None:
        return 0.0
    try:
        postmaster = int((Path(str(row[1])) / "postmaster.pid").read_text().splitlines()[0])
    except (OSError, ValueError):
        return 0.0
    ticks = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(entry.parent.name) == postmaster:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == postmaster:
            ticks += sum(map(int, fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")
