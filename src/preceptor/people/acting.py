"""Somebody who acts: fills in what is hidden, adds up all tests, slips, hears the truth, learns.

How their weights move is the business of their kind (`person.py`); everything else is here, once.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from preceptor._base.checks import is_count, is_number
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem
from preceptor.model.risks import Risk
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.answering import Answering, risk_in
from preceptor.people.human import Seed, Sessions
from preceptor.people.person import Person, size_faults


class Imputer:
    """Fills in hidden tests by their conditional means under one covariance (n, n).

    >>> Imputer(np.array([[1.0, 0.5], [0.5, 1.0]])).one((0,), np.array([2.0]))
    array([2., 1.])
    """

    def __init__(self, covariance: FloatArray) -> None:
        self._covariance = covariance
        self._fills: dict[TestSet, FloatArray] = {}

    def fill(self, shown: TestSet) -> FloatArray:
        """Matrix (len(shown), n) that takes shown results to all results."""
        if shown not in self._fills:
            rows = list(shown)
            omega = self._covariance
            filled: FloatArray = np.array(np.linalg.solve(omega[np.ix_(rows, rows)], omega[rows]))
            filled[:, rows] = np.eye(len(rows))  # what is seen needs no filling in
            self._fills[shown] = filled
        return self._fills[shown]

    def one(self, shown: TestSet, values: FloatArray) -> FloatArray:
        """All tests (n,) of one case."""
        return _combined(values, self.fill(shown))

    def many(self, sessions: Sessions) -> FloatArray:
        """All tests (people, rounds, n) of all cases."""
        filled = np.empty(sessions.values.shape)
        for position, shown in enumerate(sessions.sets):
            cases = sessions.which == position
            filled[cases] = _combined(sessions.values[cases][:, list(shown)], self.fill(shown))
        return filled


class Acting:
    """A person at work in a world: a `BatchHuman`, made by `Person.acting`.

    Parameters
    ----------
    person
        First beliefs, imputation, and how weights move.
    world
        How tests and outcomes come about.
    start
        Showings of each test before, for kinds that count them; none if left out.
    response_noise
        Standard deviation of a slip added to every answer, in units of the outcome; where that is
        yes or no, to the score behind it. They do not learn from it.
    risk
        How a score becomes a probability or a decision, where the outcome is yes or no: decisions
        if left out. Not asked where it is a number.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> import preceptor as pr
    >>> person = pr.DeltaRule([0.0], rate=0.1).acting(pr.World([1.0], [[1.0]]))
    >>> person.feedback((0,), np.array([2.0]), 3.0)   # surprise 3, so 0.1 x 3 x 2
    >>> person.weights.round(6)
    array([0.6])
    """

    def __init__(
        self,
        person: Person,
        world: World,
        start: Sequence[int] | None = None,
        response_noise: float = 0.0,
        risk: Risk | None = None,
    ) -> None:
        faults = size_faults(person.size, world.size)
        counts = None if start is None else tuple(start)
        if counts is not None and not (
            len(counts) == world.size and all(is_count(c, least=0) for c in counts)
        ):
            faults.append(f"start: {counts}, must be {world.size} whole numbers of at least 0")
        else:
            faults += person.start_faults(counts)
        if not is_number(response_noise) or response_noise < 0:
            faults.append(
                f"response_noise: {response_noise!r}, must be a standard deviation of at least 0"
            )
        InvalidProblem.raise_if(faults)
        self._answering: Answering | None = None
        if world.is_binary:
            self._answering = Answering(world, risk_in(world, risk))
            # How common yes is, they have to believe; everything else is as it is.
            world = self._answering.world
        self.person, self.world = person, world
        self.response_noise = float(response_noise)
        self._start = counts
        self._imputer = Imputer(person.imputing_covariance(world))
        self.reset(0)

    def fresh(self, people: tuple[int, ...]) -> Any:
        """The state of people who have not played yet, for a crowd of that shape."""
        return self.person.fresh(self.world, people, self._start)

    @property
    def weights(self) -> FloatArray:
        """The person's weights now, shape (n,)."""
        return self.person.weights_of(self.world, self._state)

    def reset(self, rng: Seed = None) -> None:
        """Somebody new with the same beliefs at the start."""
        self._rng = np.random.default_rng(rng)
        self._state = self.fresh(())
        self._slip = self._next_slip()

    def slipping(self, rng: Seed) -> Acting:
        """The same person at this moment, with other slips: for questions outside of the rounds."""
        other = copy.copy(self)
        other._rng = np.random.default_rng(rng)
        other._slip = other._next_slip()
        return other

    def predict(self, shown: TestSet, values: FloatArray) -> float:
        """Fill in, add up, slip, and turn a score into an answer."""
        filled = self._imputer.one(shown, values)
        weights = self.weights
        added_up = float(_added_up(weights, filled)) + self._slip
        if self._answering is None:
            return added_up
        return float(self._answering.answers(np.asarray(added_up)))

    def feedback(self, shown: TestSet, values: FloatArray, outcome: float) -> None:
        """Learn, and go on to the next round."""
        seen = np.zeros(self.world.size, dtype=np.bool_)
        seen[list(shown)] = True
        filled = self._imputer.one(shown, values)
        self._state = self.person.learn(self.world, self._state, filled, seen, np.asarray(outcome))
        self._slip = self._next_slip()

    def go_on(self) -> None:
        """To the next round, without having heard the truth of this one."""
        self._slip = self._next_slip()

    def predict_many(self, sessions: Sessions, rngs: Sequence[np.random.Generator]) -> FloatArray:
        """All people at once, round by round."""
        person, world = self.person, self.world
        filled, shown = self._imputer.many(sessions), sessions.shown
        answers = np.empty((sessions.people, sessions.rounds))
        state = self.fresh((sessions.people,))
        for t in range(sessions.rounds):
            weights = person.weights_of(world, state)
            answers[:, t] = _added_up(weights, filled[:, t])
            if sessions.is_told(t):
                truth = sessions.outcomes[:, t]
                state = person.learn(world, state, filled[:, t], shown[:, t], truth)
        if self.response_noise:
            slips = [rng.standard_normal(sessions.rounds) for rng in rngs]
            answers += self.response_noise * np.array(slips)
        return answers if self._answering is None else self._answering.answers(answers)

    def _next_slip(self) -> float:
        # Drawn ahead of the question, so that asking twice gives the same answer.
        return self.response_noise * self._rng.standard_normal() if self.response_noise else 0.0


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


def _combined(values: FloatArray, rows: FloatArray) -> FloatArray:
    """values @ rows, added up in one order whatever the shape of `values` (..., len(rows)).

    A product of matrices goes by blocks, so one case and many would differ in the last bit; then
    people who play one by one, over a network say, would not answer as a simulated crowd does.
    """
    total: FloatArray = np.zeros((*values.shape[:-1], rows.shape[1]))
    for position, row in enumerate(rows):
        total += values[..., position, None] * row
    return total


def _added_up(weights: FloatArray, filled: FloatArray) -> FloatArray:
    total: FloatArray = np.sum(weights * filled, axis=-1)
    return total
