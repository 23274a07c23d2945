from leasehold.define.moves import MOVES, STATES, Room

VERBS = "enqueue claim dispatch take finish release reap promote unblock hold resume expire cancel"


def test_every_verb_has_its_line():
    assert set(MOVES) == {*VERBS.split(), "retry", "redrive", "discard"}


def test_nothing_runs_after_the_end_but_what_a_person_takes_back():
    out_of_the_end = {verb for verb, (begin, _) in MOVES.items() if begin & {Room.ENDED, Room.DEAD}}
    assert out_of_the_end == {"retry", "redrive", "discard"}


def test_only_a_claim_or_a_take_begins_a_run():
    assert {verb for verb, (_, end) in MOVES.items() if Room.RUNNING in end} == {"claim", "take"}


def test_every_room_can_be_reached_and_left():
    assert set().union(*(end for _, end in MOVES.values())) == set(Room)
    assert set().union(*(begin for begin, _ in MOVES.values())) == set(Room)


def test_the_states_are_ten_words():
    assert len(STATES) == len(set(STATES)) == 10
