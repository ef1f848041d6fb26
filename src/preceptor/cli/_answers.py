"""Answers to a yes-or-no question as people type them: yes, no, 0.7 or 70%."""

from __future__ import annotations

from dataclasses import dataclass

import preceptor
from preceptor._base.typed import share_in, yes_no_in


@dataclass(frozen=True)
class YesNo:
    """How yes and no are written in a table, and whether answers are decisions.

    Attributes
    ----------
    words
        For no and for yes.
    decides
        Whether an answer is yes or no; otherwise it may be a probability.
    """

    words: tuple[str, str] = ("no", "yes")
    decides: bool = True

    @classmethod
    def of(cls, problem: preceptor.Problem) -> YesNo:
        """Of a problem whose outcome is yes or no.

        Parameters
        ----------
        problem
            With the words of its table, and a risk that says how people answer.
        """
        units = problem.world.units
        words = None if units is None else units.outcome_levels
        if words is None or words == ("0", "1"):
            words = ("no", "yes")
        return cls(words, isinstance(problem.risk, preceptor.Decision))

    def decision(self, typed: str) -> float:
        """1 for yes, 0 for no; ValueError for anything else.

        >>> YesNo(("benign", "malignant")).decision("Malignant"), YesNo().decision("no")
        (1.0, 0.0)
        """
        said = yes_no_in(typed, self.words)
        if said is None:
            raise ValueError(f"must be {self.in_words()}")
        return float(said)

    def answer(self, typed: str) -> float:
        """A decision, or a probability from 0 to 1 where those are asked for.

        >>> YesNo(decides=False).answer("70%"), YesNo(decides=False).answer("0,7")
        (0.7, 0.7)
        """
        if self.decides or yes_no_in(typed, self.words) is not None:
            return self.decision(typed)
        try:
            share = share_in(typed)
        except ValueError:
            raise ValueError(f"must be {self.in_words()}") from None
        if not 0.0 <= share <= 1.0:
            raise ValueError("must be a probability from 0 to 1, such as 0.7 or 70%")
        return share

    def in_words(self) -> str:
        """E.g. "malignant or benign (yes or no)"."""
        no, yes = self.words
        plain = "" if (no, yes) == ("no", "yes") else " (yes or no)"
        asked = f"{yes} or {no}{plain}"
        return asked if self.decides else f"{asked}, or a probability such as 0.7 or 70%"

    def truth(self, outcome: float) -> str:
        """The word for an outcome."""
        return self.words[int(outcome > 0.5)]
