"""Durable background jobs on the Postgres you already run."""

from leasehold import errors
from leasehold.app import App, Task
from leasehold.define.outcome import Cancel, Fail, SendOn, Snooze, TryAgain
from leasehold.define.retry import Retry
from leasehold.enqueue.handle import Handle, Status
from leasehold.payloads.kinds import Custom
from leasehold.runner.job import Job, current_job

__version__ = "0.1.0"

__all__ = [
    "App",
    "Cancel",
    "Custom",
    "Fail",
    "Handle",
    "Job",
    "Retry",
    "SendOn",
    "Snooze",
    "Status",
    "Task",
    "TryAgain",
    "current_job",
    "errors",
]
