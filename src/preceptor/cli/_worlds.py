"""Where the numbers come from: a table of the user's, or an example that comes with us."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preceptor.cli._console import say
from preceptor.errors import InvalidInput

if TYPE_CHECKING:
    from preceptor.datasets import DataSet

DEFAULT_EXAMPLE = "diabetes"


def _diabetes() -> DataSet:
    from preceptor.datasets import load_diabetes

    return load_diabetes()


EXAMPLES: dict[str, Callable[[], Any]] = {"diabetes": _diabetes}


def load_example(name: str) -> DataSet:
    """A built-in table by name."""
    if name not in EXAMPLES:
        raise InvalidInput(f"--example: {name!r} is not known; there is {', '.join(EXAMPLES)}")
    found: DataSet = EXAMPLES[name]()
    return found


def source_of(table: Path | None, example: str | None) -> Path | DataSet:
    """The table that was named, or an example, which is announced on stderr."""
    if table is not None and example is not None:
        raise InvalidInput("--example: a table is given as well; leave one of them out")
    if table is not None:
        return table
    found = load_example(example or DEFAULT_EXAMPLE)
    say(f"Example: {found.title} ({found.rows} cases, outcome {found.outcome})")
    return found
