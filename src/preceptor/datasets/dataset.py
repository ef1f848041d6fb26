"""What a built-in table is: its numbers, what they mean, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor.errors import MissingExtra


@dataclass(frozen=True, eq=False)
class DataSet:
    """A built-in table: columns of numbers, one of them the outcome, the others tests.

    No number was changed.

    Attributes
    ----------
    name
        A short name.
    title
        The name for a reader.
    columns
        Numbers by column, each of shape (rows,).
    outcome
        The column that is to be predicted.
    outcome_label
        How the outcome reads in a sentence.
    units
        For each column, how it is measured.
    source
        Where the numbers come from.
    licence
        What they may be used for.
    notes
        What is odd about them, a sentence each.
    """

    name: str
    title: str
    columns: Mapping[str, npt.NDArray[np.float64]]
    outcome: str
    outcome_label: str
    units: Mapping[str, str]
    source: str
    licence: str
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many cases there are."""
        return int(self.columns[self.outcome].size)

    @property
    def tests(self) -> tuple[str, ...]:
        """Names of the tests: every column but the outcome."""
        return tuple(name for name in self.columns if name != self.outcome)

    @property
    def frame(self) -> Any:
        """The table as a pandas frame, tests first, the outcome last."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtra("pandas", "data", "A data frame") from error
        order = (*self.tests, self.outcome)
        return pandas.DataFrame({name: self.columns[name] for name in order})

    def describe(self) -> str:
        """The story of the table as text.

        Returns
        -------
        str
            Cases, tests, units, source, licence and notes.
        """
        listed = ", ".join(f"{test} ({self.units[test]})" for test in self.tests)
        lines = [
            f"{self.title}: {self.rows} cases, {len(self.tests)} tests",
            f"Outcome: {self.outcome} ({self.units[self.outcome]})",
            f"Tests: {listed}",
            f"Source: {self.source}",
            f"Use: {self.licence}",
            *(f"Note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)
