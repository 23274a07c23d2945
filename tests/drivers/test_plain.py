"""Whatever inserts into leasehold.job enqueues, in its own transaction: SQL, COPY, an ORM."""

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.types.json import Jsonb
from sqlalchemy import orm
from sqlalchemy.dialects.postgresql import JSONB, UUID

from drivers.ways import engine_url, use_django
from leasehold import App


@pytest.fixture
def other(leasehold_dsn):
    """A program that knows nothing of Leasehold but its table."""
    with psycopg.connect(leasehold_dsn) as connection:
        yield connection


INSERT = "insert into leasehold.job (task, queue, payload) values ('hello', 'q', %s)"


def test_a_plain_insert_enqueues(other, house):
    other.execute(INSERT, (Jsonb({"n": 1}),))
    assert house.count("job") == 0
    other.commit()
    assert house.count("ready") == 1


def test_a_plain_insert_that_is_rolled_back_leaves_nothing(other, house):
    other.execute(INSERT, (Jsonb({"n": 1}),))
    other.rollback()
    assert (house.count("job"), house.count("ready")) == (0, 0)


def test_copy_enqueues(other, house):
    with other.cursor().copy("copy leasehold.job (task, payload) from stdin") as copy:
        for n in range(1_000):
            copy.write_row(("hello", Jsonb({"n": n})))
    assert house.count("job") == 0
    other.commit()
    assert house.count("ready") == 1_000


def test_insert_on_conflict_enqueues_once(other, house):
    sql = f"{INSERT.replace('(task', '(id, task').replace('(%s', '(%s')}"
    sql = sql.replace("values (", "values (%s, ") + " on conflict do nothing"
    (job,) = other.execute("select leasehold.new_id()").fetchone()
    for _ in range(2):
        other.execute(sql, (job, Jsonb({"n": 1})))
    other.commit()
    assert house.ready("q") == [job]


def test_insert_from_a_select_enqueues_all(other, house):
    other.execute(
        "insert into leasehold.job (task, payload) "
        "select 'hello', jsonb_build_object('n', n) from generate_series(1, 500) n"
    )
    other.commit()
    assert house.count("ready") == 500


def test_a_two_phase_commit_may_enqueue(other, house):
    other.execute(INSERT, (Jsonb({"n": 1}),))
    other.execute("prepare transaction 'leasehold-test'")
    house.connection.execute("commit prepared 'leasehold-test'")
    assert house.count("ready") == 1


class Base(orm.DeclarativeBase):
    pass


class Mapped(Base):
    __tablename__ = "job"
    __table_args__ = {"schema": "leasehold"}  # noqa: RUF012 - SQLAlchemy's own form
    id: orm.Mapped[str] = orm.mapped_column(
        UUID, primary_key=True, server_default=sa.FetchedValue()
    )
    task: orm.Mapped[str]
    queue: orm.Mapped[str] = orm.mapped_column(server_default=sa.FetchedValue())
    payload: orm.Mapped[dict] = orm.mapped_column(JSONB)
    key: orm.Mapped[str | None]


def test_a_mapped_class_enqueues_by_session_add(leasehold_dsn, house):
    engine = sa.create_engine(engine_url(leasehold_dsn, "psycopg"))
    with orm.Session(engine) as session:
        session.add_all(Mapped(task="hello", payload={"n": n}) for n in range(50))
        session.flush()
        assert house.count("job") == 0
        session.commit()
    engine.dispose()
    assert house.count("ready") == 50


def test_djangos_bulk_create_enqueues(leasehold_dsn, house):
    connection = use_django(leasehold_dsn)
    from django.db import models, transaction  # noqa: PLC0415 - wants the settings

    class Job(models.Model):  # noqa: DJ008 - nobody prints it
        id = models.UUIDField(primary_key=True, db_default=models.Func(function="leasehold.new_id"))
        task = models.TextField()
        payload = models.JSONField()

        class Meta:
            managed = False
            db_table = 'leasehold"."job'
            app_label = "leasehold_test"

    with transaction.atomic():
        Job.objects.bulk_create(Job(task="hello", payload={"n": n}) for n in range(50))
        assert house.count("job") == 0
    with transaction.atomic():
        Job.objects.create(task="hello", payload={})
        transaction.set_rollback(True)
    connection.close()
    assert house.count("ready") == 50


async def test_an_idle_worker_finds_a_plain_insert_by_its_poll(leasehold_dsn, house):
    async with App(leasehold_dsn) as app:

        @app.task
        async def hello(n: int) -> int:
            return n + 1

        async with app.worker(poll=0.05):
            job = house.enqueue(task="hello", payload={"n": 1})
            assert await app.job(job).result(timeout=10) == 2


async def test_a_plain_insert_with_columns_does_what_the_options_do(leasehold_dsn, house):
    job = house.enqueue(task="hello", queue="q", priority=3, delay="1 hour", tenant="acme")
    assert house.state(job) == "scheduled"
    assert house.entry("scheduled", job)["priority"] == 3
