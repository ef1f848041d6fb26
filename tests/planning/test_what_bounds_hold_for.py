"""Whether a lower bound holds for all policies or for schedules fixed in advance, and says so."""

from dataclasses import replace

import numpy as np
import pytest

import preceptor as pr
from preceptor.model.plan import ALL_POLICIES, FIXED_SCHEDULES

DISCOUNT, RATE = 0.95, 0.4
# Standard normal chances on a grid that is fine enough for minima of parabolas.
GRID = np.linspace(-7.0, 7.0, 401)
CHANCE = np.exp(-(GRID**2) / 2.0) / np.exp(-(GRID**2) / 2.0).sum()
SEEDS = (2, 3, 4, 5)


def two_rounds(seed):
    """Somebody who learns from outcomes, one of two tests at a time, twice."""
    rng = np.random.default_rng(seed)
    truth, correlation = rng.uniform(0.3, 1.2, 2), rng.uniform(0.2, 0.9)
    world = pr.World.equicorrelated(truth, correlation, noise_variance=0.3)
    person = pr.DeltaRule(rng.uniform(-0.5, 1.5, 2), RATE)
    return pr.Problem(world, person, pr.Exactly(1), discount=DISCOUNT, horizon=2)


def loss(world, test, weights):
    """Expected squared error of weights (..., 2) when one test is shown."""
    sigma = world.covariance
    slope = weights @ (sigma[test] / sigma[test, test])
    with_outcome = (sigma @ world.coefficients)[test]
    return world.outcome_variance - 2.0 * slope * with_outcome + slope**2 * sigma[test, test]


def best_adaptive(problem):
    """The least cost of a policy that sees the first case and its outcome, by integration."""
    world, first = problem.world, np.asarray(problem.learner.initial)
    sigma, costs = world.covariance, []
    for shown in range(2):
        x = np.sqrt(sigma[shown, shown]) * GRID[:, None]
        slope = (sigma @ world.coefficients)[shown] / sigma[shown, shown]
        left = world.outcome_variance - slope**2 * sigma[shown, shown]
        y = slope * x + np.sqrt(left) * GRID
        weights = np.broadcast_to(first, (*y.shape, 2)).copy()
        read = first @ (sigma[shown] / sigma[shown, shown])
        weights[..., shown] += RATE * x * (y - x * read)
        later = np.minimum(loss(world, 0, weights), loss(world, 1, weights))
        costs.append(loss(world, shown, first) + DISCOUNT * CHANCE @ later @ CHANCE)
    return min(costs)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_policy_goes_below_a_bound_for_all_policies(seed):
    problem = two_rounds(seed)
    plan = pr.solve(problem, time_limit=5.0, bound_holds_for=ALL_POLICIES)
    assert plan.certificate is not None
    assert plan.bound_holds_for == ALL_POLICIES
    assert 0.9 * best_adaptive(problem) < plan.lower_bound <= best_adaptive(problem)
    assert "fixed in advance" not in plan.explain() + repr(plan)
    assert pr.verify(plan).ok


def test_an_adaptive_policy_may_go_below_a_bound_for_schedules_and_the_plan_says_so():
    below = 0
    for seed in SEEDS:
        problem = two_rounds(seed)
        plan = pr.solve(problem, time_limit=5.0)
        schedules = [
            pr.evaluate(problem, pr.ExploreThenCommit([(first,)], (then,)))
            for first in range(2)
            for then in range(2)
        ]
        assert plan.lower_bound <= min(schedules) == pytest.approx(plan.value)
        assert plan.bound_holds_for == FIXED_SCHEDULES
        assert "above the best possible schedule fixed in advance" in repr(plan)
        assert "no schedule fixed in advance can cost less than" in " ".join(plan.explain().split())
        assert "reacts to cases and outcomes may cost less" in " ".join(plan.explain().split())
        assert pr.Plan.from_json(plan.to_json()).bound_holds_for == FIXED_SCHEDULES
        assert pr.verify(plan).ok
        # Who claims it for all policies is found out.
        more = pr.verify(replace(plan, bound_holds_for=ALL_POLICIES))
        assert not more.bound_ok
        assert "schedules fixed in advance only" in more.in_words()
        below += best_adaptive(problem) < plan.lower_bound * (1.0 - 1e-3)
    assert below >= 3


