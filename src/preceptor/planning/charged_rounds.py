"""Expected losses of a learner by showings under any charge for the variance of the residual.

Squared errors in closed form have exact prices of their own (`people.exposures`). Every other
charge is tabulated as a function of the standard deviation, so that a compiled loop can play
schedules for built-in and user-defined risks alike.

Under an empirical loss, charges depend on more than the variance; here the residuals are then taken
to be normal with the variance of the sample.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.numerics import rounds_until, weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.expected import Tail, check_endless, positions_of
from preceptor.model.problem import Problem
from preceptor.model.risks import NumberRisk, SquaredError
from preceptor.people.first_order_walk import Stepwise

if TYPE_CHECKING:
    from preceptor.planning._charged_kernels import Model, Word

# Cells of the table of charges: enough for nine digits.
_CELLS = 2048
# Turns of a tail that are all played; then every turn stands for a tenth of those before it, until
# they weigh less than the share, or there are too many.
_PLAYED_TURNS, _SPACING, _NEGLIGIBLE, _MOST_TAIL_ROUNDS = 32, 1.1, 1e-9, 20_000


class ChargedRounds(Stepwise):
    """`Expected` of a problem whose person learns by showings; a state is counts since the start.

    Prices are exact for sets that differ from the present one by up to two tests.
    """

    def __init__(self, problem: Problem) -> None:
        forms = problem.replace(risk=SquaredError()).oracle.forms()
        assert forms is not None
        assert isinstance(problem.risk, NumberRisk)
        self._problem = problem
        self.sets, self.start = problem.sets, np.zeros(problem.size)
        self._shown = problem.sets.membership.astype(np.int64)
        self._wrong = problem.world.coefficients - problem.learner.initial
        self._errors = np.empty((problem.size, 0))
        self._forms = (forms.floor, forms.shift, forms.reading, forms.prices)
        reach = np.abs(forms.shift) + np.abs(forms.reading) @ np.abs(problem.initial_errors)
        largest = np.max(forms.floor + np.sum(reach**2, axis=1))
        self._charges = _tabulated(
            problem.risk, float(np.sqrt(forms.floor.min())), float(np.sqrt(largest))
        )
        self.exact_prices = int(problem.sets.sizes.max()) == 1

    @property
    def has_closed_tails(self) -> bool:
        """True: of the turns of a tail a few are played, which stand for the others."""
        return True

    @property
    def adjoint_shape(self) -> tuple[int, ...]:
        """`one` and `two` of the kernels in a row."""
        n = self.start.size
        return (2 * n + 4 * n * n,)

    def floors(self) -> FloatArray:
        """A loss that each set never goes below (sets,)."""
        return self._problem.oracle.floors()

    def advance(self, path: IntArray, first: int, states: FloatArray, losses: FloatArray) -> None:
        """Fill in losses and counts along a path."""
        from preceptor.planning._charged_kernels import play_charged

        play_charged(path, self._model(first + path.size), states, losses)

    def retreat(
        self, path: IntArray, first: int, states: FloatArray, adjoints: FloatArray, discount: float
    ) -> None:
        """Fill in the effect on later rounds of one showing more or less of each test."""
        from preceptor.planning._charged_kernels import retreat_charged

        retreat_charged(path, discount, self._model(first + path.size), states, adjoints)

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Return each set's loss in round t plus what it changes in all later ones."""
        from preceptor.planning._charged_kernels import price_sets

        out = np.empty(positions.size)
        price_sets(positions, state, discount, self._model(t), adjoint, out)
        return out

    def tail_cost(self, state: FloatArray, discount: float, tail: Tail, first: int = 0) -> float:
        """Return the cost of a tail from a state, discounted to its first round, `first`."""
        from preceptor.planning._charged_kernels import play_tail

        word = word_of(tail, discount)
        return float(play_tail(discount, word, self._model(first, word), state))

    def tail_adjoint(
        self, state: FloatArray, discount: float, tail: Tail, first: int = 0
    ) -> FloatArray:
        """Return what one showing more or less of each test does to the cost of a tail."""
        from preceptor.planning._charged_kernels import retreat_tail

        word, adjoint = word_of(tail, discount), np.zeros(self.adjoint_shape)
        retreat_tail(discount, word, self._model(first, word), state, adjoint)
        return adjoint

    def _model(self, rounds: int, word: Word | None = None) -> Model:
        """Sets, errors, forms and charges as kernels read them, for counts that this can reach."""
        most = rounds + 2
        if word is not None and word[1].size:
            most += word[0].size * (int(word[1][-1]) + 1)
        if self._errors.shape[1] <= most:
            problem = self._problem
            left = problem.by_showings.retention_table(problem.start_counts, 2 * most)
            self._errors = np.ascontiguousarray(self._wrong[:, None] * left)
        return (self._shown, self._errors, *self._forms, *self._charges)


@lru_cache(maxsize=256)
def word_of(tail: Tail, discount: float) -> Word:
    """A repeated word as kernels read it: turns that are played, and the weights of all near them.

    Losses between two of these turns are interpolated, and stay as they are after the last.
    """
    word = positions_of(tail)
    if not tail:
        return word, np.empty(0, dtype=np.int64), np.empty(0)
    check_endless(discount)
    ratio = discount**word.size
    last = 1 if ratio == 0.0 else rounds_until(ratio, _NEGLIGIBLE)
    last = max(1, min(last, _MOST_TAIL_ROUNDS // word.size))
    turns = list(range(min(_PLAYED_TURNS, last) + 1))
    while turns[-1] < last:
        turns.append(min(int(turns[-1] * _SPACING), last))
    played = np.array(turns, dtype=np.int64)
    each = weights(ratio, last + 1)
    each[-1] /= 1.0 - ratio
    turn = np.arange(last + 1)
    below = np.minimum(np.searchsorted(played, turn, side="right") - 1, played.size - 2)
    above = (turn - played[below]) / (played[below + 1] - played[below])
    share = np.zeros(played.size)
    np.add.at(share, below, each * (1.0 - above))
    np.add.at(share, below + 1, each * above)
    return word, played, share


def _tabulated(risk: NumberRisk, low: float, high: float) -> tuple[float, float, FloatArray]:
    """Expected charge by standard deviation: cubics through four points of each cell."""
    high = max(high, low + 1e-9 * max(low, 1.0)) * (1.0 + 1e-9)
    deviations = np.linspace(low, high, 3 * _CELLS + 1)
    charges = np.asarray(risk.expected(deviations**2))
    points = np.lib.stride_tricks.sliding_window_view(charges, 4)[::3]
    through = np.linalg.inv(np.vander(np.arange(4) / 3.0, increasing=True))
    return low, _CELLS / (high - low), np.ascontiguousarray(points @ through.T)
