"""Problems with a known optimal loss, and its source."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from preceptor._base.numerics import rounds_until
from preceptor._base.values import FloatArray, remembered
from preceptor.model.budgets import AtMost, Exactly, Knapsack, Listed
from preceptor.model.empirical_loss import Empirical
from preceptor.model.outcomes import Binary
from preceptor.model.problem import Problem
from preceptor.model.risks import AbsoluteError, Huber, ResidualRisk
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Brier, Decision, LogLoss
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Branch, Curve, Geometric, OneShot, PowerLaw, Tabulated
from preceptor.proofs.slow_value import slow_loss
from preceptor.theory.two_tests import SymmetricPair, optimal_policy


@dataclass(frozen=True)
class KnownInstance:
    """A problem, its optimal loss, and the source of that value.

    `tolerance` is the relative error of `value` (printed digits, rounding); `exploration_length` is
    the paper's T_d where it is known too.
    """

    name: str
    problem: Problem
    value: float
    source: str
    exploration_length: int | None = None
    tolerance: float = 1e-9


def known_instances() -> tuple[KnownInstance, ...]:
    """Return problems with a known optimum, published or in closed form.

    Returns
    -------
    tuple of KnownInstance
        Finite and infinite horizons, with and without correlation, easy ones first.

    Examples
    --------
    >>> from preceptor import solve
    >>> known = known_instances()[-1]
    >>> known.name, known.value, solve(known.problem).exploration_length
    ("the paper's two tests", 25.72743856, 46)
    """
    return (
        _one_test(),
        _all_of_two_uncorrelated(),
        _one_of_three_uncorrelated(),
        _nothing_left_to_learn(),
        _symmetric_pair(0.1, "keeping to one test"),
        _symmetric_pair(0.8, "alternating"),
        _papers_two_tests(),
    )


def _one_test() -> KnownInstance:
    discount, alpha, noise, error, rounds = 0.9, 1.2, 0.3, 0.7, 12
    world = World([1.0], [[1.0]], noise_variance=noise)
    learner = Learner([1.0 - error], Geometric(alpha))
    value = noise * _series(discount, rounds) + error**2 * _series(discount / alpha**2, rounds)
    return KnownInstance(
        "one test",
        Problem(world, learner, Exactly(1), discount, rounds),
        value,
        "two geometric series: the noise, and the remaining squared error",
    )


def _all_of_two_uncorrelated() -> KnownInstance:
    discount, noise = 0.9, 0.1
    errors, alphas, variances = (0.8, -0.6), (1.1, 1.5), (1.0, 2.0)
    world = World([1.0, 0.9], np.diag(variances), noise_variance=noise)
    curves = [Geometric(alpha) for alpha in alphas]
    learner = Learner(world.coefficients - np.array(errors), curves)
    value = noise / (1.0 - discount) + sum(
        variance * error**2 / (1.0 - discount / alpha**2)
        for variance, error, alpha in zip(variances, errors, alphas, strict=True)
    )
    return KnownInstance(
        "two uncorrelated tests, both shown",
        Problem(world, learner, AtMost(2), discount),
        value,
        "one geometric series per test: each is worth showing from the first round on",
    )


def _one_of_three_uncorrelated() -> KnownInstance:
    discount, noise, alpha, rounds = 0.95, 0.2, 1.3, 40
    truth, errors = np.array([1.0, 0.9, 0.5]), np.array([0.9, 0.2, 0.0])
    world = World(truth, np.eye(3), noise_variance=noise)
    whole, learned = _series(discount, rounds), _series(discount / alpha**2, rounds)
    hidden = (noise + truth @ truth - truth**2) * whole
    value = float(np.min(hidden + errors**2 * learned))
    return KnownInstance(
        "three uncorrelated tests, one shown",
        Problem(world, Learner(truth - errors, Geometric(alpha)), 1, discount, rounds),
        value,
        "without correlation a fixed set is best: the smallest of three sums of series",
    )


def _nothing_left_to_learn() -> KnownInstance:
    discount, noise, rho = 0.9, 0.05, 0.6
    world = World.equicorrelated([1.0, 0.8], rho, noise_variance=noise)
    learner = Learner([1.0, 0.8], PowerLaw(1.0))
    hidden = 0.8**2 * (1.0 - rho**2)
    return KnownInstance(
        "nothing left to learn",
        Problem(world, learner, 1, discount),
        (noise + hidden) / (1.0 - discount),
        "every round costs the noise and the variance of the other test that the better one leaves",
    )


def _symmetric_pair(correlation: float, what: str) -> KnownInstance:
    pair = SymmetricPair(correlation=correlation, alpha=1.1, discount=0.9)
    return KnownInstance(
        f"a symmetric pair, {what}",
        pair.problem(),
        optimal_policy(pair).value,
        "closed form of the paper's proposition on two interchangeable tests",
        tolerance=3e-6,  # what solvers of infinite horizons aim for by default
    )


def _papers_two_tests() -> KnownInstance:
    world = World.equicorrelated([1.0, 0.8], 0.8, noise_variance=1e-3)
    learner = Learner([0.2, 1.3], Geometric(1.10))
    return KnownInstance(
        "the paper's two tests",
        Problem(world, learner, 1, discount=0.99, horizon=600),
        25.72743856,
        "the fixed instance of the paper's appendix on misspecification, by Algorithm 1",
        exploration_length=46,
    )


def _series(ratio: float, terms: int) -> float:
    """1 + ratio + ... with this many terms."""
    return (1.0 - ratio**terms) / (1.0 - ratio)


# --- Small problems of every kind, and their optimal loss by brute force ---------------------

# Evaluated by numerical integration in every state, which takes too long without a horizon.
_INTEGRATED = ("user-defined risk", "share of wrong decisions", "expensive misses", "log loss")


@cache
def small_problems() -> Mapping[str, Problem]:
    """Return tiny problems of every kind, by name: each changes one thing about a plain one.

    Every budget, risk, loss model and curve of the package occurs, with a horizon of a few rounds
    and with none, and so do edge cases: no learning, wrong imputation, earlier showings, tests of
    several columns, a discount factor of 0.
    """
    # No fixed set is optimal here, so that there is something to plan even in four rounds.
    world = World.equicorrelated([1.0, 0.9], 0.9, noise_variance=0.1)
    plain = Problem(world, Learner([0.1, 0.0], Geometric(2.0)), 1, horizon=4)
    return {
        f"{name}, {rounds}": problem.replace(horizon=horizon, discount=discount)
        for rounds, horizon, usual in (("4 rounds", 4, 0.9), ("no end", None, 0.4))
        for name, problem, discount in _variations(plain, usual)
        if not (name in _INTEGRATED and horizon is None)
    }


def _variations(plain: Problem, usual: float) -> Iterator[tuple[str, Problem, float]]:
    yield "plain", plain, usual
    yield "only now counts", plain, 0.0
    for name, change in _changes(plain).items():
        yield name, plain.replace(**change), usual
    sites = World([1.0, 0.5, -0.4], np.eye(3) + 0.3, 0.1, groups={"site": [0, 2]})
    common = World.equicorrelated([1.0, 0.9], 0.9, outcome=Binary(0.4))
    rare = World.equicorrelated([1.0, -0.5], 0.3, outcome=Binary(0.1, "logistic"))
    yes_no = plain.replace(world=common, risk=Decision())
    yield "share of wrong decisions", yes_no, usual
    yield "expensive misses", yes_no.replace(world=rare, risk=Decision(5.0, 1.0)), usual
    yield "Brier score", yes_no.replace(risk=Brier()), usual
    yield "log loss", yes_no.replace(risk=LogLoss()), usual
    grouped = AtMost(1, price=np.array([0.0, 0.1]))
    learner = Learner([0.1, 0.9, 0.3], Geometric(1.5))
    yield "columns in groups", Problem(sites, learner, grouped), usual


def _changes(plain: Problem) -> dict[str, dict[str, Any]]:
    initial, curve = plain.learner.initial, Geometric(2.0)
    curves: dict[str, Curve | Sequence[Curve]] = {
        "never learns": Geometric(1.0),
        "stops at a floor": Geometric(1.3, floor=0.2),
        "learns ever slower": PowerLaw(0.75),
        "learns at once": OneShot(),
        "continues along a power law": PowerLaw(0.75).after(3),
        "learns by a table": Tabulated(np.array([1.0, 0.9, 0.4, 0.4, 0.1])),
        "overshoots at every showing": Branch(Geometric(1.4), np.array([1.0, -1.0])),
        "overshoots once": Branch(PowerLaw(2.0), np.array([1.0, -1.0]), repeats=False),
        "one curve per test": [Geometric(1.2), PowerLaw(2.0)],
    }
    readings: dict[str, float | FloatArray] = {
        "imputes half as much": 0.5,
        "imputes nothing": 1.0,
        "imputes from other correlations": np.array([[1.0, -0.3], [-0.3, 2.0]]),
    }
    return {
        "exactly one": {"budget": Exactly(1)},
        "both at a price": {"budget": AtMost(2, price=np.array([0.05, 0.2]))},
        "by cost": {"budget": Knapsack(np.array([1.0, 1.5]), 1.6, price=0.05)},
        "from a list": {"budget": Listed(((0,), (0, 1)))},
        "Huber": {"risk": Huber(0.7)},
        "absolute error": {"risk": AbsoluteError()},
        "user-defined risk": {"risk": ResidualRisk(np.abs)},
        "losses from a sample": {"loss": Empirical(64)},
        "shown before": {"start": (3, 1)},
        "uncorrelated": {"world": World([1.0, 0.8], np.diag([1.0, 2.0]), 0.1)},
        "opposed": {"world": World.equicorrelated([1.0, 0.8], -0.6)},
        **{name: {"learner": Learner(initial, each)} for name, each in curves.items()},
        **{name: {"learner": Learner(initial, curve, each)} for name, each in readings.items()},
    }


def brute_force(problem: Problem) -> float:
    """Return the optimal loss, by trying every set in every round.

    Sequences with the same exposure counts are merged; apart from that losses are dense textbook
    algebra, shared with no solver. An infinite horizon is truncated where the rest is negligible;
    from there on the best single set stays.

    Parameters
    ----------
    problem
        A small problem: the number of states is about rounds to the power of tests.

    Returns
    -------
    float
        The optimum, to about eight digits where the horizon is infinite.

    Examples
    --------
    >>> from preceptor.testing.problems import known_instances
    >>> known = known_instances()[0]
    >>> abs(brute_force(known.problem) - known.value) < 1e-12
    True
    """
    return remembered(problem, "brute force", lambda: _brute_force(problem))


def _brute_force(problem: Problem) -> float:
    sets = list(problem.budget.subsets(problem.size))
    delta, rounds = problem.discount, problem.horizon
    if rounds is None:
        rounds = 1 if delta == 0.0 else rounds_until(delta, 1e-9)
    start = problem.start_counts

    def after(counts: TestSet, shown: TestSet) -> TestSet:
        return tuple(m + (i in shown) for i, m in enumerate(counts))

    losses: dict[TestSet, list[float]] = {}
    layers = [{start}]
    for _ in range(rounds):
        layers.append({after(counts, shown) for counts in layers[-1] for shown in sets})
        for counts in layers[-2]:
            if counts not in losses:
                losses[counts] = _losses_after(problem, counts, sets)
    best = dict.fromkeys(layers[-1], 0.0)
    if problem.horizon is None:
        best = {m: min(_losses_after(problem, m, sets)) / (1.0 - delta) for m in layers[-1]}
    for layer in reversed(layers[:-1]):
        best = {
            counts: min(
                loss + delta * best[after(counts, shown)]
                for loss, shown in zip(losses[counts], sets, strict=True)
            )
            for counts in layer
        }
    return best[start]


def _losses_after(problem: Problem, counts: TestSet, sets: Sequence[TestSet]) -> list[float]:
    """Loss of each set in one round, at these exposure counts."""
    learner, truth = problem.by_showings, problem.world.coefficients
    along = zip(learner.curve_of, counts, strict=True)
    left = np.array([float(curve.sign(m)) * math.sqrt(curve.phi(m)) for curve, m in along])
    beliefs = truth - (truth - learner.initial) * left
    return [slow_loss(problem, beliefs, shown) for shown in sets]
