"""`leasehold url`: an address that psql and any driver take, and no server that was not there."""

import psycopg
import pytest

from leasehold.testing.database import folder_of_this_run


@pytest.fixture
def embedded(tmp_path):
    """A folder with a server that runs: to make one takes ten seconds on a slow disk."""
    (tmp_path / "data").symlink_to(folder_of_this_run() / "home")
    return tmp_path / "data"


def test_of_an_embedded_database_it_is_that_of_its_socket(program, embedded, leasehold_dsn):
    answer = program("url", "--database", embedded)
    assert (answer.code, answer.err) == (0, "")
    with psycopg.connect(answer.out.strip()) as connection:
        assert connection.info.host.startswith("/")
        assert connection.info.dbname == "leasehold"
    assert program("url", DATABASE_URL=str(embedded)) == answer


def test_an_address_that_was_said_is_printed_as_it_is(program):
    said = "postgresql://ann@db/shop"
    assert program("url", DATABASE_URL=said).out == f"{said}\n"
    assert program("url", "--database", said).out == f"{said}\n"


def test_where_no_server_runs_it_says_so_and_starts_none(program, tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    answer = program("url", "--database", folder)
    assert (answer.code, answer.out) == (1, "")
    assert "does not run" in answer.err
    assert list(folder.iterdir()) == []
    assert program("url").code == 2
