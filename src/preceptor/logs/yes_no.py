"""Answers and outcomes where the outcome is yes or no: probabilities, decisions, levels.

People answer with a probability (".7", "70%") or with a decision ("yes", "malignant", "1"); what
was true is written as a level of the table, as yes or no, or as 1 or 0. Inside, yes is 1, no is 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from preceptor._base.typed import share_in, yes_no_in
from preceptor._base.values import FloatArray
from preceptor.logs.cells import as_name, as_number, is_missing
from preceptor.model.world import World

# Yes and no, or how likely it is.
_EITHER = ("0", "1")
# Answers of 0 % and 100 % have no score; rounded to whole percents, they are about this far off.
# Finer answers are taken as they are, as far as their score is a number.
SUREST, FINEST = 0.005, 1e-12


@dataclass(frozen=True)
class YesNo:
    """How yes and no are written; `levels` are the table's words for no and for yes.

    >>> reader = YesNo(("benign", "malignant"))
    >>> reader.answer("70 %"), reader.answer("Malignant"), reader.outcome("no")
    (0.7, 1.0, 0.0)
    """

    levels: tuple[str, str] | None = None
    # Whether the table's own levels are numbers that could be taken for 0 and 1, and are meant.
    by_level: bool = True

    @classmethod
    def of(cls, world: World) -> YesNo | None:
        """Of a world; None where its outcome is a number."""
        if not world.is_binary:
            return None
        return cls(None if world.units is None else world.units.outcome_levels)

    def among(self, cells: Iterable[Any]) -> YesNo:
        """For the cells of one column: the table's 1 and 2 are not our 0 and 1.

        Where levels are numbers, 1 may be either; a column that has nothing but 0 and 1 is ours.
        """
        ours = all(_plain(cell) in _EITHER for cell in cells if not is_missing(cell))
        return YesNo(self.levels, by_level=not ours)

    def is_word(self, cell: Any) -> bool:
        """Whether a cell says yes or no, rather than how likely it is."""
        return isinstance(cell, (bool, np.bool_)) or self._said(cell) is not None

    def outcome(self, cell: Any) -> float:
        """What was true, 1 or 0, NaN where there is nothing; ValueError for anything else."""
        if is_missing(cell) and self._said(cell) is None:
            return float("nan")
        found = self._decision(cell)
        if found is None:
            raise ValueError(f"{_quoted(cell)} is neither yes nor no (write {self._words})")
        return found

    def answer(self, cell: Any, decimal: str = ".") -> float:
        """A probability, or a decision as 1 or 0; ValueError for what is neither."""
        if is_missing(cell) and self._said(cell) is None:
            return float("nan")
        found = self._decision(cell)
        return self._probability(cell, decimal) if found is None else found

    def _decision(self, cell: Any) -> float | None:
        found = self._said(cell)
        said = yes_no_in(_plain(cell)) if found is None else None
        return found if said is None else float(said)

    def _said(self, cell: Any) -> float | None:
        """What a level or a word says; None for everything else, 0 and 1 too."""
        text, own = _plain(cell), None
        if self.levels is not None and self.by_level:
            own = (_plain(self.levels[0]), _plain(self.levels[1]))
        said = yes_no_in(text, own)
        is_number = text in _EITHER and (own is None or text not in own)
        return None if said is None or is_number else float(said)

    def _probability(self, cell: Any, decimal: str) -> float:
        percent = isinstance(cell, str) and cell.rstrip().endswith("%")
        try:
            found = share_in(cell, decimal) if isinstance(cell, str) else as_number(cell)
        except ValueError:
            raise ValueError(
                f"{_quoted(cell)} is neither a probability nor a decision (write 0.7 or 70%, or "
                f"{self._words})"
            ) from None
        if not 0.0 <= found <= 1.0:
            meant = f"; did you mean {found:g}%?" if not percent and 1.0 < found <= 100.0 else ""
            raise ValueError(
                f"{_quoted(cell)} is no probability, which goes from 0 to 1 or from 0% to "
                f"100%{meant}"
            )
        return found

    @property
    def _words(self) -> str:
        own = "" if self.levels is None else f"{self.levels[1]}, {self.levels[0]}, "
        return f"{own}yes, no, 1 or 0"


def are_decisions(answers: FloatArray) -> bool:
    """Whether answers are all 0 or 1, as decisions are."""
    return bool(np.all((answers == 0.0) | (answers == 1.0)))


def score_of(world: World, probabilities: FloatArray) -> FloatArray:
    """Answers (...) as scores without the base score.

    0 % and 100 % are taken to be `SUREST` off, or as far as the finest of the other answers.
    """
    assert world.outcome is not None
    given = np.asarray(probabilities, dtype=np.float64)
    off = np.minimum(given, 1.0 - given)
    limit = max(float(np.min(off, where=off > 0.0, initial=SUREST)), FINEST)
    inside = np.clip(given, limit, 1.0 - limit)
    return world.outcome.from_score.score(inside) - world.base_score


def _plain(cell: Any) -> str:
    """A cell for comparing: without capitals, and 1.0 is 1."""
    if isinstance(cell, (bool, np.bool_)):
        return str(bool(cell)).casefold()
    text = as_name(cell).casefold()
    return text[:-2] if text in ("0.0", "1.0") else text


def _quoted(cell: Any) -> str:
    return repr(cell if isinstance(cell, (str, int, float)) else str(cell))
