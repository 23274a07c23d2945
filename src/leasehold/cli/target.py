"""`module:attribute` → the App in it."""

import importlib
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

from leasehold.define.bounds import did_you_mean
from leasehold.errors import SettingsError

if TYPE_CHECKING:
    from leasehold.app import App


def load(target: str) -> "App":
    """Imports the module; says what is wrong where it, or an app of that name, is not there."""
    from leasehold.app import App  # noqa: PLC0415 - who only looks need not load the runner

    name, _, attribute = target.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    if not name or name.endswith(".py"):
        msg = f"{target!r} is not module:attribute; write for example app.jobs:app"
        raise SettingsError(msg)
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            msg = (
                f"no module {error.name!r} here: write module:attribute as Python would import "
                "it, from the folder you are in"
            )
            raise SettingsError(msg) from None
        error.__traceback__ = theirs(error.__traceback__)
        raise
    except Exception as error:
        error.__traceback__ = theirs(error.__traceback__)
        raise
    apps = {key: value for key, value in vars(module).items() if isinstance(value, App)}
    if not attribute and len(apps) == 1:
        return next(iter(apps.values()))
    if attribute not in apps:
        near = did_you_mean(attribute, apps) or (
            f"; it has {', '.join(apps)}" if apps else "; it has no App at all"
        )
        msg = f"{name} has no App called {attribute!r}{near}"
        raise SettingsError(msg)
    return apps[attribute]


def theirs(trace: TracebackType | None) -> TracebackType | None:
    """What is left of an import's trace without the frames that did the importing.

    Nothing is left of a syntax error: its place is in the error itself.
    """
    while trace is not None and _imports(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _imports(file: str) -> bool:
    return file in _IMPORTING or file.startswith("<frozen")


# Those of ours that call `load`, and what it calls.
_IMPORTING: Final = (__file__, importlib.__file__, str(Path(__file__).with_name("runner.py")))
