"""Problems as the arrays of the two duals: over counts, and over errors.

A state is how often each test was shown, for any curves, any imputation and any convex risk. Test i
has error `errors[i, m]` after m showings, and showing set S costs G(sqrt(floor[S] + |shift[S] +
reading[S] e|²)) + prices[S] with G convex and never falling, so that a round is convex in the
errors. G is the expected charge of a normal residual, by its standard deviation: if a charge is
convex, so is G. The dual over counts needs no more of curves, imputation, prices and risk.

The dual over errors serves squared error without shifts, where every showing divides an error by a
constant. Its errors are shares of the first ones, u in (0, 1], and readings are per share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preceptor._base.numerics import rounds_until, total_weight
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.certificate import COUNT_UNIT
from preceptor.model.gaussian_loss import GaussianOracle
from preceptor.model.loss import DeviationForms
from preceptor.model.problem import Problem
from preceptor.model.risks import NumberRisk
from preceptor.planning.candidate_sets import SET_LIMITS, shape_of


def basis_of(left: FloatArray) -> FloatArray:
    """Functions of a count that potentials mix (n, counts, 3), from shares of errors."""
    counts = np.broadcast_to(np.arange(left.shape[1]) / COUNT_UNIT, left.shape)
    return np.stack([counts, 1.0 - left, 1.0 - left**2], axis=2)


@dataclass(frozen=True, eq=False)
class CountInstance:
    """Arrays that define one problem.

    floor (sets,), shift (sets, rows), reading (sets, rows, n), prices (sets,), shown (sets, n);
    the charge G is a code with a number as in `model._loss_kernels`, or below 0 lines at `knots`.
    errors (n, M+1) by count up to `caps` (n,) <= M; from its cap on the error of a test stays
    between `low` and `high` (n,). basis (n, M+1, 3): functions of a count that potentials mix.
    singles (n, n) is the reading of each test alone, for the dual over errors. `horizon` None is
    infinite and needs `discount < 1`; an int is the number of rounds, nothing is paid after.

    `actions` are the sets that can matter before stopping. Showing nothing leaves the state as it
    is, so if it is best once it is best forever (for a finite horizon: postponing the plan by a
    round and ending with nothing are compared by the same sum). Bounds therefore treat the empty
    set as an absorbing stop, never as a round between two others.
    """

    floor: FloatArray
    shift: FloatArray
    reading: FloatArray
    prices: FloatArray
    shown: NDArray[np.bool_]
    code: int
    tau: float
    knots: FloatArray
    errors: FloatArray
    basis: FloatArray
    caps: IntArray
    low: FloatArray
    high: FloatArray
    length: int
    discount: float
    horizon: int | None
    singles: FloatArray

    @cached_property
    def actions(self) -> IntArray:
        """Positions of the sets that show something."""
        return np.flatnonzero(self.shown.any(axis=1))

    @cached_property
    def empty_set(self) -> int:
        """Position of the set that shows nothing, or -1."""
        empty = np.flatnonzero(~self.shown.any(axis=1))
        return int(empty[0]) if empty.size else -1

    @cached_property
    def members(self) -> IntArray:
        """Tests of each set (sets, widest), padded with -1."""
        sizes = self.shown.sum(axis=1)
        members = np.full((len(self.shown), max(int(sizes.max()), 1)), -1, dtype=np.int64)
        sets, tests = np.nonzero(self.shown)
        members[sets, np.arange(sets.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)] = tests
        return members

    @property
    def n_tests(self) -> int:
        """How many tests there are."""
        return int(self.caps.size)

    @property
    def moving(self) -> NDArray[np.bool_]:
        """(n,) tests whose error ever changes; the others need no potentials."""
        moves: NDArray[np.bool_] = (np.ptp(self.errors, axis=1) > 0.0) | (self.high > self.low)
        return moves & self.shown.any(axis=0)

    @property
    def every_count(self) -> IntArray:
        """All counts up to the largest cap."""
        return np.arange(int(self.caps.max()) + 1)

    @property
    def settled(self) -> NDArray[np.bool_]:
        """(n,) tests whose error never changes beyond their cap."""
        return np.asarray(self.high == self.low)

    @property
    def has_tail(self) -> bool:
        """Whether the last potentials repeat forever."""
        return self.horizon is None

    def rounds_value(self, first_round: int) -> float:
        """Discounted number of rounds from `first_round` on, as seen from it."""
        left = None if self.horizon is None else max(self.horizon - first_round, 0)
        return total_weight(self.discount, left)

    def stop_cost(self, first_round: int) -> float:
        """Cost of showing nothing from that round on; infinite where the budget forbids it."""
        if self.empty_set < 0:
            return np.inf
        return float(self.charge(self.empty_set, self.floor[self.empty_set])) * self.rounds_value(
            first_round
        )

    def charge(self, number: int, variance: float) -> float:
        """Loss of set `number` at this variance of the residual."""
        from preceptor.planning._count_dual_kernels import tangent

        size = float(np.sqrt(max(variance, 0.0)))
        height, _, _ = tangent(self.code, self.tau, self.knots, size)
        return float(height + self.prices[number])

    @property
    def loss_arrays(self) -> tuple[Any, ...]:
        """The arrays that define a round's loss, in the order in which kernels take them."""
        return (
            self.floor, self.shift, self.reading, self.prices, self.code, self.tau, self.knots,
            self.shown,
        )  # fmt: skip

    @property
    def count_arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, IntArray]:
        """Functions and errors by count, in the order in which kernels take them."""
        return self.basis, self.errors, self.low, self.high, self.caps


