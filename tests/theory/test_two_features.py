"""The symmetric pair: closed forms against evaluation, the exact planner and the proof."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.theory.two_tests import SymmetricPair, critical_correlation, optimal_policy

pairs = st.builds(
    SymmetricPair,
    correlation=st.floats(0.0, 0.99),
    alpha=st.floats(1.01, 3.0),
    discount=st.floats(0.0, 0.98),
    coefficient=st.floats(0.1, 3.0) | st.floats(-3.0, -0.1),
    noise_variance=st.floats(0.0, 1.0),
)


def at_offset(offset: float, discount: float = 0.9, alpha: float = 1.15) -> SymmetricPair:
    threshold = critical_correlation(discount, alpha)
    return SymmetricPair(threshold + offset, alpha, discount, coefficient=1.3, noise_variance=0.2)


@given(pairs)
def test_values_are_those_of_the_policies(pair):
    problem = pair.problem()
    keeping = pr.evaluate(problem, pr.Stationary((0,)))
    alternating = pr.evaluate(problem, pr.Alternating([(0,), (1,)]))
    assert_allclose(pair.keeping_value, keeping, rtol=1e-10)
    assert_allclose(pair.alternating_value, alternating, rtol=1e-10)


@given(pairs, st.integers(0, 40))
def test_costs_from_a_gap_are_the_series_of_the_proof(pair, gap):
    rho, delta, alpha = pair.correlation, pair.discount, pair.alpha
    rounds = np.arange(3000.0)
    kept = np.sum(delta**rounds * (rho + alpha ** -(gap + rounds)) ** 2)
    assert_allclose(pair.keeping_cost(gap), kept, rtol=1e-10)
    ratio = delta / alpha**2
    closing = sum(ratio**j * (1 + rho * alpha ** (j - gap)) ** 2 for j in range(gap))
    assert_allclose(
        pair.alternating_cost(gap), closing + ratio**gap * pair.alternating_cost(0), rtol=1e-10
    )


@given(pairs, st.integers(1, 60))
def test_the_better_policy_satisfies_bellmans_equation(pair, gap):
    threshold = pair.critical_correlation
    cost = pair.keeping_cost if pair.correlation <= threshold else pair.alternating_cost
    left = pair.alpha**-gap
    keep = (left + pair.correlation) ** 2 + pair.discount * cost(gap + 1)
    switch = (1 + pair.correlation * left) ** 2
    switch += pair.discount / pair.alpha**2 * cost(gap - 1)
    assert_allclose(cost(gap), min(keep, switch), rtol=1e-9)
    first = (1 + pair.correlation) ** 2 + pair.discount * cost(1)
    assert_allclose(cost(0), first, rtol=1e-9)


@given(pairs)
def test_the_threshold_is_where_the_better_policy_changes(pair):
    solution = optimal_policy(pair)
    difference = solution.keeping_value - solution.alternating_value
    distance = pair.correlation - solution.critical_correlation
    if abs(difference) > 1e-9 * solution.value:
        assert math.copysign(1, difference) == math.copysign(1, distance)
    evaluated = [pr.evaluate(pair.problem(), policy) for policy in solution.policies]
    assert_allclose(evaluated, solution.value, rtol=1e-9)


@pytest.mark.parametrize("budget", [pr.Exactly(1), pr.AtMost(1)], ids=["exactly", "at-most"])
@pytest.mark.parametrize("offset", [-0.2, -0.01, 0.0, 0.01, 0.3])
def test_the_exact_planner_agrees(offset, budget):
    pair = at_offset(offset)
    solution = optimal_policy(pair)
    horizon = 260  # later rounds weigh 0.9^260 = 1e-12
    plan = pr.solve(pair.problem(budget, horizon), method="finite")
    assert_allclose(plan.value, solution.value, rtol=1e-10)
    # A finite plan does what is best for the end at the end, so only its start is looked at.
    start = plan.policy.schedule(60)
    assert all(len(shown) == 1 for shown in start)
    if offset < 0:
        assert isinstance(solution.policies[0], pr.Stationary)
        assert len(set(start)) == 1
    elif offset > 0:
        assert isinstance(solution.policies[0], pr.Alternating)
        assert all(start[t] != start[t + 1] for t in range(0, 60, 2))
    else:
        assert len(solution.policies) == 2


def test_above_the_threshold_the_order_within_a_pair_of_rounds_is_free():
    pair = at_offset(0.2)
    for cycle in ([(0,), (1,), (1,), (0,)], [(1,), (0,), (1,), (0,), (0,), (1,)]):
        value = pr.evaluate(pair.problem(), pr.Alternating(cycle))
        assert_allclose(value, pair.alternating_value, rtol=1e-12)


def test_at_the_threshold_every_policy_that_shows_one_test_is_optimal():
    pair = at_offset(0.0)
    for cycle in itertools.product([(0,), (1,)], repeat=5):
        value = pr.evaluate(pair.problem(), pr.Alternating(cycle))
        assert_allclose(value, pair.keeping_value, rtol=1e-12)


@given(pairs, st.integers(0, 20), st.integers(0, 20))
def test_showing_nothing_is_never_cheaper(pair, first, second):
    problem = pair.problem(pr.AtMost(1)).replace(start=(first, second))
    nothing, *shown = problem.oracle.losses(problem.initial_errors[None, :])[0]
    assert max(shown) <= nothing * (1 + 1e-12)


def test_the_empty_set_can_matter_outside_the_proposition():
    # A person with the wrong sign is better off being shown nothing.
    pair = at_offset(0.2)
    world = pair.problem().world
    wrong = pr.Learner([-3.0, -3.0], pr.Geometric(pair.alpha))
    problem = pr.Problem(world, wrong, pr.AtMost(1), discount=0.0)
    assert pr.solve(problem.replace(horizon=1), method="finite").policy.schedule(1) == [()]


@pytest.mark.parametrize(
    "wrong",
    [
        {"correlation": -0.1},
        {"correlation": 1.0},
        {"alpha": 1.0},
        {"discount": 1.0},
        {"coefficient": 0.0},
        {"noise_variance": -1.0},
    ],
)
def test_what_the_proposition_does_not_cover_is_refused(wrong):
    name = next(iter(wrong))
    with pytest.raises(pr.InvalidInput, match=name):
        SymmetricPair(**{"correlation": 0.5, "alpha": 1.1, "discount": 0.9} | wrong)


def test_all_faults_are_named_at_once():
    with pytest.raises(pr.InvalidInput, match="3 problems found"):
        SymmetricPair(2.0, 0.5, 1.5)
