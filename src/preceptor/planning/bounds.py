"""Lower bounds on the cost of every policy that need no search.

The best prediction from set S has the error variance floor_S, the outcome's variance less what S
explains of it. The best set is found by enumerating all of them (79 million for five of a hundred
tests, in a tenth of a second) without storing any: see `_bound_kernels`. Exact, up to a slack for
rounding, for

- at most or exactly k tests, and knapsacks;
- prices with squared error, and one price for all tests with any risk. With other risks and
  prices that differ, each size of set gets its best reading and its cheapest tests: a bound still;
- every imputation and every curve, since no person predicts better than the best prediction.

Pivots are those of a Cholesky factorisation, which is exact for a matrix nearby: with λ the least
eigenvalue of the correlations, k tests explain about k²ε/λ of the variance more or less.

Where enumeration takes too long, eigenvalues bound all sets at once. In units of standard
deviations let α be the coefficients, R = λI + BB' the correlations with λ their smallest
eigenvalue: every test is its own noise of variance λ plus a mix B_i'f of common factors, |B_i|² = 1
- λ. A set of k tests says nothing about the own noise of the others, λ Σ_{i∉S} α_i², and little
about the factors: their precision grows by at most (1 - λ)/λ a test, and the hidden tests together
weigh the factors by at least |B'α| - sqrt(1 - λ) Σ_{i∈S} |α_i|. The smallest values of each part
over all sets add up to a floor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.numerics import total_weight, weight_between, weights
from preceptor._base.values import FloatArray, IntArray, remembered
from preceptor.model.budgets import AtMost, Exactly, Knapsack
from preceptor.model.gaussian_loss import ClosedForm
from preceptor.model.problem import Problem
from preceptor.model.risks import NumberRisk, SquaredError
from preceptor.model.surfaces import best_readers
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.coordinatewise import NoLearning
from preceptor.people.crowd import Crowd
from preceptor.people.own_person import OwnPerson
from preceptor.planning.anytime import Watch
from preceptor.planning.candidate_sets import shape_of

# Limit on streaming in any case, so that a bound can be recomputed without a clock.
_MOST_SECONDS = 20.0
# Correlations closer to singular than this leave too few digits.
_LEAST_EIGENVALUE = 1e-9
_ROUNDING = 16 * np.finfo(np.float64).eps


def floor_over_all_sets(problem: Problem, seconds: float | None = None) -> float:
    """The smallest loss of a round over all sets, discounted and summed over all rounds.

    Every set is enumerated if that takes no more than `seconds`; otherwise eigenvalues bound it.
    """
    if not _falls_with_knowledge(problem):
        return 0.0
    least = least_round(problem) if seconds is None else least_round(problem, seconds)
    if least is None:
        least = _least_by_eigenvalues(problem)
    return float(total_weight(problem.discount, problem.horizon) * least)


def _falls_with_knowledge(problem: Problem) -> bool:
    """Return whether losses are in closed form and never rise with the variance explained."""
    risk = problem.risk
    falls = not isinstance(risk, NumberRisk) or risk.is_increasing
    return isinstance(problem.loss, ClosedForm) and falls


def _least_by_eigenvalues(problem: Problem) -> float:
    """A floor of all rounds from eigenvalues, which is quick at any size."""
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
    """The smallest loss of a round over all sets; None if they cannot be enumerated.

    That is so if it would take longer than `seconds`, or for a user-defined budget.
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
class _StreamedSets:
    """The sets of a budget, tests in order of rising cost: total cost of at most `limit`."""

    order: IntArray  # (tests,)
    cost: FloatArray  # (tests,)
    limit: float
    most: int
    exactly: bool
    price: FloatArray  # (tests,)
    sets: float

    @property
    def seconds(self) -> float:
        # Sets per second and core, conservatively: twice as many were measured.
        return self.sets / 4e8


def _family(problem: Problem) -> _StreamedSets | None:
    """The sets to stream; None for a user-defined budget, and for tests of several columns."""
    budget, tests = problem.budget, problem.size
    # Exactly these classes: a subclass may allow other sets.
    if isinstance(budget, (AtMost, Exactly)) and type(budget) in (AtMost, Exactly):
        cost, limit, most = np.ones(tests), budget.k + 0.5, budget.k
    elif isinstance(budget, Knapsack) and type(budget) is Knapsack:
        cost, limit = np.array(budget.costs), budget.limit * (1 + 1e-11) + 1e-11
        most = int(np.sum(np.cumsum(np.sort(cost)) <= limit))
    else:
        return None
    order = np.argsort(cost, kind="stable")
    return _StreamedSets(
        order=order,
        cost=cost[order],
        limit=limit,
        most=most,
        exactly=type(budget) is Exactly,
        price=budget.prices(tests)[order],
        sets=float(budget.count(tests)),
    )


def _least_left(world: World, family: _StreamedSets, price: FloatArray) -> FloatArray | None:
    """For each size, the least variance (plus prices) that a set of that size leaves.

    Infinite where there is no such set. Computed once for each world.
    """
    name = b"".join(part.tobytes() for part in (family.order, family.cost, price)).hex()
    name = f"least left of {family.most} within {family.limit}: {name}"
    return remembered(world, name, lambda: _streamed(world, family, price))


