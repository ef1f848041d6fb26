"""Inequalities in every state prove what brute force finds, and not a bit more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import preceptor as pr
from preceptor.proofs import bellman
from preceptor.proofs.bellman import Counted, TooManyStates, box_bound, box_caps, finite_bound
from preceptor.proofs.floors import eigenvalue_floor, instant_bound, least_round, uncorrelated_bound
from preceptor.proofs.losses import ReferenceLosses
from tests.oracles import brute_force
from tests.strategies import covariance, examples, problems


@examples(60)
@given(problems(horizons=(1, 2, 3)))
def test_finite_bounds_are_the_optimum_of_all_sequences(problem):
    losses = ReferenceLosses.of(problem)
    optimum, _ = brute_force(problem)
    whole = finite_bound(losses, problem.horizon).bound
    assert optimum * (1 - 1e-8) - 1e-9 <= whole <= optimum * (1 + 1e-9)
    for proven in (
        finite_bound(losses, 1).bound,
        instant_bound(problem, [losses]),
        uncorrelated_bound(losses),
    ):
        assert proven <= optimum * (1 + 1e-9)


@examples(30)
@given(problems(horizons=(None,), sizes=(1, 2)), st.sampled_from([20, 300]))
def test_boxes_of_any_size_prove_no_more_than_a_plan_costs(problem, states):
    plan = pr.solve(problem, "truncated", length=3)
    losses = ReferenceLosses.of(problem)
    caps = box_caps(losses, states)
    assert np.prod(caps + 1.0) <= max(states, 2**caps.size)
    small = box_bound(losses, caps).bound
    assert small <= plan.value * (1 + 1e-12)
    assert box_bound(losses, caps + 3).bound >= small - 1e-9 * abs(small)


def test_tests_of_one_group_share_a_count_and_hidden_ones_have_none():
    world = pr.World.equicorrelated([1.0, 0.8, 0.5, 0.2], 0.5)
    learner = pr.Learner([0.2, 1.3, 0.1, 0.0], pr.Geometric(1.3))
    problem = pr.Problem(world, learner, pr.Listed([(0, 2), (1,), (0, 1, 2)]), 0.9)
    counted = Counted.of(ReferenceLosses.of(problem))
    assert counted.dimensions == 2
    assert counted.place[0] == counted.place[2] != counted.place[1]
    assert counted.place[3] == -1


def test_more_states_than_minutes_can_check_are_refused(monkeypatch):
    world = pr.World.equicorrelated([1.0, 0.8, 0.5], 0.5)
    problem = pr.Problem(world, pr.Learner([0.2, 1.3, 0.1], pr.Geometric(1.3)), 2, 0.9, horizon=9)
    losses = ReferenceLosses.of(problem)
    monkeypatch.setattr(bellman, "MOST_NUMBERS", 100)
    with pytest.raises(TooManyStates, match="states"):
        finite_bound(losses, 9)
    with pytest.raises(TooManyStates, match="states"):
        box_bound(losses, np.array([9, 9, 9]))
    plan = pr.solve(problem, "finite")
    found = pr.verify(plan)
    assert not found.bound_ok
    assert "NOT CHECKED" in found.how
    assert "NOT PROVEN" in found.in_words()


@pytest.mark.parametrize("risk", [pr.SquaredError(), pr.AbsoluteError()])
@pytest.mark.parametrize("price", [0.0, 0.03, [0.1, 0.0, 0.05, 0.02, 0.2, 0.0]])
def test_floors_of_sets_that_are_not_listed(risk, price):
    rng = np.random.default_rng(5)
    world = pr.World(rng.standard_normal(6), covariance(rng, 6), 0.1)
    learner = pr.Learner(rng.standard_normal(6), pr.Geometric(1.2))
    costs = rng.uniform(0.5, 2.0, 6)
    for budget in (
        pr.AtMost(1, price=price),
        pr.AtMost(4, price=price),
        pr.Exactly(3, price=price),
        pr.Knapsack(costs, 3.0, price=price),
        pr.Listed([(0, 1), (2,), (3, 4, 5)], price=price),
    ):
        problem = pr.Problem(world, learner, budget, risk=risk)
        least = float(problem.oracle.floors().min())
        found, how = least_round(problem)
        assert least - 1e-8 <= found <= least
        assert "sets computed again" in how
        assert eigenvalue_floor(problem) <= least
