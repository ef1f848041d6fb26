"""A simulated person: one small protocol, and the sessions that a crowd goes through.

People live in the numbers of the world: tests with mean 0 in the world's scale (a standard
deviation of 1 where it came from a table), outcomes as deviations from their average.
Translating to the units that real people read happens in logs, outside of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.sets import TestSet
from preceptor.model.world import Cases

Seed = np.random.Generator | int | None


@runtime_checkable
class Human(Protocol):
    """One person. Any class with these three methods will do; `check_human` tests yours.

    `shown` holds test indices in rising order, `values` (len(shown),) their results in the same
    order. What is hidden is never passed, so nobody can peek.
    """

    def reset(self, rng: Seed = None) -> None:
        """Become somebody new; all chance in later answers comes from `rng`."""

    def predict(self, shown: TestSet, values: FloatArray) -> float:
        """Answer a case. Asking changes nothing: asked again, the answer is the same."""

    def feedback(self, shown: TestSet, values: FloatArray, outcome: float) -> None:
        """Hear what was true, and learn; ends the round."""


@dataclass(frozen=True, eq=False)
class Sessions:
    """What every person of a crowd is shown, and what is true, in all their rounds.

    - `sets`: the distinct sets that occur;
    - `which`: (people, rounds), position in `sets` of what is shown;
    - `values`: (people, rounds, n) test results, NaN where hidden;
    - `outcomes`: (people, rounds).
    """

    sets: tuple[TestSet, ...]
    which: IntArray
    values: FloatArray
    outcomes: FloatArray

    @classmethod
    def hiding(cls, sets: tuple[TestSet, ...], which: IntArray, cases: Cases) -> Sessions:
        """Whole cases (people, rounds, n), of which only the chosen sets are shown."""
        shown = cls(sets, which, cases.features, cases.outcomes).shown
        return cls(sets, which, np.where(shown, cases.features, np.nan), cases.outcomes)

    @property
    def people(self) -> int:
        """How many people."""
        return int(self.values.shape[0])

    @property
    def rounds(self) -> int:
        """How many rounds each."""
        return int(self.values.shape[1])

    @property
    def size(self) -> int:
        """How many tests there are, n."""
        return int(self.values.shape[2])

    @property
    def shown(self) -> npt.NDArray[np.bool_]:
        """Whether a test was shown, (people, rounds, n)."""
        member = np.zeros((len(self.sets), self.size), dtype=np.bool_)
        for row, shown in enumerate(self.sets):
            member[row, list(shown)] = True
        return member[self.which]

    def of(self, first: int, last: int) -> Sessions:
        """The sessions of people first..last-1."""
        part = slice(first, last)
        return Sessions(self.sets, self.which[part], self.values[part], self.outcomes[part])


@runtime_checkable
class BatchHuman(Human, Protocol):
    """A person who can also answer for a crowd of people like them, all at once."""

    def predict_many(self, sessions: Sessions, rngs: Sequence[np.random.Generator]) -> FloatArray:
        """Answers (people, rounds): the same as `answer_one_by_one`, only faster."""


def answer_one_by_one(
    human: Human, sessions: Sessions, rngs: Sequence[np.random.Generator]
) -> FloatArray:
    """Answers (people, rounds): one person after the other, round by round."""
    answers = np.empty((sessions.people, sessions.rounds))
    for person, rng in enumerate(rngs):
        human.reset(rng)
        for t in range(sessions.rounds):
            shown = sessions.sets[sessions.which[person, t]]
            values = sessions.values[person, t, list(shown)]
            answers[person, t] = human.predict(shown, values)
            human.feedback(shown, values, float(sessions.outcomes[person, t]))
    return answers
