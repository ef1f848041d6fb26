"""Expected losses of people whose errors are a function of their exposure to each test.

The state is the exposure m to each test: one more when it is shown, a share f less when it is
hidden (none for people who do not forget); the person's curves at m give the errors. Expected
losses are exact. So are prices if nothing is forgotten, whatever the curves: another set in one
round moves each exposure by at most one showing from then on, and the effect on later rounds is a
quadratic form in the tests that gain and lose one. With forgetting, differences in exposure fade at
a rate that depends on the exposure, and the form is first order: planners confirm its prices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidProblem
from preceptor.model.expected import (
    Tail,
    check_endless,
    positions_of,
)
from preceptor.model.person import size_faults
from preceptor.model.problem import MOST_ROUNDS
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.people.curves import Geometric, OneShot, PowerLaw, Tabulated
from preceptor.people.first_order_walk import Stepwise
from preceptor.people.set_readings import deviations_of

if TYPE_CHECKING:
    from preceptor.people.by_showings import Exposed


# A weighted distance from its limit, as a share of the first error, that a cost does not notice;
# as in the kernels.
_SMALL = 1e-14


class _Code(IntEnum):
    """How kernels evaluate a curve: two closed forms, and a table of errors for all others."""

    GEOMETRIC = 0
    POWER_LAW = 1
    TABLE = 2


class Exposures(Stepwise):
    """`Expected` of people whose state is exposure, with or without forgetting: exact losses.

    Parameters
    ----------
    person
        Initial weights, curves, imputation.
    world
        Model of tests and outcomes.
    sets
        Sets of tests that may be shown.
    start
        Initial exposure to each test; zero if omitted.
    forgetting
        Share of exposure that a test loses in a round in which it is hidden, from 0 to 1.

    Raises
    ------
    InvalidProblem
        Person, start and world disagree about the number of tests.

    Examples
    --------
    >>> import preceptor as pr
    >>> world, sets = pr.World([1.0], [[1.0]], 0.5), pr.AtMost(1).sets(1)   # () and (0,)
    >>> person = Exposures(pr.Learner([0.0], pr.PowerLaw(2.0)), world, sets)
    >>> person.losses([1, 1, 1]).round(4).tolist()   # errors 1, 1/2, 1/3
    [1.5, 0.75, 0.6111]
    """

    def __init__(
        self,
        person: Exposed,
        world: World,
        sets: SetFamily,
        start: Sequence[int] | FloatArray | None = None,
        forgetting: float = 0.0,
    ) -> None:
        faults = size_faults(person.size, world.size)
        if start is not None and len(start) != world.size:
            faults.append(f"start: {len(start)} showings, but the world has {world.size} tests")
        InvalidProblem.raise_if(faults)
        self.person = person
        self.sets = sets
        self.forgetting = float(forgetting)
        self.start = np.zeros(world.size) if start is None else np.array(start, dtype=np.float64)
        self.first: FloatArray = np.array(world.coefficients - person.initial)
        self.deviations = deviations_of(world, sets, person.imputing_covariance(world))
        curves = person.curve_of
        # Integer exposure is looked up; only fractions need a formula.
        self._code = np.full(world.size, _Code.TABLE, dtype=np.int64)
        self._rate = np.zeros(world.size)
        for i, curve in enumerate(curves if self.forgetting else ()):
            if type(curve) is Geometric:
                self._code[i], self._rate[i] = _Code.GEOMETRIC, math.log(curve.alpha)
            elif type(curve) is PowerLaw:
                self._code[i], self._rate[i] = _Code.POWER_LAW, curve.exponent / 2.0
        self.has_tables = bool(np.any(self._code == _Code.TABLE))
        self._root = np.sqrt(np.array([curve.floor for curve in curves]))
        self._ends = self.first * np.sqrt(np.array([curve.limit for curve in curves]))
        self._table = np.empty((world.size, 0))
        self._padded = self._table  # the table with its first column twice
        self._settled = np.zeros(world.size)  # showings after which an error is at its limit
        self._tails: dict[tuple[Tail, float], _EndlessTail] = {}
        self.exact_prices = self.forgetting == 0.0
        known = (Geometric, PowerLaw, Tabulated, OneShot)
        self.exact = self.exact_prices or all(type(curve) in known for curve in curves)
        if not self.exact:
            self.accuracy = (
                "with forgetting, user-defined curves are evaluated at the integer below the "
                "exposure, so learning is predicted up to one showing too late"
            )

    def arrays(self, rounds: int) -> tuple[float, Any, Any]:
        """Return the kernels' arguments, with tables long enough for this many rounds.

        Parameters
        ----------
        rounds
            Number of rounds after the start.

        Returns
        -------
        tuple of arrays
            Share of exposure kept, the curves, the deviations.
        """
        most = int(self.start.max(initial=0.0)) + rounds + 2
        if self.has_tables and self._table.shape[1] < most:
            columns = np.arange(2 * most, dtype=np.float64)
            left = np.array([curve.retention(columns) for curve in self.person.curve_of])
            self._table = np.ascontiguousarray(self.first[:, None] * left)
            apart = np.abs(self._table - self._ends[:, None])
            moves = apart > _SMALL * np.abs(self.first).max(initial=0.0)
            self._settled = np.where(moves, columns + 1.0, 0.0).max(axis=1)
            self._padded = np.hstack([self._table[:, :1], self._table])
        curves = (self._code, self._rate, self._root, self.first, self._ends, self._table)
        return 1.0 - self.forgetting, curves, self.deviations.arrays

    def errors_at(self, exposures: FloatArray) -> FloatArray:
        """Return the errors of the weights at some exposure.

        Parameters
        ----------
        exposures
            Exposure to each test, shape (n,); infinity is allowed.

        Returns
        -------
        array of shape (n,)
            True minus current weights.
        """
        return self._read(exposures, 0.0)

    def smoothed_errors(self, exposures: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return errors and their slopes, interpolating tables linearly.

        Parameters
        ----------
        exposures
            Exposure to each test, shape (n,).

        Returns
        -------
        errors of shape (n,)
            True minus current weights.
        slopes of shape (n,)
            Derivative of each error with respect to exposure.
        """
        from preceptor.people._exposure_kernels import slopes_at

        errors = self.errors_at(exposures)
        slopes = np.empty(errors.size)
        slopes_at(exposures, errors, self.arrays(0)[1], slopes)
        steps = self._code == _Code.TABLE
        step = np.where(steps, self._read(exposures, 1.0) - errors, 0.0)
        fraction = np.where(step != 0.0, exposures, 0.0) % 1.0  # infinity has none, and no step
        return errors + step * fraction, np.where(steps, step, slopes)

    def _read(self, exposures: FloatArray, shift: float) -> FloatArray:
        from preceptor.people._exposure_kernels import errors_at

        finite = exposures[np.isfinite(exposures)]
        # By the end of the longest problem a curve without a formula has reached its limit.
        reach = int(min(finite.max(initial=0.0), MOST_ROUNDS))
        out = np.empty(exposures.size)
        errors_at(np.asarray(exposures, dtype=np.float64), shift, self.arrays(reach)[1], out)
        return out

    @property
    def has_closed_tails(self) -> bool:
        """True: a tail is followed to its limit orbit, which is a geometric sum."""
        return True

    @property
    def adjoint_shape(self) -> tuple[int, ...]:
        """`lin` and `cross` of the kernels in a row."""
        n = self.start.size
        return (2 * n + (3 if self.has_tables else 1) * n * n,)

    def advance(self, path: IntArray, first: int, states: FloatArray, losses: FloatArray) -> None:
        """Fill in losses and exposure along a path."""
        from preceptor.people._exposure_kernels import walk_exposures

        walk_exposures(path, *self.arrays(first + path.size), states, losses)

    def retreat(
        self, path: IntArray, first: int, states: FloatArray, adjoints: FloatArray, discount: float
    ) -> None:
        """Fill in the effect on later rounds of one showing more or less of each test."""
        from preceptor.people._exposure_kernels import take_back_all

        take_back_all(path, discount, *self.arrays(first + path.size), states, adjoints)

    def set_prices(
        self, state: FloatArray, t: int, adjoint: FloatArray, positions: IntArray, discount: float
    ) -> FloatArray:
        """Return each set's loss in round t plus what it changes in all later ones."""
        from preceptor.people._exposure_kernels import exposure_prices

        out = np.empty(positions.size)
        exposure_prices(positions, state, adjoint, discount, *self.arrays(t + 1), out)
        return out

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """True minus expected weights before each round, shape (rounds, n)."""
        _, states = self.play(self.start, positions_of(schedule), 0)
        return np.array([self.errors_at(each) for each in states[:-1]]).reshape(states[:-1].shape)

    def tail_cost(self, state: FloatArray, discount: float, tail: Tail, first: int = 0) -> float:
        """Return the cost of repeating a tail forever from some exposure on.

        Parameters
        ----------
        state
            Exposure before the first round of the tail, shape (n,); not modified.
        discount
            Discount factor.
        tail
            Positions of sets; an empty tail costs nothing.
        first
            Number of rounds since the start, which bounds the exposure.

        Returns
        -------
        float
            Discounted to the first round of the tail, to machine precision.
        """
        if not tail:
            return 0.0
        if self.exact_prices:
            return self._endless(tail, discount, first).cost(state.astype(np.int64))
        return self._tail_played(state, discount, tail, first, 0)[0]

    def tail_adjoint(
        self, state: FloatArray, discount: float, tail: Tail, first: int = 0
    ) -> FloatArray:
        """Return what one showing more or less of each test does to the cost of a tail."""
        from preceptor.people._exposure_kernels import take_back_word

        if self.exact_prices:
            return self._endless(tail, discount, first).adjoint(state.astype(np.int64))
        longest = tail_rounds(discount) + len(tail)
        _, near, end, record = self._tail_played(state, discount, tail, first, longest)
        adjoint, arrays = np.zeros(self.adjoint_shape), self.arrays(first + longest)
        take_back_word(positions_of(tail), discount, *arrays, end, record[:near], adjoint)
        return adjoint

    def _tail_played(
        self, state: FloatArray, discount: float, tail: Tail, first: int, recorded: int
    ) -> tuple[float, int, FloatArray, FloatArray]:
        """Cost of a tail, rounds played until prices are precise, exposure then and before each."""
        from preceptor.people._exposure_kernels import play_word

        check_endless(discount)
        arrays = self.arrays(first + tail_rounds(discount) + len(tail))
        end, record = state.copy(), np.empty((recorded, state.size))
        cost, near = play_word(positions_of(tail), discount, *arrays, end, record)
        return float(cost), near, end, record

    def _endless(self, tail: Tail, discount: float, first: int) -> _EndlessTail:
        """A tail of someone who forgets nothing, with tables that are long enough."""
        found = self._tails.get((tail, discount))
        if found is None or found.first < first:
            check_endless(discount)
            self.arrays(first + tail_rounds(discount) + len(tail))
            found = _EndlessTail(self, positions_of(tail), discount, first)
            self._tails[tail, discount] = found
        return found

    def orbit_losses(self, word: Tail) -> FloatArray:
        """Return the limiting losses of the rounds of a sequence of sets repeated forever.

        Parameters
        ----------
        word
            Positions of sets.

        Returns
        -------
        array of shape (len(word),)
            Round by round; their mean is the long-run average loss.
        """
        from preceptor.people._exposure_kernels import limit_orbit, losses_of_all

        sets = positions_of(word)
        orbit = np.empty((sets.size, self.start.size))
        omega, members, sizes, *_ = model = self.deviations.arrays
        limit_orbit(sets, 1.0 - self.forgetting, self.start, members, sizes, orbit)
        out = np.empty(sets.size)
        for t in range(sets.size):
            q = omega @ self.errors_at(orbit[t])
            losses_of_all(sets[t : t + 1], q, model, out[t : t + 1])
        return out

    def floors(self) -> FloatArray:
        """Loss of each set under the best weights, price included, shape (sets,)."""
        return self.deviations.least.copy()


