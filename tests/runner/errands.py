"""Tasks that run in a process of their own."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg

from leasehold import App, Fail, Retry, Snooze, current_job

app = App()
ONCE = Retry(1)


@dataclass
class Point:
    x: int
    y: int


@app.task(run="process")
def mirrored(point: Point) -> Point:
    return Point(point.y, point.x)


@app.task(run="process")
async def asynchronous(n: int) -> int:
    await asyncio.sleep(0)
    return n + 1


@app.task(run="process")
def pid() -> int:
    return os.getpid()


@app.task(run="process", retry=ONCE)
def leaves(code: int) -> None:
    os._exit(code)


@app.task(run="process", retry=ONCE)
def kills_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(run="process", retry=ONCE)
def raises(text: str) -> None:
    raise ValueError(text)


@app.task(run="process")
def says_fail() -> Fail:
    return Fail("no use")


@app.task(run="process")
def naps_once(seen: str) -> str:
    if Path(seen).exists():
        return "rested"
    Path(seen).touch()
    raise Snooze(0)


@app.task(run="process", retry=Retry(2, backoff="fixed", base=0))
def remembers() -> object:
    job = current_job()
    if job.attempt == 1:
        job.progress(40, "almost half")
        job.save_sync({"page": 3})
        raise RuntimeError
    return job.checkpoint_sync()


@app.task(run="process")
def tells_of_itself() -> dict:
    job = current_job()
    return {
        "headers": job.headers,
        "queue": job.queue,
        "fence": job.fence,
        "attempt": job.attempt,
        "deadline": job.deadline is not None,
        "interrupted": job.interrupted,
    }


@app.task(run="process")
def hangs(sign: str) -> None:
    Path(sign).write_text(str(os.getpid()))
    while True:
        time.sleep(0.05)


@app.task(run="process")
def hangs_and_will_not_stop(sign: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hangs(sign)


def waits(sign: str) -> None:
    """For longer than any test, and not for ever."""
    Path(sign).write_text(str(os.getpid()))
    for _ in range(600):
        time.sleep(0.05)


@app.task(run="process")
def starts_a_program(sign: str) -> None:
    program = f"from runner import errands; errands.waits({sign!r})"
    subprocess.Popen([sys.executable, "-c", program]).wait()  # run() would kill it itself


@app.task(run="process", retry=ONCE)
def forks_and_dies(sign: str) -> None:
    if os.fork() == 0:
        waits(sign)
        os._exit(0)
    while not Path(sign).exists():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(run="process")
def too_big() -> str:
    return "x" * 2_000_000


@app.task(run="process")
def charges(dsn: str) -> str:
    with psycopg.connect(dsn) as conn:
        with current_job().finishing_sync(conn, result="charged"):
            conn.execute("insert into receipt select 1")
        return "unheard"
