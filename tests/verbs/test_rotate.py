"""rotate: the segments of ready take turns."""

from leasehold.store import verbs


def rotate(house, size=0, by=None):
    return house.call(verbs.rotate(size), by)[:3]


def size(house, segment):
    return house.value(f"select pg_relation_size('leasehold.ready_{segment}')")


def test_a_small_segment_stays_open(house):
    house.enqueue()
    assert rotate(house, 10**6) == (None, None, None)


def test_one_that_has_grown_is_followed_by_the_next_and_sealed_after(house):
    house.enqueue()
    assert rotate(house) == (None, None, 1)
    assert rotate(house, 10**9) == (0, None, None)


def test_new_entries_enter_the_open_one(house):
    house.enqueue()
    rotate(house)
    job = house.enqueue()
    assert house.entry("ready", job)["segment"] == 1


def test_a_sealed_one_that_is_empty_is_emptied_on_disk(house):
    house.enqueue_many(50)
    rotate(house)
    rotate(house, 10**9)
    house.claim(house.runner(), 50)
    assert size(house, 0) > 0
    assert rotate(house, 10**9) == (None, 0, None)
    assert size(house, 0) == 0


def test_the_last_row_left_keeps_it(house):
    jobs = house.enqueue_many(500)
    rotate(house)
    rotate(house, 10**9)
    runner = house.runner()
    house.claim(runner, 499)
    for _ in range(3):
        assert rotate(house, 10**9) == (None, None, None)
    assert house.claim(runner)[0].id == jobs[-1]
    assert rotate(house, 10**9)[1] == 0


def test_a_row_that_a_rolled_back_claim_gave_back_keeps_it(house):
    house.enqueue_many(3)
    rotate(house)
    rotate(house, 10**9)
    other, runner = house.connect(), house.runner()
    with other.transaction(force_rollback=True):
        house.claim(runner, 3, by=other)
        assert rotate(house, 10**9)[1] is None  # not committed: nobody knows yet
    assert rotate(house, 10**9)[1] is None
    assert len(house.claim(runner, 9)) == 3


def test_swept_blocks_are_not_looked_at_again_and_hide_no_row(house):
    house.enqueue_many(1000, payload={"text": "x" * 500})
    rotate(house)
    rotate(house, 10**9)
    runner = house.runner()
    for left in (600, 200, 0):
        while house.count("ready") > left:
            house.claim(runner, 100)
        emptied = rotate(house, 10**9)[1]
        assert (emptied == 0) == (left == 0)
        assert left == 0 or house.value("select swept from leasehold.segment where number = 0") > 0


def test_a_writer_that_stays_open_for_hours_keeps_its_segment_unsealed(house):
    writer = house.connect()
    with writer.transaction():
        job = house.enqueue(by=writer)
        assert rotate(house)[2] == 1
        for _ in range(3):
            house.pass_time(3600)
            assert rotate(house, 10**9)[0] is None
        late = house.enqueue(by=writer)
    assert house.entry("ready", job)["segment"] == 0
    assert house.entry("ready", late)["segment"] == 1
    assert rotate(house, 10**9)[0] == 0


def test_the_turns_go_on_beside_a_writer_that_stays_open(house):
    writer = house.connect()
    with writer.transaction():
        house.enqueue(by=writer)
        house.enqueue()
        opened = []
        for _ in range(6):
            opened.append(rotate(house)[2])
            house.enqueue()
        assert 0 not in opened
    assert len(house.claim(house.runner(), 99)) == 8


def test_all_segments_full_goes_on_with_the_open_one(house):
    runner = house.runner()
    jobs = []
    for _ in range(6):
        jobs += house.enqueue_many(2)
        rotate(house)
    assert len(house.rows("select distinct segment from leasehold.ready")) == 3
    assert [job.id for job in house.claim(runner, 99)] == jobs


def test_after_all_were_full_the_turns_go_on(house):
    for _ in range(6):
        house.enqueue_many(2)
        rotate(house)
    house.claim(house.runner(), 99)
    seen = []
    for _ in range(6):
        house.enqueue()
        seen.append(rotate(house)[2])
        house.claim(house.runner(), 99)
    assert len(set(seen) - {None}) == 3


def test_a_reader_in_the_way_is_not_waited_for(house):
    house.enqueue()
    rotate(house)
    rotate(house, 10**9)
    house.claim(house.runner())
    reader = house.connect()
    with reader.transaction():
        reader.execute("select count(*) from leasehold.ready")
        assert rotate(house, 10**9)[1] is None
        house.enqueue()
        assert len(house.claim(house.runner())) == 1
    assert rotate(house, 10**9)[1] == 0


def test_an_old_snapshot_does_not_prevent_emptying(house):
    old = house.connect()
    with old.transaction():
        old.execute("set transaction isolation level repeatable read")
        old.execute("select 1 from leasehold.house")
        house.enqueue()
        rotate(house)
        rotate(house, 10**9)
        house.claim(house.runner())
        assert rotate(house, 10**9)[1] == 0


def test_generations_only_grow(house):
    seen = []
    for _ in range(5):
        house.enqueue()
        rotate(house)
        house.claim(house.runner(), 9)
        rotate(house, 10**9)
        seen.append(house.value("select max(generation) from leasehold.segment"))
    assert seen == sorted(seen)
    assert seen[-1] > seen[0]


def test_two_leaders_for_a_moment_do_no_harm(house):
    house.enqueue()
    other = house.connect()
    with other.transaction():
        rotate(house, by=other)
        second = house.aside(lambda c: rotate(house, by=c))
        second.result()
    job = house.enqueue()
    assert house.claim(house.runner(), 9)[-1].id == job


def test_an_enqueue_while_a_segment_is_opened_lands_in_a_segment_that_is_read(house):
    writer = house.connect()
    with writer.transaction():
        house.enqueue(by=writer)
        rotate(house)
        rotate(house, 10**9)
    assert len(house.claim(house.runner(), 9)) == 1


def test_a_rotation_that_was_cut_off_before_its_commit_hides_no_job(house):
    """The sequence that says which one is open has moved, and nothing else has."""
    house.enqueue()
    house.do("select setval('leasehold.open_segment', 5)")
    job = house.enqueue(priority=1)
    assert house.entry("ready", job)["segment"] == 1
    assert [one.id for one in house.claim(house.runner())] == [job]
    assert rotate(house) == (0, None, None)  # it makes up for what was cut off, and opens no other
    late = house.enqueue(priority=1)
    assert rotate(house) == (None, None, 2)
    assert [one.id for one in house.claim(house.runner())] == [late]


def test_a_segment_that_was_just_opened_is_read_before_the_rotation_has_committed(house):
    house.enqueue()
    other = house.connect()
    with other.transaction():
        assert rotate(house, by=other)[2] == 1
        job = house.enqueue(priority=1)
        assert [one.id for one in house.claim(house.runner())] == [job]
