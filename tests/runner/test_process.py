"""A task in a process of its own can do no harm but to itself."""

import pytest

from fleet.crew import is_there
from leasehold.errors import JobFailed, ResultNotStored
from runner.waiting import until


async def test_a_process_that_ends_itself_fails_its_job_only(errands, house):
    async with errands.app.worker(poll=0.05):
        good = await errands.pid.enqueue()
        bad = await errands.leaves.enqueue(9)
        worse = await errands.kills_itself.enqueue()
        after = await errands.pid.enqueue()
        with pytest.raises(JobFailed, match=r"process of this job died \(exit code 9\)"):
            await bad.result(timeout=20)
        with pytest.raises(JobFailed, match=r"process of this job died \(SIGKILL\)"):
            await worse.result(timeout=20)
        assert await good.result(timeout=20) != 0
        assert await after.result(timeout=20) != 0
    assert house.history(bad.id) == house.history(worse.id) == ["failed"]


async def test_a_process_that_dies_ends_its_job_though_what_it_forked_lives(
    errands, house, tmp_path
):
    """A fork holds the wire of the process open; it is killed as well."""
    sign = tmp_path / "sign"
    async with errands.app.worker(poll=0.05):
        handle = await errands.forks_and_dies.enqueue(str(sign))
        with pytest.raises(JobFailed, match=r"process of this job died \(SIGKILL\)"):
            await handle.result(timeout=10)
        pid = int(await until(sign.read_text))
        await until(lambda: not is_there(pid), 5)


async def test_errors_and_outcomes_come_back_from_a_process(errands, house, tmp_path):
    async with errands.app.worker(poll=0.05):
        with pytest.raises(JobFailed, match="ValueError: no"):
            await (await errands.raises.enqueue("no")).result(timeout=20)
        with pytest.raises(JobFailed, match="Fail: no use"):
            await (await errands.says_fail.enqueue()).result(timeout=20)
        naps = await errands.naps_once.enqueue(str(tmp_path / "seen"))
        assert await naps.result(timeout=20) == "rested"


async def test_a_job_in_a_process_keeps_its_state_between_attempts(errands, house):
    async with errands.app.worker(poll=0.05):
        handle = await errands.remembers.enqueue()
        assert await handle.result(timeout=20) == {"page": 3}


async def test_a_job_in_a_process_knows_what_any_job_knows(errands, house):
    async with errands.app.worker(poll=0.05):
        task = errands.tells_of_itself.using(headers={"trace": "x"}, deadline=3_600)
        handle = await task.enqueue()
        assert await handle.result(timeout=20) == {
            "headers": {"trace": "x"},
            "queue": "default",
            "fence": f"{handle.id}:1",
            "attempt": 1,
            "deadline": True,
            "interrupted": 0,
        }


async def test_processes_are_kept_for_the_next_job(errands, house):
    async with errands.app.worker(poll=0.05, processes=1):
        pids = [await (await errands.pid.enqueue()).result(timeout=20) for _ in range(3)]
    assert len(set(pids)) == 1


async def test_a_result_too_big_for_its_place_does_not_fail_the_job(errands, house):
    async with errands.app.worker(poll=0.05):
        handle = await errands.too_big.enqueue()
        with pytest.raises(ResultNotStored, match="the limit is"):
            await handle.result(timeout=20)
        assert (await handle.status()).state == "succeeded"
