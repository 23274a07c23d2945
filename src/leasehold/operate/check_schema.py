"""What doctor finds in the schema: migrations, functions, rights, days, segments."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from leasehold.operate.finding import Facts, Finding
from leasehold.store import migrate

DAYS: Final = 14
OPEN_MOST: Final = 200_000_000  # bytes of the open segment when no other is free
ROLES: Final = ("producer", "runner", "operator", "reader")


def _digests(schema: Facts) -> Iterator[Finding]:
    known = {script.number: script for script in migrate.migrations()}
    for row in schema["migrations"]:
        script = known.get(row["number"])
        if script and script.digest != row["digest"]:
            yield Finding(
                code="migration_differs",
                severity="warning",
                what=f"migration {row['name']} was applied with another text than this release has",
                why="the tables may not be what this release expects",
                do=(
                    "find out which build migrated this database; compare its tables with a "
                    "fresh one's"
                ),
            )


_BODY: Final = re.compile(
    r"create or replace function leasehold\.(\w+)\(.*?as \$\$(.*?)\$\$", re.IGNORECASE | re.DOTALL
)


def _functions(schema: Facts) -> Iterator[Finding]:
    files = {
        name: body
        for s in (*migrate.clock(), *migrate.code())
        for name, body in _BODY.findall(s.text)
    }
    there = schema["functions"]
    if there.get("now") != files["now"]:
        yield Finding(
            code="clock_replaced",
            severity="wrong",
            what="leasehold.now() is not the production one",
            why=(
                "a clock moved by hand decides leases, retries and deadlines: this is a test's "
                "database, or was one"
            ),
            do="leasehold migrate puts the real clock back",
            fix="migrate",
        )
    other = sorted(
        name for name, body in files.items() if name != "now" and there.get(name) != body
    )
    if other:
        shown = ", ".join(other[:5]) + (f" and {len(other) - 5} more" if len(other) > 5 else "")  # noqa: PLR2004
        yield Finding(
            code="functions_differ",
            severity="warning",
            what=f"{len(other)} functions differ from this release's: {shown}",
            why="another release migrated last, or somebody changed them by hand",
            do="leasehold migrate, with the newest release you run",
            fix="migrate",
        )


def _rights(schema: Facts) -> Iterator[Finding]:
    if schema["public"]:
        yield Finding(
            code="public_rights",
            severity="wrong",
            what=f"PUBLIC may use {', '.join(schema['public'])}",
            why="every role of this server, also one that a stranger got, could use it",
            do="leasehold migrate takes these rights away",
            fix="migrate",
        )
    if missing := [role for role in ROLES if f"leasehold_{role}" not in schema["roles"]]:
        names = ", ".join(f"leasehold_{role}" for role in missing)
        yield Finding(
            code="roles_missing",
            severity="warning",
            what=f"the roles {names} are not there",
            why="only the schema's owner can work here: nobody can be given less than everything",
            do=(
                "let a role with CREATEROLE run `leasehold migrate`, or create them NOLOGIN and "
                "migrate"
            ),
            fix="migrate",
        )


def _days(schema: Facts) -> Iterator[Finding]:
    if schema["gap"]:
        yield Finding(
            code="days_missing",
            severity="wrong" if (schema["ahead"] or 0) < 2 else "warning",  # noqa: PLR2004 - tomorrow
            what=(
                f"no partition is made for {schema['gap']}; days are made {schema['ahead']} "
                f"ahead, {DAYS} at least are wanted"
            ),
            why="on a day without its partition every enqueue fails",
            do="leasehold migrate makes them; a running worker's leader does so every hour",
            fix="partition",
        )
    if schema["behind"]:
        names = ", ".join(schema["behind"][:4])
        more = f" and {len(schema['behind']) - 4} more" if len(schema["behind"]) > 4 else ""  # noqa: PLR2004
        yield Finding(
            code="days_not_retired",
            severity="warning",
            what=f"days past their keep are still there: {names}{more}",
            why="they take disk and are searched by every look at a job",
            do=(
                "a leader retires them within ten minutes: start a worker, and end whoever reads "
                "them for hours"
            ),
        )


def _segments(schema: Facts) -> Iterator[Finding]:
    segments = schema["segments"] or []
    for segment in segments:
        writers = segment["writers"]
        if not segment["sealed"] and not segment["open"] and writers:
            who = "; ".join(
                f"pid {w['pid']} ({w['role']}, {w['program']}) for {w['seconds']:.0f} s"
                for w in writers[:3]
            )
            yield Finding(
                code="segment_unsealed",
                severity="warning",
                what=(
                    f"segment {segment['number']} of ready is closed, but a transaction that "
                    f"writes to it is open: {who}"
                ),
                why="until it is sealed the claims walk its dead rows",
                do="commit or end that transaction: select pg_terminate_backend(PID)",
            )
    free = any(s["sealed"] and not s["open"] and s["bytes"] == 0 for s in segments)
    grown = next((s for s in segments if s["open"] and s["bytes"] > OPEN_MOST), None)
    if grown and not free:
        yield Finding(
            code="segment_none_free",
            severity="warning",
            what=(
                "no segment of ready is free, and the open one has grown to "
                f"{grown['bytes'] // 1_000_000} MB"
            ),
            why="dead rows at its head slow every claim down until one is emptied",
            do="add workers, or find the queue nobody serves: leasehold status",
        )


CHECKS: Final[tuple[Callable[[Facts], Iterator[Finding]], ...]] = (
    *(_digests, _functions, _rights, _days, _segments),
)
