"""Time moved by hand: a test database asks a row of ours what time it is, not the machine."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Self

from leasehold.store.connect import Connection, connect_sync

# The row is read by every verb, whoever calls it; only the owner of the database moves it.
_INSTALL = b"""
create table if not exists leasehold.test_clock (
  one       boolean  primary key default true check (one),
  ahead     interval not null default '0',
  stands_at timestamptz
);
insert into leasehold.test_clock default values on conflict do nothing;
grant select on leasehold.test_clock to public;
create or replace function leasehold.now() returns timestamptz
language sql volatile parallel safe as $$
  select coalesce(c.stands_at, pg_catalog.clock_timestamp()) + c.ahead
    from leasehold.test_clock c $$;
"""


class Clock:
    """Decides what `leasehold.now()` says in one database, for every session that asks there."""

    def __init__(self, dsn: str) -> None:
        self._connection: Connection = connect_sync(dsn)
        self._connection.execute(_INSTALL)
        self._day = self.now().date()

    def now(self) -> datetime:
        """What time it is there, in UTC."""
        row = self._connection.execute("select leasehold.now()").fetchone()
        assert row is not None  # noqa: S101  a SELECT without FROM has one row
        moment: datetime = row[0]
        return moment.astimezone(UTC)

    def advance(self, seconds: float | timedelta) -> None:
        """It is later by so much, and the days that have come have their tables."""
        passed = seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)
        with self._connection.transaction():
            self._connection.execute(
                "update leasehold.test_clock set ahead = ahead + %s", (passed,)
            )
            if (day := self.now().date()) != self._day:
                self._connection.execute("select * from leasehold.partition()")
                self._day = day

    async def pass_time(self, seconds: float | timedelta) -> None:
        """`advance` for whoever has an event loop."""
        await asyncio.to_thread(self.advance, seconds)

    def freeze(self) -> None:
        """From here on time passes by `advance` alone."""
        self._connection.execute(
            "update leasehold.test_clock set stands_at = coalesce(stands_at, clock_timestamp())"
        )

    def thaw(self) -> None:
        """Time goes on from where it stood."""
        self._connection.execute(
            "update leasehold.test_clock set ahead = ahead + (stands_at - clock_timestamp()), "
            "stands_at = null where stands_at is not null"
        )

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
