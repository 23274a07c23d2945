"""A process that forks after its first enqueue: each child opens its own, the parent keeps its."""

import asyncio
import multiprocessing
import subprocess
import sys
import threading

import pytest

from leasehold import App
from leasehold.store import connect
from leasehold.store.watchdog import watchdog

# Python 3.12 and newer warn of a fork beside threads, which is what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

CHILDREN = multiprocessing.get_context("fork")


@pytest.fixture
def hello(leasehold_dsn):
    app = App(leasehold_dsn)
    yield app.task(plain)
    app.close_sync()


def plain(n: int) -> int:
    return n


def enqueue_sync(task, count):
    for n in range(count):
        task.enqueue_sync(n)


def enqueue_in_a_loop(task, count):
    async def some() -> None:
        for n in range(count):
            await task.enqueue(n)

    asyncio.run(some())


WAYS = [enqueue_sync, enqueue_in_a_loop]


def forked(function, *args):
    child = CHILDREN.Process(target=function, args=args)
    child.start()
    return child


def ended(*children):
    """Their exit codes; None of one that hangs."""
    for child in children:
        child.join(20)
    codes = [child.exitcode for child in children]
    for child in children:
        child.kill()
        child.join()
    return codes


@pytest.mark.parametrize("in_child", WAYS)
@pytest.mark.parametrize("in_parent", WAYS)
def test_a_parent_and_its_forked_children_enqueue_side_by_side(hello, house, in_parent, in_child):
    in_parent(hello, 1)
    children = [forked(in_child, hello, 100) for _ in range(2)]
    in_parent(hello, 20)
    assert ended(*children) == [0, 0]
    in_parent(hello, 1)
    assert house.count("ready") == 222


async def test_a_child_forked_under_a_running_loop_leaves_it_alone(hello, house):
    handle = await hello.enqueue(1)
    waiting = asyncio.create_task(handle.wait(timeout=20))
    await asyncio.sleep(0.05)
    child = forked(enqueue_in_a_loop, hello, 10)
    assert await asyncio.to_thread(ended, child) == [0]
    await handle.cancel()
    assert (await waiting).state == "cancelled"


def test_locks_that_other_threads_held_are_free_in_the_child(hello, house):
    hello.enqueue_sync(1)
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with hello.app._opening, hello.app._sync._turn, hello.app._desks._lock:
            held.set()
            go.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    children = [forked(way, hello, 5) for way in WAYS]
    codes = ended(*children)
    go.set()
    holder.join()
    assert codes == [0, 0]


def test_a_child_that_closes_says_no_goodbye_in_its_parents_name(hello, house):
    hello.enqueue_sync(1)
    mine = hello.app._sync._connection.info.backend_pid
    assert ended(forked(hello.app.close_sync)) == [0]
    hello.enqueue_sync(2)
    assert hello.app._sync._connection.info.backend_pid == mine


def test_the_watchdog_watches_in_a_child_too(leasehold_dsn, monkeypatch):
    monkeypatch.setattr("leasehold.store.watchdog.LOOK", 0.05)
    with connect.connect_sync(leasehold_dsn) as guarded, watchdog.guard(guarded, 60):
        assert ended(forked(sleep_guarded, leasehold_dsn)) == [7]


def sleep_guarded(dsn):
    with connect.connect_sync(dsn) as connection, watchdog.guard(connection, 0.2):
        try:
            connection.execute("select pg_sleep(15)")
        except connect.Error:
            sys.exit(7)


EMBEDDED = """
import os, pathlib, sys
from leasehold import App
from leasehold.store.embedded import Server
home = pathlib.Path(sys.argv[1])
app = App(home)
task = app.task(name="t")(len)
task.enqueue_sync("a")
if (child := os.fork()) == 0:
    if sys.argv[2] == "uses":
        task.enqueue_sync("b")
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
assert Server(home).running()
task.enqueue_sync("c")
if (last := os.fork()) == 0:
    os.close(1), os.close(2)
    import time
    time.sleep(3)
    os._exit(0)
app.close_sync()
assert not Server(home).running(), "a child that never asked keeps nothing alive"
"""


@pytest.mark.parametrize("child", ["uses", "does not use"])
def test_a_childs_exit_leaves_the_embedded_server_to_its_parent(tmp_path, child):
    command = [sys.executable, "-c", EMBEDDED, str(tmp_path / "home"), child]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
