"""The least that a round can cost over all sets, where they are too many to be listed.

Whoever reads set S best is off by floor_S, the outcome's variance less what S explains of it. The
best set is found by looking at every one (79 million for five of a hundred tests, in a tenth of a
second) without keeping any: see `_stream_kernels`. Exact, up to a slack for rounding, for

- at most or exactly k tests, and knapsacks;
- prices with squared error, and one price for all tests with any risk. With other risks and
  prices that differ, each size of set gets its best reading and its cheapest tests: a bound still;
- anybody's imputation and any curve: nobody reads a set better than its best reader.

Pivots are those of a Cholesky factorisation, which is exact for a matrix nearby: with λ the least
eigenvalue of the correlations, k tests explain about k²ε/λ of the variance more or less.

Where looking at every set takes too long, eigenvalues bound all of them at once. In units of
standard deviations let α be the coefficients, R = λI + BB' the correlations with λ their smallest
eigenvalue: every test is its own noise of variance λ plus a mix B_i'f of common factors,
|B_i|² = 1 - λ. Whoever sees k tests cannot know the own noise of the others, λ Σ_{i∉S} α_i², nor
the factors well: their precision grows by at most (1 - λ)/λ a test, and the hidden tests together
weigh the factors by at least |B'α| - sqrt(1 - λ) Σ_{i∈S} |α_i|. The least of each part over all
sets adds up to a floor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.discounting import total_weight
from preceptor._base.values import FloatArray, IntArray, remembered
from preceptor.loss import ClosedForm
from preceptor.model.budgets import AtMost, Exactly, Knapsack
from preceptor.model.risks import NumberRisk, SquaredError
from preceptor.model.score_pairs import ScorePair
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.planning.shape import shape_of
from preceptor.problem import Problem

# Sets that one core gets through in a second, with some room: twice as many were measured.
_A_SECOND = 4e8
# The most that is streamed at all, so that a bound can be worked out again without a clock.
_MOST_SECONDS = 20.0
# Correlations closer to singular than this leave too few digits.
_LEAST_EIGENVALUE = 1e-9
_ROUNDING = 16 * np.finfo(np.float64).eps


def floor_over_all_sets(problem: Problem, seconds: float | None = None) -> float:
    """What no round can avoid, whichever set is shown, discounted over all rounds.

    Over every set one by one if that takes no more than `seconds`, else from eigenvalues.
    """
    if not _falls_with_knowledge(problem):
        return 0.0
    least = least_round(problem) if seconds is None else least_round(problem, seconds)
    if least is None:
        least = _least_by_eigenvalues(problem)
    return float(total_weight(problem.discount, problem.horizon) * least)


def _falls_with_knowledge(problem: Problem) -> bool:
    """Whether losses are in closed form, and whoever knows more never pays more."""
    risk = problem.risk
    falls = not isinstance(risk, NumberRisk) or risk.is_increasing
    return isinstance(problem.loss, ClosedForm) and falls


def _least_by_eigenvalues(problem: Problem) -> float:
    """A floor of all rounds in no time, at any size."""
    world = problem.world
    scale = np.sqrt(np.diag(world.covariance))
    correlation = world.covariance / np.outer(scale, scale)
    own = 0.999999 * float(np.linalg.eigvalsh(correlation)[0])  # a hair less, for rounding
    weights = np.sort(np.abs(world.coefficients * scale))
    k = shape_of(problem).most_shown
    noise = own * float(np.sum(weights[: problem.size - k] ** 2))
    alpha = world.coefficients * scale
    common = float(np.sqrt(max(alpha @ correlation @ alpha - own * alpha @ alpha, 0.0)))
    unseen = max(common - np.sqrt(1.0 - own) * float(weights[problem.size - k :].sum()), 0.0)
    hidden = noise + unseen**2 / (1.0 + k * (1.0 - own) / own)
    return float(charge_of_best(problem, np.array([world.noise_variance + hidden]))[0])


def least_round(problem: Problem, seconds: float = _MOST_SECONDS) -> float | None:
    """What no round costs less than, whichever set is shown; None if that cannot be streamed.

    It cannot if it would take longer than `seconds`, or if nothing is known but the budget's own
    word on which sets it allows.
    """
    family = _family(problem)
    if family is None or family.seconds > min(seconds, _MOST_SECONDS):
        return None
    if not _falls_with_knowledge(problem):
        return None
    within = isinstance(problem.risk, SquaredError)  # prices are in the units of what is streamed
    left = _least_left(
        problem.world, family, family.price if within else np.zeros_like(family.price)
    )
    if left is None:
        return None
    sizes = np.flatnonzero(np.isfinite(left))
    if family.exactly:
        sizes = sizes[sizes == family.most]
    charged = charge_of_best(problem, left[sizes])
    if not within:
        charged = charged + np.append(0.0, np.cumsum(np.sort(family.price)))[sizes]
    return float(charged.min())


@dataclass(frozen=True)
class _Family:
    """What a budget allows, tests in order of rising cost: as many as cost no more than `limit`."""

    order: IntArray  # (tests,)
    cost: FloatArray  # (tests,)
    limit: float
    most: int
    exactly: bool
    price: FloatArray  # (tests,)
    sets: float

    @property
    def seconds(self) -> float:
        return self.sets / _A_SECOND


def _family(problem: Problem) -> _Family | None:
    """None for a budget of somebody's own, and for tests of several columns."""
    budget, tests = problem.budget, problem.size
    # Exactly these: a subclass of somebody's own may allow other sets.
    if isinstance(budget, (AtMost, Exactly)) and type(budget) in (AtMost, Exactly):
        cost, limit, most = np.ones(tests), budget.k + 0.5, budget.k
    elif isinstance(budget, Knapsack) and type(budget) is Knapsack:
        cost, limit = np.array(budget.costs), budget.limit * (1 + 1e-11) + 1e-11
        most = int(np.sum(np.cumsum(np.sort(cost)) <= limit))
    else:
        return None
    order = np.argsort(cost, kind="stable")
    return _Family(
        order=order,
        cost=cost[order],
        limit=limit,
        most=most,
        exactly=type(budget) is Exactly,
        price=budget.prices(tests)[order],
        sets=float(budget.count(tests)),
    )