# Rounds with potentials of their own, at most.
_MOST_ROUNDS = 700


def why_not_counted(problem: Problem) -> str:
    """Why the dual over counts does not apply; empty if it does."""
    if not problem.learns_by_showings:
        return "the person does not learn by showings"
    if problem.is_binary:
        return "losses of yes-or-no answers are not convex in what the person knows"
    if problem.horizon is not None and problem.horizon > _MOST_ROUNDS:
        return f"{problem.horizon:,} rounds are too many for potentials of their own"
    if shape_of(problem).too_many_sets:
        return "there are too many sets to list"
    if len(problem.sets) > SET_LIMITS.bounded:
        return f"{len(problem.sets):,} sets are too many to bound in every round"
    if problem.discount == 0.0:
        return "nothing after the first round counts"
    if forms_of(problem) is None:
        return "losses come from a sample"
    if problem.risk.code < 0 and not is_convex(problem):
        return f"the risk ({problem.risk.in_words()}) is not convex"
    return ""


def forms_of(problem: Problem) -> DeviationForms | None:
    """Floors and deviations of all sets, independent of the risk."""
    forms = problem.oracle.forms()
    if forms is None and isinstance(problem.oracle, GaussianOracle):
        return problem.oracle.deviations()
    return forms


def to_counts(problem: Problem, *, over_errors: bool = False) -> CountInstance:
    """The arrays of a problem for which `why_not_counted` is empty, or whose shape `has_dual`."""
    forms = forms_of(problem)
    assert forms is not None
    world, n = problem.world, problem.size
    length = _length(problem, over_errors)
    left = problem.by_showings.retention_table(problem.start_counts, length)
    share = left / np.where(left[:, :1] == 0.0, 1.0, left[:, :1])
    first, units = problem.first_errors, np.ones(n)
    caps, knots = np.full(n, length), np.zeros((0, 3))
    if over_errors:
        units, first = problem.initial_errors, np.ones(n)
        left = share = np.where(units[:, None] == 0.0, 1.0, share)
        low, high = np.where(left[:, 1] < 1.0, 0.0, 1.0), left[:, -1].copy()
    else:
        caps = _caps(problem, left)
        low, high = _beyond(problem, left, first, caps)
        if problem.risk.code < 0:
            knots = charge_lines(problem, forms)
    return CountInstance(
        floor=forms.floor,
        shift=forms.shift,
        reading=np.ascontiguousarray(forms.reading * units),
        prices=forms.prices,
        shown=problem.sets.membership,
        code=problem.risk.code,
        tau=float(forms.risk.numbers[0]),
        knots=knots,
        errors=left * first[:, None],
        basis=basis_of(share),
        caps=caps,
        low=low,
        high=high,
        length=length,
        discount=problem.discount,
        horizon=problem.horizon,
        singles=world.covariance / np.sqrt(np.diag(world.covariance))[:, None] * units,
    )