def _streamed(world: World, family: _StreamedSets, price: FloatArray) -> FloatArray | None:
    from preceptor.planning._bound_kernels import stream_from

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
    """Expected loss of the best prediction, given the variance that it leaves."""
    risk = problem.risk
    if isinstance(risk, YesNoRisk):
        return risk.best(best_readers(problem.world, left))
    assert isinstance(risk, NumberRisk)
    return risk.expected(left)


# Rounds for which the one-dimensional bound is computed before the floor takes over.
_PROJECTED_ROUNDS = 400


def instant_bound(problem: Problem, watch: Watch | None = None) -> float:
    """The larger of two bounds that need no search: the floor and the one-dimensional bound.

    With very many sets the second takes seconds; a watch limits it to a share of its time.
    """
    if isinstance(problem.learner, Crowd):
        members = problem.learner.members
        alone = ((m.weight, problem.replace(learner=m.person)) for m in members)
        return sum(weight * instant_bound(each, watch) for weight, each in alone)
    if problem.learner.kind == NoLearning.kind:
        first = float(problem.oracle.losses(problem.initial_errors[None, :]).min())
        return first * total_weight(problem.discount, problem.horizon)
    if isinstance(problem.learner, OwnPerson):
        return remaining_floor(problem, after=0)
    if not problem.learns_by_showings:
        return floor_bound(problem)
    return max(floor_bound(problem), projection_bound(problem, watch))


def least_loss(problem: Problem) -> float:
    """The smallest loss possible in any round: the best set, read optimally."""
    return float(problem.oracle.floors().min())


def floor_bound(problem: Problem) -> float:
    """Instant bound on the whole problem: the first round's best loss, then the floor.

    The first round is known exactly because the person's state is; every later round costs at
    least `least_loss`.
    """
    first = float(problem.oracle.losses(problem.initial_errors[None, :]).min())
    return first + remaining_floor(problem, after=1)


def remaining_floor(problem: Problem, after: int) -> float:
    """Discounted floor of all rounds from `after` on."""
    return weight_between(problem.discount, after, problem.horizon) * least_loss(problem)


def projection_bound(problem: Problem, watch: Watch | None = None) -> float:
    """Each round's loss along one direction per set, with the fastest learning the budget allows.

    For squared error and a person who knows the correlations, e'M_S e >= (w'e)²/(v'Σ_SS v) for
    w = Σ[:,S]v and any v; we take v = Σ_SS⁻¹(Σe)_S at the start, where this is an equation. Let
    y_i = w_i e_i, so that Σy = |deviation|² there. In round t every test was shown at most t
    times and all together at most kt times, so w'e is at least Σy minus the most that this many
    showings can remove from the positive y_i. This holds for round t by itself, so the
    discounted sum bounds every policy. -inf where it does not apply.
    """
    from preceptor.planning._bound_kernels import projected_rounds

    form = problem.oracle.forms()
    if form is None or not form.is_squared or np.any(form.shift):
        return -np.inf
    errors = problem.initial_errors
    rounds = _checkpoints(problem)
    gone, step = _concave_learning(problem, int(rounds[-1]))
    deviation = form.reading @ errors  # (sets, rows): L⁻¹(Σe)_S
    cost_floor = form.floor + form.prices
    order, squared = np.argsort(cost_floor, kind="stable"), np.sum(deviation**2, axis=1)
    y = np.einsum("sri,sr->si", form.reading, deviation) * errors
    least, widest = np.empty(rounds.size), int(problem.sets.sizes.max())
    watch = Watch(None) if watch is None else watch
    # With very many sets this takes seconds: a tenth of the time is enough for a first bound.
    with watch.halting(watch.share(0.1)) as halt:
        projected_rounds(order, cost_floor, squared, y, gone, step, widest, rounds, least, halt)
    # What a round costs at least does not grow with t: between checkpoints use the next one.
    times = np.arange(rounds[-1] + 1)
    per_round = least[np.searchsorted(rounds, times)]
    weigh = weights(problem.discount, times.size)
    if problem.horizon is not None:
        weigh[problem.horizon :] = 0.0
    slack = 1e-12 * float(weigh @ per_round)
    return float(weigh @ per_round) + remaining_floor(problem, after=times.size) - slack


def _checkpoints(problem: Problem) -> IntArray:
    """Rounds at which the bound is computed: every one at first, then fewer and fewer."""
    rounds = [0]
    while rounds[-1] < _PROJECTED_ROUNDS:
        rounds.append(rounds[-1] + 1 + rounds[-1] // 30)
    return np.array(rounds, dtype=np.int64)


def _concave_learning(problem: Problem, showings: int) -> tuple[FloatArray, FloatArray]:
    """Share of each error that can be gone after m showings (n, m), at most, and its steps.

    Steps are sorted so that they fall: no order of learning removes more, and curves that learn
    in jumps are covered too. Where an error changes sign more than all of it can be gone, and a
    step back toward the first error removes nothing.
    """
    table = problem.by_showings.retention_table(problem.start_counts, showings + 1)
    now = table[:, :1]
    shares = np.divide(table, now, out=np.ones_like(table), where=now != 0)
    fallen = np.maximum(shares[:, :-1] - shares[:, 1:], 0.0)
    steps = np.sort(fallen, axis=1)[:, ::-1]
    gone = np.concatenate([np.zeros_like(now), np.cumsum(steps, axis=1)], axis=1)
    return gone, np.ascontiguousarray(steps)
