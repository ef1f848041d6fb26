"""How sure a fit is of its numbers: standard errors and intervals.

Bias and initial coefficients enter (almost) linearly, so theirs come from the curvature of the sum
of squares ("delta method"). Curve parameters and κ have bounds and lopsided intervals: theirs are
profiles, all values at which the best fit of everything else is not significantly worse.

Answers of one person are alike. With enough people, standard errors allow for that by summing over
people before squaring ("clustered"), and profiles are widened by the same factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.estimation.learner_fit import FamilyFit, searched_with
from preceptor.estimation.learner_limits import (
    LimitedFit,
    searched_limits,
    solve_limits,
)
from preceptor.estimation.learner_model import SINGULAR

# Fewer people than this say too little about how people differ.
FEWEST_CLUSTERS = 10
# So many degrees of freedom that t is normal.
_NORMAL = 10**9
# How near a bound a profile may come before it counts as reaching it.
_NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Standard errors and intervals of a fit; `clustered` allows for differences of people."""

    fit: FamilyFit
    clustered: bool

    @classmethod
    def of(cls, fit: FamilyFit | LimitedFit) -> Uncertainty:
        """Clustered if there are people enough, at least twice as many as parameters."""
        people = np.unique(fit.model.answers.person).size
        clustered = people >= max(FEWEST_CLUSTERS, 2 * len(fit.model.names))
        if isinstance(fit, LimitedFit):
            return LimitedUncertainty(fit, clustered)
        return cls(fit, clustered)

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the t distribution behind intervals."""
        if self.clustered:
            return int(np.unique(self.fit.model.answers.person).size) - 1
        return max(self.fit.freedom, 1)

    @cached_property
    def _decomposition(self) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """(JᵀJ)⁻¹ where the log says anything, and about which parameters that is."""
        jacobian = self.fit.jacobian
        scale = np.linalg.norm(jacobian, axis=0)
        silent = scale == 0.0
        scale = np.where(silent, 1.0, scale)
        triangle = np.linalg.qr(jacobian / scale, mode="r")
        _, singular, right = np.linalg.svd(triangle, full_matrices=True)
        rank = int(np.sum(singular > SINGULAR * singular.max(initial=0.0)))
        root = (right[:rank].T / singular[:rank]) / scale[:, None]
        open_ends = np.linalg.norm(right[rank:], axis=0) > 1e-6
        return root @ root.T, ~(open_ends | silent)

    @property
    def identified(self) -> npt.NDArray[np.bool_]:
        """(parameters,) whether the log says anything about the parameter."""
        return self._decomposition[1]

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance (parameters, parameters) of the estimates, in the order of `model.names`."""
        inverse, _ = self._decomposition
        independent = inverse * self.fit.noise_sd**2
        return self._sandwich(inverse) if self.clustered else independent

    def _sandwich(self, inverse: FloatArray) -> FloatArray:
        person = self.fit.model.answers.person
        _, cluster = np.unique(person, return_inverse=True)
        people, (rows, width) = int(cluster.max()) + 1, self.fit.jacobian.shape
        scores = np.zeros((people, width))
        np.add.at(scores, cluster, self.fit.jacobian * self.fit.residuals[:, None])
        small_sample = people / (people - 1) * (rows - 1) / max(self.fit.freedom, 1)
        spread: FloatArray = small_sample * (inverse @ (scores.T @ scores) @ inverse)
        return spread

    @property
    def standard_errors(self) -> FloatArray:
        """(parameters,) infinite where the log says nothing."""
        errors: FloatArray = np.sqrt(np.diag(self.covariance))
        return np.where(self.identified, errors, np.inf)

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """An interval for every parameter by name, and for `noise`."""
        names, searched = self.fit.model.names, self.fit.model.searched
        linear = len(names) - len(searched)
        estimates = self._linear_estimates()
        reach = _quantile(level, self.freedom) * self.standard_errors
        found = {
            names[i]: (float(estimates[i] - reach[i]), float(estimates[i] + reach[i]))
            for i in range(linear)
        }
        for i, name in enumerate(searched):
            found[name] = self._profile(i, level)
        found["noise"] = self._noise_interval(level)
        return found

    def _linear_estimates(self) -> FloatArray:
        initial = self.fit.initial[self.fit.model.free]
        return np.append(self.fit.bias, initial) if self.fit.model.biased else initial

    def _profile(self, held: int, level: float) -> tuple[float, float]:
        """Where the sum of squares, at its best over all else, reaches its critical value."""
        fit = self.fit
        critical = _quantile(level, self.freedom) ** 2 * self._widening(held)
        limit = fit.rss * (1.0 + critical / max(fit.freedom, 1))
        estimate = float(fit.point[held])
        ends = [self._crossing(held, estimate, end, limit) for end in fit.model.bounds[held]]
        return ends[0], ends[1]

    def _crossing(self, held: int, inside: float, bound: float, limit: float) -> float:
        from scipy.optimize import brentq

        def excess(value: float) -> float:
            point = searched_with(self.fit.model, self.fit.point, held, value)
            residuals = self.fit.model.solve(point).residuals
            return float(residuals @ residuals) - limit

        if abs(inside - bound) < _NEAR or excess(bound) <= 0.0:
            return bound
        return float(brentq(excess, inside, bound, xtol=1e-5, rtol=1e-6))

    def _widening(self, held: int) -> float:
        """Variance allowing for clusters over the variance without, for a searched parameter."""
        column = len(self.fit.model.names) - len(self.fit.model.searched) + held
        independent = self._decomposition[0][column, column] * self.fit.noise_sd**2
        if not self.clustered or not self.identified[column] or independent == 0.0:
            return 1.0
        return float(self.covariance[column, column] / independent)

    def _noise_interval(self, level: float) -> tuple[float, float]:
        from scipy.special import chdtri

        freedom, tail = max(self.fit.freedom, 1), (1.0 - level) / 2.0
        low, high = (float(np.sqrt(self.fit.rss / chdtri(freedom, q))) for q in (tail, 1.0 - tail))
        return low, high


