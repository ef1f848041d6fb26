"""Where the numbers come from: a table of the user's, or an example that comes with us."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preceptor.cli._console import say
from preceptor.cli._tables import read_cases
from preceptor.errors import InvalidFile, InvalidInput

if TYPE_CHECKING:
    from preceptor.datasets import DataSet
    from preceptor.estimation import WorldEstimate

DEFAULT_EXAMPLE = "body-fat"


def _body_fat() -> DataSet:
    from preceptor.datasets import load_body_fat

    return load_body_fat()


def _diabetes() -> DataSet:
    from preceptor.datasets import load_diabetes

    return load_diabetes()


EXAMPLES: dict[str, Callable[[], Any]] = {"body-fat": _body_fat, "diabetes": _diabetes}
# How the outcomes of the examples read in a sentence.
_OUTCOMES = {"body-fat": "body fat, %", "diabetes": "progression score"}


def load_example(name: str) -> DataSet:
    """A built-in table by name."""
    if name not in EXAMPLES:
        raise InvalidInput(f"example {name!r}: not known; there are {', '.join(EXAMPLES)}")
    found: DataSet = EXAMPLES[name]()
    return found


def estimate_world(
    data: Path | None,
    *,
    outcome: str | None,
    unit: str | None,
    example: str | None,
    drop: Sequence[str],
    seed: int,
) -> WorldEstimate:
    """Estimate a world from a file or an example, and say on stderr what is doubtful."""
    from preceptor.estimation import fit_world

    if data is not None and example is not None:
        raise InvalidInput("--example: a table is given too; give one of them")
    if data is None:
        name = example or DEFAULT_EXAMPLE
        table = load_example(name)
        if outcome is not None and outcome != table.outcome:
            raise InvalidInput(f"--outcome: the outcome of {name} is {table.outcome!r}")
        label = _OUTCOMES[name]
        found = fit_world(dict(table.columns), table.outcome, outcome=label, drop=drop, seed=seed)
        say(f"Example: {table.title}, {table.rows} cases ({table.outcome})")
    else:
        frame = read_cases(data)
        if outcome is None:
            names = ", ".join(map(str, frame.columns))
            raise InvalidInput(f"--outcome: say which column of {data} it is: {names}")
        label = f"{outcome}, {unit}" if unit else outcome
        try:
            found = fit_world(frame, outcome, outcome=label, drop=drop, seed=seed)
        except InvalidInput as error:
            raise InvalidFile([f"{data}: {fault}" for fault in error.faults]) from None
    for doubt in found.warnings:
        say(f"Note: {doubt}")
    return found
