"""Somebody drawn from a crowd, who then acts as the kind of person that they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.sets import TestSet
from preceptor.people.acting import Acting
from preceptor.people.human import Seed, Sessions


class ActingCrowd:
    """A `BatchHuman` who becomes one of several people at every `reset`, by their weights.

    Parameters
    ----------
    people
        Whom it may be.
    weights
        How likely each of them is, adding up to 1.
    """

    def __init__(self, people: Sequence[Acting], weights: FloatArray) -> None:
        self.people = tuple(people)
        self._upper = np.cumsum(weights)
        self.reset(0)

    def reset(self, rng: Seed = None) -> None:
        """Become somebody new: first who, then with which slips."""
        generator = np.random.default_rng(rng)
        self._now = self.people[self._drawn(generator)]
        self._now.reset(generator)

    def predict(self, shown: TestSet, values: FloatArray) -> float:
        """As the person drawn does."""
        return self._now.predict(shown, values)

    def feedback(self, shown: TestSet, values: FloatArray, outcome: float) -> None:
        """As the person drawn does."""
        self._now.feedback(shown, values, outcome)

    def predict_many(self, sessions: Sessions, rngs: Sequence[np.random.Generator]) -> FloatArray:
        """Everybody is drawn, then each kind answers for its own."""
        drawn = np.array([self._drawn(rng) for rng in rngs])
        answers = np.empty((sessions.people, sessions.rounds))
        for kind, person in enumerate(self.people):
            rows = np.flatnonzero(drawn == kind)
            if rows.size:
                part = Sessions(
                    sessions.sets,
                    sessions.which[rows],
                    sessions.values[rows],
                    sessions.outcomes[rows],
                )
                answers[rows] = person.predict_many(part, [rngs[int(i)] for i in rows])
        return answers

    def _drawn(self, rng: np.random.Generator) -> int:
        """Which of the people somebody is."""
        place = int(np.searchsorted(self._upper, rng.random()))
        return min(place, len(self.people) - 1)
