"""The true score and a person's score as a pair of normals, which yes-or-no answers depend on.

The true score of a case is t = b + a·x, the person's p = b̂ + h·x̂ with hidden tests filled in. If
the tests are Gaussian then (t, p) is normal with

    vt = a'Σa,   c = cov(t, p),   vp = var p,

and the cost of an answer follows from these and the two base scores. Given p, the truth is yes
with probability Q(p) = E[link(t) | p], where t given p is normal with mean b + (c/vp)(p - b̂) and
variance vt - c²/vp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.model.outcomes import Link
from preceptor.model.sets import BLOCK_NUMBERS

# Integrals over a score are sums over equally spaced points, which converge to rounding once the
# spacing is half the scale on which the integrand changes. Steeper scores need more points; beyond
# the steepest, answers are taken to jump.
_REACH, _SPACING, _STEEPEST = 9.0, 0.5, 128.0
# A score that varies by a smaller share of the total is constant up to rounding.
_STILL = 1e-7
# Scores further out than this many standard deviations have a probability below rounding.
FAR = 8.3


@dataclass(frozen=True, eq=False)
class ScorePair:
    """Moments of the true score and a person's, for any number of states.

    Attributes
    ----------
    link
        How scores become probabilities.
    base
        b, the true score of an average case.
    spread
        vt, variance of the true score.
    believed
        b̂, the person's score of an average case, or one for each state.
    shared
        c, covariance of the two scores, one for each state.
    own
        vp, variance of the person's score, one for each state.
    """

    link: Link
    base: float
    spread: float
    believed: FloatArray
    shared: FloatArray
    own: FloatArray

    @classmethod
    def best_reader(cls, link: Link, base: float, spread: float, known: FloatArray) -> ScorePair:
        """A person who knows P(yes) given the shown tests.

        Parameters
        ----------
        link
            How scores become probabilities.
        base
            The true score of an average case.
        spread
            Variance of the true score.
        known
            Variance of its best prediction from the shown tests, one per set.

        Returns
        -------
        ScorePair
            The person's score is the mean of the true one given the shown tests.
        """
        seen = np.asarray(known, dtype=np.float64)
        return cls(link, base, spread, np.full(seen.shape, base), seen, seen)

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of the person's score."""
        return np.asarray(np.sqrt(np.maximum(self.own, 0.0)))

    @property
    def is_still(self) -> npt.NDArray[np.bool_]:
        """Where the person's score is constant up to rounding."""
        return np.asarray(self.deviation <= _STILL * np.sqrt(self.link.variance + self.spread))

    def mistakes(self, above: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P(yes and the score is not above a limit) and P(no and it is), for each state."""
        limit, deviation, shared, constant = np.broadcast_arrays(
            np.asarray(above) - self.believed, self.deviation, self.shared, self.is_still
        )
        safe = np.where(constant, 1.0, deviation)
        # A constant score is either above the limit or not.
        q = np.where(constant, np.where(limit < 0.0, -np.inf, np.inf), limit / safe)
        misses, alarms = np.zeros(q.shape), np.zeros(q.shape)
        for weight, scale in zip(self.link.weights, self.link.scales, strict=True):
            total = np.sqrt(scale * scale + self.spread)
            r = np.where(constant, 0.0, shared / (total * safe))
            misses += weight * both_below(self.base / total, q, -r)
            alarms += weight * both_below(-self.base / total, -q, -r)
        return misses, alarms

    def score_at(self, chance: float) -> FloatArray:
        """The best reader's score at which P(yes) equals `chance`, for each state.

        Only for the best reader, whose P(yes) increases with the score.
        """
        if self.link.scales.size == 1:
            left = np.sqrt(1.0 + np.maximum(self.spread - self.own, 0.0))
            return np.asarray(self.link.score(chance) * left)
        left = np.maximum(self.spread - self.own, 0.0)
        edge = (abs(float(self.link.score(chance))) + 1.0) * np.sqrt(1.0 + left)
        low, high = -edge, edge
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = self.link.mean_probability(middle, left) < chance
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray(0.5 * (low + high))

    def mean(self, charge: Callable[[FloatArray, FloatArray], FloatArray]) -> FloatArray:
        """E[charge(score, P(yes | score))] for each state."""
        (believed, shared, own), shape = self._flat()
        out = np.empty(own.size)
        finer = finer_by(np.sqrt(np.maximum(own, 0.0)), np.sqrt(self.spread))
        for times in np.unique(finer):
            points, weights = standard_scores(int(times))
            every = np.flatnonzero(finer == times)
            step = max(1, BLOCK_NUMBERS // (points.size * self.link.scales.size))
            for start in range(0, every.size, step):
                part = every[start : start + step]
                scores, chance = self._along(believed[part], shared[part], own[part], points)
                out[part] = charge(scores, chance) @ weights
        return out.reshape(shape)

    def _flat(self) -> tuple[list[FloatArray], tuple[int, ...]]:
        """`believed`, `shared` and `own` of all states as vectors, and the shape of the states."""
        arrays = np.broadcast_arrays(self.believed, self.shared, self.own)
        return [array.ravel() for array in arrays], arrays[0].shape

    def _along(
        self, believed: FloatArray, shared: FloatArray, own: FloatArray, points: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Scores (states, points) at standard points, and P(yes) at each."""
        deviation = np.sqrt(np.maximum(own, 0.0))
        safe = np.where(deviation > 0.0, deviation, 1.0)
        # c/sp is at most sqrt(vt), also after rounding.
        most = np.sqrt(self.spread)
        slope = np.where(deviation > 0.0, np.clip(shared / safe, -most, most), 0.0)
        left = np.maximum(self.spread - slope**2, 0.0)
        means = self.base + slope[:, None] * points
        scores = believed[:, None] + deviation[:, None] * points
        return scores, self.link.mean_probability(means, left[:, None])

    def area(self) -> FloatArray:
        """Area under the receiver operating curve, for each state.

        The probability that a case with yes has a higher score than one with no.
        """
        yes = float(self.link.mean_probability(self.base, self.spread))
        (believed, shared, own), shape = self._flat()
        # P(yes) P(no) AUC = E[Q(p) P(no, p' < p)]. Ranks are not smooth, hence many points.
        points, weights = standard_scores(64)
        _, chance = self._along(believed, shared, own, points)
        no = (1.0 - chance) * weights
        below = np.cumsum(no, axis=1) - 0.5 * no
        area = (chance * below) @ weights / (yes * (1.0 - yes))
        return np.where(own > 0.0, area, 0.5).reshape(shape)


def finer_by(deviation: FloatArray, slope: float) -> FloatArray:
    """The power of two by which points must be denser for scores with this deviation."""
    steep = np.minimum(np.maximum(deviation, slope), _STEEPEST)
    return np.asarray(2.0 ** np.ceil(np.log2(np.sqrt(1.0 + steep**2))))


@cache
def standard_scores(finer: int) -> tuple[FloatArray, FloatArray]:
    """Equally spaced standard scores and their weights."""
    points = np.linspace(-_REACH, _REACH, 2 * round(_REACH / _SPACING) * finer + 1)
    weights = np.exp(-0.5 * points**2)
    return points, weights / weights.sum()


def both_below(u: npt.ArrayLike, v: npt.ArrayLike, r: npt.ArrayLike) -> FloatArray:
    """P(U < u, V < v) elementwise, for |r| < 1; u and v may be infinite.

    Parameters
    ----------
    u, v
        Limits, of shapes that broadcast.
    r
        Their correlation, strictly between -1 and 1.

    Returns
    -------
    array
        Probabilities, accurate to about 1e-15.

    Examples
    --------
    >>> float(both_below(0.0, 0.0, 0.0))
    0.25
    """
    from scipy.special import ndtr

    first, second, rho = np.broadcast_arrays(
        *(np.asarray(each, dtype=np.float64) for each in (u, v, r))
    )
    left = np.sqrt((1.0 - rho) * (1.0 + rho))
    both = 0.5 * (ndtr(first) + ndtr(second))
    both = both - _owens(first, second, rho, left) - _owens(second, first, rho, left)
    signs = np.sign(first) * np.sign(second)
    apart = (signs < 0.0) | ((signs == 0.0) & (np.sign(first) + np.sign(second) < 0.0))
    both = both - 0.5 * apart
    # At the origin the limits of the two terms depend on the direction; use the closed form.
    origin = (first == 0.0) & (second == 0.0)
    if np.any(origin):
        both = np.where(origin, 0.25 + np.arcsin(rho) / (2.0 * math.pi), both)
    sure = np.isinf(first) | np.isinf(second)
    if np.any(sure):
        both = np.where(sure, np.minimum(ndtr(first), ndtr(second)), both)
    return np.asarray(np.clip(both, 0.0, 1.0))


def _owens(u: FloatArray, v: FloatArray, r: FloatArray, left: FloatArray) -> FloatArray:
    """T(u, (v/u - r)/sqrt(1 - r²)), with its limits where u is 0 or infinite."""
    from scipy.special import owens_t

    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (v / u - r) / left
    # T(0, a) is arctan(a)/2π: a quarter with the sign of v if a is infinite.
    slope = np.where(u == 0.0, np.copysign(np.inf, v), slope)
    slope = np.where(np.isnan(slope), 0.0, slope)
    return np.asarray(owens_t(np.where(np.isinf(u), 0.0, u), slope))
