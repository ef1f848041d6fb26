"""What is expected of a person who learns by showings, charged by any risk.

Squared errors in closed form have exact prices of their own (`people.exposures`). Every other
charge, and every loss that comes from a sample, is asked of the problem's oracle: exactly for the
rounds that are played, and to first order for what a change does to later rounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.people.expected import Tail
from preceptor.people.first_order_walk import FirstOrderWalk, tail_total
from preceptor.problem import Problem


class ChargedRounds:
    """`Expected` of a problem whose person learns by showings; a state is its counts, (n,)."""

    exact_prices: bool = False
    accuracy: str = ""
    # Losses are exact, but a walk may pass over changes whose slopes say that they are worse: each
    # costs a replay of all later rounds.
    exact: bool = False

    def __init__(self, problem: Problem) -> None:
        self._problem, self._oracle = problem, problem.oracle
        self._shown = problem.sets.membership.astype(np.float64)
        self._names = list(problem.sets)
        self._left = np.empty((problem.size, 0))

    @property
    def start(self) -> FloatArray:
        """The showings before the first round."""
        return np.array(self._problem.start_counts, dtype=np.float64)

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Loss of each round (rounds,)."""
        return self.play(self.start, np.asarray(schedule, dtype=np.int64), 0)[0]

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Discounted loss of a schedule and of its tail."""
        return tail_total(self, np.asarray(schedule, dtype=np.int64), discount, tail)

    def floors(self) -> FloatArray:
        """A loss that each set never goes below (sets,)."""
        return self._oracle.floors()

    def walk(self, rounds: int, discount: float) -> FirstOrderWalk:
        """Room for schedules of so many rounds."""
        return FirstOrderWalk(self, rounds, discount)

    # --- what the walk asks ---

    def play(self, state: FloatArray, path: IntArray, first: int) -> tuple[FloatArray, FloatArray]:
        """Losses along a path, and the counts before and after its rounds."""
        states = np.concatenate([state[None, :], self._shown[path]]).cumsum(axis=0)
        return self._charged(states[:-1], path), states

    def adjoints(
        self, states: FloatArray, path: IntArray, first: int, end: FloatArray, discount: float
    ) -> FloatArray:
        """What one showing more of each test changes from every round on (rounds + 1, n)."""
        tests = states.shape[1]
        each = np.repeat(path, tests)
        more = (states[:-1, None, :] + np.eye(tests)).reshape(-1, tests)
        now = np.repeat(self._charged(states[:-1], path), tests)
        slopes = (self._charged(more, each) - now).reshape(-1, tests)
        out = np.empty((path.size + 1, tests))
        out[-1] = end
        for t in range(path.size - 1, -1, -1):
            out[t] = slopes[t] + discount * out[t + 1]
        return out

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Each set's loss in a round, and to first order what it makes of later rounds."""
        now: FloatArray = self._oracle.losses(self._errors(state[None, :]))[0, positions]
        return now + discount * (self._shown[positions] @ adjoint)

    def _charged(self, states: FloatArray, path: IntArray) -> FloatArray:
        """Loss (rounds,) of each set of a path in each state (rounds, n)."""
        errors, out = self._errors(states), np.empty(path.size)
        for position in set(path.tolist()):
            rounds = path == position
            out[rounds] = self._oracle.loss_of(errors[rounds], self._names[position])
        return out

    def _errors(self, states: FloatArray) -> FloatArray:
        """Errors (states, n) after these showings."""
        problem = self._problem
        counts = (states - self.start).astype(np.int64)
        most = int(counts.max(initial=0))
        if self._left.shape[1] <= most:
            self._left = problem.by_showings.retention_table(problem.start_counts, 2 * most + 100)
        wrong = problem.world.coefficients - problem.learner.initial
        return wrong * self._left[np.arange(problem.size), counts]
