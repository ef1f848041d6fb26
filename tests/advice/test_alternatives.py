"""Rivals of a plan: against brute force, closed forms and each other."""

import itertools

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.alternatives import alternatives, best_fixed_set, followed_rounds
from preceptor.errors import InvalidInput
from preceptor.planning.candidate_sets import full_sets, most_predictive_set
from preceptor.proofs.slow_value import slow_loss

RNG = np.random.default_rng(3)
ROOT = RNG.normal(size=(4, 4))
WORLD = pr.World([1.0, -0.7, 0.5, 0.3], ROOT @ ROOT.T + 0.3 * np.eye(4), 0.2)
LEARNER = pr.Learner([0.0, 0.4, 0.9, -0.2], pr.Geometric(1.2))
PROBLEMS = {
    "for ever": pr.Problem(WORLD, LEARNER, 2, 0.9),
    "with an end": pr.Problem(WORLD, LEARNER, 2, 1.0, horizon=7),
    "priced": pr.Problem(WORLD, LEARNER, pr.AtMost(3, price=[0.0, 0.5, 1.0, 0.1]), 0.9),
    "knapsack": pr.Problem(WORLD, LEARNER, pr.Knapsack([1.0, 2.0, 2.5, 1.0], 3.0), 0.9),
    "absolute": pr.Problem(WORLD, LEARNER, 2, 0.8, risk=pr.AbsoluteError()),
    "imputes badly": pr.Problem(WORLD, pr.Learner(LEARNER.initial, LEARNER.curves, 1.0), 2, 0.9),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_best_fixed_set_is_the_cheapest_of_all(problem):
    values = {shown: pr.evaluate(problem, pr.Stationary(shown)) for shown in problem.sets}
    assert values[best_fixed_set(problem)] == pytest.approx(min(values.values()))


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_most_predictive_set_is_what_a_perfect_reader_wants(problem):
    perfect = problem.replace(learner=pr.Learner(WORLD.coefficients, pr.Geometric(1.0)))
    free = perfect.replace(budget=pr.Listed(tuple(problem.sets)))  # prices are not its concern
    losses = {s: slow_loss(free, WORLD.coefficients, s) for s in problem.sets}
    assert losses[most_predictive_set(problem)] == pytest.approx(min(losses.values()))


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_values_are_those_of_the_policies_and_no_rival_beats_the_bound(problem):
    plan = pr.solve(problem, "stationary")
    for rival in alternatives(plan, orders=4):
        assert rival.losses.size == followed_rounds(problem)
        assert rival.value > plan.lower_bound * (1 - 1e-9)
        if rival.policy is not None:
            assert rival.value == pytest.approx(pr.evaluate(problem, rival.policy))
            assert rival.standard_error == 0.0
            assert rival.excess(plan) == pytest.approx(rival.value / plan.value - 1)


def test_random_order_agrees_with_all_orders_there_are():
    world = pr.World.equicorrelated([1.0, 0.8, 0.4], 0.6, 0.1)
    problem = pr.Problem(world, pr.Learner([0, 2, 0], pr.PowerLaw(1.5)), 1, 0.9, horizon=5)
    plan = pr.solve(problem)
    orders = itertools.product([(0,), (1,), (2,)], repeat=5)
    exact = np.mean([pr.evaluate(problem, pr.ExploreThenCommit(o, o[-1])) for o in orders])
    found = alternatives(plan, orders=400, seed=1)[2]
    assert 0 < found.standard_error < 0.02 * exact
    assert abs(found.value - exact) < 4 * found.standard_error


def expected_random(problem, k):
    """Closed form for geometric learning: E α^(-m_i - m_j) of binomial counts, squared error."""
    n, world = problem.size, problem.world
    s = np.array([curve.ratio for curve in problem.learner.curve_of])
    one, both = k / n, k * (k - 1) / (n * (n - 1))
    e = world.coefficients - problem.learner.initial
    total = 0.0
    sets = list(itertools.combinations(range(n), k))
    for shown in sets:
        sigma, c = world.covariance, list(shown)
        m = sigma[:, c] @ np.linalg.solve(sigma[np.ix_(c, c)], sigma[c])
        floor = world.noise_variance + world.coefficients @ (sigma - m) @ world.coefficients
        total += floor / (1 - problem.discount)
        for i, j in itertools.product(range(n), repeat=2):
            if i == j:
                rate = 1 - one + one * s[i] ** 2
            else:
                rate = both * s[i] * s[j] + (one - both) * (s[i] + s[j]) + 1 - 2 * one + both
            total += m[i, j] * e[i] * e[j] / (1 - problem.discount * rate)
    return total / len(sets)


def test_random_order_agrees_with_its_closed_form():
    problem = PROBLEMS["for ever"].replace(budget=pr.Exactly(2))
    found = alternatives(pr.solve(problem, "stationary"), orders=600, seed=2)[2]
    exact = expected_random(problem, 2)
    assert found.standard_error < 0.01 * exact
    assert abs(found.value - exact) < 4 * found.standard_error


def test_random_orders_come_from_their_seed():
    plan = pr.solve(PROBLEMS["for ever"], "stationary")
    first, again, other = (alternatives(plan, seed=s)[2].value for s in (5, 5, 6))
    assert first == again != other


def test_full_sets_leave_no_room():
    rng = np.random.default_rng(0)
    assert full_sets(PROBLEMS["for ever"], rng) == list(itertools.combinations(range(4), 2))
    assert full_sets(PROBLEMS["knapsack"], rng) == [(2,), (0, 1), (0, 3), (1, 3)]
    grouped = pr.World([1, 1, 1], np.eye(3), names=["age", "a", "b"], groups={"site": [1, 2]})
    problem = pr.Problem(grouped, pr.Learner(np.zeros(3), pr.Geometric(1.1)), 1)
    assert full_sets(problem, rng) == [(0,), (1, 2)]


def test_many_sets_are_sampled():
    size = 40
    world = pr.World.equicorrelated(np.linspace(1, 2, size), 0.3)
    problem = pr.Problem(world, pr.Learner(np.zeros(size), pr.Geometric(1.1)), 4, 0.5)
    sets = full_sets(problem, np.random.default_rng(0))
    assert all(len(shown) == 4 for shown in sets)
    assert len(set(sets)) > 150


def test_one_order_is_not_enough():
    with pytest.raises(InvalidInput, match="orders: 1"):
        alternatives(pr.solve(PROBLEMS["for ever"], "stationary"), orders=1)


@pytest.mark.parametrize(("discount", "horizon"), [(0.9999, None), (0.999, None), (1.0, 10_000)])
def test_a_random_order_of_one_test_is_that_test_however_long_learning_takes(discount, horizon):
    world = pr.World([1.0], [[1.0]], 0.01)
    problem = pr.Problem(world, pr.Learner([0.0], pr.Geometric(1.0005)), 1, discount, horizon)
    plan = pr.solve(problem, "stationary")
    random = alternatives(plan, orders=2)[2]
    assert random.value == pytest.approx(pr.evaluate(problem, pr.Stationary((0,))), rel=1e-4)
