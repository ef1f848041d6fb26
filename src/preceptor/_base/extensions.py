"""Other installed packages: optional dependencies, and extensions found through entry points.

A package with kinds or solvers lists in its `pyproject.toml` what to import:

    [project.entry-points."preceptor.extensions"]
    curves = "my_package.curves"            # a module: each `Kind` in it registers itself
    greedy = "my_package.greedy:GREEDY"     # a `Solver` record, or a class with a `kind`

Importing preceptor loads none of them. They are loaded once, when a name is not among the built-in
ones or when all names are listed. One that cannot be loaded is described in `faults`, which go
into the message about the missing name; the others work as usual.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from preceptor.errors import MissingExtra

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "preceptor.extensions"


def from_extra(module: str, extra: str, purpose: str) -> Any:
    """Import a module that an extra installs; `MissingExtra` says how, and what needs it."""
    try:
        return import_module(module)
    except ImportError:
        library = module.partition(".")[0].replace("_", "-")
        raise MissingExtra(library, extra, purpose) from None


@dataclass(frozen=True)
class Extensions:
    """What was loaded: solver records by the entry point they come from, and a text per fault."""

    records: dict[str, object]
    faults: tuple[str, ...]


@functools.cache
def installed_extensions() -> Extensions:
    """Load every entry point of the group, in the order of their names; later calls reuse it."""
    from importlib.metadata import entry_points

    records: dict[str, object] = {}
    faults: list[str] = []
    for entry in sorted(entry_points(group=GROUP), key=_source):
        try:
            loaded = entry.load()
        except Exception as error:  # whatever the module of another package raises
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            faults.append(f"{_source(entry)} cannot be loaded: {reason}")
            continue
        if not inspect.ismodule(loaded) and not getattr(loaded, "kind", ""):
            records[_source(entry)] = loaded
    return Extensions(records, tuple(faults))


def _source(entry: EntryPoint) -> str:
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unnamed package"
    return f"extension {entry.name!r} of {package} ({entry.value})"
