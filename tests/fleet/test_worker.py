"""`leasehold worker` as a real process: it works, stops as asked, and leaves nobody behind."""

import signal
import time
from datetime import timedelta

import pytest

from fleet.crew import is_there, until


def test_a_worker_runs_jobs(crew, tasks, house):
    crew.worker("--runners", "2")
    handles = tasks.add.enqueue_many_sync({"a": n, "b": 1} for n in range(500))
    assert [handle.result_sync(timeout=30) for handle in handles[::100]] == [1, 101, 201, 301, 401]
    until(lambda: house.count("attempt") == 500)
    assert len(crew.runners()) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_what_runs_finish_and_hands_back_the_rest(crew, tasks, house, number):
    worker = crew.worker("--concurrency", "2")
    handles = [tasks.holds.enqueue_sync(f"job{n}") for n in range(5)]
    until(lambda: crew.began("job0") and crew.began("job1"))
    crew.watch()
    worker.hears(number)
    until(lambda: worker.said("stopping: jobs that run have 20 s"))
    crew.go()
    assert worker.ends() == 0
    states = [handle.status_sync().state for handle in handles]
    assert states == ["succeeded", "succeeded", "ready", "ready", "ready"]
    assert [house.history(handle.id) for handle in handles[2:]] == [[], [], []]
    assert crew.left_behind() == []
    assert house.count("worker") == 0


def test_a_job_that_outlasts_the_grace_goes_back_uncharged(crew, tasks, house):
    worker = crew.worker("--grace", "0.2")
    handle = tasks.holds.enqueue_sync("job")
    until(lambda: crew.began("job"))
    crew.watch()
    worker.hears(signal.SIGTERM)
    assert worker.ends() == 0
    assert handle.status_sync().state == "ready"
    assert house.history(handle.id) == []
    assert crew.left_behind() == []


def test_a_second_signal_stops_at_once(crew, tasks, house):
    worker = crew.worker()
    handle = tasks.holds.enqueue_sync("job")
    until(lambda: crew.began("job"))
    crew.watch()
    worker.hears(signal.SIGTERM)
    until(lambda: worker.said("stopping"))
    worker.hears(signal.SIGTERM)
    began = time.monotonic()
    worker.ends()
    assert time.monotonic() - began < 5
    until(lambda: house.state(handle.id) == "ready")
    assert crew.left_behind() == []


def test_a_lease_is_kept_and_heard_of_until_the_grace_is_over(crew, tasks, house):
    """An exclusive job stops itself as soon as it does not hear that its lease is kept."""
    house.do("update leasehold.house set lease = '2 seconds'")
    worker = crew.worker()
    handle = tasks.alone.enqueue_sync("job")
    until(lambda: crew.began("job"))
    lease_is_kept(house, 0.4)  # two beats: of the first one the runner has heard
    worker.hears(signal.SIGTERM)
    until(lambda: worker.said("stopping"))
    lease_is_kept(house, 2.0)
    crew.go()
    assert handle.result_sync(timeout=10) == "job"
    assert worker.ends() == 0
    assert house.attempt(handle.id)["claim_no"] == 1


def lease_is_kept(house, seconds):
    """Returns when beats have moved its end by so much."""
    ends = "select max(expires_at) from leasehold.runner"
    later = house.value(ends) + timedelta(seconds=seconds)
    until(lambda: house.value(ends) > later)


def test_a_supervisor_killed_in_the_grace_takes_its_runners_along(crew, tasks, house):
    worker = crew.worker()
    tasks.holds.enqueue_sync("job")
    until(lambda: crew.began("job"))
    crew.watch()
    worker.hears(signal.SIGTERM)
    until(lambda: worker.said("stopping"))
    worker.hears(signal.SIGKILL)
    worker.ends()
    until(lambda: crew.left_behind() == [], seconds=5)


