"""The two branch differences of the proof against rounds that are played out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.theory.two_tests import (
    SymmetricPair,
    closing_weight,
    critical_correlation,
    keeping_advantage,
    keeping_difference,
    switching_difference,
)
from tests import oracles

ROUNDS = 120  # later rounds weigh 0.8^120 = 2e-12

pairs = st.builds(
    SymmetricPair,
    correlation=st.floats(0.0, 0.99),
    alpha=st.floats(1.02, 3.0),
    discount=st.floats(0.0, 0.8),
    coefficient=st.floats(0.3, 3.0),
    noise_variance=st.floats(0.0, 1.0),
)
gaps = st.integers(1, 25)


def played(pair: SymmetricPair, gap: int, schedule) -> float:
    """Loss of a schedule from counts (gap, 0), round by round, in the scale of the proof."""
    problem = pair.problem().replace(start=(gap, 0))
    value = oracles.schedule_value(problem, schedule)
    return value / pair.coefficient**2


def alternating_after(first: list, gap: int) -> list:
    """`first`, then the test behind until the gap is closed, then both in turn."""
    closing = [*first, *[(1,)] * gap]
    return (closing + [(0,), (1,)] * ROUNDS)[:ROUNDS]


@given(pairs, gaps)
def test_a_switch_costs_a_keeper_what_equation_10_says(pair, gap):
    switched = played(pair, gap, [(1,)] + [(0,)] * (ROUNDS - 1))
    kept = played(pair, gap, [(0,)] * ROUNDS)
    assert_allclose(switched - kept, switching_difference(pair, gap), rtol=1e-8, atol=1e-9)


@given(pairs, gaps)
def test_keeping_costs_a_policy_that_alternates_what_equation_13_says(pair, gap):
    kept = played(pair, gap, alternating_after([(0,)], gap + 1))
    switched = played(pair, gap, alternating_after([(1,)], gap - 1))
    assert_allclose(kept - switched, keeping_difference(pair, gap), rtol=1e-8, atol=1e-9)


@given(pairs, gaps)
def test_both_follow_from_the_closed_costs(pair, gap):
    left, rho = pair.alpha**-gap, pair.correlation
    for cost, difference, sign in (
        (pair.keeping_cost, switching_difference, 1.0),
        (pair.alternating_cost, keeping_difference, -1.0),
    ):
        switch = (1 + rho * left) ** 2 + pair.discount / pair.alpha**2 * cost(gap - 1)
        keep = (left + rho) ** 2 + pair.discount * cost(gap + 1)
        assert_allclose(sign * (switch - keep), difference(pair, gap), rtol=1e-7, atol=1e-9)


@given(pairs, gaps)
def test_the_weight_is_the_double_sum(pair, gap):
    total = sum(
        pair.alpha ** (-2 * j) * sum(pair.discount**inner for inner in range(j + 1))
        for j in range(gap)
    )
    assert_allclose(closing_weight(pair, gap), total, rtol=1e-12)
    assert closing_weight(pair, gap) >= 1.0


@given(pairs, gaps)
def test_the_threshold_alone_decides_both_signs(pair, gap):
    distance = pair.critical_correlation**2 - pair.correlation**2
    scaled = (1 - pair.discount / pair.alpha**2) * distance
    assert_allclose(keeping_advantage(pair), scaled, rtol=1e-9, atol=1e-12)
    if abs(distance) > 1e-9:
        assert np.sign(switching_difference(pair, gap)) == np.sign(distance)
        assert np.sign(keeping_difference(pair, gap)) == -np.sign(distance)


@given(pairs, st.lists(st.integers(0, 1), min_size=1, max_size=40))
def test_along_any_schedule_the_differences_add_up_to_its_excess(pair, choices):
    """What is lost against a policy is the sum of what each other step loses."""
    lam, problem = pair.alpha**-2, pair.problem()
    counts = [0, 0]
    over_keeping = over_alternating = 0.0
    for t, chosen in enumerate(choices):
        gap = abs(counts[0] - counts[1])
        scale = pair.discount**t * lam ** min(counts)
        if gap and counts[chosen] < counts[1 - chosen]:
            over_keeping += scale * switching_difference(pair, gap)
        elif gap:
            over_alternating += scale * keeping_difference(pair, gap)
        counts[chosen] += 1
    shown = [(chosen,) for chosen in choices]
    ahead = (int(counts[1] > counts[0]),)
    keeping = pr.evaluate(problem, pr.ExploreThenCommit(shown, commit=ahead))
    behind = (1 - ahead[0],)
    closed = [*shown, *[behind] * abs(counts[0] - counts[1])]
    alternating = oracles.schedule_value(problem, (closed + [(0,), (1,)] * ROUNDS)[: ROUNDS + 40])
    unit = pair.coefficient**2
    assert_allclose(keeping - pair.keeping_value, unit * over_keeping, rtol=1e-7, atol=1e-8)
    assert_allclose(
        alternating - pair.alternating_value, unit * over_alternating, rtol=1e-7, atol=1e-8
    )


def test_at_the_threshold_neither_step_costs_anything():
    threshold = critical_correlation(0.9, 1.15)
    pair = SymmetricPair(threshold, 1.15, 0.9)
    for gap in (1, 5, 50):
        assert abs(switching_difference(pair, gap)) < 1e-12
        assert abs(keeping_difference(pair, gap)) < 1e-12


@pytest.mark.parametrize("function", [switching_difference, keeping_difference, closing_weight])
@pytest.mark.parametrize("gap", [0, -1, 1.5])
def test_there_is_no_branch_without_a_gap(function, gap):
    with pytest.raises(pr.InvalidInput, match="gap"):
        function(SymmetricPair(0.5, 1.1, 0.9), gap)
