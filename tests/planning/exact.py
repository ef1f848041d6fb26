"""Slow, obvious solvers that the bounds are held against, and random small instances."""

from __future__ import annotations

import dataclasses
import itertools
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

import preceptor as pr
from preceptor._base.numerics import total_weight
from preceptor._base.values import FloatArray, IntArray
from preceptor.model.certificate import Certificate
from preceptor.planning.dual import conduct
from preceptor.planning.dual_instances import CountInstance, basis_of
from preceptor.planning.error_dual import ErrorDual
from preceptor.planning.guided_beam import BeamGuide, guided_beam
from preceptor.proofs.dual import Potentials, prove
from preceptor.proofs.losses import ReferenceLosses

# Rounds after which nothing is left at a discount of 0.9.
FOREVER = 250


@dataclasses.dataclass(frozen=True, eq=False)
class ErrorInstance:
    """Errors that every showing divides by `alpha`, and sets that cost set_cost + |factor u|²."""

    covariance: FloatArray
    initial_error: FloatArray
    alpha: FloatArray
    members: IntArray
    set_cost: FloatArray
    discount: float
    horizon: int | None = None

    @property
    def n_features(self):
        return len(self.initial_error)

    @property
    def n_sets(self):
        return len(self.members)

    @cached_property
    def shown(self):
        return np.array([np.isin(np.arange(self.n_features), row) for row in self.members])

    @cached_property
    def factor(self):
        """Roots (sets, widest, n) of what errors, as shares of the first ones, cost."""
        roots = np.zeros((*self.members.shape, self.n_features))
        for S, row in enumerate(self.members):
            tests = row[row >= 0]
            lower = np.linalg.cholesky(self.covariance[np.ix_(tests, tests)])
            roots[S, : tests.size] = np.linalg.solve(lower, self.covariance[tests])
        return roots * self.initial_error

    def counted(self, length):
        """The same as the arrays of a dual over errors."""
        left = self.alpha[:, None] ** -np.arange(length + 1.0)
        left[self.initial_error == 0.0] = 1.0
        deviations = np.sqrt(np.diag(self.covariance))[:, None]
        return CountInstance(
            floor=np.zeros(self.n_sets),
            shift=np.zeros(self.factor.shape[:2]),
            reading=self.factor,
            prices=self.set_cost,
            shown=self.shown,
            code=0,
            tau=0.0,
            knots=np.zeros((0, 3)),
            errors=left,
            basis=basis_of(left),
            caps=np.full(self.n_features, length),
            low=np.where(left[:, 1] < 1.0, 0.0, 1.0),
            high=left[:, -1].copy(),
            length=length,
            discount=self.discount,
            horizon=self.horizon,
            singles=self.covariance / deviations * self.initial_error,
        )


def solve_errors(instance, schedule, length=None, **limits):
    """The dual over errors, over the horizon or so many rounds."""
    dual = ErrorDual(instance.counted(instance.horizon or length), schedule)
    return conduct(dual, **limits)


def factor_members(n, sizes):
    """All sets of the given sizes among n tests, (n_sets, largest), padded with -1, small first."""
    ordered = sorted(set(sizes))
    width = max(ordered[-1], 1)
    rows = [
        list(c) + [-1] * (width - size)
        for size in ordered
        for c in itertools.combinations(range(n), size)
    ]
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def make_instance(
    coefficients,
    initial_belief,
    covariance,
    members,
    *,
    alpha=1.05,
    noise_variance=1e-3,
    discount=0.99,
    horizon=None,
    price=None,
):
    """An instance from a linear world and a person's first belief; `price` (n,) is per showing."""
    n = len(coefficients)
    unit = ErrorInstance(
        covariance, np.ones(n), np.full(n, 1.0), members, np.zeros(len(members)), 0.5, None
    )
    explained = np.einsum("skn,n->sk", unit.factor, coefficients)
    cost = noise_variance + coefficients @ covariance @ coefficients - (explained**2).sum(axis=1)
    if price is not None:
        cost = cost + unit.shown @ price
    ratios = np.broadcast_to(np.asarray(alpha, dtype=np.float64), (n,)).copy()
    error = np.asarray(coefficients - initial_belief, dtype=np.float64)
    return ErrorInstance(covariance, error, ratios, members, cost, discount, horizon)


