"""Why fixed sets can be arbitrarily bad: the worst case in the proof, as a problem to solve.

**Theorem.** Take any covariance Σ that is not diagonal and any budget k < n. There is a constant
c > 0 that depends on Σ and k only, and for every discount δ in (0, 1) a person and a world with
covariance Σ such that the best fixed set costs at least c·δ/(1-δ) times the optimum.

The construction: pick a test j (`taught`) and a set T (`kept`) of k other tests, at least one of
them correlated with j. Only tests in T matter (coefficient β), the person knows every coefficient
but that of j, which is 0 and which they take to be -β, and one showing teaches it. Showing j
once and then T forever costs β²B beyond the noise. A fixed set either never shows j, and the
wrong belief about j spoils the reading of T by β²q in every round; or it misses part of T,
which costs at least β²r in every round. With d = min(q, r) the ratio is at least

    (δ/(1-δ)) d/B             without noise (β = 1),
    (1 + dδ/(1-δ))/(1 + B)    with noise variance σ² (β² = σ²/(1-δ)),

and both are at least cδ/(1-δ) with c = d/(1 + B). Note what the second case needs: coefficients
that grow as δ nears 1. With noise and *fixed* coefficients the ratio stays below 1 + β²q/σ² for
every δ, because T shown forever costs (σ² + β²q)/(1-δ) and every policy pays for the noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.model.budgets import AtMost
from preceptor.model.policies import ExploreThenCommit
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import OneShot
from preceptor.theory.one_step import conditional_covariance, explained_covariance


@dataclass(frozen=True)
class StationaryGap:
    """A problem on which every fixed set is bad, with the constants of the proof.

    Attributes
    ----------
    problem
        The instance.
    policy
        Shows `taught` once and `kept` from then on: the proof's upper bound on the optimum.
    taught
        Index of the test that is shown first.
    kept
        The set that is shown later.
    scale
        β, the size of the weights. The two that follow are per unit of β².
    first_round_excess
        B in the proof: what the first round of `policy` costs above the noise.
    stationary_excess
        d in the proof: what every round of every fixed set costs above the noise, at least.
    """

    problem: Problem
    policy: ExploreThenCommit
    taught: int
    kept: TestSet
    scale: float
    first_round_excess: float
    stationary_excess: float

    @property
    def constant(self) -> float:
        """c = d/(1 + B), which depends on the covariance and the budget only."""
        return self.stationary_excess / (1.0 + self.first_round_excess)

    @property
    def theorem_ratio(self) -> float:
        """cδ/(1-δ): the theorem's bound on (best fixed set) / (optimum)."""
        return self.constant * self.problem.discount / (1.0 - self.problem.discount)

    @property
    def guaranteed_ratio(self) -> float:
        """The sharper bound that the proof gives on its way; at least `theorem_ratio`."""
        weight = self.problem.discount / (1.0 - self.problem.discount)
        if self.problem.world.noise_variance == 0.0:
            return weight * self.stationary_excess / self.first_round_excess
        return (1.0 + weight * self.stationary_excess) / (1.0 + self.first_round_excess)


