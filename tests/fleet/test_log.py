"""What a worker's log tells: one line for each job that failed, with what it takes to find it."""

import os
import re
import signal

from fleet.crew import until

FAILING = """\
import logging
from leasehold import App, Retry

app = App()
log = logging.getLogger("shop")


@app.task(retry=Retry(max_attempts=4, backoff="fixed", base=0.01))
async def doomed(name: str) -> None:
    log.info("trying %s", name)
    raise ValueError(f"no luck\\nfor {name}")


@app.task(run="process")
def apart() -> None:
    log.info("working apart")
"""


def said(worker, text):
    return [line for line in worker.log().splitlines() if text in line]


def test_a_job_that_failed_for_good_is_one_warning_that_names_it(crew, house):
    (crew.folder / "jobs.py").write_text(FAILING)
    worker = crew.worker()
    job = house.enqueue(task="doomed", payload={"name": "Ann"})
    until(lambda: house.state(job) == "failed")
    (line,) = until(lambda: said(worker, "failed for good"))
    told = rf"job {job} \(doomed\) attempt 4 failed for good: ValueError: no luck for Ann"
    assert re.fullmatch(rf"\S+ \S+ WARNING leasehold\.runner: {told}", line)


def test_a_job_that_fails_a_third_time_and_is_tried_again_is_a_warning(crew, house):
    (crew.folder / "jobs.py").write_text(FAILING)
    worker = crew.worker()
    job = house.enqueue(task="doomed", payload={"name": "Ann"})
    until(lambda: house.state(job) == "failed")
    (line,) = until(lambda: said(worker, "keeps failing"))
    assert f"WARNING leasehold.runner: job {job} (doomed) attempt 3 keeps failing" in line
    levels = [line.split()[2] for line in said(worker, "failed and is tried again")]
    assert levels == ["INFO", "INFO"]


def test_what_user_code_logs_has_its_time_and_level(crew, house):
    (crew.folder / "jobs.py").write_text(FAILING)
    worker = crew.worker()
    house.enqueue(task="doomed", payload={"name": "Ann"}, max_attempts=1)
    house.enqueue(task="apart")
    for text in ("trying Ann", "working apart"):
        line = until(lambda text=text: said(worker, text))[0]
        assert re.fullmatch(rf"\d{{4}}-\d\d-\d\d \S+ INFO shop: {text}", line)


def test_a_logging_of_the_users_own_is_left_as_it_is(crew, house):
    setup = """
logging.basicConfig(format="own %(message)s", level=logging.INFO)
logging.getLogger("leasehold").setLevel(logging.ERROR)
app = App()"""
    (crew.folder / "jobs.py").write_text(FAILING.replace("app = App()", setup))
    worker = crew.worker()
    job = house.enqueue(task="doomed", payload={"name": "Ann"}, max_attempts=1)
    until(lambda: house.state(job) == "failed")
    assert said(worker, "trying Ann") == ["own trying Ann"]
    assert said(worker, "failed for good") == []


def test_a_dead_runners_line_names_its_job_and_what_has_become_of_it(crew, tasks, house):
    worker = crew.worker("--concurrency", "1")
    job = tasks.holds.enqueue_sync("job").id
    until(lambda: crew.began("job"))
    (pid,) = crew.runners().values()
    os.kill(pid, signal.SIGKILL)
    line = until(lambda: said(worker, " died "))[0]
    assert line.endswith(f"(SIGKILL) while it ran 1 job: {job} (holds); 1 job taken back")


def test_a_dead_runners_line_tells_of_the_job_that_went_to_the_dead_letter(crew, tasks, house):
    house.do("update leasehold.house set poison = 1")
    module = (crew.folder / "jobs.py").read_text()
    (crew.folder / "jobs.py").write_text(module.replace("return a + b", "os.kill(os.getpid(), 9)"))
    worker = crew.worker()
    job = tasks.add.enqueue_sync(1, 2).id
    line = until(lambda: said(worker, " died "))[0]
    assert line.endswith(
        f"while it ran 1 job: {job} (add); 1 job taken back, 1 of them to the dead letter"
    )
