"""sleep: this runner is idle and wants to be woken."""

from leasehold.store import verbs


def test_a_sleeper_is_known_for_each_of_its_queues(house):
    runner = house.runner()
    house.call(verbs.sleep(runner, ["a", "b"]))
    assert house.rows("select queue, runner from leasehold.sleeper order by 1") == [
        ("a", runner),
        ("b", runner),
    ]


def test_to_say_it_twice_does_no_harm(house):
    runner = house.runner()
    for _ in range(2):
        house.call(verbs.sleep(runner, ["a", "a"]))
    assert house.count("sleeper") == 1


def test_a_job_that_becomes_ready_again_wakes_it(house):
    runner = house.runner()
    job = house.running(runner)
    house.call(verbs.sleep(house.runner(), ["default"]))
    house.release(runner, job)
    assert house.count("sleeper") == 0