def _length(problem: Problem, over_errors: bool) -> int:
    """Rounds that get potentials of their own.

    A finite horizon gets all of them. Otherwise the tail after them keeps one repeated row, which
    may be no better than its floor, so what it loses must be discounted away: to 3% over counts,
    over errors to 0.1%, or 1% for large families whose rounds are dear; within 40 to 700 rounds.
    """
    if problem.horizon is not None:
        return problem.horizon
    small = problem.size * np.count_nonzero(problem.sets.sizes) <= 600
    weight = (1e-3 if small else 1e-2) if over_errors else 3e-2
    return int(np.clip(rounds_until(problem.discount, weight), 40, _MOST_ROUNDS))


def _caps(problem: Problem, left: FloatArray) -> IntArray:
    """First count from which an error has settled, at most the last one tabulated (n,)."""
    length = left.shape[1] - 1
    steps = np.arange(length + 1)
    caps = np.full(len(left), length, dtype=np.int64)
    for i, curve in enumerate(problem.by_showings.curve_of):
        moves = curve.to_move(problem.start_counts[i] + steps)
        # An error that hardly moves any more is taken to have settled; how far it can still move
        # is in the bound.
        settled = np.flatnonzero(moves <= 1e-7 * abs(left[i, 0]))
        if settled.size:
            caps[i] = min(max(int(settled[0]), 1), length)
    return caps


def _beyond(
    problem: Problem, left: FloatArray, first: FloatArray, caps: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Least and largest error (n,) that a test can have from its cap on."""
    ends = np.empty((2, caps.size))
    for i, curve in enumerate(problem.by_showings.curve_of):
        here = left[i, caps[i]]
        moves = float(curve.to_move(problem.start_counts[i] + caps[i]))
        there = here - moves if curve.keeps_sign else -here
        ends[:, i] = here * first[i], there * first[i]
    return ends.min(axis=0), ends.max(axis=0)


def is_convex(problem: Problem) -> bool:
    """Return whether the charge is convex for all possible residuals, checked on a fine grid."""
    forms = forms_of(problem)
    risk = problem.risk
    assert forms is not None
    assert isinstance(risk, NumberRisk)
    grid = 12.0 * _largest_deviation(problem, forms) * np.linspace(-1.0, 1.0, 8001)
    charges = risk.charge(grid)
    bend = charges[2:] - 2.0 * charges[1:-1] + charges[:-2]
    # Nothing here is absolute: charges in other units must not look straighter than they are.
    rounding = 1e-9 * np.abs(charges[1:-1]) + 1e-14 * float(np.abs(charges).max())
    return bool(np.all(bend >= -rounding))


def charge_lines(problem: Problem, forms: DeviationForms) -> FloatArray:
    """Size, height and slope (knots, 3) of lines below G, from its values alone.

    The chord that ends at a knot rises no faster than G there. It is above G only on its own
    piece, where G in turn is above the chords before and after it; so lowering it by a quarter of
    the piece times what these slopes differ by puts it below G everywhere.
    """
    risk = problem.risk
    assert isinstance(risk, NumberRisk)
    largest = _largest_deviation(problem, forms)
    sizes = largest * np.geomspace(1e-5, 1.01, 4000)
    heights = risk.expected(sizes**2)
    steps, rises = np.diff(sizes), np.diff(heights) / np.diff(sizes)
    slopes = np.maximum.accumulate(np.maximum(rises, 0.0))
    before = np.concatenate([[0.0], slopes[:-2]])
    lowered = heights[1:-1] - (slopes[1:] - before) * steps[:-1] / 4.0
    first = [sizes[0], float(risk.expected(0.0)), 0.0]  # G never falls, so it never goes below that
    lines: FloatArray = np.vstack([first, np.stack([sizes[1:-1], lowered, slopes[:-1]], axis=1)])
    lines[:, 1] -= 1e-11 * np.abs(lines[:, 1])
    return lines


def _largest_deviation(problem: Problem, forms: DeviationForms) -> float:
    """Upper bound on the standard deviation of a residual, whatever was shown."""
    errors = np.abs(problem.initial_errors)
    reach = np.abs(forms.shift) + np.abs(forms.reading) @ errors
    return float(np.sqrt((forms.floor + (reach**2).sum(axis=1)).max()))
