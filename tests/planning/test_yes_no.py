"""Plans for diagnoses: every solver against every sequence of sets."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from tests.model.test_yes_no import world_of

RISKS = [pr.Decision(), pr.Decision(5, 1), pr.Brier(), pr.LogLoss()]


def diagnosis(seed, risk, link="probit", **changes):
    rng = np.random.default_rng(seed)
    world = world_of(rng, link=link, prevalence=float(rng.uniform(0.15, 0.6)))
    person = pr.Learner(
        rng.standard_normal(3), changes.pop("curve", pr.Geometric(1.3)), changes.pop("kappa", 0.0)
    )
    options = {"budget": 1, "discount": 0.9, "horizon": 5} | changes
    return pr.Problem(world, person, risk=risk, **options)


def best_of_all(problem):
    """Every sequence of sets, each round by the sum over scores, not by the table."""
    risk, learner = problem.risk, problem.by_showings
    known = {}

    def loss(counts, shown):
        if (counts, shown) not in known:
            errors = learner.errors(problem.world, np.array(counts))[None, :]
            pair = problem.oracle.pair_of(errors, shown)
            price = problem.budget.prices(problem.size)[list(shown)].sum()
            known[counts, shown] = float(risk.expected(pair)[0]) + float(price)
        return known[counts, shown]

    best = np.inf
    for schedule in itertools.product(problem.sets, repeat=problem.horizon):
        counts, total = problem.start_counts, 0.0
        for t, shown in enumerate(schedule):
            total += problem.discount**t * loss(counts, shown)
            counts = tuple(m + (i in shown) for i, m in enumerate(counts))
        best = min(best, total)
    return best


@pytest.mark.few(3)
@pytest.mark.parametrize("link", ["probit", "logistic"])
@pytest.mark.parametrize("risk", RISKS, ids=str)
def test_the_exact_planner_against_every_sequence(risk, link):
    for seed, kappa, curve in ((1, 0.0, pr.Geometric(1.3)), (2, 0.7, pr.PowerLaw(0.8))):
        problem = diagnosis(seed, risk, link, kappa=kappa, curve=curve)
        plan = pr.solve(problem, "finite")
        wanted = best_of_all(problem)
        assert_allclose(plan.value, wanted, rtol=1e-7)
        assert plan.lower_bound <= wanted <= plan.value + 1e-7
        assert pr.solve(problem, "truncated", length=5).value == pytest.approx(plan.value)
        for method, options in (
            ("search", {"time_limit": None, "max_kicks": 3}),
            ("beam", {"width": 200, "layers": 5}),
        ):
            found = pr.solve(problem, method, **options)
            assert found.lower_bound <= wanted + 1e-9
            assert_allclose(found.value, wanted, rtol=1e-7)


@pytest.mark.parametrize("risk", RISKS, ids=str)
def test_without_end_the_lattice_agrees_with_a_long_plan(risk):
    problem = diagnosis(4, risk, horizon=None, discount=0.7)
    plan = pr.solve(problem, "lattice")
    long = pr.solve(problem.replace(horizon=40), "finite")
    left = 0.7**40 / 0.3 * problem.oracle.ceiling_of(np.abs(problem.initial_errors), (0,))
    assert abs(plan.value - long.value) <= left + 1e-6
    assert plan.lower_bound <= plan.value <= plan.lower_bound * (1 + 3e-6) + 1e-6
    assert plan.status is pr.Status.OPTIMAL
    fixed = pr.solve(problem, "stationary")
    assert plan.value <= fixed.value + 1e-9


@pytest.mark.few(2)
@pytest.mark.parametrize("risk", RISKS, ids=str)
def test_plans_are_verified_by_brute_integration(risk):
    plan = pr.solve(diagnosis(5, risk), "finite")
    found = pr.verify(plan)
    assert found.ok
    assert_allclose(found.value, plan.value, rtol=1e-7)
    wrong = diagnosis(6, risk)
    assert not pr.verify(plan, wrong).value_ok


def test_a_balanced_decision_is_planned_although_nothing_bounds_its_slope():
    """Half of the cases are yes and both mistakes cost the same: limits lie at the scores' mean."""
    rng = np.random.default_rng(7)
    world = world_of(rng, prevalence=0.5)
    novice = pr.Learner(np.zeros(3), pr.Geometric(1.5))
    problem = pr.Problem(world, novice, budget=1, discount=0.6)
    plan = pr.solve(problem, "lattice")
    assert plan.lower_bound <= plan.value
    assert_allclose(plan.value, pr.solve(problem.replace(horizon=40), "finite").value, rtol=1e-5)


def test_groups_prices_and_starts_are_as_for_numbers():
    rng = np.random.default_rng(8)
    sigma = np.eye(4) + 0.4
    world = pr.World(rng.standard_normal(4), sigma, outcome=pr.Binary(0.3), groups={"site": [1, 3]})
    person = pr.Learner(rng.standard_normal(4), pr.Geometric(1.4))
    problem = pr.Problem(
        world, person, pr.AtMost(1, price=[0.0, 0.02, 0.01]), 0.9, 4, pr.Brier(),
        start=(1, 2, 0, 2),
    )  # fmt: skip
    assert_allclose(pr.solve(problem).value, best_of_all(problem), rtol=1e-7)


def test_small_effects_have_the_plan_of_squared_errors():
    """As scores become small, the Brier score orders schedules as squared error does."""
    rng = np.random.default_rng(9)
    truth, belief, sigma = rng.standard_normal(3), rng.standard_normal(3), np.eye(3) + 0.8
    linear = pr.Problem(
        pr.World(truth, sigma, noise_variance=0.0),
        pr.Learner(belief, pr.Geometric(1.3)), 1, 0.9, 8,
    )  # fmt: skip
    small = pr.Problem(
        pr.World(0.02 * truth, sigma, outcome=pr.Binary(0.5)),
        pr.Learner(0.02 * belief, pr.Geometric(1.3)), 1, 0.9, 8, pr.Brier(),
    )  # fmt: skip
    assert pr.solve(small, "finite").policy.schedule(8) == pr.solve(linear).policy.schedule(8)
