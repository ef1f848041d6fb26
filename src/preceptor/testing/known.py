"""Problems whose least loss is known, and how it is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor.model.budgets import AtMost, Exactly
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric, PowerLaw
from preceptor.problem import Problem
from preceptor.theory import SymmetricPair, optimal_policy


@dataclass(frozen=True)
class KnownInstance:
    """A problem, the least loss that any policy can reach in it, and how that is known.

    `tolerance` is how far from `value` the truth may be, relatively (printed digits, rounding);
    `exploration_length` is the paper's T_d where it is known too.
    """

    name: str
    problem: Problem
    value: float
    source: str
    exploration_length: int | None = None
    tolerance: float = 1e-9


def known_instances() -> tuple[KnownInstance, ...]:
    """Problems with a known optimum, from print or in closed form.

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
        "two geometric series: the noise, and what is left of the squared error",
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
        "one geometric series a test: each is worth showing from the first round on",
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
        "every round costs the noise and what the better test leaves open of the other",
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
        tolerance=1e-9,
    )


def _series(ratio: float, terms: int) -> float:
    """1 + ratio + ... with that many terms."""
    return (1.0 - ratio**terms) / (1.0 - ratio)
