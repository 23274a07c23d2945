"""`leasehold bench`: what this machine gives, in figures that can be compared."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from leasehold.bench.measured import Measured


def bench(
    *,
    jobs: Annotated[int, Parameter(help="jobs in each drain")] = 200_000,
    churn: Annotated[float, Parameter(help="seconds of churn at full speed")] = 60.0,
    quick: Annotated[
        bool, Parameter(help="a tenth of everything: for a look, not for a claim")
    ] = False,
    database: Annotated[
        str | None,
        Parameter(
            help="an EMPTY database to use, which is cleared; a private embedded one when left out"
        ),
    ] = None,
    as_json: Annotated[bool, Parameter(name="--json", help="one JSON document")] = False,
) -> int:
    """Measures enqueue, drain, pick-up, churn and what a job costs, on a database of its own."""
    if quick:
        jobs, churn = max(jobs // 10, 10_000), churn / 10
    with _private() if database is None else nullcontext(database) as dsn:
        os.environ["LEASEHOLD_BENCH_DATABASE"] = dsn
        lines = _measure(dsn, jobs, churn, quiet=as_json)
    if as_json:
        json.dump([asdict(line) for line in lines], sys.stdout)
        print()  # noqa: T201
    return 0 if all(m.good for m in lines) else 1


@contextmanager
def _private() -> Iterator[str]:
    """An embedded database that is gone afterwards."""
    from leasehold.store.embedded import Server  # noqa: PLC0415

    folder = Path(tempfile.mkdtemp(prefix="leasehold-bench-"))
    server = Server(folder)
    dsn = server.start()
    try:
        yield dsn
    finally:
        server.leave()
        shutil.rmtree(server.place.folder, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def _measure(database: str, jobs: int, churn: float, *, quiet: bool) -> list[Measured]:
    # Imported here: the app of its tasks asks the environment for the database.
    from leasehold.bench import measure  # noqa: PLC0415
    from leasehold.bench.scene import Scene  # noqa: PLC0415

    def told(text: str) -> None:
        if not quiet:
            print(text, flush=True)  # noqa: T201

    scene = Scene(database)
    found: list[Measured] = []
    parts: tuple[Callable[[], list[Measured]], ...] = (
        lambda: measure.bulk(scene, jobs),
        lambda: measure.drain(scene, jobs, 1, floor=60_000),
        lambda: measure.drain(scene, jobs, 2),
        lambda: measure.single(scene, max(jobs // 200, 200)),
        lambda: measure.pick_up(scene, max(jobs // 400, 100)),
        lambda: measure.costs(scene),
        lambda: measure.churn(scene, churn, told),
    )
    for part in parts:
        for line in part():
            found.append(line)
            told(_shown(line))
    one = {m.name: m.value for m in found}
    whole = one["bulk enqueue, WAL a job"] + one["drain, 1 runner, WAL a job"]
    found.append(Measured("WAL of a job's whole life", whole, "B", ceiling=1_024))
    told(_shown(found[-1]))
    scene.close()
    return found


def _shown(line: Measured) -> str:
    number = f"{line.value:,.0f}" if line.value >= 100 else f"{line.value:.3g}"  # noqa: PLR2004 - digits that tell something
    bound = ""
    if line.floor is not None:
        bound = f"   at least {line.floor:,g}"
    elif line.ceiling is not None:
        bound = f"   at most {line.ceiling:,g}"
    mark = "" if line.good else "   MISSED"
    return f"{line.name:<38}{number:>12} {line.unit:<7}{bound}{mark}"
