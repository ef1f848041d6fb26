"""What a dual certificate claims about a problem, as arrays that the checkers read.

Everything is worked out here from the problem itself, by textbook algebra: no array comes from the
engine that found the certificate, so a mistake there cannot hide here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preceptor._base.values import FloatArray, IntArray
from preceptor.certificate import SMALLEST_ERROR, Certificate
from preceptor.problem import Problem


@dataclass(frozen=True, eq=False)
class Terms:
    """The problem in relative errors u: test i has error `initial_error[i] u[i]`.

    A showing divides u_i by `alpha[i]`; showing set S costs `set_cost[S] + |factor[S] u|²`.
    `empty_set` is the position of the set that shows nothing, or -1.
    """

    covariance: FloatArray  # (n, n)
    initial_error: FloatArray  # (n,)
    alpha: FloatArray  # (n,)
    members: IntArray  # (sets, widest), padded with -1
    shown: NDArray[np.bool_]  # (sets, n)
    set_cost: FloatArray  # (sets,)
    factor: FloatArray  # (sets, widest, n)
    discount: float
    horizon: int | None
    empty_set: int

    @property
    def n_features(self) -> int:
        """How many tests there are."""
        return len(self.initial_error)

    @property
    def n_sets(self) -> int:
        """How many sets may be shown."""
        return len(self.members)

    def rounds_value(self, first_round: int) -> float:
        """Discounted number of rounds from `first_round` on, added up one by one if finite."""
        if self.horizon is None:
            return 1.0 / (1.0 - self.discount)
        return float(sum(self.discount**t for t in range(self.horizon - first_round)))


@dataclass(frozen=True, eq=False)
class Claim:
    """A potential φ_t(u) = Σ κ log u + r u - N u² and constants that bound the cost to go."""

    instance: Terms
    kappa: FloatArray  # (T + 1, n)
    r: FloatArray  # (T + 1, n)
    N: FloatArray  # (T + 1, n)
    constants: FloatArray  # (T + 1,)
    round_minima: FloatArray
    value: float

    @property
    def length(self) -> int:
        """Rounds with multipliers of their own, T."""
        return len(self.constants) - 1

    def potential(self, t: int, highest: int) -> FloatArray:
        """(n, highest + 1) what test i, shown j times by round t, contributes to φ_t."""
        showings = np.arange(highest + 1)
        u = self.instance.alpha[:, None] ** -showings.astype(np.float64)
        log_u = np.log(np.maximum(u, SMALLEST_ERROR))
        terms: FloatArray = (
            self.kappa[t][:, None] * log_u + self.r[t][:, None] * u - self.N[t][:, None] * u * u
        )
        return terms


def claim_of(certificate: Certificate, problem: Problem) -> Claim:
    """What the certificate says about this problem."""
    return Claim(
        instance=terms_of(problem),
        kappa=np.array(certificate.log_weight),
        r=np.array(certificate.linear_weight),
        N=np.array(certificate.square_weight),
        constants=np.array(certificate.constants),
        round_minima=np.array(certificate.round_minima),
        value=certificate.dual_bound,
    )


def terms_of(problem: Problem) -> Terms:
    """The arrays of a problem whose errors shrink by a constant factor per showing."""
    world, n = problem.world, problem.size
    a, sigma = world.coefficients, world.covariance
    sets = list(problem.budget.subsets(n))
    counts = np.array(problem.start_counts)
    curves = problem.by_showings.curve_of
    before = np.array([float(c.phi(m)) for c, m in zip(curves, counts, strict=True)])
    after = np.array([float(c.phi(m + 1)) for c, m in zip(curves, counts, strict=True)])
    error = (a - problem.learner.initial) * np.sqrt(before)
    widest = max(1, *(len(shown) for shown in sets))
    members = np.full((len(sets), widest), -1, dtype=np.int64)
    shown_in = np.zeros((len(sets), n), dtype=np.bool_)
    factor = np.zeros((len(sets), widest, n))
    cost = np.empty(len(sets))
    for row, shown in enumerate(sets):
        s = list(shown)
        members[row, : len(s)] = s
        shown_in[row, s] = True
        target = (sigma @ a)[s]
        best = float(target @ np.linalg.solve(sigma[np.ix_(s, s)], target)) if s else 0.0
        price = float(problem.budget.prices(n)[s].sum())
        cost[row] = world.noise_variance + float(a @ sigma @ a) - best + price
        if s:
            factor[row, : len(s)] = rows_of(sigma, s) * error
    empty = [row for row, shown in enumerate(sets) if not shown]
    return Terms(
        covariance=np.array(sigma),
        initial_error=error,
        alpha=np.sqrt(before / after),
        members=members,
        shown=shown_in,
        set_cost=cost,
        factor=factor,
        discount=problem.discount,
        horizon=problem.horizon,
        empty_set=empty[0] if empty else -1,
    )


def rows_of(covariance: FloatArray, members: list[int]) -> FloatArray:
    """Rows F with |F e|² = e' M_S e, through an eigendecomposition."""
    values, vectors = np.linalg.eigh(covariance[np.ix_(members, members)])
    rows: FloatArray = (vectors / np.sqrt(values)).T @ covariance[members]
    return rows
