"""The paper's learner as a person, and two variations: one forgets, one ignores correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count, is_number
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.problem import Problem
from preceptor.simulation.readers import Reader


class PaperLearner(Reader[FloatArray]):
    """The paper's person: every showing moves a weight along the curve, whatever the outcome was.

    The state is the exposure (n,) to each test, so mean losses in simulation must agree with the
    exact values of `evaluate`.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    learner
        First beliefs, curves and imputation.
    start
        Showings of each test before, n of them; none if left out.
    response_noise
        Standard deviation of a slip added to every answer, in units of the outcome.

    Examples
    --------
    >>> from preceptor import Geometric
    >>> person = PaperLearner(World([1.0], [[1.0]]), Learner([0.0], Geometric(2.0)))
    >>> person.feedback((0,), np.array([3.0]), 3.1)
    >>> person.weights
    array([0.5])
    """

    def __init__(
        self,
        world: World,
        learner: Learner,
        start: Sequence[int] | None = None,
        response_noise: float = 0.0,
    ) -> None:
        counts = (0,) * world.size if start is None else tuple(start)
        faults = []
        if learner.size != world.size:
            faults.append(
                f"learner: {learner.size} initial coefficients, but the world has {world.size} "
                "tests; lengths must agree"
            )
        if len(counts) != world.size or not all(is_count(c, least=0) for c in counts):
            faults.append(f"start: {counts}, must be {world.size} whole numbers of at least 0")
        InvalidProblem.raise_if(faults)
        self._world, self._learner = world, learner
        self._start = np.array(counts, dtype=np.float64)
        beliefs = learner.beliefs(world, self._start)
        super().__init__(world, beliefs, learner.imputation, response_noise)

    @classmethod
    def of(cls, problem: Problem, response_noise: float = 0.0) -> PaperLearner:
        """The person that a problem is about.

        Parameters
        ----------
        problem
            Whose world, learner and start are taken.
        response_noise
            Standard deviation of a slip added to every answer, in units of the outcome.

        Returns
        -------
        PaperLearner
            Before the first round.
        """
        return PaperLearner(problem.world, problem.learner, problem.start, response_noise)

    @classmethod
    def ignoring_correlation(cls, problem: Problem, response_noise: float = 0.0) -> PaperLearner:
        """The same, but they take every hidden test to be average (κ = 1).

        Parameters
        ----------
        problem
            Whose world, learner and start are taken.
        response_noise
            Standard deviation of a slip added to every answer, in units of the outcome.

        Returns
        -------
        PaperLearner
            Before the first round.
        """
        learner = Learner(problem.learner.initial, problem.learner.curves, imputation=1.0)
        return PaperLearner(problem.world, learner, problem.start, response_noise)

    def fresh(self, people: tuple[int, ...]) -> FloatArray:
        """Exposure at the start."""
        return np.broadcast_to(self._start, (*people, self._start.size)).copy()

    def weights_of(self, state: FloatArray) -> FloatArray:
        """Where the curve is after this exposure."""
        return self._learner.beliefs(self._world, state)

    def learn(
        self,
        state: FloatArray,
        filled: FloatArray,
        shown: npt.NDArray[np.bool_],
        outcome: FloatArray,
    ) -> FloatArray:
        """One more showing of what was shown."""
        return state + shown


class Forgetful(PaperLearner):
    """The paper's person, who forgets tests that are not shown.

    Exposure to a test that is not shown in a round is multiplied by 1 - `forgetting`: at 0.02 half
    of it is gone after 34 rounds without the test, and the error grows back along the curve.
    Exposure is then no whole number. Geometric curves and power laws are defined there; a table
    or one-shot learning is read at the whole number below.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    learner
        First beliefs, curves and imputation.
    forgetting
        Share of the exposure to a hidden test that is lost each round, from 0 to 1.
    start
        Showings of each test before, n of them; none if left out.
    response_noise
        Standard deviation of a slip added to every answer, in units of the outcome.

    Examples
    --------
    >>> from preceptor import Geometric
    >>> learner = Learner([0.0], Geometric(4.0))
    >>> person = Forgetful(World([1.0], [[1.0]]), learner, forgetting=0.5, start=[1])
    >>> person.feedback((), np.array([]), 0.0)   # exposure falls to a half
    >>> person.weights
    array([0.5])
    """

    def __init__(
        self,
        world: World,
        learner: Learner,
        forgetting: float = 0.02,
        start: Sequence[int] | None = None,
        response_noise: float = 0.0,
    ) -> None:
        self.forgetting = forgetting
        super().__init__(world, learner, start, response_noise)

    @classmethod
    def of(cls, problem: Problem, response_noise: float = 0.0, forgetting: float = 0.02) -> Self:
        """The person that a problem is about, but forgetful.

        Parameters
        ----------
        problem
            Whose world, learner and start are taken.
        response_noise
            Standard deviation of a slip added to every answer, in units of the outcome.
        forgetting
            Share of the exposure to a hidden test that is lost each round, from 0 to 1.

        Returns
        -------
        Forgetful
            Before the first round.
        """
        return cls(problem.world, problem.learner, forgetting, problem.start, response_noise)

    def _own_faults(self) -> list[str]:
        if not is_number(self.forgetting) or not 0 <= self.forgetting <= 1:
            return [
                f"forgetting: {self.forgetting!r}, must be a share of exposure between 0 and 1 "
                "that is lost in a round"
            ]
        return []

    def learn(
        self,
        state: FloatArray,
        filled: FloatArray,
        shown: npt.NDArray[np.bool_],
        outcome: FloatArray,
    ) -> FloatArray:
        """One more showing of what was shown; the rest fades."""
        return np.where(shown, state + 1.0, state * (1.0 - self.forgetting))
