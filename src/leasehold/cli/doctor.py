"""`leasehold doctor`: what is wrong, why it matters, and what to do."""

import time
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter

from leasehold.cli import database as house
from leasehold.cli import screen
from leasehold.cli.options import Database, Json
from leasehold.operate.doctor import examine
from leasehold.operate.finding import Finding
from leasehold.operate.repair import repair


def doctor(
    *,
    fix: Annotated[
        bool, Parameter(negative="", help="mend what can be mended safely, then look again")
    ] = False,
    json: Json = False,
    database: Database = None,
) -> int:
    """Examines server, schema, workers and jobs; exit code 1 when something is wrong."""
    with house.opened(database, any_schema=True) as found:
        findings = examine(found.connection, found.ask, time.time)
        done = repair(found.connection, findings) if fix else []
        if done:
            findings = examine(found.connection, found.ask, time.time)
        version = found.connection.info.server_version
    if json:
        screen.document({"findings": findings, "repaired": done})
    else:
        for line in done:
            screen.words(("repaired ", "green"), line)
        _show(findings, f"Postgres {version // 10_000}.{version % 10_000}")
    return 1 if any(finding.severity != "note" for finding in findings) else 0


def _show(findings: Sequence[Finding], server: str) -> None:
    for finding in findings:
        screen.words(
            (finding.severity.ljust(8), screen.STYLES[finding.severity]),
            finding.what,
            (f"  [{finding.code}]", "dim"),
        )
        screen.words(("         why: ", "dim"), finding.why)
        screen.words(("         do:  ", "dim"), finding.do)
    wrong = sum(finding.severity != "note" for finding in findings)
    if not wrong:
        screen.words(
            ("all is well", "green"),
            f": {server}, schema, rights, days, workers and jobs were looked at",
        )
        return
    mend = "; `leasehold doctor --fix` mends some of it" if any(f.fix for f in findings) else ""
    screen.say(f"{wrong} {'thing needs' if wrong == 1 else 'things need'} attention{mend}")