@dataclass(frozen=True, eq=False)
class LimitedUncertainty(Uncertainty):
    """The same where some answers only say above or below: from what the likelihood says.

    Intervals are normal. The number behind those that have names is the scatter's logarithm.
    """

    fit: LimitedFit  # type: ignore[assignment]

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of the estimates, in the order of the fit's `jacobian`."""
        inverse, _ = self._decomposition
        return self._sandwich(inverse) if self.clustered else inverse

    @cached_property
    def _decomposition(self) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """The inverse of the information where there is any, and about which parameters it is."""
        scale = np.sqrt(np.diag(self.fit.information))
        silent = scale == 0.0
        scale = np.where(silent, 1.0, scale)
        sizes, turns = np.linalg.eigh(self.fit.information / np.outer(scale, scale))
        known = sizes > SINGULAR * sizes.max(initial=0.0)
        root = turns[:, known] / np.sqrt(sizes[known]) / scale[:, None]
        open_ends = np.linalg.norm(turns[:, ~known], axis=1) > 1e-6
        return root @ root.T, ~(open_ends | silent)

    def _sandwich(self, inverse: FloatArray) -> FloatArray:
        _, cluster = np.unique(self.fit.model.answers.person, return_inverse=True)
        people, rows = int(cluster.max()) + 1, self.fit.row_scores
        scores = np.zeros((people, rows.shape[1]))
        np.add.at(scores, cluster, rows)
        spread: FloatArray = people / (people - 1) * (inverse @ (scores.T @ scores) @ inverse)
        return spread

    @property
    def freedom(self) -> int:
        """Of the t distribution behind intervals; without clusters it is as good as normal."""
        return super().freedom if self.clustered else _NORMAL

    def _profile(self, held: int, level: float) -> tuple[float, float]:
        """Where the likelihood, at its best over all else, falls to its critical value."""
        critical = _quantile(level, self.freedom) ** 2 * self._widening(held)
        limit = self.fit.log_likelihood - 0.5 * critical
        estimate = float(self.fit.point[held])
        ends = [self._crossing(held, estimate, end, limit) for end in self.fit.model.bounds[held]]
        return ends[0], ends[1]

    def _crossing(self, held: int, inside: float, bound: float, limit: float) -> float:
        from scipy.optimize import brentq

        def short(value: float) -> float:
            point = searched_limits(self.fit.model, self.fit.point, held, value)
            return limit - solve_limits(self.fit.model, point).log_likelihood

        if abs(inside - bound) < _NEAR or short(bound) <= 0.0:
            return bound
        return float(brentq(short, inside, bound, xtol=1e-4, rtol=1e-4))

    def _widening(self, held: int) -> float:
        column = len(self.fit.model.names) - len(self.fit.model.searched) + held
        independent = self._decomposition[0][column, column]
        if not self.clustered or not self.identified[column] or independent == 0.0:
            return 1.0
        return float(self.covariance[column, column] / independent)

    def _noise_interval(self, level: float) -> tuple[float, float]:
        if not self.fit.scale_known or not self.identified[-1]:
            return 0.0, np.inf
        reach = _quantile(level, self.freedom) * float(np.sqrt(self.covariance[-1, -1]))
        with np.errstate(over="ignore"):
            low, high = self.fit.noise_sd * np.exp([-reach, reach])
        return float(low), float(high)


def _quantile(level: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2.0))
