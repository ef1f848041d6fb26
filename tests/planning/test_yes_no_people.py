"""Plans for people of every kind and for crowds, where the outcome is yes or no."""

import itertools

import numpy as np
import pytest

import preceptor as pr
from preceptor import simulation
from preceptor.model.evaluation import expectations
from preceptor.people.crowd import Crowd
from preceptor.planning.bounds import floor_over_all_sets
from tests.people.examples import EXAMPLES, INITIAL, YES_NO, YES_NO_RISKS

WORLD = YES_NO["probit"]
KINDS = [kind for kind in EXAMPLES if kind not in ("by-showings", "crowd", "bayesian")]
ROUNDS = 6


def small_problem(person, risk, **changes):
    return pr.Problem(WORLD, person, budget=pr.Exactly(1), discount=0.95, risk=risk, **changes)


def quickly(problem, **options):
    return pr.solve(problem, "search", max_kicks=3, time_limit=None, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("risk", YES_NO_RISKS.values(), ids=YES_NO_RISKS)
def test_search_finds_the_best_of_all_schedules(kind, risk):
    problem = small_problem(EXAMPLES[kind][0], risk, horizon=ROUNDS)
    (expected,) = expectations(problem)
    best = min(
        expected.total(schedule, 0.95, ())
        for schedule in itertools.product(range(3), repeat=ROUNDS)
    )
    plan = quickly(problem)
    assert plan.value <= best * (1 + 1e-9)
    assert plan.value == pytest.approx(best, rel=1e-9)
    assert plan.lower_bound <= best


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_planned_for_without_end(kind):
    problem = small_problem(EXAMPLES[kind][0], pr.Decision(2.0, 1.0))
    plan = quickly(problem)
    fixed = pr.solve(problem, "stationary")
    assert plan.value == pytest.approx(pr.evaluate(problem, plan.policy), rel=1e-12)
    assert plan.lower_bound <= plan.value <= fixed.value * (1 + 1e-12)
    assert pr.Plan.from_json(plan.to_json()) == plan


def test_a_bayesian_is_planned_for_by_copies():
    problem = small_problem(EXAMPLES["bayesian"][0], pr.Brier(), horizon=5)
    plan = pr.solve(problem, "search", max_kicks=0, time_limit=None)
    assert plan.value <= pr.solve(problem, "stationary").value * (1 + 1e-12)
    assert "200 simulated people" in " ".join(plan.notes)


@pytest.mark.full
def test_a_robust_plan_for_the_default_crowd():
    """One plan for everybody whom nothing is known about, on a world with five tests."""
    rng = np.random.default_rng(5)
    mixed = rng.standard_normal((5, 6))
    scale = np.sqrt(np.sum(mixed**2, axis=1))
    covariance = (mixed @ mixed.T) / np.outer(scale, scale)
    world = pr.World(1.4 * rng.standard_normal(5), covariance, outcome=pr.Binary(prevalence=0.35))
    crowd = Crowd.default(world, tests=2)
    problem = pr.Problem(world, crowd, 2, horizon=30, discount=0.98, risk=pr.Brier())
    plan = pr.solve(problem, "search", objective="regret", max_kicks=0, time_limit=None)
    regrets = plan.regrets
    assert regrets.people == crowd.names
    lost = regrets.costs / regrets.best - 1.0
    assert np.all(lost >= -1e-9)
    # Nobody's own plan, nor any fixed set, is better for whoever it suits worst.
    assert lost[0].max() <= lost[1:].max(axis=1).min() + 1e-9
    assert plan.value == pytest.approx(float(regrets.weights @ regrets.costs[0]), rel=1e-9)
    assert plan.lower_bound <= plan.value
    assert any("up to 7%" in note for note in plan.notes)
    # When it is played with each of them, it costs what it says.
    for name, person in crowd.people.items():
        cost = float(regrets.costs[0, regrets.people.index(name)])
        alone = problem.replace(learner=person)
        played = simulation.rollout(alone, plan.policy, rounds=30, people=1_500, rng=4)
        assert abs(played.total - cost) <= 4.0 * played.total_error + 0.01 * cost, name


def test_semidefinite_proofs_say_why_there_are_none():
    from preceptor.people.moments import quadratic_rounds

    (expected,) = expectations(small_problem(pr.NoLearning(INITIAL), pr.Brier(), horizon=3))
    assert "not linear" in quadratic_rounds(expected)


@pytest.mark.parametrize("risk", YES_NO_RISKS.values(), ids=YES_NO_RISKS)
def test_no_set_goes_below_the_floor_of_all_sets(risk):
    problem = pr.Problem(WORLD, pr.NoLearning(INITIAL), 2, horizon=1, risk=risk)
    least = float(problem.oracle.floors().min())
    assert 0.0 < floor_over_all_sets(problem) <= least
