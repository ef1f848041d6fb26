"""Lower bounds stay below exact optima, upper bounds above."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.planning.exact import (
    ErrorInstance,
    beam_against,
    brute_force,
    enclosure,
    factor_members,
    make_instance,
    solve_all,
    solved,
)
from tests.strategies import examples

FAMILIES = {
    "at most 1 of 2": (2, (0, 1)),
    "exactly 1 of 2": (2, (1,)),
    "at most 2 of 3": (3, (0, 1, 2)),
    "exactly 2 of 3": (3, (2,)),
    "exactly 3 of 3": (3, (3,)),
    "all or nothing": (3, (0, 3)),
}
TABLE = {1: 60, 2: 50, 3: 20}


def assert_encloses(instance, bound, beam, slack=1e-9):
    low, high = enclosure(instance, TABLE[instance.n_features])
    slack = slack * max(abs(high), 1e-12)
    assert bound.value <= high + slack
    assert beam.lower_bound <= high + slack
    assert low <= beam.value + slack


@pytest.mark.few(2)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("seed", "signs"),
    [
        (0, "any"),
        pytest.param(0, "same", marks=pytest.mark.full),
        *(pytest.param(s, "any", marks=pytest.mark.full) for s in range(1, 8)),
    ],
)
def test_infinite_horizons_are_enclosed(family, seed, signs):
    n, sizes = FAMILIES[family]
    instance, found, bound, beam = solved(seed, n, sizes, signs=signs)
    assert_encloses(instance, bound, beam)
    assert beam.lower_bound >= bound.value - 1e-9
    assert beam.value <= found.value + 1e-9
    assert beam.value - beam.lower_bound <= 0.06 * beam.value  # useful, not only valid


@pytest.mark.parametrize("discount", [0.9, 1.0])
@pytest.mark.parametrize("sizes", [(0, 1), (1,), (0, 1, 2), (2,)])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.full)])
def test_finite_horizons_against_all_schedules(sizes, seed, discount):
    horizon = 4 if len(sizes) < 3 else 3
    instance, _, bound, beam = solved(seed, 3, sizes, horizon=horizon, discount=discount)
    exact = brute_force(instance)
    assert_allclose(enclosure(instance), (exact, exact), rtol=1e-12)
    assert bound.value <= exact * (1 + 1e-9)
    assert_allclose(beam.value, exact, rtol=1e-9)  # the beam has room for every count vector
    assert_allclose(beam.lower_bound, exact, rtol=1e-9)


def test_prices():
    instance, _, bound, beam = solved(5, 3, (0, 1, 2), price=(0.05, 0.0, 0.1))
    assert_encloses(instance, bound, beam)


@pytest.mark.full
def test_tests_without_error_need_no_multipliers():
    instance, _, bound, beam = solved(3, 3, (0, 1, 2), still=(1,))
    assert np.all(bound.theta[:, 1] == 0.0)
    assert_encloses(instance, bound, beam)


def test_large_ratios_where_boxes_end():
    instance, _, bound, beam = solved(1, 2, (0, 1), alpha=8.0, length=60)
    assert_encloses(instance, bound, beam)


@st.composite
def corners(draw):
    """Small instances in the corners: tiny discounts, no learning, no error, ties, prices."""
    n = draw(st.integers(1, 3))
    sizes = draw(st.sampled_from([(0, 1), (1,), (n,), (0, n), tuple(range(n + 1))]))
    numbers = st.floats(-1.0, 1.0, allow_subnormal=False)
    a = np.array(draw(st.lists(numbers, min_size=n, max_size=n)))
    errors = draw(st.lists(st.sampled_from([0.0, 0.3, -0.3, 1.0]), min_size=n, max_size=n))
    rho = draw(st.sampled_from([0.0, 0.99, -0.45]))
    alpha = draw(st.lists(st.sampled_from([1.0, 1.001, 1.3, 30.0]), min_size=n, max_size=n))
    horizon = draw(st.sampled_from([None, 1, 2, 7]))
    discounts = [1e-6, 0.3, 0.9] + ([] if horizon is None else [1.0])
    instance = make_instance(
        a,
        a - np.array(errors),
        np.full((n, n), rho) + (1 - rho) * np.eye(n),
        factor_members(n, sizes),
        alpha=np.array(alpha),
        noise_variance=draw(st.sampled_from([0.0, 1e-3])),
        discount=draw(st.sampled_from(discounts)),
        horizon=horizon,
        price=draw(st.sampled_from([None, np.full(n, 0.1)])),
    )
    if draw(st.booleans()):
        return instance
    tied = np.full(instance.n_sets, 0.7)
    return ErrorInstance(
        instance.covariance,
        instance.initial_error,
        instance.alpha,
        instance.members,
        tied,
        instance.discount,
        horizon,
    )


@examples(30)
@given(corners(), st.booleans(), st.integers(0, 7))
def test_corners(instance, searched, any_set):
    """Also against a plan that was not searched for: a bound may not lean on a good incumbent."""
    _, bound, beam = solve_all(instance, length=12, iterations=15)
    if not searched:
        bad = any_set % instance.n_sets
        plan = np.full(instance.horizon or 3, bad)
        commit = bad if instance.horizon is None else -1
        beam = beam_against(bound, plan, commit, width=20)
    assert_encloses(instance, bound, beam)