def test_where_weights_follow_from_what_is_shown_bounds_hold_for_all_policies():
    world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    for person in (
        pr.Learner([0.2, 1.3], pr.Geometric(1.1)),
        pr.Drifting([0.2, 1.3], pr.Geometric(1.1)),
        pr.Folding([0.2, 1.3], pr.Geometric(1.1), 0.5),
    ):
        plan = pr.solve(pr.Problem(world, person, 1, horizon=9), time_limit=5.0)
        assert plan.bound_holds_for == ALL_POLICIES


def test_only_two_answers_are_allowed():
    with pytest.raises(pr.InvalidInput, match="bound_holds_for: 'everybody', must be"):
        pr.solve(two_rounds(2), bound_holds_for="everybody")
    data = pr.solve(two_rounds(2), "stationary").to_dict()
    with pytest.raises(pr.InvalidInput, match="bound_holds_for: 'nobody', must be"):
        pr.Plan.from_dict({**data, "bound_holds_for": "nobody"})


WORLD = pr.World.equicorrelated([1.0, 0.8, 0.3], 0.8)
BY_SHOWINGS = pr.Learner([0.2, 1.3, 0.4], pr.Geometric(1.1))
BY_OUTCOMES = pr.DeltaRule([0.2, 1.3, 0.4], 0.05)
CROWD = pr.Crowd({"a": (BY_SHOWINGS, 0.5), "b": (BY_OUTCOMES, 0.5)})


@pytest.mark.parametrize(
    ("method", "person", "options"),
    [
        ("stationary", BY_SHOWINGS, {}),
        ("beam", BY_SHOWINGS, {"width": 3, "layers": 5}),
        ("truncated", BY_SHOWINGS, {"length": 3}),
        ("search", BY_SHOWINGS, {"max_kicks": 1}),
        ("certified", BY_SHOWINGS, {"time_limit": 0.5}),
        ("lattice", BY_SHOWINGS, {"tolerance": 1e-3}),
        ("search", BY_OUTCOMES, {"max_kicks": 1}),
        ("search", CROWD, {"max_kicks": 1}),
    ],
)
def test_a_bound_above_the_value_is_no_proof(monkeypatch, method, person, options):
    for name in ("stationary", "beam", "truncated", "search", "certified", "lattice"):
        monkeypatch.setattr(f"preceptor.planning.{name}.instant_bound", lambda *_: 1e3)
    monkeypatch.setattr("preceptor.planning.crowd_plans.instant_bound", lambda *_: 1e3)
    problem = pr.Problem(WORLD, person, 1, discount=0.9)
    plan = pr.solve(problem, method, **options)
    assert plan.value < 1e3
    assert plan.lower_bound == 0.0
    assert plan.gap == np.inf
    assert plan.status not in (pr.Status.OPTIMAL, pr.Status.WITHIN_TARGET)
    assert any("above what this plan costs" in note for note in plan.notes)
    if plan.regrets is not None:
        assert np.all(plan.regrets.bounds == 0.0)
        assert all(kind.startswith("none") for kind in plan.regrets.bound_kinds)
        assert "nothing is proven" in plan.explain()


def test_rounding_is_no_contradiction():
    plan = pr.solve(pr.Problem(WORLD, BY_SHOWINGS, 1, discount=0.9), "stationary")
    near = replace(plan, lower_bound=plan.value * (1.0 + 1e-12)).settled()
    assert near.status is pr.Status.OPTIMAL
    assert near.gap == 0.0
    assert near.lower_bound == near.value
    far = replace(plan, lower_bound=plan.value * (1.0 + 1e-6), status=pr.Status.OPTIMAL).settled()
    assert far.status is pr.Status.BOUNDED
    assert far.lower_bound == 0.0
