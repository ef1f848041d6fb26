"""How a simulated person answers: impute hidden tests, add up, add response noise, learn.

How weights move is up to each kind of person (`person.py`); everything else about acting is here.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem
from preceptor.model.person import Person, ShownBefore, size_faults
from preceptor.model.risks import Risk
from preceptor.model.sets import TestSet, read_counts
from preceptor.model.world import World
from preceptor.model.yes_no_risks import as_yes_no_risk
from preceptor.people.answering import as_believed
from preceptor.people.human import Seed, Sessions


class Imputer:
    """Fills in hidden tests by their conditional means under one covariance (n, n).

    >>> Imputer(np.array([[1.0, 0.5], [0.5, 1.0]])).one((0,), np.array([2.0]))
    array([2., 1.])
    """

    def __init__(self, covariance: FloatArray) -> None:
        self._covariance = covariance
        self._fills: dict[TestSet, FloatArray] = {}

    def fill(self, shown: TestSet) -> FloatArray:
        """Return the matrix (len(shown), n) that maps shown results to all results."""
        if shown not in self._fills:
            rows = list(shown)
            omega = self._covariance
            filled: FloatArray = np.array(np.linalg.solve(omega[np.ix_(rows, rows)], omega[rows]))
            filled[:, rows] = np.eye(len(rows))  # shown results stay exactly as they are
            self._fills[shown] = filled
        return self._fills[shown]

    def one(self, shown: TestSet, values: FloatArray) -> FloatArray:
        """Return all results (n,) of one case, hidden ones imputed."""
        return _combined(values, self.fill(shown))

    def many(self, sessions: Sessions) -> FloatArray:
        """Return all results (people, rounds, n) of all cases, hidden ones imputed."""
        filled = np.empty(sessions.values.shape)
        for position, shown in enumerate(sessions.sets):
            cases = sessions.which == position
            filled[cases] = _combined(sessions.values[cases][:, list(shown)], self.fill(shown))
        return filled


class Acting:
    """A simulated person in a world: a `BatchHuman`, made by `Person.acting`.

    Parameters
    ----------
    person
        Initial weights, imputation, and learning rule.
    world
        Model of tests and outcomes.
    start
        Exposure counts before the first round, for kinds that use them; zero if omitted.
    response_noise
        Standard deviation of the noise added to every answer, in units of the outcome; to the
        score behind the answer where outcomes are yes/no. Nothing is learned from this noise.
    risk
        How a score becomes a probability or a decision where outcomes are yes/no; `Decision()` if
        omitted. Ignored where outcomes are numbers.

    Raises
    ------
    InvalidProblem
        If any argument is invalid; one message lists every fault.

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
        start: ShownBefore = None,
        response_noise: float = 0.0,
        risk: Risk | None = None,
    ) -> None:
        faults = size_faults(person.size, world.size)
        counts = None if start is None else read_counts("start", start, faults, world.size)
        faults += person.start_faults(counts)
        if not is_number(response_noise) or response_noise < 0:
            faults.append(
                f"response_noise: {response_noise!r}, must be a standard deviation of at least 0"
            )
        InvalidProblem.raise_if(faults)
        self._risk = as_yes_no_risk(risk) if world.is_binary else None
        # The prevalence is the only part of the world that a person may be wrong about here.
        self.world = world if self._risk is None else as_believed(world, self._risk)
        self.person, self.response_noise, self._start = person, float(response_noise), counts
        self._imputer = Imputer(person.imputing_covariance(world))
        self.reset(0)

    def fresh(self, people: tuple[int, ...]) -> Any:
        """Return the state before the first round, for a crowd of this shape."""
        return self.person.fresh(self.world, people, self._start)

    @property
    def weights(self) -> FloatArray:
        """Current weights, shape (n,)."""
        return self.person.weights_of(self.world, self._state)

    @property
    def level(self) -> float:
        """Current level of answers, counted from the true one."""
        return float(self.person.level_of(self.world, self._state))

    @property
    def moving(self) -> FloatArray:
        """Current weights (n,), followed by the level of people who learn it."""
        return np.append(self.weights, self.level) if self.person.has_level else self.weights

    def reset(self, rng: Seed = None) -> None:
        """Start a new person with the same initial weights."""
        self._rng = np.random.default_rng(rng)
        self._state = self.fresh(())
        self._noise = self._next_noise()

    def with_noise_from(self, rng: Seed) -> Acting:
        """Return a copy with other response noise, for questions outside the rounds."""
        other = copy.copy(self)
        other._rng = np.random.default_rng(rng)
        other._noise = other._next_noise()
        return other

    def predict(self, shown: TestSet, values: FloatArray) -> float:
        """Return the person's answer: a number, a probability or a decision."""
        filled = self._imputer.one(shown, values)
        score = np.sum(self.weights * filled, axis=-1) + self._noise
        if self.person.has_level:
            score = score + self.level
        return float(self._answers(np.asarray(score)))

    def feedback(self, shown: TestSet, values: FloatArray, outcome: float) -> None:
        """Learn from the outcome, and move to the next round."""
        seen = np.zeros(self.world.size, dtype=np.bool_)
        seen[list(shown)] = True
        filled = self._imputer.one(shown, values)
        self._state = self.person.learn(self.world, self._state, filled, seen, np.asarray(outcome))
        self._noise = self._next_noise()

    def skip_outcome(self) -> None:
        """Move to the next round without learning the outcome of this one."""
        self._noise = self._next_noise()

    def predict_many(self, sessions: Sessions, rngs: Sequence[np.random.Generator]) -> FloatArray:
        """Return the answers of all people, computed together round by round."""
        person, world = self.person, self.world
        filled, shown = self._imputer.many(sessions), sessions.shown
        scores = np.empty((sessions.people, sessions.rounds))
        state = self.fresh((sessions.people,))
        for t in range(sessions.rounds):
            scores[:, t] = np.sum(person.weights_of(world, state) * filled[:, t], axis=-1)
            if person.has_level:
                scores[:, t] += person.level_of(world, state)
            if sessions.is_told(t):
                truth = sessions.outcomes[:, t]
                state = person.learn(world, state, filled[:, t], shown[:, t], truth)
        if self.response_noise:
            noise = [rng.standard_normal(sessions.rounds) for rng in rngs]
            scores += self.response_noise * np.array(noise)
        return self._answers(scores)

    def _answers(self, scores: FloatArray) -> FloatArray:
        """Answers made of weighted sums, response noise included."""
        if self._risk is None or self.world.outcome is None:
            return scores
        return self._risk.answer(self.world.outcome.from_score, self.world.base_score + scores)

    def _next_noise(self) -> float:
        # Drawn before the question, so that asking twice gives the same answer.
        return self.response_noise * self._rng.standard_normal() if self.response_noise else 0.0


