"""What the verbs cost, in things that can be counted: a regression shows without a stopwatch."""

from datetime import timedelta
from itertools import pairwise

import pytest

from leasehold.store import verbs

BATCH = 500


def fill(house, count, **columns):
    """As fast as it goes: one INSERT of `count` jobs."""
    names = "".join(f", {name}" for name in columns)
    marks = "".join(", %s" for _ in columns)
    sql = f"insert into leasehold.job (task, payload{names}) select 't', '{{\"n\": 1}}'{marks} "
    house.do(f"{sql} from generate_series(1, %s)", *columns.values(), count)


# Round trips


def test_a_batch_of_500_is_claimed_and_finished_in_two_round_trips(house):
    fill(house, BATCH)
    runner = house.runner()
    jobs = house.claim(runner, BATCH)
    assert len(jobs) == BATCH
    assert house.finish(runner, *jobs) == {}
    assert (house.count("running"), house.count("attempt")) == (0, BATCH)


def test_a_claim_over_many_queues_is_one_round_trip(house):
    queues = [f"q{n}" for n in range(20)]
    house.enqueue_all([{"queue": queue} for queue in queues])
    assert len(house.claim(house.runner(), 20, queues=queues)) == 20


# Locks


def locks(house, connection):
    """Relations of ours that this session's transaction has locked, and none of the catalog."""
    sql = (
        "select count(distinct relation) from pg_locks "
        "where pid = %s and locktype = 'relation' and relation >= 16384"
    )
    return house.value(sql, connection.info.backend_pid)


def costs_in_locks(house, work):
    other = house.connect()
    for _ in range(7):  # plans are as they will be
        with other.transaction(force_rollback=True):
            work(other)
    with other.transaction(force_rollback=True):
        work(other)
        return locks(house, other)


VERBS = {
    # name: (what it does on a connection, the most relations it may lock)
    "claim": (lambda house, runner, jobs, c: house.claim(runner, 10, by=c), 24),
    "finish": (lambda house, runner, jobs, c: house.finish(runner, *jobs, by=c), 24),
    "enqueue": (lambda house, runner, jobs, c: house.enqueue(by=c), 24),
}


@pytest.mark.parametrize("verb", VERBS)
def test_days_made_ahead_add_no_lock(house, verb):
    work, limit = VERBS[verb]
    runner = house.runner()
    house.enqueue_many(30)
    jobs = house.claim(runner, 10)

    def run(connection):
        work(house, runner, jobs, connection)

    before = costs_in_locks(house, run)
    house.call(verbs.partition(60))
    assert costs_in_locks(house, run) == before <= limit


# Write-ahead log


def wal(house, work):
    """Bytes this session wrote: other tests write to the same server."""
    sql = "select wal_bytes from pg_stat_get_backend_wal(pg_backend_pid())"
    seen = []
    for step in (lambda: None, work):
        step()
        house.value("select pg_stat_force_next_flush()")
        house.value("select pg_stat_clear_snapshot()")
        seen.append(house.value(sql))
    return seen[1] - seen[0]


def test_an_idle_runners_look_writes_nothing(house):
    runner = house.runner()
    other = house.connect()
    with other.transaction():
        assert house.claim(runner, 100, by=other) == []
        assert other.execute("select pg_current_xact_id_if_assigned()").fetchone() == (None,)


def whole_life(house, batches):
    runner = house.runner()

    def live():
        for _ in range(batches):
            fill(house, BATCH)
            house.finish(runner, *house.claim(runner, BATCH))

    return wal(house, live) / (BATCH * batches)


def test_a_small_job_writes_less_than_a_kilobyte_in_its_whole_life(house, record_property):
    if house.connection.info.server_version < 180000:
        pytest.skip("counted by session since Postgres 18")
    bytes_a_job = whole_life(house, batches=10)
    record_property("wal_bytes_a_job", float(bytes_a_job))
    assert bytes_a_job < 1024


# Plans


ROOMS = ("ready_0", "ready_1", "ready_2", "scheduled", "running", "waiting", "dispatched")


def scans(house):
    """How often each room, and the history of today, has been read from end to end."""
    house.value("select pg_stat_force_next_flush()")
    house.value("select pg_stat_clear_snapshot()")
    today = house.value("select to_char(leasehold.now(), '\"attempt_\"YYYYMMDD')")
    sql = "select relname, seq_scan from pg_stat_user_tables where relname = any(%s)"
    return dict(house.rows(sql, [*ROOMS, today]))


def work(house, runner, rounds):
    for _ in range(rounds):
        jobs = house.claim(runner, 10)
        house.finish(runner, *jobs[:5])
        house.finish(runner, *jobs[5:8], outcome="retried", delay=60)
        house.release(runner, *jobs[8:])
        house.call(verbs.promote(10))


def lie(house, runner, kind):
    """Plans and statistics as they may be left at the worst moment."""
    if kind == "full":  # analyzed while it was full, and then it was drained
        fill(house, 5000)
        house.do("analyze")
        while jobs := house.claim(runner, 1000):
            house.finish(runner, *jobs)
    elif kind == "empty":  # analyzed while there was nothing
        house.do("analyze")
    fill(house, 100)
    work(house, runner, 8)  # now the plans are kept
    fill(house, 5000)
    fill(house, 500, delay=timedelta(seconds=1))
    for _ in range(300):
        house.claim(runner, 2)
    house.finish(runner, *house.claim(runner, 2000))


@pytest.mark.parametrize("kind", ["empty", "full", "never"])
def test_no_room_is_read_from_end_to_end_whatever_the_statistics_say(house, kind):
    runner = house.runner()
    lie(house, runner, kind)
    house.pass_time(2)
    before = scans(house)
    work(house, runner, 8)
    assert {room: n - before[room] for room, n in scans(house).items() if n > before[room]} == {}


def test_a_late_claim_costs_no_more_than_an_early_one(house):
    """Behind its marks a claim walks no dead entry; without them it would walk all of them."""
    fill(house, 4000)
    house.call(verbs.rotate(0))
    house.call(verbs.rotate(10**9))
    runner, read = house.runner(), [buffers(house)]
    for _ in range(8):
        house.finish(runner, *house.claim(runner, 400, marks=house.marks))
        read.append(buffers(house))
    costs = [b - a for a, b in pairwise(read)]
    assert costs[-1] < 1.5 * costs[1] + 50


def buffers(house):
    house.value("select pg_stat_force_next_flush()")
    house.value("select pg_stat_clear_snapshot()")
    sql = "select idx_blks_hit + idx_blks_read from pg_statio_user_tables where relname = 'ready_0'"
    return house.value(sql)


# Compilation


def test_no_verb_is_compiled(house):
    """Plans that avoid a way at any price look worth compiling: a call then takes up to 12 s."""
    names = [call for call in vars(verbs) if callable(vars(verbs)[call])]
    sql = (
        "select proname from pg_proc where pronamespace = 'leasehold'::regnamespace "
        "and proname = any(%s) and not coalesce('jit=off' = any(proconfig), false)"
    )
    assert house.rows(sql, [*names, "arrive"]) == []