def stationary_gap(
    covariance: npt.ArrayLike,
    budget: int,
    discount: float,
    noise_variance: float = 0.0,
    *,
    taught: int | None = None,
    kept: Sequence[int] | None = None,
) -> StationaryGap:
    """Build the instance on which every fixed set is as bad as the theorem says.

    Parameters
    ----------
    covariance
        Shape (n, n), not diagonal.
    budget
        The most tests shown per case, at least 1 and below n.
    discount
        δ, above 0 and below 1.
    noise_variance
        Variance of what no test explains.
    taught
        The test to show first; chosen around the most correlated pair if left out.
    kept
        The set to show later; chosen around the most correlated pair if left out.

    Returns
    -------
    StationaryGap
        The problem, a good policy for it, and the constants of the proof.

    Raises
    ------
    NotApplicable
        The tests are uncorrelated; then a fixed set is optimal.
    InvalidInput
        Values that make no sense, all of them in one message.

    Examples
    --------
    >>> gap = stationary_gap([[1.0, 0.5], [0.5, 1.0]], budget=1, discount=0.99)
    >>> gap.kept, gap.taught, round(gap.guaranteed_ratio, 3)
    ((0,), 1, 14.143)
    """
    # Let the world check the matrix; its coefficients are replaced below.
    size = np.asarray(covariance, dtype=np.float64).shape[0]
    checked = World(np.ones(size), covariance, noise_variance)
    sigma = checked.covariance
    if checked.is_diagonal:
        raise NotApplicable(
            "stationary_gap: the tests are uncorrelated, and then a fixed set is optimal "
            "(method='independent' finds it); the theorem needs one nonzero covariance"
        )
    _check_numbers(size, budget, discount)
    shown_later, learned_first = _choose(sigma, budget, taught, kept)
    noise = checked.noise_variance
    scale = 1.0 if noise == 0.0 else math.sqrt(noise / (1.0 - discount))
    truth = np.zeros(size)
    truth[list(shown_later)] = scale
    belief = truth.copy()
    belief[learned_first] = -scale
    problem = Problem(
        World(truth, sigma, noise), Learner(belief, OneShot()), AtMost(budget), discount
    )
    unit = truth / scale
    return StationaryGap(
        problem=problem,
        policy=ExploreThenCommit([(learned_first,)], commit=shown_later),
        taught=learned_first,
        kept=shown_later,
        scale=scale,
        first_round_excess=_untold(sigma, unit, (learned_first,))
        + float(sigma[learned_first, learned_first]),
        stationary_excess=min(
            float(explained_covariance(sigma, shown_later)[learned_first, learned_first]),
            _least_miss(sigma, unit, shown_later),
        ),
    )


def _untold(sigma: FloatArray, unit: FloatArray, shown: TestSet) -> float:
    """What `shown` cannot tell about the sum of the kept tests."""
    hidden = [i for i in range(unit.size) if i not in shown]
    return float(unit[hidden] @ conditional_covariance(sigma, shown) @ unit[hidden])


def _least_miss(sigma: FloatArray, unit: FloatArray, kept: TestSet) -> float:
    """The proof's r: the least that any other allowed set leaves untold.

    A set tells no more than one that contains it, and as k < n every smaller set is part of a
    set of full size that is not `kept`. So it is enough to look at those.
    """
    others = itertools.combinations(range(unit.size), len(kept))
    return min(_untold(sigma, unit, shown) for shown in others if shown != kept)


def _choose(
    sigma: FloatArray, budget: int, taught: int | None, kept: Sequence[int] | None
) -> tuple[TestSet, int]:
    size = sigma.shape[0]
    deviation = np.sqrt(np.diag(sigma))
    strength = np.abs(sigma / np.outer(deviation, deviation))
    np.fill_diagonal(strength, 0.0)
    if taught is None:
        outside = [j for j in range(size) if kept is None or j not in kept]
        inside = list(range(size)) if kept is None else list(kept)
        # The last one among equals, so that the kept tests are the first by default.
        best = max(outside, key=lambda j: (strength[inside, j].max(), j))
    else:
        best = taught
    if kept is None:
        others = [i for i in range(size) if i != best]
        partner = max(others, key=lambda i: float(strength[i, best]))
        rest = [i for i in others if i != partner][: budget - 1]
        chosen = tuple(sorted([partner, *rest]))
    else:
        chosen = tuple(sorted(kept))
    faults = []
    if len(set(chosen)) != budget or best in chosen:
        faults.append(f"kept: {chosen}, must be {budget} tests other than taught = {best}")
    elif not np.any(sigma[list(chosen), best]):
        faults.append(f"kept: {chosen}, one of them must be correlated with taught = {best}")
    InvalidInput.raise_if(faults)
    return chosen, best


def _check_numbers(size: int, budget: int, discount: float) -> None:
    faults = []
    if not 1 <= budget < size:
        faults.append(f"budget: {budget!r}, must be at least 1 and below the {size} tests")
    if not 0.0 < discount < 1.0:
        faults.append(f"discount: {discount!r}, must be above 0 and below 1")
    InvalidInput.raise_if(faults)
