"""What a type checker sees of the rest: opening an app, a worker inside, errors, tests."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, assert_type
from uuid import UUID

import pytest
from tasks import app, welcome

import leasehold
from leasehold import App, errors, testing
from leasehold.errors import JobFailed, KeyTaken, LeaseholdError, NotEnded, PayloadError


async def an_app_opens_and_works() -> None:
    async with app as opened, app.worker(concurrency=20):
        assert_type(opened, App)
        await app.wake("mail")
    with App(".data") as opened:
        assert_type(opened, App)
    assert_type(app.queues(), list[str])
    app.wake("mail")  # type: ignore[unused-coroutine]  # pyright: ignore[reportUnusedCoroutine]
    await app.wake(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    leasehold.Worker()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def errors_carry_their_facts() -> None:
    try:
        await (await welcome.using(key="welcome-1").enqueue(1)).result()
    except KeyTaken as error:
        assert_type(error.key, str)
        assert_type(error.job, UUID)
    except PayloadError as error:
        assert_type(error.path, str)
    except (JobFailed, NotEnded) as error:
        assert_type(error.job, UUID | str)
        app.job(error.job)
    except errors.OptionError as error:
        assert_type(error.option, str)
    except LeaseholdError as error:
        assert_type(error.args, tuple[Any, ...])
    raise errors.LeaseGone  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


@pytest.fixture
def clock() -> Iterator[testing.Clock]:
    with testing.Databases() as databases, testing.Clock(databases.make()) as clock:
        yield clock


async def time_is_moved(clock: testing.Clock) -> None:
    assert_type(clock.now(), datetime)
    clock.advance(60)
    await clock.pass_time(60)
    clock.advance("60")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    clock.pass_time(60)  # type: ignore[unused-coroutine]  # pyright: ignore[reportUnusedCoroutine]
    testing.Server()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def jobs_run_step_by_step(leasehold_steps: testing.Steps) -> None:
    assert_type(await leasehold_steps.run_next(), testing.Ended | None)
    async with testing.Steps(app, queues=["mail"]) as steps:
        for ended in await steps.run_all(limit=7):
            assert_type(ended, testing.Ended)
            assert_type(ended.id, UUID)
            assert_type(ended.state, str)
            assert_type(ended.error, testing.Failure | None)
            assert_type(ended.exception, BaseException | None)
            ended.state = "failed"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    with testing.Steps(app) as steps:
        assert_type(steps.run_next_sync(), testing.Ended | None)
        assert_type(steps.run_all_sync(), list[testing.Ended])
    testing.Steps("mail")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await steps.run_all("7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def jobs_run_inline() -> None:
    with testing.inline(app) as nothing:
        assert_type(nothing, None)
        welcome.enqueue_sync(1)
    testing.inline()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