def random_instance(
    seed, n, sizes, *, horizon=None, discount=0.9, alpha=1.3, signs="any", price=None, still=()
):
    """Correlations of both signs, errors of both signs unless told otherwise; `still` have none."""
    rng = np.random.default_rng(seed)
    a, h = rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, n)
    if signs == "same":
        h = a - rng.uniform(0.2, 1.0, n)
    h[list(still)] = a[list(still)]
    factors = rng.standard_normal((n + 1, n))
    covariance = factors.T @ factors + 0.05 * np.eye(n)
    scale = np.sqrt(np.diag(covariance))
    return make_instance(
        a,
        h,
        covariance / np.outer(scale, scale),
        factor_members(n, sizes),
        alpha=alpha * rng.uniform(1.0, 1.1, n),
        discount=discount,
        horizon=horizon,
        price=None if price is None else np.array(price),
    )


@cache
def solved(seed, n, sizes, length=30, width=200, **options):
    """Instance, search, dual and beam, so that tests may share them."""
    instance = random_instance(seed, n, sizes, **options)
    return instance, *solve_all(instance, length, width)


def solve_all(instance, length=30, width=200, iterations=60):
    found = good_schedule(instance, length)
    bound = solve_errors(
        instance,
        found.schedule,
        time_limit=60,
        max_iterations=iterations,
        length=None if instance.horizon else length,
    )
    return found, bound, beam_against(bound, found.schedule, found.commit, width)


class Schedule(NamedTuple):
    """Set ids (T,), then `commit` forever (-1 for a finite horizon), and the exact cost."""

    schedule: IntArray
    commit: int
    value: float


def good_schedule(instance, length=30):
    """From the best set shown throughout, round by round the set that is best given the others."""
    infinite = instance.horizon is None
    rounds = length if infinite else instance.horizon

    def cost(x):
        later = np.full(FOREVER if infinite else 0, x[-1])
        return schedule_cost(instance, np.concatenate([x, later]))

    best = min((np.full(rounds, s) for s in range(instance.n_sets)), key=cost)
    before = np.inf
    while cost(best) < before * (1 - 1e-9):
        before = cost(best)
        for t in range(rounds):
            options = np.tile(best, (instance.n_sets, 1))
            options[:, t] = np.arange(instance.n_sets)
            best = min(options, key=cost)
    return Schedule(best, int(best[-1]) if infinite else -1, cost(best))


def beam_against(bound, path, commit, width, **options):
    """One pass against a plan."""
    guide = guide_of(bound)
    return guided_beam(guide, path, commit, guide.price(path, commit), width, **options)


def guide_of(bound):
    """A guide that prices plans by adding up rounds, then those of the set that stays."""
    counted = bound.instance

    def price(path, commit):
        rounds = np.append(path, np.full(0 if commit < 0 else 3_000, commit)).astype(np.int64)
        shown = counted.shown[rounds]
        before = np.cumsum(shown, axis=0) - shown
        images = np.einsum("tkn,tn->tk", counted.reading[rounds], counted.errors[:, 1] ** before)
        costs = counted.prices[rounds] + (images**2).sum(axis=1)
        return float(costs @ counted.discount ** np.arange(rounds.size))

    return BeamGuide(bound, price)


def certificate_of(bound):
    """What a bound leaves behind in a plan."""
    return Certificate(bound.theta, bound.caps, bound.minima, bound.value)


