"""Tests that an analysis may be registered with: permutation, Welch, mixed model.

All compare a first group with a second, or one group with 0. None of them falls back on another:
where a test cannot be carried out, there is no p-value and a sentence says why.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from preceptor._base.values import FloatArray
from preceptor.errors import MissingExtra

RESAMPLES = 9_999
Alternative = Literal["two-sided", "less"]


@dataclass(frozen=True)
class Found:
    """What a test found: first minus second, or the mean of one group.

    `p` is NaN where the test could not be carried out; `doubts` say why.
    """

    effect: float
    low: float
    high: float
    p: float
    doubts: tuple[str, ...] = ()


def welch(
    first: FloatArray, second: FloatArray | None, alternative: Alternative, level: float
) -> Found:
    """Welch's t-test; of one group, the t-test against 0."""
    made = _t_interval(first, second, level)
    if second is None:
        p = stats.ttest_1samp(first, 0.0, alternative=alternative).pvalue
    else:
        p = stats.ttest_ind(first, second, equal_var=False, alternative=alternative).pvalue
    return Found(*made, float(p))


def permutation(
    first: FloatArray,
    second: FloatArray | None,
    alternative: Alternative,
    level: float,
    seed: int,
    resamples: int = RESAMPLES,
) -> Found:
    """Permutation test of the difference of means; of one group, signs are flipped.

    Exact where there are no more than `resamples` permutations. The interval is Welch's. Numbers
    are put in order first: the p-value does not depend on the order of rows.
    """
    doubts = []
    first, second = np.sort(first), None if second is None else np.sort(second)
    samples = [first] if second is None else [first, second]
    if second is None:
        most = 2.0 ** len(first)
    else:
        most = math.comb(len(first) + len(second), len(first))
    least = (2.0 if alternative == "two-sided" else 1.0) / most
    if least > level:
        doubts.append(
            f"with so few people the smallest p-value that is possible is {least:.2g}, above "
            f"{level:g}: nothing could have been found"
        )
    found = stats.permutation_test(
        samples,
        _difference,
        permutation_type="samples" if second is None else "independent",
        vectorized=True,
        n_resamples=resamples,
        alternative=alternative,
        rng=np.random.default_rng(seed),
    )
    return Found(*_t_interval(first, second, level), float(found.pvalue), tuple(doubts))


def mixed(
    numbers: FloatArray,
    is_first: FloatArray,
    person: FloatArray,
    place: FloatArray,
    alternative: Alternative,
    level: float,
) -> Found:
    """Linear mixed model: effect of being in the first group, with random intercepts.

    Places have an intercept, since whoever has the same one met the same cases, and so have people
    within places if somebody has more than one row. All arguments have one entry for each row.
    """
    try:
        import pandas as pd
        import statsmodels.formula.api as smf
    except ImportError as missing:
        raise MissingExtra(str(missing.name), "study", "A mixed model") from None
    # In units of its own spread: optimisers stop by absolute tolerances.
    unit = float(np.std(numbers)) or 1.0
    table = pd.DataFrame({"y": numbers / unit, "first": is_first, "person": person, "place": place})
    repeated = len(table) > table["person"].nunique()
    within = {"person": "0 + C(person)"} if repeated else None
    doubts: list[str] = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            model = smf.mixedlm(
                "y ~ first", table, groups="place", vc_formula=within, re_formula="1"
            )
            fit = model.fit(reml=True, method=["bfgs", "lbfgs", "cg", "powell"])
            effect, error = unit * float(fit.params["first"]), unit * float(fit.bse["first"])
            converged = bool(fit.converged)
        except (np.linalg.LinAlgError, ValueError) as broken:
            why = f"the mixed model could not be fitted ({broken}); there is no p-value"
            return Found(math.nan, math.nan, math.nan, math.nan, (why,))
    if any("boundary" in str(each.message) for each in said):
        doubts.append("a variance of the mixed model is estimated as 0")
    z = stats.norm.ppf(1.0 - level / 2.0)
    low, high = effect - z * error, effect + z * error
    if not converged or not math.isfinite(error):
        doubts.append("the mixed model did not converge; there is no p-value")
        return Found(effect, low, high, math.nan, tuple(doubts))
    score = effect / error
    p = stats.norm.cdf(score) if alternative == "less" else 2.0 * stats.norm.sf(abs(score))
    return Found(effect, low, high, float(p), tuple(doubts))


def standardised(first: FloatArray, second: FloatArray | None) -> float:
    """Hedges' g: the effect in standard deviations of people, corrected for small samples."""
    if second is None:
        spread, degrees = first.std(ddof=1), len(first) - 1
        effect = first.mean()
    else:
        degrees = len(first) + len(second) - 2
        squares = (len(first) - 1) * first.var(ddof=1) + (len(second) - 1) * second.var(ddof=1)
        spread, effect = math.sqrt(squares / degrees), first.mean() - second.mean()
    if not spread > 0.0:
        return math.nan
    return float(effect / spread * (1.0 - 3.0 / (4.0 * degrees - 1.0)))


def _difference(first: FloatArray, *second: FloatArray, axis: int = -1) -> FloatArray:
    mean: FloatArray = np.mean(first, axis=axis)
    return mean - np.mean(second[0], axis=axis) if second else mean


def _t_interval(
    first: FloatArray, second: FloatArray | None, level: float
) -> tuple[float, float, float]:
    """Effect with its 1 - level interval by Student or Welch."""
    if second is None:
        made = stats.ttest_1samp(first, 0.0).confidence_interval(1.0 - level)
        return float(first.mean()), float(made.low), float(made.high)
    made = stats.ttest_ind(first, second, equal_var=False).confidence_interval(1.0 - level)
    return float(first.mean() - second.mean()), float(made.low), float(made.high)
