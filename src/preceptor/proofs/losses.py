"""The loss of a round, computed for the checkers alone.

Nothing here comes from the package `loss`. With R'R = Σ (`exact_root`) and R_S = Q T, the columns
of the shown tests, a person with errors e who is shown S has an error variance of

    v = σ² + |Ra - QQ'Ra|² + |shift + D e|²,    D = T Ω_SS⁻¹ Ω_S,    shift = Q'Ra - D a,

where Ω is the covariance that the person imputes from; for Ω = Σ that is D = Q'R and no shift. Both
squares are lengths of vectors that are computed directly, so nothing cancels.

Losses of sampled cases are defined by their sample, and those of yes-or-no answers are tabulated:
these come from the problem's own oracle, and `shared` says so. A tabulated loss is compared with
brute force in a few states (`table_off`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from preceptor._base.numerics import total_weight
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.problem import Problem
from preceptor.model.risks import AbsoluteError, Huber, NumberRisk, SquaredError
from preceptor.model.sets import TestSet

_EPS = float(np.finfo(np.float64).eps)
# Rounding of one loss, in units of eps times the number of tests: products, sums and a square.
OPERATIONS = 64.0
# Array elements that checkers hold at a time (32 MB), and in all (some gigabytes).
AT_A_TIME, MOST_NUMBERS = 4_000_000, 100_000_000
# Risks whose expected charge is convex in the deviation and has a slope in closed form.
CLOSED = (SquaredError, AbsoluteError, Huber)
# Relative error of numerical integration for any other risk.
_QUADRATURE = 1e-11
_PANELS = np.linspace(-12.0, 12.0, 33)


@dataclass(frozen=True)
class ProvenBound:
    """A bound, how it was proven, and whether by code that shares only definitions with solvers.

    `fault` says what is wrong with a certificate; the bound is then -inf, since a plan must not
    carry an invalid certificate. `rounding` is what was subtracted from the bound for safety.
    """

    bound: float
    how: str
    independent: bool = True
    fault: str = ""
    rounding: float = 0.0


@dataclass(frozen=True, eq=False)
class ReferenceLosses:
    """Floors, deviations and prices of some sets, and the loss of a person with given errors.

    Attributes
    ----------
    problem
        The problem that defines the rounds.
    sets
        The sets, in the order of all arrays.
    floor
        Error variance of the best reader of a set, σ² included, shape (sets,).
    shift, reading
        The deviation is shift + reading e, shapes (sets, widest) and (sets, widest, n).
    price
        Price of showing a set, shape (sets,).
    rounding
        By how much a computed loss may be too large, relative to `scale`.
    """

    problem: Problem
    sets: tuple[TestSet, ...]
    floor: FloatArray
    shift: FloatArray
    reading: FloatArray
    price: FloatArray
    rounding: float
    _risk: NumberRisk | None = field(repr=False)

    @classmethod
    def of(cls, problem: Problem, sets: list[TestSet] | None = None) -> ReferenceLosses:
        """Losses for all sets of a problem, or for those listed."""
        n, world = problem.size, problem.world
        listed = tuple(problem.budget.subsets(n)) if sets is None else tuple(sets)
        widest = max(1, *(len(shown) for shown in listed))
        floor = np.full(len(listed), world.noise_variance)
        shift = np.zeros((len(listed), widest))
        reading = np.zeros((len(listed), widest, n))
        prices = problem.budget.prices(n)
        price = np.array([float(prices[list(shown)].sum()) for shown in listed])
        root = exact_root(world.covariance)
        imputes = problem.learner.imputing_covariance(world)
        knows = bool(np.array_equal(imputes, world.covariance))
        truth = root @ world.coefficients
        worst = 1.0
        for size in sorted({len(shown) for shown in listed}):
            rows = np.array([i for i, shown in enumerate(listed) if len(shown) == size])
            members = np.array([listed[i] for i in rows], dtype=np.int64).reshape(len(rows), size)
            basis, triangle = _orthogonal(np.moveaxis(root[:, members], 0, 1))
            best = np.einsum("mnk,n->mk", basis, truth)
            left = truth - np.einsum("mnk,mk->mn", basis, best)
            floor[rows] += np.sum(left * left, axis=1)
            if not size:
                continue
            if knows:
                reading[rows, :size] = np.einsum("mnk,nj->mkj", basis, root)
                continue
            believed = imputes[members[:, :, None], members[:, None, :]]
            worst = max(worst, float(np.linalg.cond(believed).max()))
            deviation = triangle @ np.linalg.solve(believed, imputes[members])
            reading[rows, :size] = deviation
            shift[rows, :size] = best - deviation @ world.coefficients
        rounding = OPERATIONS * _EPS * (n + widest) * worst
        if isinstance(problem.risk, NumberRisk) and not isinstance(problem.risk, CLOSED):
            rounding += _QUADRATURE
        if problem.loss.kind != "closed-form":
            return cls._of_sample(problem, listed, price, rounding)
        risk = problem.risk if isinstance(problem.risk, NumberRisk) else None
        return cls(problem, listed, floor, shift, reading, price, rounding, risk)

    @classmethod
    def _of_sample(
        cls, problem: Problem, sets: tuple[TestSet, ...], price: FloatArray, rounding: float
    ) -> ReferenceLosses:
        """Mean squares of a sample have deviations too; other losses come from the oracle."""
        n, oracle = problem.size, problem.oracle
        forms = [oracle.squared_form_of(shown) for shown in sets]
        floor, shift, reading = (
            np.zeros(len(sets)),
            np.zeros((len(sets), n)),
            np.zeros((len(sets), n, n)),
        )
        for row, form in enumerate(forms):
            if form is None:
                return cls(problem, sets, floor, shift, reading, price, rounding, None)
            floor[row], shift[row], reading[row] = form.floor, form.shift, form.reading
        return cls(problem, sets, floor, shift, reading, price, rounding, SquaredError())

    @property
    def shared(self) -> str:
        """What these losses share with the solvers, in words; empty if nothing."""
        if self.problem.is_binary:
            return "with charges from the problem's own tables"
        if self.problem.loss.kind != "closed-form":
            return "with losses from the sample that defines them"
        return ""

    @cached_property
    def is_convex(self) -> bool:
        """Whether a tangent at any deviation lies below the loss everywhere.

        A user-defined risk is checked on a grid, out to twelve times the largest miss.
        """
        if self._risk is None or isinstance(self._risk, CLOSED):
            return self._risk is not None
        reach = 12.0 * math.sqrt(float(np.max(self.floor + self._reach() ** 2)))
        charges = self._risk.charge(np.linspace(-reach, reach, 20_001))
        bend = charges[2:] - 2.0 * charges[1:-1] + charges[:-2]
        rounding = 1e-9 * np.abs(charges[1:-1]) + 1e-14 * float(np.abs(charges).max())
        return bool(np.all(bend >= -rounding))

    @property
    def assumed(self) -> str:
        """What is assumed without proof, in words; empty if nothing."""
        if self._risk is None or isinstance(self._risk, CLOSED):
            return ""
        return "the risk is integrated numerically, and its convexity was checked on a grid"

    @cached_property
    def waiting_row(self) -> int | None:
        """The set that shows nothing, where that costs the same in every state; else None."""
        empty = np.flatnonzero(~self.member_of.any(axis=1))
        if not empty.size:
            return None
        if self._risk is not None:
            constant = not self.reading[empty[0]].any()
        else:
            sizes = np.abs(self.first_errors)
            constant = not np.any(self.problem.oracle.sensitivity_of(sizes, ()))
        return int(empty[0]) if constant else None

    def waiting_cost(self, rounds: int | None) -> float:
        """Cost of showing nothing for `rounds` rounds (None: forever); infinite if it varies."""
        row = self.waiting_row
        if row is None:
            return np.inf
        each = float(self.losses(row, self.first_errors[None, :])[0])
        return each * total_weight(self.problem.discount, rounds)

    def _reach(self) -> FloatArray:
        """Longest possible deviation (sets,) while errors are no larger than at the start."""
        lengths = np.linalg.norm(self.reading, axis=1)
        reach = np.linalg.norm(self.shift, axis=1) + lengths @ np.abs(self.first_errors)
        return np.asarray(reach)

    @property
    def is_increasing(self) -> bool:
        """Whether a larger deviation never costs less."""
        return self._risk is not None and self._risk.is_increasing

    def charged(self, rows: IntArray, square: FloatArray) -> FloatArray:
        """Loss of sets with a deviation of that squared length, price included (sets,)."""
        return self._charge(self.floor[rows] + square) + self.price[rows]

    def pull(self, rows: IntArray, square: FloatArray) -> FloatArray:
        """(sets,) factor that turns deviations of that squared length into the loss's gradient."""
        return slope_over_deviation(self._risk, np.sqrt(self.floor[rows] + square))

    def bend(self, rows: IntArray, square: FloatArray) -> FloatArray:
        """(sets,) G'' there; approximate for a user-defined risk."""
        size = np.sqrt(np.maximum(self.floor[rows] + square, 1e-300))
        if isinstance(self._risk, AbsoluteError):
            return np.zeros_like(size)
        pull = slope_over_deviation(self._risk, size)
        if not isinstance(self._risk, Huber):
            return pull
        z = np.minimum(self._risk.threshold / size, 1e100)
        return np.asarray(pull - 2.0 * z * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi))

    @cached_property
    def first_errors(self) -> FloatArray:
        """Truth minus first belief (n,), before any showing."""
        return self.problem.world.coefficients - self.problem.learner.initial

    @cached_property
    def member_of(self) -> NDArray[np.bool_]:
        """(sets, n) which set shows which test."""
        table = np.zeros((len(self.sets), self.problem.size), dtype=np.bool_)
        for row, shown in enumerate(self.sets):
            table[row, list(shown)] = True
        return table

    @cached_property
    def scale(self) -> float:
        """Largest possible loss while errors are no larger than at the start."""
        if self._risk is None:
            sizes = np.abs(self.first_errors)
            return max(self.problem.oracle.ceiling_of(sizes, shown) for shown in self.sets)
        return float(np.max(self._charge(self.floor + self._reach() ** 2) + self.price))

    @property
    def slack(self) -> float:
        """What rounding and tabulation may have added to one loss."""
        return self.rounding * self.scale + self.problem.oracle.accuracy

    def errors_after(self, counts: FloatArray | range) -> FloatArray:
        """Errors (n, counts) after these numbers of showings since the problem's start."""
        each = np.asarray(counts, dtype=np.float64)
        return self.first_errors[:, None] * self.retained(np.tile(each, (self.problem.size, 1)))

    def retained(self, counts: FloatArray | IntArray) -> FloatArray:
        """Share (n, places) of first errors that is left after counts (n, places) of showings."""
        curves, before = self.problem.by_showings.curve_of, self.problem.start_counts
        seen = [start + row.astype(np.float64) for start, row in zip(before, counts, strict=True)]
        pairs = zip(curves, seen, strict=True)
        return np.array([curve.sign(m) * np.sqrt(curve.phi(m)) for curve, m in pairs])

    def limits_after(self, counts: IntArray) -> FloatArray:
        """(n, 2) interval that, with the error after `counts` (n,), contains every later error."""
        ends = np.empty((self.problem.size, 2))
        curves = self.problem.by_showings.curve_of
        for i, (curve, start) in enumerate(zip(curves, self.problem.start_counts, strict=True)):
            if curve.keeps_sign:
                ends[i] = self.first_errors[i] * math.sqrt(curve.limit)
            else:
                size = abs(self.first_errors[i]) * math.sqrt(float(curve.phi(start + counts[i])))
                ends[i] = -size, size
        return ends

    def losses(self, row: int, errors: FloatArray) -> FloatArray:
        """Loss of set number `row` for people with errors (states, n), price included."""
        if self._risk is None:
            return self.problem.oracle.loss_of(errors, self.sets[row])
        width = self._width(row)
        deviation = self.shift[row, :width] + errors @ self.reading[row, :width].T
        variance = self.floor[row] + np.sum(deviation * deviation, axis=1)
        return np.asarray(self._charge(variance) + self.price[row])

    def least(self, row: int, errors: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """Lower bound on the loss of the set for all errors between `low` and `high`.

        All have shape (states, n), with `errors` between the others. Where the loss is convex, the
        tangent at `errors` lies below it and is least in a corner; otherwise a Lipschitz bound.
        """
        here = self.losses(row, errors)
        if not self.is_convex:
            slopes = self.steepest(row)
            apart = np.maximum(errors - low, high - errors)
            with np.errstate(invalid="ignore"):
                fall = np.where(apart > 0.0, apart * slopes, 0.0)
            return np.asarray(np.maximum(here - fall.sum(axis=1), self.floors[row]))
        width = self._width(row)
        deviation = self.shift[row, :width] + errors @ self.reading[row, :width].T
        variance = self.floor[row] + np.sum(deviation * deviation, axis=1)
        pull = slope_over_deviation(self._risk, np.sqrt(variance))[:, None]
        slopes = (pull * deviation) @ self.reading[row, :width]
        fall = np.minimum(slopes * (low - errors), slopes * (high - errors))
        return np.asarray(np.maximum(here + fall.sum(axis=1), self.floors[row]))

    def _width(self, row: int) -> int:
        """Rows of the deviation of a set that are not padding."""
        if self.problem.loss.kind != "closed-form":
            return int(self.shift.shape[1])
        return max(len(self.sets[row]), 1)

    @cached_property
    def floors(self) -> FloatArray:
        """Loss of the best reader of each set (sets,), price included."""
        if self._risk is None:
            return self.problem.oracle.floors()
        if not self._risk.is_increasing:
            return self.price.copy()
        return self._charge(self.floor) + self.price

    def _charge(self, variance: FloatArray) -> FloatArray:
        assert self._risk is not None
        return expected_charge(self._risk, variance)

    def steepest(self, row: int) -> FloatArray:
        """Lipschitz constants (n,) of the loss of a set in each error."""
        sizes = np.abs(self.first_errors)
        if self._risk is None:
            return self.problem.oracle.sensitivity_of(sizes, self.sets[row])
        lengths = np.linalg.norm(self.reading[row], axis=0)
        reach = float(np.linalg.norm(self.shift[row]) + lengths @ sizes)
        slope = self._risk.deviation_slope(math.sqrt(float(self.floor[row]) + reach * reach))
        return np.asarray(lengths * slope)


def exact_root(covariance: FloatArray) -> FloatArray:
    """Upper triangular R (n, n) with R'R = Σ, each entry correct to about the last digit.

    Examples
    --------
    >>> exact_root(np.array([[4.0, 2.0], [2.0, 5.0]])).tolist()
    [[2.0, 1.0], [0.0, 2.0]]
    """
    n = len(covariance)
    # Two tests with correlation 1 - 1e-12 differ by a variance of 2e-12, of which 1 - ρ² in doubles
    # keeps four digits; so roots are computed with this many digits and rounded at the end.
    with localcontext(Context(prec=60)):
        rows = [[Decimal(float(x)) for x in row] for row in covariance]
        root = [[Decimal(0)] * n for _ in range(n)]
        for i in range(n):
            pivot = rows[i][i] - sum((root[k][i] * root[k][i] for k in range(i)), Decimal(0))
            if pivot <= 0:
                raise np.linalg.LinAlgError("the covariance is not positive definite")
            root[i][i] = pivot.sqrt()
            for j in range(i + 1, n):
                shared = sum((root[k][i] * root[k][j] for k in range(i)), Decimal(0))
                root[i][j] = (rows[i][j] - shared) / root[i][i]
    return np.array([[float(x) for x in row] for row in root])


def _orthogonal(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Q and T of stacks of columns (m, n, k), T with a positive diagonal: the transpose of L."""
    basis, triangle = np.linalg.qr(columns)
    signs = np.where(np.diagonal(triangle, axis1=1, axis2=2) < 0.0, -1.0, 1.0)
    return basis * signs[:, None, :], triangle * signs[:, :, None]


def expected_charge(risk: NumberRisk, variance: FloatArray) -> FloatArray:
    """E ℓ(sZ) for s² = variance; a user-defined risk computes its own."""
    if isinstance(risk, SquaredError):
        return variance
    deviation = np.sqrt(variance)
    if isinstance(risk, AbsoluteError):
        return deviation * math.sqrt(2.0 / math.pi)
    if isinstance(risk, Huber):
        from scipy.special import erfc

        tau = risk.threshold
        z = tau / np.maximum(deviation, 1e-300)
        beyond = 0.5 * erfc(z / math.sqrt(2.0))
        bell = np.exp(-0.5 * np.minimum(z, 1e100) ** 2) / math.sqrt(2.0 * math.pi)
        return np.asarray(variance * (0.5 - beyond) + tau * (deviation * bell - tau * beyond))
    return risk.expected(variance)


def slope_over_deviation(risk: NumberRisk | None, deviation: FloatArray) -> FloatArray:
    """G'(s)/s for G(s) = E ℓ(sZ), so that the gradient of G(|y|) is that times y.

    Where s = 0 any smaller number would be a subgradient too; 0 is taken for absolute error.
    """
    if isinstance(risk, SquaredError):
        return np.full(deviation.shape, 2.0)
    if isinstance(risk, AbsoluteError):
        safe = np.maximum(deviation, 1e-300)
        return np.where(deviation > 0.0, math.sqrt(2.0 / math.pi) / safe, 0.0)
    if not isinstance(risk, Huber):
        return _integrated_slope(risk, deviation)
    from scipy.special import erf

    return np.asarray(erf(risk.threshold / (math.sqrt(2.0) * np.maximum(deviation, 1e-300))))


def _integrated_slope(risk: NumberRisk | None, deviation: FloatArray) -> FloatArray:
    """The same for any risk: the density of sZ changes with s by (z² - 1)/s."""
    assert risk is not None
    size = np.maximum(np.asarray(deviation, dtype=np.float64), 1e-12)[:, None]
    kinks = np.clip(np.asarray(getattr(risk, "kinks", (0.0,)))[None, :] / size, -12.0, 12.0)
    fixed = np.broadcast_to(_PANELS, (len(size), _PANELS.size))
    edges = np.sort(np.concatenate([fixed, kinks], axis=1), axis=1)
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(edges, axis=1)[:, :, None] / 2.0
    z = (edges[:, 1:] + edges[:, :-1])[:, :, None] / 2.0 + half * nodes
    bell = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    charges = risk.charge(size[:, :, None] * z)
    slope = np.sum(charges * (z * z - 1.0) * bell * half * weights, axis=(1, 2))
    return np.asarray(np.maximum(slope / size[:, 0] ** 2, 0.0))