def own_losses(instance: ErrorInstance):
    """What rounds of an instance cost, as the checkers see it: readings anew, costs as given."""
    errors = instance.initial_error
    sets = [tuple(int(i) for i in row if i >= 0) for row in instance.members]
    problem = pr.Problem(
        pr.World(errors, instance.covariance),
        pr.Learner(np.zeros_like(errors), [pr.Geometric(alpha) for alpha in instance.alpha]),
        pr.Listed(sets),
        instance.discount,
        instance.horizon,
    )
    found = ReferenceLosses.of(problem, sets)
    return dataclasses.replace(found, floor=instance.set_cost, price=0.0 * instance.set_cost)


def proven_again(instance: ErrorInstance, bound):
    """The checkers' proof of a dual bound, and whether it bears out every claim."""
    losses = own_losses(instance)
    try:
        potentials = Potentials(losses, certificate_of(bound))
    except pr.errors.InvalidInput:  # a certificate refuses what is not a number by itself
        return None, False
    if potentials.faults():
        return None, False
    allowed = 1e-9 * losses.scale
    proof = prove(potentials, losses, bound.minima - 0.1 * allowed)
    weight = total_weight(instance.discount, instance.horizon)
    holds = (
        np.all(bound.minima <= proof.minima + allowed)
        and np.all(bound.constants <= proof.constants + allowed * weight)
        and bound.value <= proof.value + allowed * weight
    )
    return proof, bool(holds)


def read_matrix(instance: ErrorInstance, S: int):
    """M_S, for which showing S with errors e costs set_cost + e'M_S e."""
    shown = [int(i) for i in instance.members[S] if i >= 0]
    sigma = instance.covariance
    if not shown:
        return np.zeros_like(sigma)
    return sigma[:, shown] @ np.linalg.solve(sigma[np.ix_(shown, shown)], sigma[shown])


def schedule_cost(instance: ErrorInstance, schedule):
    x = np.asarray(schedule)
    before = np.cumsum(instance.shown[x], axis=0) - instance.shown[x]
    errors = instance.initial_error * (1.0 / instance.alpha) ** before
    matrices = np.array([read_matrix(instance, S) for S in range(instance.n_sets)])
    losses = instance.set_cost[x] + np.einsum("ti,tij,tj->t", errors, matrices[x], errors)
    return float(losses @ instance.discount ** np.arange(x.size))


def brute_force(instance: ErrorInstance):
    """Cheapest of all schedules of a short finite horizon."""
    every = itertools.product(range(instance.n_sets), repeat=instance.horizon)
    return min(schedule_cost(instance, schedule) for schedule in every)


def enclosure(instance: ErrorInstance, rounds=None):
    """Two numbers with the optimum between them, from a table over all counts.

    A finite horizon gives it twice. An infinite one ends after `rounds` with the floor, or with
    the best set shown for ever.
    """
    n, delta, rounds = instance.n_features, instance.discount, instance.horizon or rounds
    axes = [
        instance.initial_error[i] * instance.alpha[i] ** -np.arange(rounds + 1.0) for i in range(n)
    ]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)

    def quadratic(matrix):
        return np.einsum("...i,ij,...j->...", grid, matrix, grid)

    sets = range(instance.n_sets)
    matrices = [read_matrix(instance, S) for S in sets]
    losses = [instance.set_cost[S] + quadratic(matrices[S]) for S in sets]
    low = high = np.zeros(grid.shape[:-1])
    if instance.horizon is None:
        low = low + instance.set_cost.min() / (1 - delta)
        high = np.full(low.shape, np.inf)
        for S in sets:
            s = np.where(instance.shown[S], 1 / instance.alpha, 1.0)
            for_ever = quadratic(matrices[S] / (1 - delta * np.outer(s, s)))
            high = np.minimum(high, instance.set_cost[S] / (1 - delta) + for_ever)
    for t in range(rounds - 1, -1, -1):
        here = (slice(0, t + 1),) * n
        after = [
            tuple(slice(1, t + 2) if shown else slice(0, t + 1) for shown in instance.shown[S])
            for S in sets
        ]
        low = np.min([losses[S][here] + delta * low[after[S]] for S in sets], axis=0)
        high = np.min([losses[S][here] + delta * high[after[S]] for S in sets], axis=0)
    return float(low.min()), float(high.min())