def _least_left(world: World, family: _Family, price: FloatArray) -> FloatArray | None:
    """For each number of tests, the least variance (and prices) that a set of so many leaves.

    Infinite where no set has so many. Worked out once for each world.
    """
    name = b"".join(part.tobytes() for part in (family.order, family.cost, price)).hex()
    name = f"least left of {family.most} within {family.limit}: {name}"
    return remembered(world, name, lambda: _streamed(world, family, price))


def _streamed(world: World, family: _Family, price: FloatArray) -> FloatArray | None:
    from preceptor.planning._stream_kernels import stream_from

    scale = np.sqrt(np.diag(world.covariance))
    order = family.order
    weight = (world.coefficients * scale)[order]
    matrix = (world.covariance / np.outer(scale, scale))[np.ix_(order, order)]
    total = float(weight @ matrix @ weight)
    own = float(np.linalg.eigvalsh(matrix)[0])
    if own < _LEAST_EIGENVALUE:
        return None
    explained = np.full(family.most + 1, -np.inf)
    explained[0] = 0.0
    n, depths = order.size, max(family.most, 2)
    matrices, known = np.empty((depths, n, n)), np.empty((depths, n))
    matrices[0], known[0] = matrix, matrix @ weight
    variances = np.ones((depths, n))
    limits = (family.cost, family.limit, family.most, price, explained)
    for first in range(n):
        stream_from(first, matrices, known, variances, *limits)
    slack = _ROUNDING * family.most**2 / own * total
    return np.asarray(world.noise_variance + np.maximum(total - explained - slack, 0.0))


def charge_of_best(problem: Problem, left: FloatArray) -> FloatArray:
    """What a round costs whoever is left with so much of the outcome's variance, and no more."""
    risk, world = problem.risk, problem.world
    if isinstance(risk, YesNoRisk):
        assert world.outcome is not None
        spread = world.score_variance
        known = np.clip(world.outcome_variance - left, 0.0, spread)
        link, base = world.outcome.from_score, world.base_score
        return risk.best(ScorePair.best_reader(link, base, spread, known))
    assert isinstance(risk, NumberRisk)
    return risk.expected(left)