def test_a_program_that_a_job_starts_can_be_told_to_end(crew, tasks, house):
    """What a runner ignores would be ignored by all that it starts."""
    crew.worker()
    handle = tasks.terminates.enqueue_sync()
    assert handle.result_sync(timeout=20) == -signal.SIGTERM


def test_code_that_changes_starts_the_runners_anew(crew, tasks, house):
    worker = crew.worker("--reload")
    (before,) = crew.runners()
    text = (crew.folder / "jobs.py").read_text()
    (crew.folder / "jobs.py").write_text(text.replace("return a + b", "return a * b"))
    until(lambda: worker.said("code has changed"))
    until(lambda: crew.runners() and before not in crew.runners())
    assert tasks.add.enqueue_sync(3, 4).result_sync(timeout=30) == 12


def test_a_module_that_fails_to_import_shows_its_traceback_once(crew, house):
    (crew.folder / "jobs.py").write_text("def broken():\n    1 / 0\nbroken()\n")
    worker = crew.worker(ready=False)
    assert worker.ends() == 1
    assert worker.log().count("ZeroDivisionError") == 1
    assert 'jobs.py", line 2, in broken' in worker.log()
    assert "supervisor.py" not in worker.log()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("jobs:ap", "jobs has no App called 'ap', did you mean 'app'"),
        ("jbos:app", "no module 'jbos' here"),
        ("jobs.py", "'jobs.py' is not module:attribute"),
    ],
)
def test_a_wrong_target_is_one_line(crew, house, target, said):
    worker = crew.worker(target=target, ready=False)
    assert worker.ends() == 2
    assert said in worker.log()
    assert worker.log().count("\n") == 1


def test_a_runner_of_a_process_task_takes_the_process_along(crew, tasks, house):
    """A job must not go on in an orphan while its next run begins elsewhere."""
    crew.worker()
    tasks.apart.enqueue_sync("job")
    (pid,) = until(lambda: crew.began("job"))
    crew.watch()
    ((_number, runner),) = crew.runners().items()
    import os  # noqa: PLC0415

    os.kill(runner, signal.SIGKILL)
    until(lambda: not is_there(int(pid)), seconds=10)


HANGS = """\
import time
from pathlib import Path

(Path(__file__).parent / "import.began").touch()
time.sleep(600)
"""


def test_a_signal_during_an_import_ends_the_worker_at_once(crew, house):
    (crew.folder / "jobs.py").write_text(HANGS)
    worker = crew.worker(ready=False)
    until((crew.folder / "import.began").exists)
    crew.watch()
    worker.hears(signal.SIGTERM)
    assert worker.ends(seconds=5) == 0
    assert crew.left_behind() == []


def test_an_import_that_hangs_is_named_with_its_line(crew, house):
    (crew.folder / "jobs.py").write_text(HANGS)
    worker = crew.worker(ready=False)
    said = until(lambda: worker.said(r"has been importing jobs:app for \d.*?jobs\.py\", line 5"))
    assert "in <module>" in worker.log()
    assert said


COUNTS = """
with open(HERE / "imports", "a") as counted:
    counted.write("x")
import other
"""


def test_a_syntax_error_is_told_once_for_each_change_in_the_users_own_lines(crew, tasks, house):
    imports, other = crew.folder / "imports", crew.folder / "other.py"
    other.touch()
    with (crew.folder / "jobs.py").open("a") as module:
        module.write(COUNTS)
    worker = crew.worker("--reload")
    for broken in ("def a(:", "def bb(:"):
        other.write_text(broken)
        until(lambda broken=broken: broken in worker.log())
        before = len(imports.read_text())
        until(lambda before=before: len(imports.read_text()) > before)  # it fails as it did before
    assert worker.log().count("SyntaxError") == 2
    assert "importlib" not in worker.log()
    assert "runner.py" not in worker.log()
    other.write_text("")
    assert tasks.add.enqueue_sync(3, 4).result_sync(timeout=30) == 7