class _EndlessTail:
    """Sets that are repeated forever for someone who forgets nothing.

    Only tests of these sets move, each by the same number of showings in every repetition, so their
    errors in one round of all repetitions are a slice of the table of errors. Costs and prices are
    discounted sums of products of such slices. Valid up to `first` rounds after the start.
    """

    def __init__(self, person: Exposures, word: IntArray, discount: float, first: int) -> None:
        omega, members, sizes, least, bend, factor = person.deviations.arrays
        # One showing less than none is none: the first column stands twice.
        self.first, self._table = first, person._padded
        shown = np.zeros((word.size, len(omega)), dtype=np.int64)
        self._rounds = []  # F_s Ω[S,:], bend_s and least_s
        for p, (s, k) in enumerate(zip(word, sizes[word], strict=True)):
            tests = members[s, :k]
            shown[p, tests] = 1
            self._rounds.append((factor[s, :k, :k] @ omega[tests], bend[s, :k], float(least[s])))
        self._moving = np.flatnonzero(shown.any(axis=0))
        self._gains = shown.sum(axis=0)[self._moving]
        self._before = (np.cumsum(shown, axis=0) - shown)[:, self._moving]
        # One showing less must be at the limit, too.
        self._settled = person._settled[self._moving] + 1.0
        self._ends, self._discount = person._ends[self._moving], discount
        self._weights = _weights_of_repetitions(discount, word.size)
        self._forever = 1.0 / (1.0 - discount**word.size)

    def _repeats(self, start: IntArray) -> int:
        """Repetitions until no error moves any more, or none that counts."""
        left = ((self._settled - start[self._moving]) / self._gains).max(initial=0.0)
        return min(int(left) + 1, self._weights.size - 1)

    def _errors(self, start: IntArray, p: int, repeats: int, shift: int = 0) -> FloatArray:
        """Errors of the tests that move in round p of each repetition, and in the limit."""
        errors = np.empty((self._moving.size, repeats + 1))
        begin = start[self._moving] + self._before[p] + (1 + shift)
        for j, (i, m, gain) in enumerate(zip(self._moving, begin, self._gains, strict=True)):
            errors[j, :-1] = self._table[i, m : m + gain * repeats : gain]
        errors[:, -1] = self._ends
        return errors

    def _still(self, start: IntArray, shift: int = 0) -> FloatArray:
        """Errors of all tests, 0 for those that move."""
        errors = self._table[np.arange(start.size), start + (1 + shift)]
        errors[self._moving] = 0.0
        return errors

    def _away(self, p: int, errors: FloatArray, still: FloatArray) -> FloatArray:
        """Deviation of round p in each repetition, shape (k, repetitions)."""
        rows, bend, _ = self._rounds[p]
        return np.asarray(rows[:, self._moving] @ errors + (bend + rows @ still)[:, None])

    def cost(self, start: IntArray) -> float:
        """From these numbers of showings on, discounted to the first round."""
        repeats, still, cost = self._repeats(start), self._still(start), 0.0
        for p, (_, _, least) in enumerate(self._rounds):
            away = self._away(p, self._errors(start, p, repeats), still)
            squares = np.einsum("rt,rt->t", away, away)
            played = squares[:-1] @ self._weights[:repeats]
            later = squares[-1] * self._weights[repeats] * self._forever
            cost += self._discount**p * (least * self._forever + played + later)
        return float(cost)

    def adjoint(self, start: IntArray) -> FloatArray:
        """`lin` and `cross` of the kernels, in a row."""
        n, k = start.size, self._moving.size
        repeats, still = self._repeats(start), self._still(start)
        weights = self._weights[: repeats + 1].copy()
        weights[-1] *= self._forever
        # How changes of all errors follow from 1 and from the changes of those that move.
        lift = np.zeros((2, n, 1 + 2 * k))
        for sign, shift in enumerate((1, -1)):
            lift[sign, :, 0] = self._still(start, shift) - still
            lift[sign, self._moving, 1 + sign * k + np.arange(k)] = 1.0
        lin, cross = np.zeros((2, n)), np.zeros((3, n, n))
        for p, (rows, _, _) in enumerate(self._rounds):
            errors = self._errors(start, p, repeats)
            away = self._away(p, errors, still)
            changes = [self._errors(start, p, repeats, shift) - errors for shift in (1, -1)]
            basis = np.concatenate([np.ones((1, repeats + 1)), *changes])
            weighed = basis * (self._discount**p * weights)
            pull, both, reading = weighed @ away.T, weighed @ basis.T, rows.T @ rows
            lin += 2.0 * ((lift @ pull) * rows.T).sum(axis=2)
            for c, (one, two) in enumerate(((0, 0), (0, 1), (1, 1))):
                cross[c] += reading * (lift[one] @ both @ lift[two].T)
        return np.concatenate([lin.ravel(), cross.ravel()])


@lru_cache(maxsize=16)
def _weights_of_repetitions(discount: float, length: int) -> FloatArray:
    """Weight of each repetition of so many rounds, as long as it counts."""
    repeats = tail_rounds(discount) // length + 2
    return np.asarray(discount ** (length * np.arange(float(repeats))))


def tail_rounds(discount: float) -> int:
    """Return an upper bound on the rounds of a tail played before its last repetition."""
    return 2 if discount <= 0.0 else math.ceil(math.log(_SMALL / 2.0) / math.log(discount)) + 2
