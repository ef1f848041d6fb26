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
from preceptor.estimation.learner_fit import FamilyFit
from preceptor.estimation.learner_limits import LimitedFit
from preceptor.estimation.learner_model import SINGULAR

# Fewer people than this say too little about how people differ.
FEWEST_CLUSTERS = 10
# So many degrees of freedom that t is normal.
_NORMAL = 10**9
# How near a bound a profile may come before it counts as reaching it.
_NEAR = 1e-6


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Standard errors and intervals of a fit; `clustered` allows for differences of people.

    Where some answers only say above or below, one number more is estimated along: behind those
    that have names stands the logarithm of the scatter.
    """

    fit: FamilyFit | LimitedFit
    clustered: bool

    @classmethod
    def of(cls, fit: FamilyFit | LimitedFit) -> Uncertainty:
        """Clustered if there are people enough, at least twice as many as parameters."""
        people = np.unique(fit.model.answers.person).size
        return cls(fit, people >= max(FEWEST_CLUSTERS, 2 * len(fit.model.names)))

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the t distribution behind intervals."""
        if self.clustered:
            return int(np.unique(self.fit.model.answers.person).size) - 1
        return _NORMAL if isinstance(self.fit, LimitedFit) else max(self.fit.freedom, 1)

    @cached_property
    def _decomposition(self) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """The inverse of what the log tells, and about which parameters it tells anything."""
        root = self.fit.root
        scale = np.linalg.norm(root, axis=0)
        silent = scale == 0.0
        scale = np.where(silent, 1.0, scale)
        triangle = np.linalg.qr(root / scale, mode="r")
        _, singular, right = np.linalg.svd(triangle, full_matrices=True)
        rank = int(np.sum(singular > SINGULAR * singular.max(initial=0.0)))
        inverse = (right[:rank].T / singular[:rank]) / scale[:, None]
        open_ends = np.linalg.norm(right[rank:], axis=0) > 1e-6
        return inverse @ inverse.T, ~(open_ends | silent)

    @property
    def identified(self) -> npt.NDArray[np.bool_]:
        """(parameters,) whether the log says anything about the parameter."""
        return self._decomposition[1]

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance (parameters, parameters) of the estimates, in the order of `model.names`."""
        inverse = self._decomposition[0]
        if not self.clustered:
            return inverse
        _, cluster = np.unique(self.fit.model.answers.person, return_inverse=True)
        people, rows = int(cluster.max()) + 1, self.fit.row_scores
        scores = np.zeros((people, rows.shape[1]))
        np.add.at(scores, cluster, rows)
        spread: FloatArray = people / (people - 1) * (inverse @ (scores.T @ scores) @ inverse)
        return spread

    @property
    def standard_errors(self) -> FloatArray:
        """(parameters,) infinite where the log says nothing."""
        errors: FloatArray = np.sqrt(np.diag(self.covariance))
        return np.where(self.identified, errors, np.inf)

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """An interval for every parameter by name, and for `noise`."""
        fit = self.fit
        names, searched = fit.model.names, fit.model.searched
        initial = fit.initial[fit.model.free]
        estimates = np.append(fit.bias, initial) if fit.model.biased else initial
        reach = _quantile(level, self.freedom) * self.standard_errors
        found = {
            names[i]: (float(estimate - reach[i]), float(estimate + reach[i]))
            for i, estimate in enumerate(estimates)
        }
        for i, name in enumerate(searched):
            found[name] = self._profile(i, level)
        if isinstance(fit, LimitedFit):
            found["noise"] = self._scatter(fit, level)
        else:
            found["noise"] = fit.noise_interval(level)
        return found

    def _profile(self, held: int, level: float) -> tuple[float, float]:
        """Where the fit, at its best over all else, has become as bad as it may be."""
        bearable = self.fit.bearable(_quantile(level, self.freedom) ** 2 * self._widening(held))
        low, high = self.fit.model.bounds[held]
        return self._crossing(held, low, bearable), self._crossing(held, high, bearable)

    def _crossing(self, held: int, bound: float, bearable: float) -> float:
        from scipy.optimize import brentq

        def excess(value: float) -> float:
            return self.fit.profile(held, value) - bearable

        inside = float(self.fit.point[held])
        if abs(inside - bound) < _NEAR or excess(bound) <= 0.0:
            return bound
        return float(brentq(excess, inside, bound, xtol=1e-5, rtol=1e-6))

    def _widening(self, held: int) -> float:
        """Variance allowing for clusters over the variance without, for a searched parameter."""
        column = len(self.fit.model.names) - len(self.fit.model.searched) + held
        independent = self._decomposition[0][column, column]
        if not self.clustered or not self.identified[column] or independent == 0.0:
            return 1.0
        return float(self.covariance[column, column] / independent)

    def _scatter(self, fit: LimitedFit, level: float) -> tuple[float, float]:
        """By its logarithm, which is the last number estimated."""
        if not fit.scale_known or not self.identified[-1]:
            return 0.0, np.inf
        reach = _quantile(level, self.freedom) * float(np.sqrt(self.covariance[-1, -1]))
        with np.errstate(over="ignore"):
            low, high = fit.noise_sd * np.exp([-reach, reach])
        return float(low), float(high)


def _quantile(level: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2.0))
