"""People who fill in what is hidden and add up all tests with their own weights.

Almost everybody here does that; they differ in how their weights move. So a kind of person is
two pure functions: what weights a state stands for, and the state after one more case. States
are arrays with any leading axes, so that one person and a crowd run through the same lines.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_number
from preceptor._base.values import FloatArray, frozen_array
from preceptor.errors import InvalidInput, InvalidProblem
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import OneShot
from preceptor.people.human import Seed, Sessions

State = TypeVar("State")


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
        filled: FloatArray = values @ self.fill(shown)
        return filled

    def many(self, sessions: Sessions) -> FloatArray:
        """All tests (people, rounds, n) of all cases."""
        filled = np.empty(sessions.values.shape)
        for position, shown in enumerate(sessions.sets):
            cases = sessions.which == position
            filled[cases] = sessions.values[cases][:, list(shown)] @ self.fill(shown)
        return filled


class Reader(ABC, Generic[State]):
    """Base of people whose answer is weights · filled-in tests, plus a slip.

    A subclass defines `fresh`, `weights_of` and `learn`.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    beliefs
        Weights at the start, shape (n,), in the world's units.
    imputation
        How they fill in, as for `Learner`: a number from 0 (knows how tests go together) to 1
        (takes hidden tests to be average), or a covariance (n, n).
    response_noise
        Standard deviation of a slip added to every answer, in units of the outcome. They do not
        learn from it.

    Raises
    ------
    InvalidProblem
        Values that make no sense, all of them in one message.
    """

    def __init__(
        self,
        world: World,
        beliefs: npt.ArrayLike,
        imputation: float | npt.ArrayLike = 0.0,
        response_noise: float = 0.0,
    ) -> None:
        faults: list[str] = []
        covariance = world.covariance
        start = np.empty(0)
        try:  # a learner has beliefs and an imputation; its curve plays no part here
            learner = Learner(beliefs, OneShot(), imputation)
            start = learner.initial
            if start.size == world.size:
                covariance = learner.imputing_covariance(world)
            else:
                faults.append(
                    f"beliefs: {start.size} weights, but the world has {world.size} tests; "
                    "lengths must agree"
                )
        except InvalidInput as error:
            faults += [fault.replace("initial:", "beliefs:", 1) for fault in error.faults]
        if not is_number(response_noise) or response_noise < 0:
            faults.append(
                f"response_noise: {response_noise!r}, must be a standard deviation of at least 0"
            )
        InvalidProblem.raise_if([*faults, *self._own_faults()])
        self.beliefs = frozen_array(start)
        self.response_noise = float(response_noise)
        self._imputer = Imputer(covariance)
        self.reset(0)

    def _own_faults(self) -> list[str]:
        """What is wrong with a subclass's own settings."""
        return []

    @abstractmethod
    def fresh(self, people: tuple[int, ...]) -> State:
        """The state of people who have not played yet.

        Parameters
        ----------
        people
            Shape of the crowd; () is one person.

        Returns
        -------
        State
            Whatever `learn` and `weights_of` take.
        """

    @abstractmethod
    def weights_of(self, state: State) -> FloatArray:
        """Weights in a state.

        Parameters
        ----------
        state
            Of a crowd of shape (...).

        Returns
        -------
        array of shape (..., n)
            In the world's units.
        """

    @abstractmethod
    def learn(
        self, state: State, filled: FloatArray, shown: npt.NDArray[np.bool_], outcome: FloatArray
    ) -> State:
        """The state after one more case each.

        Parameters
        ----------
        state
            Before the case, of a crowd of shape (...).
        filled
            All tests as the people have them in mind, shape (..., n).
        shown
            Which of them were seen, shape (..., n).
        outcome
            What was true, shape (...).

        Returns
        -------
        State
            After the case.
        """

    @property
    def weights(self) -> FloatArray:
        """The person's weights now, shape (n,)."""
        return self.weights_of(self._state)

    def reset(self, rng: Seed = None) -> None:
        """Somebody new with the same beliefs at the start.

        Parameters
        ----------
        rng
            A seed or a generator, where slips come from.
        """
        self._rng = np.random.default_rng(rng)
        self._state = self.fresh(())
        self._slip = self._next_slip()

    def predict(self, shown: TestSet, values: FloatArray) -> float:
        """Fill in, add up, slip.

        Parameters
        ----------
        shown
            Indices of the shown tests, in rising order.
        values
            Their results in the same order, shape (len(shown),), in the world's units.

        Returns
        -------
        float
            The predicted outcome, in the world's units.
        """
        filled = self._imputer.one(shown, values)
        return float(_added_up(self.weights, filled)) + self._slip

    def feedback(self, shown: TestSet, values: FloatArray, outcome: float) -> None:
        """Learn, and go on to the next round.

        Parameters
        ----------
        shown
            Indices of the shown tests, in rising order.
        values
            Their results in the same order, shape (len(shown),), in the world's units.
        outcome
            What was true, in the world's units.
        """
        seen = np.zeros(self.beliefs.size, dtype=np.bool_)
        seen[list(shown)] = True
        filled = self._imputer.one(shown, values)
        self._state = self.learn(self._state, filled, seen, np.asarray(outcome))
        self._slip = self._next_slip()

    def predict_many(self, sessions: Sessions, rngs: Sequence[np.random.Generator]) -> FloatArray:
        """All people at once, round by round.

        Parameters
        ----------
        sessions
            What they are shown, and what is true.
        rngs
            One generator for each person.

        Returns
        -------
        array of shape (people, rounds)
            Predicted outcomes, in the world's units.
        """
        filled, shown = self._imputer.many(sessions), sessions.shown
        answers = np.empty((sessions.people, sessions.rounds))
        state = self.fresh((sessions.people,))
        for t in range(sessions.rounds):
            answers[:, t] = _added_up(self.weights_of(state), filled[:, t])
            state = self.learn(state, filled[:, t], shown[:, t], sessions.outcomes[:, t])
        if self.response_noise:
            slips = [rng.standard_normal(sessions.rounds) for rng in rngs]
            answers += self.response_noise * np.array(slips)
        return answers

    def _next_slip(self) -> float:
        # Drawn ahead of the question, so that asking twice gives the same answer.
        return self.response_noise * self._rng.standard_normal() if self.response_noise else 0.0


def _added_up(weights: FloatArray, filled: FloatArray) -> FloatArray:
    total: FloatArray = np.sum(weights * filled, axis=-1)
    return total
