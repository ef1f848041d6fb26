"""Unique optima: the best two schedules against all of them, ties on purpose and by chance."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model.long_run import tail_losses
from preceptor.theory.uniqueness import least_tail_margin, tie_coefficient, unique_optimum
from tests import oracles
from tests.strategies import covariance, examples, problems, seeds


@examples(25)
@given(problems(sizes=(1, 2, 3), horizons=(1, 2, 3)))
def test_the_best_two_are_the_best_two_of_all_schedules(problem):
    sets = list(problem.sets)
    every = sorted(
        (oracles.schedule_value(problem, schedule), schedule)
        for schedule in itertools.product(sets, repeat=problem.horizon)
    )
    found = unique_optimum(problem)
    assert_allclose(found.value, every[0][0], rtol=1e-9, atol=1e-12)
    assert_allclose(oracles.schedule_value(problem, found.schedule), found.value, rtol=1e-9)
    if len(every) == 1:
        assert found.margin is None
        assert found.unique
        return
    assert_allclose(found.value + found.margin, every[1][0], rtol=1e-9, atol=1e-12)
    assert found.runner_up != found.schedule
    second = oracles.schedule_value(problem, found.runner_up)
    assert_allclose(second, every[1][0], rtol=1e-9, atol=1e-12)


def drawn(seed: int, size: int = 3, budget=None) -> pr.Problem:
    rng = np.random.default_rng(seed)
    world = pr.World(rng.standard_normal(size), covariance(rng, size), 0.1)
    learner = pr.Learner(rng.standard_normal(size), pr.Geometric(1.3))
    return pr.Problem(world, learner, budget or pr.AtMost(2), discount=0.9)


@examples(25)
@given(seeds)
def test_weights_from_a_density_never_tie(seed):
    problem = drawn(seed)
    found = least_tail_margin(problem, showings=2)
    assert found.margin > 0.0
    assert not found.tie
    assert unique_optimum(problem.replace(horizon=4)).unique


@examples(15)
@given(seeds)
def test_the_closest_tie_is_the_closest_of_all(seed):
    problem = drawn(seed, size=2, budget=pr.AtMost(1)).replace(start=(1, 0))
    found = least_tail_margin(problem, showings=2)
    margins = {}
    for recurrent in ([0], [1], [0, 1]):
        for counts in itertools.product([1, 2, 3], [0, 1, 2]):
            losses = sorted(tail_losses(problem, recurrent, np.array(counts)).values())
            margins[tuple(recurrent), counts] = losses[1] - losses[0]
    assert_allclose(found.margin, min(margins.values()))
    there = tuple(found.counts.get(i, problem.start[i]) for i in range(2))
    assert_allclose(margins[found.recurrent, there], found.margin)


def test_ties_lie_on_a_set_of_measure_zero():
    """Weights of equal size tie; any other weight on the way there does not."""
    base = pr.Problem(
        pr.World.equicorrelated([1.0, 1.0], 0.7),
        pr.Learner([0.2, -0.1], pr.Geometric(1.3)),
        pr.Exactly(1),
    )
    margins = []
    for distance in (0.0, 1e-6, 1e-3, 0.1):
        world = pr.World.equicorrelated([1.0, 1.0 + distance], 0.7)
        found = least_tail_margin(base.replace(world=world))
        assert found.tie == (distance == 0.0)
        margins.append(found.margin)
    assert margins == sorted(margins)
    # The distance of the two tail losses is (1-ρ²)(a_2² - a_1²).
    assert_allclose(margins[1:], [0.51 * (2 * d + d * d) for d in (1e-6, 1e-3, 0.1)], rtol=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_interchangeable_tests_have_two_best_schedules(sign):
    world = pr.World.equicorrelated([1.0, sign], 0.9)
    problem = pr.Problem(world, pr.Learner([0.0, 0.0], pr.Geometric(1.4)), pr.Exactly(1))
    found = unique_optimum(problem.replace(horizon=5, discount=0.9))
    assert not found.unique
    assert found.margin <= found.slack
    assert [(1 - i,) for (i,) in found.schedule] != list(found.schedule)


@given(seeds)
def test_the_coefficient_is_that_of_the_polynomial(seed):
    """Tail losses as functions of one weight: their difference bends by twice the coefficient."""
    rng = np.random.default_rng(seed)
    sigma = covariance(rng, 3)
    weights = rng.standard_normal(3)
    first, second = (0,), (1, 2)

    def difference(change: float, test: int) -> float:
        a = weights.copy()
        a[test] += change
        # Everything recurs, so that beliefs do not matter.
        problem = pr.Problem(
            pr.World(a, sigma, 0.1), pr.Learner([0.0] * 3, pr.Geometric(1.1)), pr.AtMost(2)
        )
        losses = tail_losses(problem, [0, 1, 2], np.zeros(3, dtype=int))
        return losses[first] - losses[second]

    bends = [
        (difference(1.0, j) - 2 * difference(0.0, j) + difference(-1.0, j)) / 2 for j in range(3)
    ]
    expected = max(bends[1], bends[2], -bends[0])
    assert_allclose(tie_coefficient(sigma, first, second), expected, rtol=1e-7, atol=1e-9)
    assert tie_coefficient(sigma, second, first) == tie_coefficient(sigma, first, second)
    assert tie_coefficient(sigma, (), (0,)) == pytest.approx(sigma[0, 0])


def test_what_cannot_be_run_says_so():
    problem = drawn(0)
    with pytest.raises(pr.NotApplicable, match="least_tail_margin"):
        unique_optimum(problem)
    with pytest.raises(pr.TooLarge, match="shorter horizon"):
        unique_optimum(problem.replace(horizon=1000))
    with pytest.raises(pr.TooLarge, match="showings"):
        least_tail_margin(problem, showings=1000)
    with pytest.raises(pr.InvalidInput, match="showings"):
        least_tail_margin(problem, showings=-1)
    with pytest.raises(pr.InvalidInput, match="differ"):
        tie_coefficient(np.eye(2), (0,), (0,))
