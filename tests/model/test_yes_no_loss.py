"""Losses of yes-or-no answers: tables against sums, bounds against many states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model._loss_kernels import pair_charge, pair_charges, pair_slopes
from preceptor.model.surfaces import surface_of
from tests.doors import door
from tests.model.test_yes_no import LINKS, pair_of, world_of

pair_charge, pair_charges, pair_slopes = map(door, (pair_charge, pair_charges, pair_slopes))

RISKS = [
    pr.Decision(),
    pr.Decision(5, 1),
    pr.Decision(1, 4, threshold=0.3),
    pr.Brier(),
    pr.LogLoss(),
]


def problem_of(seed, risk, link="probit", **changes):
    rng = np.random.default_rng(seed)
    world = world_of(rng, link=link, prevalence=float(rng.uniform(0.1, 0.9)))
    options = {"imputation": float(rng.choice([0.0, 0.5])), "budget": 2} | changes
    person = pr.Learner(rng.standard_normal(3), pr.Geometric(1.2), options.pop("imputation"))
    return pr.Problem(world, person, risk=risk, **options)


@pytest.mark.few(3)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("risk", RISKS, ids=str)
def test_tables_are_as_good_as_they_say(risk, link):
    problem = problem_of(1, risk, link)
    oracle, rng = problem.oracle, np.random.default_rng(0)
    assert 0.0 < oracle.accuracy < 1e-6 * (risk.largest if risk.largest < 100 else 10.0)
    errors = rng.uniform(-1, 1, (50, 3)) * 2 * np.abs(problem.initial_errors)
    by_set = oracle.losses(errors)
    for k, shown in enumerate(problem.sets):
        exact = risk.expected(oracle.pair_of(errors, shown))
        # errors may be twice as large as at first here, where the log loss grows further
        allowed = 4.0 * oracle.accuracy
        assert np.all(np.abs(by_set[:, k] - exact) <= allowed + 1e-12), shown
        assert_allclose(oracle.loss_of(errors, shown), by_set[:, k], rtol=1e-9)


@pytest.mark.parametrize("risk", RISKS, ids=str)
def test_kernels_agree_with_each_other_and_slopes_with_differences(risk):
    rng = np.random.default_rng(2)
    world = world_of(rng)
    compiled = surface_of(world, risk).compiled
    own = rng.uniform(0.05, 6.0, 200)
    shared = rng.uniform(-0.95, 0.95, 200) * np.sqrt(own * world.score_variance)
    out = np.empty(200)
    pair_charges(compiled.numbers, compiled.surface, shared.copy(), own.copy(), out)
    each = [
        pair_charge(compiled.numbers, compiled.surface, c, v)
        for c, v in zip(shared, own, strict=True)
    ]
    assert_allclose(out, each, rtol=1e-12)
    step = 1e-4
    for c, v in zip(shared[:40], own[:40], strict=True):
        by_shared, by_own = pair_slopes(compiled.numbers, compiled.surface, c, v)
        pairs = [pair_of(world, x, y) for x, y in ((c + step, v), (c - step, v))]
        assert_allclose(by_shared, np.subtract(*map(risk.expected, pairs)) / (2 * step), atol=2e-5)
        pairs = [pair_of(world, x, y) for x, y in ((c, v + step), (c, v - step))]
        assert_allclose(by_own, np.subtract(*map(risk.expected, pairs)) / (2 * step), atol=2e-5)


def test_who_always_has_the_same_score_always_says_the_same():
    world = world_of(np.random.default_rng(3), prevalence=0.3)
    novice = pr.Learner(np.zeros(3), pr.Geometric(1.1))
    for risk, wanted in ((pr.Decision(), 0.3), (pr.Decision(9, 1), 0.7)):
        problem = pr.Problem(world, novice, budget=1, risk=risk)
        assert_allclose(problem.oracle.losses(problem.initial_errors[None, :]), wanted, rtol=1e-6)
    fair = pr.World(world.coefficients, world.covariance, outcome=pr.Binary(0.5))
    problem = pr.Problem(fair, novice, budget=1)  # the score is its own limit, not above it: no
    assert_allclose(problem.oracle.losses(problem.initial_errors[None, :]), 0.5, rtol=1e-12)


@pytest.mark.parametrize("risk", RISKS, ids=str)
def test_floors_ceilings_and_slopes_hold(risk):
    problem = problem_of(4, risk)
    oracle, rng = problem.oracle, np.random.default_rng(1)
    sizes = np.abs(problem.initial_errors)
    errors = rng.uniform(-1, 1, (300, 3)) * sizes
    losses, floors = oracle.losses(errors), oracle.floors()
    assert np.all(losses >= floors - 1e-7)
    for k, shown in enumerate(problem.sets):
        assert losses[:, k].max() <= oracle.ceiling_of(sizes, shown) + 1e-9
        slopes = oracle.sensitivity_of(sizes, shown)
        for i in range(3):
            moved = errors.copy()
            moved[:, i] = rng.uniform(-1, 1, 300) * sizes[i]
            change = np.abs(oracle.loss_of(moved, shown) - losses[:, k])
            with np.errstate(invalid="ignore"):
                most = slopes[i] * np.abs(moved[:, i] - errors[:, i])
            assert np.all((change <= most + 1e-7) | np.isinf(slopes[i])), (shown, i)


def test_a_perfect_reader_is_at_the_floor():
    for risk in (pr.Decision(), pr.Decision(3, 1), pr.Brier(), pr.LogLoss()):
        problem = problem_of(5, risk, imputation=0.0, budget=3)
        knows = np.zeros((1, 3))
        everything = problem.sets.index((0, 1, 2))
        loss = problem.oracle.losses(knows)[0, everything]
        assert_allclose(loss, problem.oracle.floors()[everything], rtol=1e-6)