class ActingCrowd:
    """A `BatchHuman` who becomes a random member of a crowd at every `reset`.

    Parameters
    ----------
    people
        The members.
    weights
        Probability of each member, summing to 1.
    """

    def __init__(self, people: Sequence[Acting], weights: FloatArray) -> None:
        self.people = tuple(people)
        self._upper = np.cumsum(weights)
        self.reset(0)

    def reset(self, rng: Seed = None) -> None:
        """Draw a member, then reset it with the same generator."""
        generator = np.random.default_rng(rng)
        self._now = self.people[self._drawn(generator)]
        self._now.reset(generator)

    def predict(self, shown: TestSet, values: FloatArray) -> float:
        """Return the answer of the member drawn."""
        return self._now.predict(shown, values)

    def feedback(self, shown: TestSet, values: FloatArray, outcome: float) -> None:
        """Let the member drawn learn from the outcome."""
        self._now.feedback(shown, values, outcome)

    def predict_many(self, sessions: Sessions, rngs: Sequence[np.random.Generator]) -> FloatArray:
        """Draw a member for each person; then each member answers for those people together."""
        drawn = np.array([self._drawn(rng) for rng in rngs])
        answers = np.empty((sessions.people, sessions.rounds))
        for kind in np.unique(drawn):
            rows = np.flatnonzero(drawn == kind)
            part = [rngs[int(i)] for i in rows]
            answers[rows] = self.people[kind].predict_many(sessions.of(rows), part)
        return answers

    def _drawn(self, rng: np.random.Generator) -> int:
        """Position of a random member."""
        place = int(np.searchsorted(self._upper, rng.random()))
        return min(place, len(self.people) - 1)


def _combined(values: FloatArray, rows: FloatArray) -> FloatArray:
    """values @ rows, summed in one order whatever the shape of `values` (..., len(rows)).

    A matrix product works by blocks, so one case and many would differ in the last bit; then
    people who answer one at a time, over a network say, would differ from a simulated crowd.
    """
    total: FloatArray = np.zeros((*values.shape[:-1], rows.shape[1]))
    for position, row in enumerate(rows):
        total += values[..., position, None] * row
    return total
