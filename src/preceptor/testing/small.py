"""Small problems of every kind, and their least loss by trying everything."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from preceptor._base.values import FloatArray, remembered
from preceptor.loss import Empirical
from preceptor.model.budgets import AtMost, Exactly, Knapsack, Listed
from preceptor.model.outcomes import Binary
from preceptor.model.risks import AbsoluteError, Huber, ResidualRisk
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Brier, Decision, LogLoss
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Branch, Curve, Geometric, OneShot, PowerLaw, Tabulated
from preceptor.problem import Problem
from preceptor.verification.slow_value import slow_loss

# Infinite horizons are followed until what is left weighs this much.
_NEGLIGIBLE = 1e-9


_OWN_RISK = "a risk of one's own"
_INTEGRATED = (_OWN_RISK, "share of wrong decisions", "misses are dear", "log loss")


@cache
def small_problems() -> Mapping[str, Problem]:
    """Tiny problems of every kind, by name: each changes one thing about a plain one.

    Every budget, risk, loss model and curve of the package occurs, with a horizon of a few rounds
    and with none, and so do odd corners: somebody who never learns, who imputes wrongly, who has
    seen tests before; tests of several columns; a future that does not count.
    """
    # No fixed set is best here, so that there is something to plan even in four rounds.
    world = World.equicorrelated([1.0, 0.9], 0.9, noise_variance=0.1)
    plain = Problem(world, Learner([0.1, 0.0], Geometric(2.0)), 1, horizon=4)
    return {
        f"{name}, {rounds}": problem.replace(horizon=horizon, discount=discount)
        for rounds, horizon, usual in (("4 rounds", 4, 0.9), ("no end", None, 0.4))
        for name, problem, discount in _variations(plain, usual)
        # integrated numerically in each of very many states: long, where others take no time
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
    yield "misses are dear", yes_no.replace(world=rare, risk=Decision(5.0, 1.0)), usual
    yield "Brier score", yes_no.replace(risk=Brier()), usual
    yield "log loss", yes_no.replace(risk=LogLoss()), usual
    grouped = AtMost(1, price=np.array([0.0, 0.1]))
    yield "columns in groups", Problem(sites, _person([0.1, 0.9, 0.3]), grouped), usual


def _changes(plain: Problem) -> dict[str, dict[str, Any]]:
    initial, curve = plain.learner.initial, Geometric(2.0)
    curves: dict[str, Curve | Sequence[Curve]] = {
        "never learns": Geometric(1.0),
        "stops at a floor": Geometric(1.3, floor=0.2),
        "learns ever slower": PowerLaw(0.75),
        "learns at once": OneShot(),
        "goes on along a power law": PowerLaw(0.75).after(3),
        "learns by a table": Tabulated(np.array([1.0, 0.9, 0.4, 0.4, 0.1])),
        "passes the truth at every showing": Branch(Geometric(1.4), np.array([1.0, -1.0])),
        "passes the truth once": Branch(PowerLaw(2.0), np.array([1.0, -1.0]), repeats=False),
        "learns each test in another way": [Geometric(1.2), PowerLaw(2.0)],
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
        _OWN_RISK: {"risk": ResidualRisk(np.abs)},
        "losses from a sample": {"loss": Empirical(64)},
        "shown before": {"start": (3, 1)},
        "uncorrelated": {"world": World([1.0, 0.8], np.diag([1.0, 2.0]), 0.1)},
        "opposed": {"world": World.equicorrelated([1.0, 0.8], -0.6)},
        **{name: {"learner": Learner(initial, each)} for name, each in curves.items()},
        **{name: {"learner": Learner(initial, curve, each)} for name, each in readings.items()},
    }


def _person(initial: list[float]) -> Learner:
    return Learner(initial, Geometric(1.5))


def brute_force(problem: Problem) -> float:
    """The least loss that any policy can reach, by trying every set in every round.

    Sequences that lead to the same counts are taken together, nothing else is clever: losses are
    dense textbook algebra, shared with no solver. An infinite horizon is followed until what is
    left weighs less than rounding; from there on the best single set stays.

    Parameters
    ----------
    problem
        A small one: the number of states is about rounds to the power of tests.

    Returns
    -------
    float
        The optimum, to about eight digits where the horizon is infinite.

    Examples
    --------
    >>> from preceptor.testing import known_instances
    >>> known = known_instances()[0]
    >>> abs(brute_force(known.problem) - known.value) < 1e-12
    True
    """
    return remembered(problem, "brute force", lambda: _brute_force(problem))


def _brute_force(problem: Problem) -> float:
    sets = list(problem.budget.subsets(problem.size))
    delta, rounds = problem.discount, problem.horizon
    if rounds is None:
        rounds = 1 if delta == 0.0 else math.ceil(math.log(_NEGLIGIBLE) / math.log(delta))
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
    """One round's loss of each set, for somebody who has been shown each test that often."""
    learner, truth = problem.by_showings, problem.world.coefficients
    along = zip(learner.curve_of, counts, strict=True)
    left = np.array([float(curve.sign(m)) * math.sqrt(curve.phi(m)) for curve, m in along])
    beliefs = truth - (truth - learner.initial) * left
    return [slow_loss(problem, beliefs, shown) for shown in sets]
