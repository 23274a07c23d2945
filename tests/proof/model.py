"""The rooms as plain Python: what each verb must answer, and what it must leave behind.

Jobs are named by the text of their id, moments are microseconds since 1970. A dictionary per room,
no index, no lock, no snapshot: one verb after another. Where the SQL hands out a number of its own
(bundles, dispatches), the walk says which one it was.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from leasehold.define.moves import MOVES, Room

SECOND = 1_000_000
HOUR = 3600 * SECOND
LEASE = 30 * SECOND
POISON = 2
ENDS = frozenset({"succeeded", "failed", "cancelled", "expired", "poisoned"})
GOES_ON = frozenset({"retried", "interrupted", "sent_on", "snoozed", "released"})
UNWRITTEN = frozenset({"snoozed", "released"})
UNCLAIMED = ("ready", "scheduled", "waiting", "dispatched")


class Refused(Exception):
    """The verb raises, with this SQLSTATE, and nothing has changed."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


@dataclass(slots=True)
class Job:
    id: str
    queue: str
    task: str
    priority: int
    enqueued_at: int
    payload: dict[str, Any]
    run_at: int | None = None
    deadline: int | None = None
    timeout: float | None = None
    max_attempts: int | None = None
    key: str | None = None
    tenant: str | None = None
    hold: str | None = None
    duplicate_of: str | None = None

    @property
    def slot(self) -> tuple[str, str, str]:
        return (self.tenant or "", self.task, self.key or "")


@dataclass(slots=True)
class Entry:
    """A job in ready, scheduled, waiting or dispatched."""

    job: str
    queue: str
    priority: int
    due: int | None  # turn, or run_at
    claim_no: int = 0
    moves: int = 0
    attempts: int = 0
    interrupted: int = 0
    segment: int = 0  # of ready
    reason: str = ""  # of waiting
    note: str | None = None
    expires_at: int = 0  # of dispatched
    dispatch_no: int = 0

    @property
    def turn(self) -> int:
        assert self.due is not None
        return self.due

    @property
    def place(self) -> tuple[int, int, str]:
        return (self.priority, self.turn, self.job)


@dataclass(slots=True)
class Member:
    job: str
    claim_no: int
    turn: int
    priority: int
    moves: int
    attempts: int
    interrupted: int


@dataclass(slots=True)
class Bundle:
    id: int
    runner: int
    claimed_at: int
    queue: str
    begun: int
    held: int
    members: list[Member]


@dataclass(slots=True)
class Attempt:
    outcome: str
    ended_at: int
    claimed_at: int | None = None
    runner: int | None = None
    run_ms: int | None = None
    error: dict[str, Any] | None = None
    result: Any = None


@dataclass(slots=True)
class Dead:
    died_at: int
    queue: str
    priority: int
    claim_no: int
    moves: int
    attempts: int
    interrupted: int
    reason: str
    error: dict[str, Any] | None


@dataclass(slots=True)
class Runner:
    worker: int
    expires_at: int
    dead_at: int | None = None
    begun: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Segment:
    generation: int
    sealed: bool
    dirty: bool = False  # has blocks: something was in it since it was last emptied
    empty: bool = False  # known to be so: claims do not look


@dataclass(slots=True)
class Leader:
    term: int = 0
    worker: int | None = None
    tick_at: int = 0
    resumed_at: int = 0


