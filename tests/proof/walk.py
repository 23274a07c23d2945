"""A random walk: fifty verbs with random arguments on the rooms and on the model, side by side.

A walk is a seed and the numbers of the steps taken; each step draws from a generator of its own, so
that steps can be left out and the others stay as they were, as far as what they find allows.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

import psycopg

from leasehold.store import verbs
from leasehold.store.call import Call
from proof.ground import Ground, differences, iso, tables_of
from proof.model import HOUR, SECOND, Model, Refused

STEPS = 50
REACH = 10 * HOUR  # the clock stays this near to where it began: the days have their tables
QUEUES = ("a", "b")
TASKS = ("t", "u", "v")
WEIGHTS = {
    "enqueue": 9,
    "claim": 12,
    "begin": 2,
    "finish": 12,
    "release": 4,
    "reap": 4,
    "crash": 3,
    "promote": 4,
    "block": 2,
    "unblock": 3,
    "expire": 3,
    "dispatch": 5,
    "take": 5,
    "cancel": 4,
    "hold": 4,
    "resume": 3,
    "retry": 4,
    "redrive": 3,
    "discard": 2,
    "beat": 4,
    "lead": 3,
    "rotate": 5,
    "hire": 2,
    "leave": 1,
    "clock": 5,
}
VERBS = tuple(WEIGHTS)
PAIRS = [(first, second) for first in VERBS for second in VERBS]


class Differs(AssertionError):
    """The database and the model disagree."""


@dataclass
class Seen:
    """What the walks came by."""

    steps: int = 0
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    moves: set[tuple[str, str, str]] = field(default_factory=set)


def plan(seed: int) -> list[str]:
    """Mostly what comes to mind, and each fourth pair the next one of all pairs in turn."""
    rng = Random(seed)
    said: list[str] = ["hire", "enqueue"]
    turn = seed * 9
    while len(said) < STEPS:
        if rng.random() < 0.2:
            said += PAIRS[turn * 7 % len(PAIRS)]
            turn += 1
        else:
            said += rng.choices(VERBS, WEIGHTS.values())
    return said[:STEPS]


class Walk:
    def __init__(self, ground: Ground, seed: int, seen: Seen | None = None) -> None:
        self.ground = ground
        self.seed = seed
        self.seen = seen or Seen()
        self.begin = ground.noon
        self.model: Model = ground.reset(self.begin)
        self.nows = {self.begin}
        self.past: list[tuple[int, int, str, int]] = []  # runner, bundle, job, claim: once held
        self.marks: dict[int, Any] = {}
        self.log: list[str] = []
        self.rng = Random(seed)

    def go(self, steps: Sequence[int] = range(STEPS)) -> None:
        """Raises Differs at the first step after which the two are not alike."""
        said = plan(self.seed)
        before = None
        for n in steps:
            verb = said[n]
            self.rng = Random(self.seed * 1000 + n)
            self._tick(self.rng.choice((1, 1000, SECOND // 3, 2 * SECOND)))
            getattr(self, f"do_{verb}")()
            self.seen.steps += 1
            if before:
                self.seen.pairs[before, verb] += 1
            before = verb
            if n % 10 == 9:
                self.look()
        self.look()
        self.seen.moves |= self.model.moved

    def look(self) -> None:
        if wrong := differences(self.ground.tables(), tables_of(self.model)):
            raise Differs("\n".join(wrong))

    def _tick(self, by: int) -> None:
        """No two steps at one moment: a verb tells its own lines of history by their time."""
        now = self.model.now + by
        while now in self.nows:
            now += 1
        self.nows.add(now)
        self.model.now = now

    def _both(self, call: Call[Any], expected: Callable[[Any], Any]) -> Any:
        """Asks the database, then the model, which is told the answer for the numbers in it."""
        self.log.append(f"{self.model.now}: {call.verb}{call.arguments}"[:800])
        try:
            answer = self.ground.call(self.model.now, call)
        except psycopg.Error as error:
            state = error.sqlstate or type(error).__name__
            answer, refused = None, str(error)
        else:
            state = refused = ""
        try:
            wanted = expected(answer)
        except Refused as refusal:
            if state != refusal.state:
                said = f"{call.verb}: the database says {answer or refused}"
                raise Differs(f"{said}, the model refuses with {refusal.state}") from None
            self.seen.answers[f"{call.verb} {state}"] += 1
            return None
        if refused:
            raise Differs(f"{call.verb}: the database refuses with {state} {refused}")
        if answer_of(answer) != wanted:
            said = f"{call.verb}: the database answers {answer_of(answer)}"
            raise Differs(f"{said}, the model {wanted}")
        return answer

    # What the arguments are drawn from

    def _id(self) -> str:
        random = self.rng.getrandbits(62)
        made = self.model.now // 1000
        return str(UUID(int=made << 80 | 7 << 76 | 2 << 62 | random))

    def _runner(self) -> int:
        rng = self.rng
        alive = [n for n in self.model.runners if self.model.alive(n)]
        if not alive and rng.random() < 0.8:
            self.do_hire()
            alive = [n for n in self.model.runners if self.model.alive(n)]
        if alive and rng.random() < 0.93:
            busy = [b.runner for b in self.model.running.values() if b.runner in alive]
            return rng.choice(busy) if busy and rng.random() < 0.7 else rng.choice(alive)
        return rng.choice([*self.model.runners, 999_999_999])

    def _jobs(self, most: int = 4) -> list[str]:
        rng = self.rng
        known = list(self.model.jobs)
        chosen = rng.sample(known, min(len(known), rng.randint(1, most)))
        if rng.random() < 0.1:
            chosen.append(self._id())
        if chosen and rng.random() < 0.05:
            chosen.append(chosen[0])
        return chosen

    def _of(self, room: str) -> list[str]:
        """Some jobs of a room, and now and then any."""
        there = list(self.model.rooms[room])
        if there and self.rng.random() < 0.7:
            return self.rng.sample(there, min(len(there), self.rng.randint(1, 4)))
        return self._jobs()

    def _told(self, runner: int) -> tuple[list[int], list[tuple[str, int]]]:
        """Bundles and claims a runner may believe to hold: mostly right, else wrong in any way."""
        rng = self.rng
        mine = [(b.id, m) for b, _, m in self.model.held() if b.runner == runner]
        chosen = rng.sample(mine, min(len(mine), rng.randint(0, 5)))
        bundles = {number for number, _ in chosen}
        told = [(m.job, m.claim_no) for _, m in chosen]
        if rng.random() < 0.25 and self.past:  # said before, or by another
            _, number, job, claim = rng.choice(self.past)
            bundles.add(number)
            told.append((job, claim))
        if rng.random() < 0.1 and self.model.running:  # somebody else's
            bundle, _, member = rng.choice(list(self.model.held()))
            bundles.add(bundle.id)
            told.append((member.job, member.claim_no + rng.choice((-1, 0, 0, 1))))
        if rng.random() < 0.1 and told:  # twice in one breath
            told.append(told[0])
        if rng.random() < 0.05:
            bundles.add(999_999_999)
        if rng.random() < 0.05 and bundles:
            bundles.pop()
        if rng.random() < 0.1:
            told.append((self._id(), 1))
        return sorted(bundles), told

    # The steps

    def do_clock(self) -> None:
        by = self.rng.choice((6, 11, 16, 31, 61, 600, 3600, -6, -16, -61, -3600)) * SECOND
        if abs(self.model.now + by - self.begin) > REACH:
            by = -by
        self._tick(by)
        self.log.append(f"{self.model.now}: the clock was moved by {by / SECOND} s")

    def do_hire(self) -> None:
        model, rng = self.model, self.rng
        if not model.workers or (len(model.workers) < 3 and rng.random() < 0.3):
            worker = self.ground.call(model.now, verbs.enrol(1, "host", "0", list(QUEUES), []))
            model.workers.add(worker)
        alive = [n for n in model.runners if model.alive(n)]
        for _ in range(rng.randint(1, 4) - len(alive)):
            worker = rng.choice(sorted(model.workers))
            number, _lease = self.ground.call(model.now, verbs.hire(worker, 1))
            model.hire(number, worker)
            self.log.append(f"{model.now}: hired runner {number} of worker {worker}")

    def do_enqueue(self) -> None:
        said = [self._asked() for _ in range(self.rng.choice((1, 1, 2, 3, 6)))]
        if self.rng.random() < 0.06:
            said[-1] |= self.rng.choice(
                (
                    {"id": str(UUID(int=(self.model.now // 1000 - 7_200_000) << 80))},
                    {"id": str(UUID(int=(self.model.now // 1000 + 7_200_000) << 80))},
                    {"queue": ""},
                    {"queue": "q" * 64},
                    {"task": "t" * 201},
                    {"tenant": ""},
                    {"priority": 40_000},
                    {"max_attempts": 0},
                    {"timeout": 0},
                    {"payload": [1]},
                )
            )
        elif self.rng.random() < 0.1 and self.model.jobs:  # sent again after a lost answer
            said[-1]["id"] = self.rng.choice(list(self.model.jobs))
        call = verbs.enqueue(json.dumps([in_json(one) for one in said]))
        self._both(call, lambda _: self.model.enqueue(said))
        for job in self.model.jobs.values():
            if job.duplicate_of:
                self.seen.answers["enqueue duplicate"] += 1
                break

    def _asked(self) -> dict[str, Any]:
        rng, now = self.rng, self.model.now
        one: dict[str, Any] = {"id": self._id(), "task": rng.choice(TASKS)}
        one["queue"] = rng.choice(QUEUES)
        if rng.random() < 0.5:
            one["priority"] = rng.choice((1, 50, 100, 100, 32767, -32768))
        if rng.random() < 0.35:
            one["key"], one["tenant"] = rng.choice("kl"), rng.choice((None, "acme"))
            one["task"] = "t"
        if rng.random() < 0.15:
            one["hold"] = "wait"
        if rng.random() < 0.2:
            one["delay"] = rng.choice((-1, 3, 20, 300, 4000)) + rng.randrange(10**6) / 10**6
        elif rng.random() < 0.1:
            one["run_at"] = now + rng.randint(-HOUR, HOUR)
        if rng.random() < 0.15:
            one["deadline"] = now + rng.randint(-SECOND, HOUR // 2)
        elif rng.random() < 0.1:
            one["deadline_in"] = rng.choice((5, 50, 500))
        if rng.random() < 0.1:
            one["payload"] = {"x": "".join(rng.choices("0123456789abcdef", k=2500))}
        if rng.random() < 0.1:
            one["timeout"], one["max_attempts"] = 2.5, 3
        return one

    def do_claim(self) -> None:
        rng, runner = self.rng, self._runner()
        queues = rng.choice((["a"], ["b"], ["a", "b"], ["b", "a"]))
        tasks = rng.choice((None, None, list(TASKS), ["t"], ["u", "v"]))
        limit, begin = rng.choice((0, 1, 1, 2, 3, 5, 20)), rng.choice((0, 1, 2, 20))
        known = self.marks.get(runner) if rng.random() < 0.7 and tasks is None else None
        given = None if known is None else json.dumps(known)
        call = verbs.claim(runner, queues, tasks, limit, begin, given)
        rows = self._both(
            call, lambda rows: self._claimed(rows, runner, queues, tasks, limit, begin)
        )
        if rows and rows[-1][0] is None and tasks is None:
            self.marks[runner] = rows[-1][15]
            self.seen.answers["claim with marks"] += 1

    def _claimed(
        self,
        rows: Any,
        runner: int,
        queues: list[str],
        tasks: list[str] | None,
        limit: int,
        begin: int,
    ) -> list[tuple[Any, ...]]:
        numbers = iter(dict.fromkeys(row[0] for row in rows or () if row[0] is not None))
        wanted = self.model.claim(runner, queues, tasks, limit=limit, begin=begin, numbers=numbers)
        self._remember(runner, wanted)
        return wanted

    def _remember(self, runner: int, rows: list[tuple[Any, ...]]) -> None:
        self.past += [(runner, row[0], row[1], row[2]) for row in rows]

    def do_begin(self) -> None:
        """A beat that knows all its bundles and says which jobs have begun."""
        runner = self._runner()
        if runner in self.model.runners:
            held = [(b, m) for b, _, m in self.model.held() if b.runner == runner]
            begun = [m.job for _, m in held if self.rng.random() < 0.5]
            said = {"id": runner, "bundles": sorted({b.id for b, _ in held}), "begun": begun}
            self._beat(self.model.runners[runner].worker, [said])

    def do_beat(self) -> None:
        rng, model = self.rng, self.model
        worker = rng.choice([*sorted(model.workers), 999_999_999])
        said = []
        for number, runner in model.runners.items():
            if (runner.worker == worker) == (rng.random() < 0.9):
                mine = [b.id for b in model.running.values() if b.runner == number]
                bundles = [b for b in mine if rng.random() < 0.7]
                if rng.random() < 0.3 and self.past:
                    bundles.append(rng.choice(self.past)[1])
                said.append(
                    {"id": number, "bundles": list(dict.fromkeys(bundles)), "loop_age": 0.1}
                )
        self._beat(worker, said)

    def _beat(self, worker: int, said: list[dict[str, Any]]) -> None:
        news = self._both(verbs.beat(worker, said), lambda _: self.model.beat(worker, said))
        for word in ("dead", "gone", "cancel"):
            self.seen.answers[f"beat {word}"] += bool(news[word])

    def do_finish(self) -> None:
        rng, runner = self.rng, self._runner()
        bundles, told = self._told(runner)
        done, others, results = [], [], []
        for job, claim in told:
            if rng.random() < 0.4:
                # Which of two tellings is written down is nobody's promise: they are alike.
                first = told.index((job, claim))
                done.append((job, claim, first))
                results.append((None, {"r": 1}, "x")[first % 3])
            else:
                others.append(self._ending(job, claim))
        strict = rng.random() < 0.15
        call = verbs.finish(
            runner,
            bundles,
            [job for job, _, _ in done],
            [claim for _, claim, _ in done],
            [ms for _, _, ms in done],
            [None if r is None else json.dumps(r) for r in results] if results else None,
            json.dumps([in_json(one) for one in others]) if others else None,
            strict,
        )
        answer = self._both(
            call,
            lambda _: sorted(
                self.model.finish(runner, bundles, done, others, results, strict=strict)
            ),
        )
        for _, _, verdict in answer or ():
            self.seen.answers[f"finish {verdict}"] += 1

    def _ending(self, job: str, claim: int) -> dict[str, Any]:
        rng = self.rng
        outcomes = ("succeeded", "failed", "failed", "cancelled", "retried", "retried", "sent_on")
        one: dict[str, Any] = {"job": job, "claim": claim}
        one["outcome"] = rng.choice((*outcomes, "snoozed", "snoozed", "poisoned"))
        if one["outcome"] in {"failed", "retried", "poisoned"}:
            one["error"] = {"type": rng.choice(("Boom", "Bang")), "message": "no"}
        if one["outcome"] == "succeeded":
            one["result"] = {"r": 2}
        if one["outcome"] == "sent_on":
            one["queue"], one["priority"] = rng.choice(QUEUES), rng.choice((7, None))
        if rng.random() < 0.5:
            one["delay"] = rng.choice((0, 5, 100, 5000)) + rng.randrange(10**6) / 10**6
        elif rng.random() < 0.2:
            one["run_at"] = self.model.now + rng.randint(-HOUR, HOUR)
        if rng.random() < 0.7:
            one["run_ms"] = rng.randint(0, 9)
        return one

    def do_release(self) -> None:
        runner = self._runner()
        bundles, told = self._told(runner)
        delay = self.rng.choice((None, None, 0.0, 30.25))
        call = verbs.release(runner, bundles, [j for j, _ in told], [c for _, c in told], delay)
        answer = self._both(call, lambda _: self.model.release(runner, bundles, told, delay))
        self.seen.answers["release of nothing"] += bool(told and not answer)

    def do_reap(self) -> None:
        if self.rng.random() < 0.5:  # else hardly anybody is ever lost
            for _ in range(3):
                self._tick(14 * SECOND if self.rng.random() < 0.9 else 20 * SECOND)
                self.do_lead()
        limit = self.rng.choice((1, 3, 1000))
        moved = self._both(verbs.reap(limit), lambda _: self.model.reap(limit))
        self.seen.answers[f"reap {'some' if moved else 'nobody'}"] += 1

    def do_crash(self) -> None:
        runner = self._runner()
        held = [m.job for b, _, m in self.model.held() if b.runner == runner]
        begun = [job for job in held if self.rng.random() < 0.5]
        said = self.rng.choice((begun, begun, None))
        limit = self.rng.choice((1, 1000))
        ids = None if said is None else [UUID(job) for job in said]
        if runner in self.model.runners:
            self._both(
                verbs.reap(limit, runner, ids), lambda _: self.model.reap(limit, runner, said)
            )

    def do_promote(self) -> None:
        limit = self.rng.choice((1, 2, 1000))
        due = sorted(e.turn for e in self.model.scheduled.values() if e.turn <= self.model.now)
        if limit < len(due) and due[limit - 1] == due[limit]:
            limit = 1000  # of two that are due at once either may go first
        self._both(verbs.promote(limit), lambda _: self.model.promote(limit))

    def do_block(self) -> None:
        """Parents come later: what waits for a person now waits for others that have ended."""
        for entry in self.model.waiting.values():
            if self.rng.random() < 0.5:
                entry.reason = "parents"
        jobs = [e.job for e in self.model.waiting.values() if e.reason == "parents"]
        self.ground.run(
            "update leasehold.waiting set reason = 'parents' where job_id = any(%s::uuid[])",
            (jobs,),
        )
        self.log.append(f"{jobs} wait for parents")

    def do_unblock(self) -> None:
        limit = self.rng.choice((1, 1000))
        self._both(verbs.unblock(limit), lambda _: self.model.unblock(limit))

    def do_expire(self) -> None:
        limit = self.rng.choice((self.model.late() or 1, 1000))
        ended = self._both(verbs.expire(limit), lambda _: self.model.expire(limit))
        self.seen.answers["expire some"] += bool(ended)

    def do_dispatch(self) -> None:
        queue, limit = self.rng.choice(QUEUES), self.rng.choice((1, 2, 10))
        patience = self.rng.choice((5.0, 60.5))
        self._both(
            verbs.dispatch(queue, "redis", limit, patience),
            lambda rows: sorted(
                self.model.dispatch(queue, limit, patience, iter([row[1] for row in rows]))
            ),
        )

    def do_take(self) -> None:
        rng, runner = self.rng, self._runner()
        there = [(e.job, e.dispatch_no) for e in self.model.dispatched.values()]
        told = rng.sample(there, min(len(there), rng.randint(0, 4)))
        if rng.random() < 0.3 and told:  # a stale message, and a second one
            job, number = told[0]
            told += [(job, number - 1), (job, number)]
        if rng.random() < 0.2:
            told += [(job, 1) for job in self._jobs(2)]
        call = verbs.take(runner, [UUID(job) for job, _ in told], [no for _, no in told])

        def taken(rows: Any) -> list[tuple[Any, ...]]:
            wanted = self.model.take(runner, told, {row[3]: row[0] for row in rows or ()})
            self._remember(runner, wanted)
            return wanted

        rows = self._both(call, taken)
        self.seen.answers["take of nothing"] += rows == []

    def do_lead(self) -> None:
        worker = self.rng.choice([*sorted(self.model.workers), 999_999_999])
        term = self._both(verbs.lead(worker), lambda _: self.model.lead(worker))
        self.seen.answers[f"lead {'granted' if term else 'refused'}"] += 1

    def do_rotate(self) -> None:
        size = self.rng.choice((0, 1, 1, 10**9))
        call = verbs.rotate(size)
        call = Call(call.verb, call.types, call.arguments, lambda rows: tuple(rows[0][:3]))
        answer = self._both(call, lambda _: self.model.rotate(size))
        for word, number in zip(("sealed", "emptied", "opened"), answer, strict=False):
            self.seen.answers[f"rotate {word}"] += number is not None

    def do_leave(self) -> None:
        if self.model.workers:
            worker = self.rng.choice(sorted(self.model.workers))
            self._both(verbs.leave(worker), lambda _: self.model.leave(worker))

    def do_cancel(self) -> None:
        jobs, reason = self._jobs(), self.rng.choice((None, "why not"))
        self._people(
            verbs.cancel([UUID(j) for j in jobs], "ann", reason),
            lambda _: self.model.cancel(jobs, "ann", reason),
        )

    def do_hold(self) -> None:
        jobs, reason = self._of("ready"), self.rng.choice((None, "later"))
        self._people(
            verbs.hold([UUID(j) for j in jobs], "ann", reason),
            lambda _: self.model.hold(jobs, reason),
        )

    def do_resume(self) -> None:
        jobs = self._of("waiting")
        self._people(
            verbs.resume([UUID(j) for j in jobs], "ann"), lambda _: self.model.resume(jobs)
        )

    def do_retry(self) -> None:
        rng = self.rng
        over = [job for job in self.model.jobs if self.model.ended(job)]
        few = rng.sample(over, min(len(over), rng.randint(1, 4)))
        jobs = few if few and rng.random() < 0.7 else self._jobs()
        reason, queue = rng.choice((None, "again")), rng.choice((None, None, "b"))
        priority = rng.choice((None, None, 0))
        self._people(
            verbs.retry([UUID(j) for j in jobs], "ann", reason, queue, priority),
            lambda _: self.model.retry(jobs, "ann", reason, queue, priority),
        )

    def do_redrive(self) -> None:
        rng = self.rng
        chosen: dict[str, str] = rng.choice(
            ({}, {}, {"queue": "a"}, {"task": "t"}, {"error": "Boom"}, {"reason": "poison"})
        )
        limit, queue, priority = rng.choice((1, 2, 100)), rng.choice((None, "a")), None
        self._people(
            verbs.redrive(chosen, limit, "ann", None, queue, priority),
            lambda _: self.model.redrive(chosen, limit, "ann", queue, priority),
        )

    def do_discard(self) -> None:
        dead = [job for job in self.model.jobs if self.model.state(job) == "failed"]
        few = self.rng.sample(dead, min(len(dead), 2))
        jobs = few if few and self.rng.random() < 0.6 else self._jobs()
        self._people(
            verbs.discard([UUID(j) for j in jobs], "ann"), lambda _: self.model.discard(jobs)
        )

    def _people(self, call: Call[Any], expected: Callable[[Any], Any]) -> None:
        for _, verdict in self._both(call, expected):
            self.seen.answers[f"{call.verb} {verdict}"] += 1


def in_json(one: dict[str, Any]) -> dict[str, Any]:
    """Moments as text."""
    moments = {name: iso(one[name]) for name in ("run_at", "deadline") if one.get(name)}
    return {name: value for name, value in (one | moments).items() if value is not None}


def answer_of(answer: Any) -> Any:
    """Rows in an order of their own are sorted, marks are left out: they are a hint."""
    if isinstance(answer, dict):
        sort = {name: sorted(answer[name]) for name in ("gone", "cancel")}
        return answer | sort
    if not isinstance(answer, list | tuple):
        return answer
    if answer and isinstance(answer[0], verbs.Enqueued):
        return [(one.id, one.duplicate_of) for one in answer]
    if answer and isinstance(answer[0], tuple):
        if len(answer[0]) > 10:  # a claim's rows come in order
            return [tuple(row[:14]) for row in answer if row[0] is not None]
        return sorted(answer)
    return answer


def shrunk(fails: Callable[[Sequence[int]], bool], steps: Sequence[int]) -> list[int]:
    """Leaves out whatever can be left out while it still fails: halves first, then one by one."""
    kept = list(steps)
    size = len(kept) // 2
    while size:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if fewer and fails(fewer):
                kept = fewer
            else:
                at += size
        size //= 2
    return kept
