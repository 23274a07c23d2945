"""Few public names, all listed; modules named after what is in them."""

from pathlib import Path
from types import ModuleType

import leasehold

PACKAGE = Path(__file__).parents[2] / "src" / "leasehold"
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "base", "misc", "core"}
SAYS_NOTHING |= {"manager", "service", "services"}


def is_our_module(value: object) -> bool:
    """A submodule becomes a name of its package as soon as anybody imports it."""
    return isinstance(value, ModuleType) and value.__name__.startswith("leasehold.")


def test_the_public_names_are_listed_and_no_others_are_there():
    assert hasattr(leasehold, "__all__"), "src/leasehold/__init__.py has no __all__ yet"
    listed = set(leasehold.__all__)
    there = {
        name for name in dir(leasehold) if not name.startswith(("_", "@"))
    }  # @: pytest rewrites asserts
    unlisted = {name for name in there - listed if not is_our_module(getattr(leasehold, name))}
    assert unlisted == set(), "not in __all__: list them, or import them under another name"
    missing = {name for name in listed if not hasattr(leasehold, name)}
    assert missing == set(), "in __all__, but not in the package"


def test_the_public_names_are_sorted():
    assert getattr(leasehold, "__all__", []) == sorted(getattr(leasehold, "__all__", []))


def test_no_module_has_a_name_that_says_nothing():
    paths = [path for path in PACKAGE.rglob("*") if path.is_dir() or path.suffix == ".py"]
    assert [str(path) for path in paths if path.stem.strip("_") in SAYS_NOTHING] == []