@dataclass(slots=True)
class Model:
    now: int
    jobs: dict[str, Job] = field(default_factory=dict)
    rooms: dict[str, dict[str, Entry]] = field(
        default_factory=lambda: {room: {} for room in UNCLAIMED}
    )
    running: dict[int, Bundle] = field(default_factory=dict)
    attempts: dict[str, dict[int, Attempt]] = field(default_factory=dict)
    dead: dict[str, Dead] = field(default_factory=dict)
    keys: dict[tuple[str, str, str], str] = field(default_factory=dict)
    wishes: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    workers: set[int] = field(default_factory=set)
    runners: dict[int, Runner] = field(default_factory=dict)
    leader: Leader = field(default_factory=Leader)
    segments: list[Segment] = field(default_factory=list)
    open: int = 0
    audited: int = 0
    moved: set[tuple[str, str, str]] = field(default_factory=set)

    # What is where

    @property
    def ready(self) -> dict[str, Entry]:
        return self.rooms["ready"]

    @property
    def scheduled(self) -> dict[str, Entry]:
        return self.rooms["scheduled"]

    @property
    def waiting(self) -> dict[str, Entry]:
        return self.rooms["waiting"]

    @property
    def dispatched(self) -> dict[str, Entry]:
        return self.rooms["dispatched"]

    def held(self, bundles: Iterable[int] | None = None) -> Iterator[tuple[Bundle, int, Member]]:
        """Who is held, with the bundle and the number in it, counted from one."""
        chosen = self.running if bundles is None else [b for b in bundles if b in self.running]
        for number in sorted(set(chosen)):
            bundle = self.running[number]
            for n, member in enumerate(bundle.members, 1):
                if member.claim_no not in self.attempts.get(member.job, {}):
                    yield bundle, n, member

    def holder(self, job: str) -> tuple[Bundle, int, Member] | None:
        return next((found for found in self.held() if found[2].job == job), None)

    def last(self, job: str) -> tuple[int, Attempt] | None:
        lines = self.attempts.get(job)
        return max(lines.items()) if lines else None

    def ended(self, job: str) -> bool:
        last = self.last(job)
        return last is not None and last[1].outcome in ENDS

    def is_live(self, job: str) -> bool:
        known = self.jobs.get(job)
        return known is not None and known.duplicate_of is None and not self.ended(job)

    def state(self, job: str) -> str | None:
        known = self.jobs.get(job)
        if known is None or known.duplicate_of is not None:
            return None
        for room, entries in self.rooms.items():
            if job in entries:
                return room
        if found := self.holder(job):
            bundle, n, _ = found
            begun = n <= bundle.begun or job in self.runners[bundle.runner].begun
            return "running" if begun else "assigned"
        last = self.last(job)
        assert last is not None, f"{job} is nowhere"
        return "failed" if last[1].outcome == "poisoned" else last[1].outcome

    def alive(self, runner: int) -> bool:
        return runner in self.runners and self.runners[runner].dead_at is None

    # The steps verbs are made of

    def _move(self, verb: str, begin: Room, end: Room) -> None:
        begins, ends = MOVES[verb]
        assert begin in begins, f"{verb} takes nothing out of {begin.value}"
        assert end in ends, f"{verb} brings nothing to {end.value}"
        self.moved.add((verb, begin.value, end.value))

    def _enter(self, verb: str, begin: Room, room: str, entry: Entry) -> None:
        self._move(verb, begin, Room(room))
        assert not any(entry.job in entries for entries in self.rooms.values())
        if room == "ready":
            entry.segment = self.open
            self.segments[self.open].dirty = True
        self.rooms[room][entry.job] = entry

    def _end(self, verb: str, begin: Room, entry: Entry, line: Attempt) -> None:
        self._move(verb, begin, Room.ENDED)
        self._write(entry.job, entry.claim_no + 1, line)

    def _write(self, job: str, claim_no: int, line: Attempt) -> None:
        lines = self.attempts.setdefault(job, {})
        assert claim_no not in lines, f"{job} has its line {claim_no} already"
        lines[claim_no] = line

    def _go_on(self, verb: str, jobs: Iterable[str]) -> list[str]:
        gone = []
        for job in jobs:
            entry = self.waiting.pop(job)
            entry.moves += 1
            entry.reason, entry.note = "", None
            later = entry.due is not None and entry.due > self.now
            entry.due = entry.due if later else self.now
            self._enter(verb, Room.WAITING, "scheduled" if later else "ready", entry)
            gone.append(job)
        return gone

    def _settle(
        self, verb: str, runner: int, bundles: Sequence[int], told: Sequence[dict[str, Any]]
    ) -> set[tuple[str, int]]:
        mine: dict[tuple[str, int], tuple[Bundle, Member]] = {}
        for bundle, _, member in self.held(bundles):
            if bundle.runner == runner:
                mine[member.job, member.claim_no] = (bundle, member)
        done: set[tuple[str, int]] = set()
        for end in told:
            key = (end["job"], end["claim"])
            if key in mine and key not in done:
                self._settle_one(verb, *mine[key], end)
                done.add(key)
        return done

    def _settle_one(self, verb: str, bundle: Bundle, member: Member, end: dict[str, Any]) -> None:
        outcome, error, job = end["outcome"], end.get("error"), member.job
        wish = self.wishes.get(job)
        wished = wish is not None and wish[0] == member.claim_no
        if wished and outcome in GOES_ON:
            outcome = "cancelled"
        if outcome == "cancelled" and error is None:
            error = {"type": "Cancelled", "message": wish[2] if wish and wished else None}
        self.wishes.pop(job, None)
        if outcome == "released" and end.get("delay") is None:
            due = min(member.turn, self.now)
        else:
            due = end.get("run_at") or self.now + round((end.get("delay") or 0) * SECOND)
        entry = Entry(
            job,
            end.get("queue") or bundle.queue,
            member.priority if end.get("priority") is None else end["priority"],
            due,
            member.claim_no,
            member.moves + 1,
            member.attempts + (end["outcome"] in {"retried", "failed"}),
            member.interrupted + (end["outcome"] in {"interrupted", "poisoned"}),
        )
        if outcome in UNWRITTEN:
            at = bundle.members.index(member)
            bundle.begun -= at < bundle.begun
            bundle.members.pop(at)
        else:
            line = Attempt(outcome, self.now, bundle.claimed_at, bundle.runner)
            line.run_ms, line.error, line.result = end.get("run_ms"), error, end.get("result")
            self._write(job, member.claim_no, line)
        self._count_off(bundle)
        if outcome in GOES_ON:
            self._enter(verb, Room.RUNNING, "scheduled" if due > self.now else "ready", entry)
        elif outcome in {"failed", "poisoned"}:
            self._move(verb, Room.RUNNING, Room.DEAD)
            self.dead[job] = Dead(
                self.now,
                entry.queue,
                entry.priority,
                entry.claim_no,
                entry.moves,
                entry.attempts,
                entry.interrupted,
                "poison" if outcome == "poisoned" else "failed",
                error,
            )
        else:  # also where somebody's wish overruled a reap or a release
            self._move(verb, Room.RUNNING, Room.ENDED)

    def _count_off(self, bundle: Bundle) -> None:
        bundle.held -= 1
        if bundle.held == 0:
            del self.running[bundle.id]

    # The verbs of a job's way

    def enqueue(self, said: Sequence[dict[str, Any]]) -> list[tuple[str, str | None]]:
        fresh: dict[str, Job] = {}
        for one in said:
            if one["id"] not in self.jobs and one["id"] not in fresh:
                fresh[one["id"]] = self._asked(one)
        self._check(fresh.values())
        self.jobs.update(fresh)
        keyed = [job for job in fresh.values() if job.key is not None]
        for job in sorted(keyed, key=lambda j: (j.slot, j.id)):
            holder = self.keys.get(job.slot)
            if holder is None or not (holder in fresh or self.is_live(holder)):
                self.keys[job.slot] = job.id
            else:
                job.duplicate_of = holder
        for job in fresh.values():
            if job.duplicate_of is not None:
                continue
            entry = Entry(job.id, job.queue, job.priority, job.enqueued_at)
            if job.hold is not None:
                entry.due, entry.reason, entry.note = job.run_at, "held", job.hold
                self._enter("enqueue", Room.NOTHING, "waiting", entry)
            elif job.run_at is not None and job.run_at > self.now:
                entry.due = job.run_at
                self._enter("enqueue", Room.NOTHING, "scheduled", entry)
            else:
                self._enter("enqueue", Room.NOTHING, "ready", entry)
        asks = any("key" in one for one in said)
        return [(one["id"], self.jobs[one["id"]].duplicate_of if asks else None) for one in said]

    def _asked(self, one: dict[str, Any]) -> Job:
        run_at = one.get("run_at")
        if run_at is None and one.get("delay") is not None:
            run_at = self.now + round(one["delay"] * SECOND)
        deadline = one.get("deadline")
        if deadline is None and one.get("deadline_in") is not None:
            deadline = self.now + round(one["deadline_in"] * SECOND)
        return Job(
            one["id"],
            one.get("queue", "default"),
            one["task"],
            one.get("priority", 100),
            self.now,
            one.get("payload", {}),
            run_at,
            deadline,
            one.get("timeout"),
            one.get("max_attempts"),
            one.get("key"),
            one.get("tenant"),
            one.get("hold"),
        )

    def _check(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            made_at = int(job.id.replace("-", "")[:12], 16) * 1000
            if (
                abs(made_at - self.now) > HOUR
                or not 1 <= len(job.queue) <= 63
                or not 1 <= len(job.task) <= 200
                or job.tenant == ""
                or not -32768 <= job.priority <= 32767
                or (job.max_attempts is not None and job.max_attempts < 1)
                or (job.timeout is not None and job.timeout <= 0)
                or not isinstance(job.payload, dict)
            ):
                raise Refused("22023")

    def claim(
        self,
        runner: int,
        queues: Sequence[str],
        tasks: Sequence[str] | None,
        *,
        limit: int,
        begin: int,
        numbers: Iterator[int],
    ) -> list[tuple[Any, ...]]:
        if not self.alive(runner):
            raise Refused("LH002")
        rows = []
        for queue in queues:
            line = [
                e
                for e in self.ready.values()
                if e.queue == queue and (tasks is None or self.jobs[e.job].task in tasks)
            ]
            line = sorted(line, key=lambda e: e.place)[: max(limit, 0)]
            limit -= len(line)
            for _, run in groupby(line, key=lambda e: e.segment):
                chunk = list(run)
                bundle = self._bundle("claim", runner, chunk, next(numbers, -1), Room.READY)
                bundle.begun = min(len(chunk), begin)
                begin = max(begin - len(chunk), 0)
                rows += [self._handed(bundle.id, entry, big=False) for entry in chunk]
        return rows

    def _bundle(
        self, verb: str, runner: int, entries: Sequence[Entry], number: int, room: Room
    ) -> Bundle:
        members = []
        for e in entries:
            self._move(verb, room, Room.RUNNING)
            del self.rooms[room.value][e.job]
            members.append(
                Member(
                    e.job, e.claim_no + 1, e.turn, e.priority, e.moves, e.attempts, e.interrupted
                )
            )
        count, queue = len(members), entries[0].queue
        bundle = Bundle(number, runner, self.now, queue, count, count, members)
        self.running[number] = bundle
        return bundle

    def _handed(self, bundle: int, entry: Entry, *, big: bool = True) -> tuple[Any, ...]:
        job = self.jobs[entry.job]
        payload = job.payload if big or len(str(job.payload)) < 1000 else None
        return (
            *(bundle, job.id, entry.claim_no + 1, entry.queue, job.task, payload),
            *(entry.attempts, entry.interrupted, entry.priority, entry.turn, job.deadline),
            *(job.timeout, job.max_attempts, job.tenant),
        )

    def dispatch(
        self, queue: str, limit: int, patience: float, numbers: Iterator[int]
    ) -> list[tuple[str, int, str]]:
        line = sorted((e for e in self.ready.values() if e.queue == queue), key=lambda e: e.place)
        rows = []
        for entry in line[:limit]:
            del self.ready[entry.job]
            entry.moves += 1
            entry.expires_at = self.now + round(patience * SECOND)
            entry.dispatch_no = next(numbers, -1)
            self._enter("dispatch", Room.READY, "dispatched", entry)
            rows.append((entry.job, entry.dispatch_no, self.jobs[entry.job].task))
        return rows

    def take(
        self, runner: int, messages: Sequence[tuple[str, int]], numbers: dict[str, int]
    ) -> list[tuple[Any, ...]]:
        if not self.alive(runner):
            raise Refused("LH002")
        due = [
            self.dispatched[job]
            for job, number in dict.fromkeys(messages)
            if job in self.dispatched and self.dispatched[job].dispatch_no == number
        ]
        due.sort(key=lambda e: (e.queue, e.place))
        rows = []
        for queue, some in groupby(due, key=lambda e: e.queue):
            entries = list(some)
            bundle = self._bundle("take", runner, entries, numbers.get(queue, -1), Room.DISPATCHED)
            rows += [self._handed(bundle.id, entry) for entry in entries]
        return sorted(rows, key=lambda row: (row[8], row[9], row[1]))

    def finish(
        self,
        runner: int,
        bundles: Sequence[int],
        done: Sequence[tuple[str, int, int]],  # job, claim, run_ms
        others: Sequence[dict[str, Any]] = (),
        results: Sequence[Any] = (),
        *,
        strict: bool = False,
    ) -> list[tuple[str, int, str]]:
        ended = [(job, claim) for job, claim, _ in done]
        told = ended + [(one["job"], one["claim"]) for one in others]
        answers = self._verdicts(runner, bundles, told)
        if self.alive(runner):
            # Told both ways in one call, it succeeds, and the other telling comes too late.
            heard = {(job, claim) for job, claim, _ in answers}
            late = (pair for pair in told[len(ended) :] if pair in ended and pair not in heard)
            answers += [(*pair, "already") for pair in late]
        if strict and any(verdict == "lost" for _, _, verdict in answers):
            raise Refused("LH001")
        if self.alive(runner):
            for n, (job, claim, run_ms) in enumerate(done):
                for bundle, _, member in list(self.held(bundles)):
                    if bundle.runner == runner and (member.job, member.claim_no) == (job, claim):
                        self._move("finish", Room.RUNNING, Room.ENDED)
                        line = Attempt("succeeded", self.now, bundle.claimed_at, runner, run_ms)
                        line.result = results[n] if results else None
                        self._write(job, claim, line)
                        self._count_off(bundle)
            self._settle("finish", runner, bundles, others)
        return answers

    def _verdicts(
        self, runner: int, bundles: Sequence[int], told: Sequence[tuple[str, int]]
    ) -> list[tuple[str, int, str]]:
        mine = {(m.job, m.claim_no) for b, _, m in self.held(bundles) if b.runner == runner}
        answers = []
        for job, claim in told:
            if self.alive(runner) and (job, claim) in mine:
                continue
            line = self.attempts.get(job, {}).get(claim)
            mine_already = (
                line and line.runner == runner and line.outcome not in {"interrupted", "poisoned"}
            )
            answers.append((job, claim, "already" if mine_already else "lost"))
        return answers

    def release(
        self,
        runner: int,
        bundles: Sequence[int],
        told: Sequence[tuple[str, int]],
        delay: float | None,
    ) -> list[tuple[str, int]]:
        if not self.alive(runner):
            return []
        ends = [{"job": j, "claim": c, "outcome": "released", "delay": delay} for j, c in told]
        return sorted(self._settle("release", runner, bundles, ends))

    # The verbs of time and of the leader

    def reap(self, limit: int, runner: int | None = None, begun: list[str] | None = None) -> int:
        if runner is not None:
            lost = [runner] if self.alive(runner) else []
            for number in lost:
                if begun is not None:
                    self.runners[number].begun = begun
        else:
            trusted = (
                self.leader.resumed_at + LEASE < self.now
                and self.leader.tick_at > self.now - 15 * SECOND
            )
            lost = [n for n in sorted(self.runners) if self.alive(n)]
            lost = [n for n in lost if self.runners[n].expires_at < self.now][:limit]
            lost = lost if trusted else []
        for number in lost:
            self.runners[number].dead_at = self.now
        # What one runner holds is bounded by its prefetch: a crash gives all of it back at once.
        limit = limit if runner is None else 2**31
        left, moved = limit, 0
        orphans = [
            b
            for _, b in sorted(self.running.items())
            if not self.alive(b.runner) and runner in {None, b.runner}
        ]
        for bundle in orphans[:limit]:
            if left <= 0:
                break
            left -= len(bundle.members)
            moved += self._reap_bundle(bundle, begun)
        if runner is None:
            moved += self._reap_dispatched(limit)
        return moved

    def _reap_bundle(self, bundle: Bundle, begun: list[str] | None) -> int:
        ends: list[dict[str, Any]] = []
        known = self.runners[bundle.runner].begun
        for n, m in enumerate(bundle.members, 1):
            end: dict[str, Any] = {"job": m.job, "claim": m.claim_no, "outcome": "released"}
            if (begun is None and n <= bundle.begun) or m.job in known:
                end["outcome"] = "poisoned" if m.interrupted + 1 >= POISON else "interrupted"
                end["error"] = {
                    "type": "Interrupted",
                    "message": f"runner {bundle.runner} vanished while the job ran "
                    f"({m.interrupted + 1} of {POISON} times before it is poison)",
                }
            ends.append(end)
        moved = len(self._settle("reap", bundle.runner, [bundle.id], ends))
        assert bundle.id not in self.running
        return moved

    def _reap_dispatched(self, limit: int) -> int:
        lost = sorted(e.job for e in self.dispatched.values() if e.expires_at < self.now)[:limit]
        for job in lost:
            entry = self.dispatched.pop(job)
            entry.due, entry.moves = self.now, entry.moves + 1
            self._enter("reap", Room.DISPATCHED, "ready", entry)
        return len(lost)

    def promote(self, limit: int) -> tuple[int, float | None]:
        due = sorted(
            (e for e in self.scheduled.values() if e.turn <= self.now), key=lambda e: e.turn
        )
        for entry in due[:limit]:
            del self.scheduled[entry.job]
            entry.due, entry.moves = self.now, entry.moves + 1
            self._enter("promote", Room.SCHEDULED, "ready", entry)
        left = min((e.turn for e in self.scheduled.values()), default=None)
        return len(due[:limit]), None if left is None else (left - self.now) / SECOND

    def unblock(self, limit: int) -> int:
        free = sorted(e.job for e in self.waiting.values() if e.reason == "parents")[:limit]
        return len(self._go_on("unblock", free))

    def expire(self, limit: int) -> int:
        ended = 0
        for room, entries in self.rooms.items():
            late = sorted(job for job in entries if self._is_late(job))[:limit]
            for job in late:
                error = {
                    "type": "Expired",
                    "message": "its deadline passed before it could run",
                }
                line = Attempt("expired", self.now, error=error)
                self._end("expire", Room(room), entries.pop(job), line)
            ended += len(late)
        return ended

    def _is_late(self, job: str) -> bool:
        deadline = self.jobs[job].deadline
        return deadline is not None and deadline < self.now

    def late(self) -> int:
        """The most that expire finds in one room."""
        return max(sum(map(self._is_late, entries)) for entries in self.rooms.values())

    def beat(self, worker: int, said: Sequence[dict[str, Any]]) -> dict[str, Any]:
        alive = []
        for one in said:
            runner = self.runners.get(one["id"])
            if runner and runner.worker == worker and runner.dead_at is None:
                runner.expires_at = self.now + LEASE
                runner.begun = list(one.get("begun", []))
                alive.append(one["id"])
        known = {one["id"]: one.get("bundles", []) for one in said}
        for bundle in [b for _, b in sorted(self.running.items())]:
            astray = bundle.runner in alive and bundle.id not in known[bundle.runner]
            if astray and bundle.claimed_at < self.now - 10 * SECOND:
                ends = [
                    {"job": m.job, "claim": m.claim_no, "outcome": "released"}
                    for m in bundle.members
                ]
                self._settle("release", bundle.runner, [bundle.id], ends)
        gone = [
            [one["id"], number]
            for one in said
            for number in one.get("bundles", [])
            if number not in self.running or self.running[number].runner != one["id"]
        ]
        return {
            "dead": [one["id"] for one in said if one["id"] not in alive],
            "gone": sorted(gone),
            "cancel": sorted(
                [runner, job, claim, reason]
                for job, (claim, runner, reason) in self.wishes.items()
                if runner in known
            ),
            "leader_age": min((self.now - self.leader.tick_at) / SECOND, 1e9),
        }

    def lead(self, worker: int) -> int | None:
        leader = self.leader
        behind = self.now - leader.tick_at
        free = leader.worker is None or behind > 5 * SECOND or behind < -15 * SECOND
        if not free and leader.worker != worker:
            return None
        leader.term += leader.worker != worker
        if not -15 * SECOND <= behind <= 15 * SECOND:
            leader.resumed_at = self.now
        leader.worker, leader.tick_at = worker, self.now
        for runner in self.runners.values():
            if runner.dead_at is None and runner.expires_at > self.now + LEASE + SECOND:
                runner.expires_at = self.now + LEASE
        return leader.term

    def rotate(self, size: int) -> tuple[int | None, int | None, int | None]:
        sealed = emptied = opened = None
        others = [n for n in range(3) if n != self.open]
        others.sort(key=lambda n: self.segments[n].generation)
        for number in others:
            segment = self.segments[number]
            if not segment.sealed:
                segment.sealed, sealed = True, number
            elif not segment.empty and not any(e.segment == number for e in self.ready.values()):
                segment.dirty, segment.empty, emptied = False, True, number
        if size == 0 or (size == 1 and self.segments[self.open].dirty):
            for number in others:
                segment = self.segments[number]
                if segment.empty:
                    segment.generation = self.segments[self.open].generation + 1
                    segment.sealed = segment.empty = False
                    self.open = opened = number
                    break
        return sealed, emptied, opened

    def hire(self, number: int, worker: int) -> None:
        self.runners[number] = Runner(worker, self.now + LEASE)

    def leave(self, worker: int) -> None:
        for number in sorted(self.runners):
            if self.runners[number].worker == worker:
                self.reap(1000, number, [])
        self.workers.discard(worker)
        if self.leader.worker == worker:
            self.leader.worker = None

    # The verbs of people

    def cancel(self, jobs: Sequence[str], actor: str, reason: str | None) -> list[tuple[str, str]]:
        said = reason or f"cancelled by {actor}"
        answers = []
        for job in sorted(set(jobs)):
            room = next((name for name, entries in self.rooms.items() if job in entries), None)
            if room:
                error = {"type": "Cancelled", "message": said}
                line = Attempt("cancelled", self.now, error=error)
                self._end("cancel", Room(room), self.rooms[room].pop(job), line)
                answers.append((job, "cancelled"))
            elif found := self.holder(job):
                bundle, _, member = found
                wish = self.wishes.get(job)
                if wish is None or wish[0] != member.claim_no:
                    self.wishes[job] = (member.claim_no, bundle.runner, said)
                answers.append((job, "requested"))
            else:
                answers.append((job, "ended" if self.ended(job) else "not_found"))
        self.audited += 1
        return answers

    def hold(self, jobs: Sequence[str], reason: str | None) -> list[tuple[str, str]]:
        held = []
        for job in set(jobs):
            for room in ("ready", "scheduled"):
                if entry := self.rooms[room].pop(job, None):
                    entry.due = entry.due if room == "scheduled" else None
                    entry.moves += 1
                    entry.reason, entry.note = "held", reason
                    self._enter("hold", Room(room), "waiting", entry)
                    held.append(job)
        self.audited += 1
        return self._people(jobs, held, "held")

    def resume(self, jobs: Sequence[str]) -> list[tuple[str, str]]:
        free = [j for j in set(jobs) if j in self.waiting and self.waiting[j].reason == "held"]
        resumed = self._go_on("resume", sorted(free))
        self.audited += 1
        return self._people(jobs, resumed, "resumed")

    def retry(
        self,
        jobs: Sequence[str],
        actor: str,
        reason: str | None,
        queue: str | None,
        priority: int | None,
    ) -> list[tuple[str, str]]:
        known = sorted({j for j in jobs if j in self.jobs and self.jobs[j].duplicate_of is None})
        taken: set[str] = set()
        given: set[str] = set()
        for job in sorted(known, key=lambda j: (self.jobs[j].slot, j)):
            slot = self.jobs[job].slot
            if self.jobs[job].key is None:
                continue
            holder = self.keys.setdefault(slot, job)
            if holder == job or not (self.is_live(holder) or holder in given):
                self.keys[slot] = job
                given.add(job)
            else:
                taken.add(job)
        back = [job for job in known if self.ended(job) and job not in taken]
        for job in back:
            last = self.last(job)
            assert last is not None
            claim_no = last[0] + 1
            error = {"type": "Retry", "message": reason or f"retried by {actor}"}
            self._write(job, claim_no, Attempt("reopened", self.now, error=error))
            dead, body = self.dead.pop(job, None), self.jobs[job]
            where: Dead | Job = dead or body
            chosen = where.priority if priority is None else priority
            entry = Entry(job, queue or where.queue, chosen, self.now, claim_no)
            entry.moves = (dead.moves if dead else claim_no) + 1
            self._enter("retry", Room.DEAD if dead else Room.ENDED, "ready", entry)
        self.audited += 1
        answers = self._people(jobs, back, "retried")
        return sorted((j, "key_taken" if j in taken else verdict) for j, verdict in answers)

    def redrive(
        self,
        chosen: dict[str, str],
        limit: int,
        actor: str,
        queue: str | None,
        priority: int | None,
    ) -> list[tuple[str, str]]:
        def fits(job: str, dead: Dead) -> bool:
            told = {"queue": dead.queue, "task": self.jobs[job].task, "reason": dead.reason}
            told["error"] = (dead.error or {}).get("type", "")
            return all(told[name] == value for name, value in chosen.items())

        found = [(dead.died_at, job) for job, dead in self.dead.items() if fits(job, dead)]
        jobs = [job for _, job in sorted(found)[:limit]]
        return self.retry(jobs, actor, f"redriven by {actor}", queue, priority)

    def discard(self, jobs: Sequence[str]) -> list[tuple[str, str]]:
        gone = []
        for job in set(jobs):
            if self.dead.pop(job, None):
                self._move("discard", Room.DEAD, Room.NOTHING)
                gone.append(job)
        self.audited += 1
        return self._people(jobs, gone, "discarded")

    def _people(
        self, jobs: Sequence[str], done: Sequence[str], verdict: str
    ) -> list[tuple[str, str]]:
        answers = [(job, verdict) for job in done]
        answers += [(job, self.state(job) or "not_found") for job in jobs if job not in done]
        return sorted(answers)
