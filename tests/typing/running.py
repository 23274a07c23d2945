"""What a type checker sees inside of a task: the job, how a run may end, the rule for retries."""

from datetime import datetime, timedelta
from typing import Any, Literal, assert_type
from uuid import UUID

from tasks import app

from leasehold import Cancel, Fail, Job, Retry, SendOn, Snooze, TryAgain, current_job


def what_a_job_knows_of_itself(job: Job) -> None:
    assert_type(current_job(), Job)
    assert_type(job.id, UUID)
    assert_type(job.fence, str)
    assert_type(job.attempt, int)
    assert_type(job.headers, dict[str, Any])
    assert_type(job.deadline, datetime | None)
    assert_type(job.cancelled, bool)
    job.progress(50, "half of it")
    job.save_sync({"page": 7})
    with job.finishing_sync(object(), result=7) as nothing:
        assert_type(nothing, None)
    job.stop_if_cancelled()
    job.fence = "7"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    job.progress("half")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    job.advance(50)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    current_job("7")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


@app.task
async def crawl(url: str) -> int | Snooze | SendOn:
    job = current_job()
    async with job.finishing(object(), result=7) as nothing:
        assert_type(nothing, None)
    if await job.checkpoint() is None:
        await job.save({"url": url})
        return Snooze(timedelta(hours=1))
    return 7 if job.attempt == 1 else SendOn(queue="slow", state=None)


def how_a_run_may_end(attempt: int) -> None:
    match attempt:
        case 1:
            raise TryAgain(delay=60, reason="busy")
        case 2:
            raise Cancel("not wanted")
        case _:
            raise Fail("no such shop")


def wrong_ends() -> None:
    Snooze()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Cancel(reason=7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Fail("no", "really")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    TryAgain(after=60)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    SendOn("slow")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    SendOn(priority="high")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def the_rule_for_retries() -> None:
    rule = Retry(8, backoff="fixed", base=60, transient=(TimeoutError,), unknown="fail")
    assert_type(rule.max_attempts, int)
    assert_type(rule.delay_before(1, luck=0.5), float)
    assert_type(rule.sort(ValueError()), Literal["transient", "terminal", "unknown"])
    Retry(backoff=lambda attempt: attempt * 2.0)
    Retry(terminal=(ValueError, lambda error: "busy" not in str(error)))
    Retry("8")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Retry(backoff="random")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Retry(unknown="ask")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Retry(8, "fixed")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Retry(attempts=8)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    rule.cap = 60  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
