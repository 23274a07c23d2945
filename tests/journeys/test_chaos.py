"""All that can be killed is killed at random, again and again; afterwards nothing is missing.

By default 5,000 jobs for some twenty seconds. LEASEHOLD_CHAOS_JOBS, LEASEHOLD_CHAOS_SECONDS and
LEASEHOLD_CHAOS_SEED make it longer, and repeat it.
"""

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from audit import audit
from fleet.crew import Crew, Worker, is_there, until, with_signal
from leasehold import App
from leasehold.errors import LeaseholdError
from leasehold.store.connect import Error, connect_sync
from leasehold.store.embedded import Server
from leasehold.store.migrate import migrate

JOBS = int(os.environ.get("LEASEHOLD_CHAOS_JOBS", "5000"))
SECONDS = float(os.environ.get("LEASEHOLD_CHAOS_SECONDS", "20"))
SEED = int(os.environ.get("LEASEHOLD_CHAOS_SEED", "1"))
LEASE = 3.0
SPARE = 10.0  # seconds beyond the lease until all that was lost is found and has run
KILLS_EVERY = (0.3, 1.5)

MODULE = """\
import asyncio, os
import psycopg
from leasehold import App, Retry, current_job

app = App()
own: dict[int, psycopg.AsyncConnection] = {}
turn = asyncio.Lock()
PACE = float(os.environ["CHAOS_PACE"])


async def connection():
    conn = own.get(os.getpid())
    if conn is None or conn.closed:
        conn = own[os.getpid()] = await psycopg.AsyncConnection.connect(
            os.environ["DATABASE_URL"], autocommit=True
        )
    return conn


@app.task(retry=Retry(30, backoff="fixed", base=0.2))
async def work(n: int) -> int:
    job = current_job()
    await asyncio.sleep(PACE)
    async with turn:
        conn = await connection()
        if n % 3 == 0:
            async with job.finishing(conn, result=n):
                await conn.execute(
                    "insert into line values (%s, %s, 'with the end')", (n, job.claim_no)
                )
        else:
            await conn.execute("insert into line values (%s, %s, 'before')", (n, job.claim_no))
    return n
"""


@pytest.fixture
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("pg") / "home", settings={"shared_buffers": "64MB"})
    with connect_sync(server.start()) as connection:
        migrate(connection)
        connection.execute("update leasehold.house set poison = 1000")
        connection.execute("update leasehold.house set lease = make_interval(secs => %s)", (LEASE,))
        connection.execute("create table line (n int, claim_no int, how text)")
    yield server
    server.leave()


class Chaos:
    """Two workers of two runners each, and somebody who kills them and their Postgres."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server, self.luck, self.kills = server, random.Random(SEED), Counter[str]()
        self.crew = Crew(folder, server.start(), MODULE)
        self.workers = [self.begin(), self.begin()]

    def begin(self) -> Worker:
        return self.crew.worker("--runners", "2", "--concurrency", "50", ready=False)

    def keep_up(self) -> None:
        """As systemd or Kubernetes would."""
        for n, worker in enumerate(self.workers):
            if worker.process.poll() is not None:
                self.workers[n] = self.begin()
        self.server.start()

    def strike(self) -> None:
        what = self.luck.choices(["runner", "supervisor", "postgres"], [6, 2, 1])[0]
        worker = self.luck.choice(self.workers)
        if what == "runner" and (runners := worker.children()):
            with_signal(self.luck.choice(runners), signal.SIGKILL)
        elif what == "supervisor":
            self.crew.watch()
            with_signal(worker.pid, signal.SIGKILL)
            worker.process.wait()
        elif what == "postgres":
            self.server.kill_hard()
        self.kills[what] += 1

    def rage(self) -> None:
        ends = time.monotonic() + SECONDS
        while time.monotonic() < ends:
            time.sleep(self.luck.uniform(*KILLS_EVERY))
            self.strike()
            self.keep_up()


def enqueue_all(app, until_seconds):
    """Some at once, the rest while everything falls; whoever hears an error asks again."""
    work = app.task(named_work, name="work")
    work.enqueue_many_sync({"n": n} for n in range(JOBS))


def named_work(n: int) -> int:
    return n


@pytest.mark.timeout(60 + int(SECONDS) * 3)
def test_nothing_is_lost_and_nothing_accepted_twice(server, tmp_path, monkeypatch):
    # 200 jobs run side by side: at this pace they last for two thirds of the time.
    monkeypatch.setenv("CHAOS_PACE", str(min(200 * SECONDS * 0.6 / JOBS, 1.0)))
    with App(server.start()) as app:
        enqueue_all(app, SECONDS)
        chaos = Chaos(server, tmp_path)
        chaos.rage()
    last = time.monotonic()
    chaos.keep_up()
    with suppress(AssertionError):
        until(lambda: unfinished(server) == 0, seconds=LEASE + SPARE + SECONDS)
    took = time.monotonic() - last
    for worker in chaos.workers:
        worker.hears(signal.SIGTERM)
    codes = [worker.ends(60) for worker in chaos.workers]
    chaos.crew.watch()
    with connect_sync(server.start()) as connection:
        figures = judged(connection)
    print(
        f"\nseed {SEED}: {JOBS} jobs, kills {dict(chaos.kills)}, {figures}, "
        f"all ended {took:.1f} s after the last kill"
    )
    assert codes == [0, 0]
    assert not any(is_there(pid) for pid in chaos.crew._seen)
    assert took < LEASE + SPARE


def unfinished(server) -> int:
    try:
        with connect_sync(server.start()) as connection:
            sql = "select count(*) from leasehold.attempt where outcome = 'succeeded'"
            return JOBS - connection.execute(sql).fetchone()[0]
    except (LeaseholdError, Error):
        return JOBS


def judged(connection) -> dict:
    def one(sql):
        return connection.execute(sql).fetchone()[0]

    lost = one(
        "select count(*) from leasehold.job j where not exists (select from "
        "leasehold.attempt a where a.job_id = j.id and a.outcome <= 'poisoned')"
    )
    twice = one(
        "select count(*) from (select job_id from leasehold.attempt "
        "where outcome = 'succeeded' group by 1 having count(*) > 1) x"
    )
    unlike = one(
        "select count(*) from (select n from line where how = 'with the end' "
        "group by 1 having count(*) > 1) x"
    )
    missing = one(
        "select count(*) from leasehold.job j where not exists "
        "(select from line l where l.n = (j.payload ->> 'n')::int)"
    )
    mismatched = one(
        "select count(*) from line l join leasehold.job j on (j.payload ->> 'n')::int = l.n "
        "where l.how = 'with the end' and not exists (select from leasehold.attempt a "
        "where a.job_id = j.id and a.claim_no = l.claim_no and a.outcome = 'succeeded')"
    )
    outcomes = dict(
        connection.execute(
            "select outcome::text, count(*) from leasehold.attempt group by 1"
        ).fetchall()
    )
    assert {
        "lost": lost,
        "accepted twice": twice,
        "written twice": unlike,
        "never written": missing,
        "written without its end": mismatched,
    } == dict.fromkeys(
        ("lost", "accepted twice", "written twice", "never written", "written without its end"), 0
    ), outcomes
    assert one("select count(*) from leasehold.job") == JOBS
    connection.execute("analyze")
    if JOBS <= 10_000:
        assert audit(connection) == []
    for room in ("ready", "scheduled", "waiting", "running"):
        assert one(f"select count(*) from leasehold.{room}") == 0, room
    return {**outcomes, "runs of code": one("select count(*) from line")}
