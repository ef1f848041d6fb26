"""Tests that an analysis may be registered with: permutation, Welch, mixed model.

All compare a first group with a second, or one group with 0. None of them falls back on another:
where a test cannot be carried out, there is no p-value and a sentence says why. Everything that a
test reports (effect, interval, standard deviation, p-value) is of one and the same comparison.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import optimize, stats

from preceptor._base.values import FloatArray, IntArray

RESAMPLES = 9_999
NO_PAIRS = "fewer than two places have people of both arms: nothing can be tested"
Alternative = Literal["two-sided", "less"]


@dataclass(frozen=True)
class Found:
    """What a test found: first minus second, or the mean of one group.

    Attributes
    ----------
    effect, low, high
        With its 1 - level interval.
    p
        NaN where the test could not be carried out; `doubts` say why.
    deviation, degrees
        Standard deviation that the interval was computed from, with its degrees of freedom: of
        differences between people at the same place where these are compared, else of people.
    means
        Of both groups where the test estimates them itself; else empty.
    """

    effect: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    deviation: float = math.nan
    degrees: int = 0
    means: tuple[float, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def standardised(self) -> float:
        """Hedges' g: the effect in standard deviations, corrected for small samples.

        NaN with one degree of freedom, where the correction would make anything 0.
        """
        if not self.deviation > 0.0 or self.degrees < 2:
            return math.nan
        return self.effect / self.deviation * (1.0 - 3.0 / (4.0 * self.degrees - 1.0))


def welch(
    first: FloatArray, second: FloatArray | None, alternative: Alternative, level: float
) -> Found:
    """Welch's t-test; of one group, the t-test against 0.

    The standard deviation of two groups is pooled.
    """
    if second is None:
        p = stats.ttest_1samp(first, 0.0, alternative=alternative).pvalue
        return Found(*_t_interval(first, level), float(p), *_spread(first))
    p = stats.ttest_ind(first, second, equal_var=False, alternative=alternative).pvalue
    made = stats.ttest_ind(first, second, equal_var=False).confidence_interval(1.0 - level)
    effect = float(first.mean() - second.mean())
    return Found(effect, float(made.low), float(made.high), float(p), *_spread(first, second))


def permutation(
    numbers: FloatArray,
    alternative: Alternative,
    level: float,
    seed: int,
    resamples: int = RESAMPLES,
) -> Found:
    """Permutation test of whether the mean is 0: signs are flipped.

    Of two arms, `numbers` are differences between people who have the same place and so met the
    same cases: flipping a sign swaps their arms. Exact where there are no more than `resamples`
    ways to do that. The interval is Student's. Numbers are put in order first, so that nothing
    depends on the order of rows.
    """
    doubts, numbers = [], np.sort(numbers)
    least = (2.0 if alternative == "two-sided" else 1.0) / 2.0 ** len(numbers)
    if least > level:
        doubts.append(
            f"with so few people the smallest p-value that is possible is {least:.2g}, above "
            f"{level:g}: nothing could have been found"
        )
    found = stats.permutation_test(
        [numbers],
        _mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        alternative=alternative,
        rng=np.random.default_rng(seed),
    )
    return Found(
        *_t_interval(numbers, level), float(found.pvalue), *_spread(numbers), doubts=tuple(doubts)
    )


def mixed(
    numbers: FloatArray,
    is_first: FloatArray,
    place: IntArray,
    alternative: Alternative,
    level: float,
) -> Found:
    """Linear mixed model of one number a person: effect of being in the first group.

    Places have a random intercept, since people at the same place met the same cases. That covers
    cases as a random effect, too: a person's number is a mean over rounds, and the mean of what
    the cases of a place add to it is the same for everybody there. In a model of single rounds
    cases would have to be crossed with people; an intercept for places and people alone takes what
    is due to cases for noise of each person, and hardly ever finds anything.

    Fitted by restricted maximum likelihood. The test is Student's, with as many degrees of freedom
    as there are people beyond one at each place, less one: with both arms at every place, and
    places that differ, it is the paired t-test. The standard deviation is that of a difference
    between two people at the same place. All arguments have one entry for each person.
    """
    _, at = np.unique(place, return_inverse=True)
    both = np.intersect1d(at[is_first > 0.0], at[is_first == 0.0])
    if len(both) < 2:
        return Found(doubts=(NO_PAIRS,))
    degrees = len(numbers) - (int(at.max()) + 1) - 1
    # In units of its own spread: the search stops by an absolute tolerance.
    unit = float(np.std(numbers)) or 1.0
    found = _fit_by_reml(numbers / unit, is_first, at)
    effect, error = unit * found.effect, unit * found.error
    if not error > 0.0:
        return Found(effect, doubts=("nobody differs within an arm; there is no p-value",))
    score = effect / error
    p = (
        stats.t.cdf(score, degrees)
        if alternative == "less"
        else 2.0 * stats.t.sf(abs(score), degrees)
    )
    wide = float(stats.t.ppf(1.0 - level / 2.0, degrees)) * error
    second = unit * found.intercept
    doubts = ("places do not differ by the mixed model: their variance is 0",)
    return Found(
        effect,
        effect - wide,
        effect + wide,
        float(p),
        unit * math.sqrt(2.0 * found.variance),
        degrees,
        (second + effect, second),
        () if found.share > 0.0 else doubts,
    )


class _Fit(NamedTuple):
    """A mixed model; `share` is that of places in the variance, `variance` that of people there."""

    criterion: float
    intercept: float
    effect: float
    error: float
    variance: float
    share: float


def _fit_by_reml(numbers: FloatArray, is_first: FloatArray, at: IntArray) -> _Fit:
    """The best share of the variance that places have, and the least squares that go with it."""
    size = np.bincount(at)
    table = np.column_stack([np.ones(len(numbers)), is_first, numbers])
    means = np.column_stack([np.bincount(at, column) for column in table.T]) / size[:, None]
    free = len(numbers) - 2

    def fitted(share: float) -> _Fit:
        # Taking off this part of its place's mean leaves rows uncorrelated.
        kept = 1.0 / np.sqrt(1.0 + size * share / (1.0 - share))
        rows = table - ((1.0 - kept)[:, None] * means)[at]
        design, target = rows[:, :2], rows[:, 2]
        inverse = np.linalg.inv(design.T @ design)
        found = inverse @ (design.T @ target)
        variance = float(np.sum((target - design @ found) ** 2)) / free
        criterion = (
            free * math.log(max(variance, np.finfo(float).tiny))
            - 2.0 * float(np.log(kept).sum())
            - math.log(float(np.linalg.det(inverse)))
        )
        error = math.sqrt(variance * float(inverse[1, 1]))
        return _Fit(criterion, float(found[0]), float(found[1]), error, variance, share)

    inside = optimize.minimize_scalar(
        lambda share: fitted(share).criterion,
        bounds=(0.0, 1.0 - 1e-9),
        method="bounded",
        options={"xatol": 1e-10},
    )
    # The search never tries the end itself.
    return min(fitted(0.0), fitted(float(inside.x)))


def _spread(first: FloatArray, second: FloatArray | None = None) -> tuple[float, int]:
    """Standard deviation of one group or within two, with its degrees of freedom."""
    groups = [first] if second is None else [first, second]
    degrees = sum(len(group) - 1 for group in groups)
    squares = sum(float(np.sum((group - group.mean()) ** 2)) for group in groups)
    return math.sqrt(squares / degrees), degrees


def _mean(numbers: FloatArray, axis: int = -1) -> FloatArray:
    mean: FloatArray = np.mean(numbers, axis=axis)
    return mean


def _t_interval(numbers: FloatArray, level: float) -> tuple[float, float, float]:
    """Mean with its 1 - level interval by Student."""
    made = stats.ttest_1samp(numbers, 0.0).confidence_interval(1.0 - level)
    return float(numbers.mean()), float(made.low), float(made.high)
