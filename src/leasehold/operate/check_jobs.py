"""What doctor finds among the jobs and those who run them."""

from collections.abc import Iterator
from shlex import quote

from leasehold.operate.finding import Facts, Finding
from leasehold.operate.status import Status


def jobs(found: Facts) -> Iterator[Finding]:
    if strays := found["strays"]:
        shown = ", ".join(strays[:3])
        yield Finding(
            code="strays",
            severity="wrong",
            what=(
                f"of the newest {found['looked']} jobs {len(strays)} or more are in no room and "
                f"have no end: {shown}"
            ),
            why=(
                "they will never run: rows were inserted with the trigger disabled, restored "
                "without it, or a room was changed by hand"
            ),
            do=(
                "enqueue them again, and leave triggers on: a plain INSERT or COPY into "
                "leasehold.job enqueues"
            ),
        )
    for lost in found["lost"]:
        yield Finding(
            code="lost_holder",
            severity="warning",
            what=f"runner {lost['runner']} is dead and still has {lost['held']} jobs",
            why="nobody runs them",
            do="a leader takes them back within seconds: start a worker",
        )
    for late in found["overdue"]:
        yield Finding(
            code="lease_over",
            severity="warning",
            what=(
                f"the lease of runner {late['runner']} on {late['host']} ended "
                f"{late['seconds']:.0f} s ago; it holds {late['held']} jobs"
            ),
            why="no leader has taken its jobs back",
            do="start a worker: one of them leads",
        )
    for slow in found["blocked"]:
        yield Finding(
            code="loop_blocked",
            severity="warning",
            what=(
                f"the event loop of runner {slow['runner']} on {slow['host']} had not turned for "
                f"{slow['seconds']:.0f} s at its last beat"
            ),
            why="none of its jobs goes on while one blocks",
            do=(
                "its worker's log shows the code: move it into a task with run='thread' or "
                "'process'"
            ),
        )


def fleet(house: Status) -> Iterator[Finding]:
    alive = [worker for worker in house.workers if worker.alive]
    if alive and (house.leader is None or not house.leader.ticking):
        age = f"for {house.leader.tick_age:.0f} s" if house.leader else "since the last one left"
        yield Finding(
            code="no_leader",
            severity="wrong",
            what=f"workers are alive, but no leader has ticked {age}",
            why="nothing is promoted, reaped, expired or retired",
            do="look into the workers' logs for 'leader'",
        )
    elif house.leader and house.leader.resumed_age < 60 and house.leader.term > 1:  # noqa: PLR2004 - a minute
        yield Finding(
            code="leader_resumed",
            severity="note",
            what=f"the leader has resumed {house.leader.resumed_age:.0f} s ago",
            why=(
                "after an outage every lease counts anew, so lost runners' jobs come back later "
                "than usual"
            ),
            do="wait a minute",
        )
    for name in house.stranded:
        jobs = next(queue["ready"].jobs + queue.due for queue in house.queues if queue.name == name)
        yield Finding(
            code="queue_unserved",
            severity="wrong",
            what=f"queue {name!r} has {jobs} jobs that could run, and no live worker",
            why="they wait for ever",
            do=f"leasehold worker module:app --queue {quote(name)}",
        )
    versions = sorted({worker.version for worker in alive})
    if len(versions) > 1:
        yield Finding(
            code="versions_mixed",
            severity="note",
            what=f"workers of several releases are alive: {', '.join(versions)}",
            why="fine while you roll out",
            do="finish the roll-out",
        )
