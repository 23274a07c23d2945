from collections.abc import Iterator

import pytest

from fleet.crew import Crew
from leasehold import App


@pytest.fixture
def crew(tmp_path, leasehold_dsn, house) -> Iterator[Crew]:
    crew = Crew(tmp_path, leasehold_dsn)
    yield crew
    crew.end()


@pytest.fixture
def tasks(leasehold_dsn):
    """Enqueues by name, as a program without the module would."""
    with App(leasehold_dsn) as app:
        yield Tasks(app)


class Tasks:
    def __init__(self, app):
        self.app = app

        @app.task
        def add(a: int, b: int) -> int:
            return a + b

        @app.task
        def holds(name: str) -> str:
            return name

        @app.task(exclusive=True)
        def alone(name: str) -> str:
            return name

        @app.task
        def terminates() -> int: ...

        @app.task
        def blocks(name: str) -> None: ...

        @app.task
        def apart(name: str) -> None: ...

        self.add, self.holds, self.blocks, self.apart = add, holds, blocks, apart
        self.alone, self.terminates = alone, terminates
