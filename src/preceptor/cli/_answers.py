"""Answers to a yes-or-no question as people type them: yes, no, 0.7 or 70%."""

from __future__ import annotations

from dataclasses import dataclass

import preceptor

_YES = ("yes", "y", "true", "1")
_NO = ("no", "n", "false", "0")


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
        word = typed.strip().casefold()
        no, yes = (each.casefold() for each in self.words)
        if word == yes or (word in _YES and word != no):
            return 1.0
        if word == no or word in _NO:
            return 0.0
        raise ValueError(f"must be {self.in_words()}")

    def answer(self, typed: str) -> float:
        """A decision, or a probability from 0 to 1 where those are asked for.

        >>> YesNo(decides=False).answer("70%"), YesNo(decides=False).answer("0,7")
        (0.7, 0.7)
        """
        if self.decides:
            return self.decision(typed)
        written = typed.strip().replace(",", ".")
        try:
            share = float(written.removesuffix("%")) / (100.0 if written.endswith("%") else 1.0)
        except ValueError:
            return self.decision(typed)
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
