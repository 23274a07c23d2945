"""The wire between a supervisor and a runner: nobody waits for a slow reader, no line is cut."""

import os
import signal
import threading
import time

import pytest

from fleet.crew import JOBS, Crew, until
from leasehold.fleet import runner_process
from leasehold.fleet.runner_process import RunnerProcess

LOG = "import logging\nlogging.basicConfig(filename='log')\n"
LINES = 200  # of 4 KB: more than a socket takes


@pytest.fixture
def runner(house, tmp_path, monkeypatch):
    """A runner at work that does not read, until it gets SIGCONT."""
    Crew(tmp_path, house.dsn, module=JOBS + LOG)
    monkeypatch.chdir(tmp_path)
    hello = {"target": "jobs:app", "dsn": house.dsn, "level": 20, "pace": {"concurrency": 2}}
    runner = RunnerProcess(hello, 2)
    until(lambda: [said for said in runner.said() if "ready" in said])
    runner.number = house.runner()
    runner.tell({"go": runner.number, "until": time.monotonic() + 20})
    until(lambda: [said for said in runner.said() if "report" in said])
    os.kill(runner.pid, signal.SIGSTOP)
    yield runner
    runner.kill()
    runner.process.wait()
    runner.close()


def speak(runner, name):
    for number in range(LINES):
        runner.tell({f"{name}{number}": "x" * 4_096})


def test_two_threads_that_speak_to_a_slow_reader_wait_for_nothing_and_lose_nothing(
    runner, tmp_path
):
    began = time.monotonic()
    threads = [threading.Thread(target=speak, args=(runner, name)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began < 1
    os.kill(runner.pid, signal.SIGCONT)
    runner.stop(5)
    until(lambda: runner.send_rest() or not runner.alive)
    told = (tmp_path / "log").read_text()
    # It says of each that it does not know it: each has arrived whole, and in its order.
    heard = [
        line.partition("{'")[2].partition("'")[0] for line in told.splitlines() if "{'" in line
    ]
    assert len(heard) == 2 * LINES
    for name in "ab":
        assert [h for h in heard if h[0] == name] == [f"{name}{n}" for n in range(LINES)]


def test_a_runner_that_never_reads_is_killed_before_what_waits_for_it_fills_the_memory(
    runner, monkeypatch, caplog
):
    monkeypatch.setattr(runner_process, "MESSAGE_MOST", 100_000)
    speak(runner, "a")
    assert runner.process.wait(timeout=10) == -signal.SIGKILL
    assert "has stopped reading" in caplog.text
