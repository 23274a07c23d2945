"""All that can be killed is killed at random, again and again; afterwards nothing is missing.

By default 5,000 jobs for some twenty seconds. LEASEHOLD_CHAOS_JOBS, LEASEHOLD_CHAOS_SECONDS and
LEASEHOLD_CHAOS_SEED make it longer, and repeat it.
"""

import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from audit import audit
from fleet.crew import Crew, Worker, is_there, until, with_signal
from leasehold import App, Task
from leasehold.errors import LeaseholdError
from leasehold.store.connect import Error, connect_sync
from leasehold.store.embedded import Server
from leasehold.store.migrate import migrate

JOBS = int(os.environ.get("LEASEHOLD_CHAOS_JOBS", "5000"))
SECONDS = float(os.environ.get("LEASEHOLD_CHAOS_SECONDS", "20"))
ONE_BY_ONE = JOBS // 10  # enqueued while the kills go on, the others before
SEED = int(os.environ.get("LEASEHOLD_CHAOS_SEED", "1"))
LEASE = 3.0
SPARE = 10.0  # seconds beyond the lease until all that was lost is found and has run
KILLS_EVERY = (0.3, 1.5)
ROOMS = ("ready", "scheduled", "waiting", "dispatched", "running")

MODULE = """\
import asyncio, os
import psycopg
from leasehold import App, Retry, current_job

app = App()
own: dict[int, psycopg.AsyncConnection] = {}
turn = asyncio.Lock()
PACE = float(os.environ["CHAOS_PACE"])
WRITE = "insert into line values (%s, %s, %s)"


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
                await conn.execute(WRITE, (job.id, job.claim_no, "with the end"))
        else:
            await conn.execute(WRITE, (job.id, job.claim_no, "before"))
    return n
"""


@pytest.fixture
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("pg") / "home", settings={"shared_buffers": "64MB"})
    with connect_sync(server.start()) as connection:
        migrate(connection)
        connection.execute("update leasehold.house set poison = 1000")
        connection.execute("update leasehold.house set lease = make_interval(secs => %s)", (LEASE,))
        connection.execute("create table line (job uuid, claim_no int, how text)")
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


def work(n: int) -> int:
    """Known here by its name and its arguments; it runs in the workers."""
    return n


class Producer:
    """Enqueues one job after the other while everything falls, and asks again when it hears no."""

    def __init__(self, task: Task[..., int], numbers: range) -> None:
        self.unsure = 0  # how often it could not know whether its job was stored
        self._task, self._numbers, self._over = task, numbers, threading.Event()
        self._thread = threading.Thread(target=self._go, daemon=True)
        self._thread.start()

    def _go(self) -> None:
        pause = SECONDS / max(len(self._numbers), 1) / 2
        for n in self._numbers:
            while not self._enqueued(n):
                self.unsure += 1
                self._over.wait(0.1)
            self._over.wait(pause)

    def _enqueued(self, n: int) -> bool:
        try:
            self._task.using(key=f"n{n}").enqueue_sync(n)
        except LeaseholdError:
            return False
        return True

    def end(self) -> None:
        self._over.set()
        self._thread.join(60)
        assert not self._thread.is_alive()


@pytest.mark.timeout(60 + int(SECONDS) * 3)
def test_nothing_is_lost_and_nothing_accepted_twice(server, tmp_path, monkeypatch):
    # 200 jobs run side by side: undisturbed they would last for a third of the time.
    monkeypatch.setenv("CHAOS_PACE", str(min(200 * SECONDS * 0.3 / JOBS, 1.0)))
    with App(server.start()) as app:
        task = app.task(work)
        task.enqueue_many_sync({"n": n} for n in range(ONE_BY_ONE, JOBS))
        chaos = Chaos(server, tmp_path)
        producer = Producer(task, range(ONE_BY_ONE))
        chaos.rage()
        last = time.monotonic()
        chaos.keep_up()
        producer.end()
    with suppress(AssertionError):
        until(lambda: unfinished(server) == 0, seconds=LEASE + SPARE + SECONDS)
    took = time.monotonic() - last
    for worker in chaos.workers:
        worker.hears(signal.SIGTERM)
    codes = [worker.ends(60) for worker in chaos.workers]
    chaos.crew.watch()
    with connect_sync(server.start()) as connection:
        figures = judged(connection, producer.unsure)
    print(
        f"\nseed {SEED}: {JOBS} jobs, kills {dict(chaos.kills)}, {figures}, "
        f"{producer.unsure} answers lost, all ended {took:.1f} s after the last kill"
    )
    assert codes == [0, 0]
    assert not any(is_there(pid) for pid in chaos.crew._seen)
    assert took < LEASE + SPARE


def unfinished(server) -> int:
    live = " + ".join(f"(select count(*) from leasehold.{room})" for room in ROOMS)
    try:
        with connect_sync(server.start()) as connection:
            return connection.execute(f"select {live}").fetchone()[0]
    except (LeaseholdError, Error):
        return JOBS


WRONG = {
    "lost": """
      select count(*) from leasehold.job j where j.duplicate_of is null and not exists (
        select from leasehold.attempt a where a.job_id = j.id and a.outcome <= 'poisoned')""",
    "accepted twice": """
      select count(*) from (select job_id from leasehold.attempt
        where outcome = 'succeeded' group by 1 having count(*) > 1) x""",
    "written twice with one end": """
      select count(*) from (select job from line
        where how = 'with the end' group by 1 having count(*) > 1) x""",
    "succeeded and never written": """
      select count(*) from leasehold.attempt a where a.outcome = 'succeeded' and not exists (
        select from line l where l.job = a.job_id and l.claim_no = a.claim_no)""",
    "written without its end": """
      select count(*) from line l where l.how = 'with the end' and not exists (
        select from leasehold.attempt a where a.job_id = l.job and a.claim_no = l.claim_no
           and a.outcome = 'succeeded')""",
}


def judged(connection, unsure: int) -> dict:
    def one(sql):
        return connection.execute(sql).fetchone()[0]

    connection.execute("analyze")
    outcomes = dict(
        connection.execute(
            "select outcome::text, count(*) from leasehold.attempt group by 1"
        ).fetchall()
    )
    assert {what: one(sql) for what, sql in WRONG.items()} == dict.fromkeys(WRONG, 0), outcomes
    assert one("select count(distinct payload ->> 'n') from leasehold.job") == JOBS
    stored = one("select count(*) from leasehold.job where duplicate_of is null")
    assert JOBS <= stored <= JOBS + unsure
    assert audit(connection) == []
    assert {room: one(f"select count(*) from leasehold.{room}") for room in ROOMS} == dict.fromkeys(
        ROOMS, 0
    )
    return {**outcomes, "runs of code": one("select count(*) from line")}
