"""What is expected of a person who learns by showings, charged by any risk.

Squared errors in closed form have exact prices of their own (`people.exposures`). Every other
charge, and every loss that comes from a sample, is asked of the problem's oracle: exactly for the
rounds that are played, and to first order for what a change does to later rounds.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.loss import ClosedForm
from preceptor.model.risks import NumberRisk, SquaredError
from preceptor.people.first_order_walk import Stepwise
from preceptor.problem import Problem


class ChargedRounds(Stepwise):
    """`Expected` of a problem whose person learns by showings; a state is its counts, (n,)."""

    # Each change costs a replay of all later rounds.
    guesses: bool = True

    def __init__(self, problem: Problem) -> None:
        squared = problem.replace(risk=SquaredError()).oracle.forms()
        assert squared is not None
        assert isinstance(problem.risk, NumberRisk)
        self._problem, self._risk, self._forms = problem, problem.risk, squared
        self.sets = problem.sets
        self.start = np.array(problem.start_counts, dtype=np.float64)
        self._shown = problem.sets.membership.astype(np.float64)
        self._left = np.empty((problem.size, 0))
        # On a sample, what a risk other than squared error charges is more than its variance says.
        is_known = isinstance(problem.loss, ClosedForm) or isinstance(problem.risk, SquaredError)
        self._names = None if is_known else list(problem.sets)

    def floors(self) -> FloatArray:
        """A loss that each set never goes below (sets,)."""
        return self._problem.oracle.floors()

    def play(self, state: FloatArray, path: IntArray, first: int) -> tuple[FloatArray, FloatArray]:
        """Losses along a path, and the counts before and after its rounds."""
        states = np.concatenate([state[None, :], self._shown[path]]).cumsum(axis=0)
        return self._charged(states[:-1], path), states

    def adjoints(
        self, states: FloatArray, path: IntArray, first: int, end: FloatArray, discount: float
    ) -> FloatArray:
        """What one showing more of each test changes from every round on (rounds + 1, n)."""
        errors = self._errors(states[:-1])
        steps = self._errors(states[:-1] + 1.0) - errors
        reading = self._forms.reading[path]
        deviation, variance = self._read(errors, path)
        along = np.einsum("tri,tr->ti", reading, deviation)
        changed = 2.0 * steps * along + steps**2 * np.sum(reading**2, axis=1)
        then = np.maximum(variance[:, None] + changed, 0.0)
        slopes = self._risk.expected(then) - self._risk.expected(variance)[:, None]
        out = np.concatenate([slopes, end[None, :]])
        for t in range(path.size - 1, -1, -1):
            out[t] += discount * out[t + 1]
        return out

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Each set's loss in a round, and to first order what it makes of later rounds."""
        now = self._charged(np.tile(state, (positions.size, 1)), positions)
        return now + discount * (self._shown[positions] @ adjoint)

    def _charged(self, states: FloatArray, path: IntArray) -> FloatArray:
        """Loss (rounds,) of each set of a path in each state (rounds, n)."""
        errors = self._errors(states)
        if self._names is None:
            return self._risk.expected(self._read(errors, path)[1]) + self._forms.prices[path]
        out, oracle = np.empty(path.size), self._problem.oracle
        for position in set(path.tolist()):
            rounds = path == position
            out[rounds] = oracle.loss_of(errors[rounds], self._names[position])
        return out

    def _read(self, errors: FloatArray, path: IntArray) -> tuple[FloatArray, FloatArray]:
        """How far each set is read from its best reading (rounds, rows), and the variance left."""
        forms = self._forms
        deviation = forms.shift[path] + (forms.reading[path] @ errors[:, :, None])[:, :, 0]
        return deviation, forms.floor[path] + np.sum(deviation * deviation, axis=1)

    def _errors(self, states: FloatArray) -> FloatArray:
        """Errors (states, n) after these showings."""
        problem = self._problem
        counts = (states - self.start).astype(np.int64)
        most = int(counts.max(initial=0))
        if self._left.shape[1] <= most:
            self._left = problem.by_showings.retention_table(problem.start_counts, 2 * most + 100)
        wrong = problem.world.coefficients - problem.learner.initial
        return wrong * self._left[np.arange(problem.size), counts]
