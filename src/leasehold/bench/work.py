"""A worker for benchmarks: `python -m leasehold.bench.work N`, on LEASEHOLD_BENCH_DATABASE."""

import logging
import os
import sys

from leasehold.fleet.supervisor import Plan, Supervisor
from leasehold.maintain.leader import Leader


def main() -> int:
    logging.basicConfig(level=logging.ERROR)
    dsn = os.environ["LEASEHOLD_BENCH_DATABASE"]
    plan = Plan(
        dsn=dsn,
        target="leasehold.bench.tasks:app",
        version="bench",
        runners=int(sys.argv[1]),
        pace={},
    )
    return Supervisor(plan, lambda number: [Leader(dsn, number)]).run()


if __name__ == "__main__":
    sys.exit(main())
