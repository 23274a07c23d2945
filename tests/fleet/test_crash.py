"""Runners and supervisors die without a word: their jobs come back, charged as they deserve."""

import os
import signal
import time

from fleet.crew import is_there, until

BLOCKED_AND_KILLED = """
import logging, sys
from leasehold.fleet import runner_process
from leasehold.fleet.supervisor import Plan, Supervisor
logging.basicConfig(level=logging.INFO)
plan = Plan(dsn=sys.argv[1], target="jobs:app", version="0", slots=10, blocked_kill=6.0,
            pace={"concurrency": 10})
sys.exit(Supervisor(plan, lambda number: [], announce=lambda text: logging.info(text)).run())
"""
BLOCKED_FOR_A_SECOND = BLOCKED_AND_KILLED.replace("plan =", "runner_process.FRESH = 1.0\nplan =", 1)


def test_a_killed_runners_jobs_are_back_within_a_second_and_charged(crew, tasks, house):
    crew.worker("--concurrency", "2")
    handles = [tasks.holds.enqueue_sync(f"job{n}") for n in range(4)]
    until(lambda: crew.began("job0") and crew.began("job1"))
    ((number, pid),) = crew.runners().items()
    os.kill(pid, signal.SIGKILL)
    killed = time.monotonic()
    until(lambda: house.history(handles[0].id) == ["interrupted"])
    assert time.monotonic() - killed < 2
    until(lambda: crew.runners() and number not in crew.runners())
    crew.go()
    assert [handle.result_sync(timeout=30) for handle in handles] == [f"job{n}" for n in range(4)]
    histories = [house.history(handle.id) for handle in handles]
    assert histories == [["interrupted", "succeeded"]] * 2 + [["succeeded"]] * 2
    assert [line.split()[1] for line in crew.began("job0")] == ["1", "2"]


def test_a_killed_supervisors_runners_end_and_the_jobs_come_back_after_the_lease(
    crew, tasks, house
):
    house.do("update leasehold.house set lease = '2 seconds'")
    worker = crew.worker()
    handle = tasks.holds.enqueue_sync("job")
    until(lambda: crew.began("job"))
    crew.watch()
    worker.hears(signal.SIGKILL)
    worker.ends()
    until(lambda: crew.left_behind() == [], seconds=5)
    crew.worker()
    until(lambda: len(crew.began("job")) == 2, seconds=30)
    crew.go()
    assert handle.result_sync(timeout=30) == "job"
    assert house.history(handle.id) == ["interrupted", "succeeded"]


def test_a_job_that_kills_its_runner_each_time_is_poison(crew, tasks, house):
    module = (crew.folder / "jobs.py").read_text()
    (crew.folder / "jobs.py").write_text(module.replace("return a + b", "os.kill(os.getpid(), 9)"))
    crew.worker()
    handle = tasks.add.enqueue_sync(1, 2)
    until(lambda: handle.status_sync().state == "failed")
    assert house.history(handle.id) == ["interrupted", "interrupted", "poisoned"]
    assert house.entry("dead", handle.id)["reason"] == "poison"


def test_a_blocked_loop_is_named_with_its_stack_and_its_job(crew, tasks, house):
    worker = crew.worker()
    handle = tasks.blocks.enqueue_sync("job")
    until(lambda: crew.began("job"))
    said = until(lambda: worker.said(r"event loop is blocked for \d.*?in blocks"))
    assert str(handle.id) in said[0]
    assert 'jobs.py"' in said[0]
    crew.go()
    handle.result_sync(timeout=30)
    assert house.history(handle.id) == ["succeeded"]


def test_a_job_that_blocks_its_loop_is_not_taken_for_one_that_nobody_holds(crew, tasks, house):
    """It began before a report could name it: from then on nobody knows what the runner holds."""
    house.do("update leasehold.house set lease = '6 seconds'")
    crew.program(BLOCKED_FOR_A_SECOND)
    until(crew.runners)
    handle = tasks.blocks.enqueue_sync("job")
    until(lambda: house.value("select loop_age > 1.2 from leasehold.runner"))
    house.pass_time(11)
    until(lambda: house.value("select expires_at > leasehold.now() from leasehold.runner"))
    assert house.state(handle.id) == "running"
    crew.go()
    handle.result_sync(timeout=30)
    assert house.attempt(handle.id)["claim_no"] == 1


def test_a_loop_that_stays_blocked_is_killed_and_cannot_keep_its_lease(crew, tasks, house):
    worker = crew.program(BLOCKED_AND_KILLED)
    until(lambda: worker.said(r"runner \d+ serves"))
    handle = tasks.blocks.enqueue_sync("job")
    until(lambda: worker.said("it is killed, its jobs go back"))
    until(lambda: house.history(handle.id) == ["interrupted"])
    crew.go()
    handle.result_sync(timeout=30)
    worker.hears(signal.SIGTERM)
    worker.ends()


def test_a_stopped_supervisor_loses_its_jobs_and_hears_of_it(crew, tasks, house):
    """SIGSTOP is what a frozen machine looks like: both run on afterwards, one end is accepted."""
    house.do("update leasehold.house set lease = '2 seconds'")
    frozen = crew.worker()
    handle = tasks.holds.enqueue_sync("job")
    until(lambda: crew.began("job"))
    pids = [frozen.pid, *frozen.children()]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    crew.worker()
    until(lambda: len(crew.began("job")) == 2, seconds=30)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    until(lambda: frozen.said("lease was lost"))
    crew.go()
    assert handle.result_sync(timeout=30) == "job"
    assert house.history(handle.id) == ["interrupted", "succeeded"]
    until(lambda: not all(is_there(pid) for pid in pids[1:]))
