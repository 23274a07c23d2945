"""A server that has gone silent holds nobody for ever."""

import os
import signal
import time

import psycopg
import pytest

from leasehold.store import connect
from leasehold.store.watchdog import watchdog


def test_a_call_to_a_silent_server_ends_when_its_time_is_over(leasehold_dsn):
    with connect.connect_sync(leasehold_dsn) as connection:
        server = connection.info.backend_pid
        os.kill(server, signal.SIGSTOP)
        began = time.monotonic()
        try:
            with pytest.raises(psycopg.OperationalError), watchdog.guard(connection, 0.5):
                connection.execute("select 1")
        finally:
            os.kill(server, signal.SIGCONT)
        assert time.monotonic() - began < 5


def test_a_call_that_is_answered_in_time_is_let_be(leasehold_dsn):
    with connect.connect_sync(leasehold_dsn) as connection:
        with watchdog.guard(connection, 5):
            connection.execute("select 1")
        assert not connection.closed
