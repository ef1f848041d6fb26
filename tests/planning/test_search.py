"""Local search: promises kept on every kind of problem, good where the optimum is known."""

import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given

import preceptor as pr
from preceptor.planning.search import quick_search
from tests.strategies import examples, problems


def seeded(size, k, rho, seed=0, **changes):
    rng = np.random.default_rng(seed)
    a, h = rng.uniform(0, 1, size), rng.uniform(0, 1, size)
    world = pr.World.equicorrelated(a, rho)
    return pr.Problem(world, pr.Learner(h, pr.Geometric(1.05)), k, 0.99).replace(**changes)


@examples(40)
@given(problems(sizes=(1, 2), horizons=(None,)))
def test_infinite_plans_lie_above_the_lattice(problem):
    problem = problem.replace(discount=min(problem.discount, 0.8))
    exact = pr.solve(problem, "lattice", caps=14)
    plan = pr.solve(problem, "search", time_limit=None, max_kicks=2)
    slack = 1e-8 * (1 + exact.value)
    assert exact.lower_bound <= plan.value + slack
    assert plan.lower_bound <= exact.value + slack
    assert plan.value <= pr.solve(problem, "stationary").value + slack


@pytest.mark.parametrize(
    ("size", "k", "rho", "best"), [(2, 1, 0.99, 11.49281), (3, 2, 0.99, 3.46309)]
)
def test_comes_close_to_known_optima(size, k, rho, best):
    """Optima of another implementation; search alone has no proof but should be within 0.5%."""
    plan = pr.solve(seeded(size, k, rho), "search", time_limit=None, max_kicks=30)
    assert best * (1 - 1e-6) <= plan.value <= best * 1.005


def test_beats_the_papers_beam():
    """(5,2), ρ=.99: the beam of width 100 ends at 78.50, the optimum is about 67.32."""
    plan = pr.solve(seeded(5, 2, 0.99), "search", time_limit=None, max_kicks=3)
    assert plan.value < 67.6


def test_a_time_limit_is_kept():
    problem = seeded(8, 2, 0.9)
    pr.solve(problem, "search", time_limit=0.2)  # compiled by now
    started = time.perf_counter()
    plan = pr.solve(problem, "search", time_limit=1.0)
    assert plan.status is pr.Status.TIME_LIMIT
    assert time.perf_counter() - started < 10.0  # without a limit it would never end


def test_ctrl_c_returns_the_best_so_far():
    problem = seeded(8, 2, 0.9)
    pr.solve(problem, "search", time_limit=0.2)
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    plan = pr.solve(problem, "search", time_limit=60.0)
    timer.join()
    assert plan.status is pr.Status.INTERRUPTED
    assert plan.value >= plan.lower_bound
    assert signal.getsignal(signal.SIGINT) is before


def test_a_hundred_tests_five_at_a_time():
    rng = np.random.default_rng(0)
    world = pr.World.equicorrelated(rng.uniform(0, 1, 100), 0.9)
    learner = pr.Learner(rng.uniform(0, 1, 100), pr.Geometric(1.05))
    problem = pr.Problem(world, learner, 5, discount=0.99)
    plan = pr.solve(problem, time_limit=0.5)
    assert any("the lower bound covers all of them" in note for note in plan.notes)
    assert plan.lower_bound <= plan.value
    assert max(map(len, plan.policy.used_sets())) <= 5
    assert plan.value <= pr.evaluate(problem, pr.Stationary(plan.policy.commit))


@examples(60)
@given(problems(sizes=(3, 4), horizons=(3,)))
def test_the_bound_over_unlisted_sets_holds_where_they_can_be_listed(problem):
    from preceptor.planning.restricted import floor_over_all_sets

    best = pr.solve(problem, "finite").value
    assert floor_over_all_sets(problem) <= best + 1e-9 * (1 + best)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"time_limit": 0}, "time_limit: 0"),
        ({"time_limit": None}, "would never end"),
        ({"max_kicks": -1}, "max_kicks: -1"),
        ({"seed": -1}, "seed: -1"),
    ],
)
def test_faults(options, words):
    with pytest.raises(pr.InvalidInput, match=words):
        pr.solve(seeded(2, 1, 0.5), "search", **options)


@pytest.mark.parametrize("method", ["search", "certified"])
def test_slow_problems_keep_the_limit_too(method):
    """Far-sighted, another risk, another imputation: nothing here has a closed form."""
    world = pr.World([-0.54, -0.49, -1.06], np.eye(3) + 0.3, noise_variance=0.5)
    learner = pr.Learner([-0.66, -0.485, 1.41], pr.Geometric(1.138), imputation=1.0)
    budget = pr.Knapsack([0.457, 0.916, 1.512], 2.906, price=0.168)
    problem = pr.Problem(world, learner, budget, discount=0.999, risk=pr.Huber(2.51))
    pr.solve(problem, method, time_limit=0.1)
    started = time.perf_counter()
    plan = pr.solve(problem, method, time_limit=1.0)
    assert time.perf_counter() - started < 10.0  # a minute and more before; machines are noisy
    assert plan.lower_bound <= plan.value


@pytest.mark.parametrize("horizon", [None, 40])
def test_somebody_who_waits_gets_nearly_the_plan_of_a_search(horizon):
    world = pr.World.equicorrelated([1.0, 0.8, 0.6, 0.4], 0.6)
    learner = pr.Learner(np.zeros(4), pr.Geometric(1.1))
    problem = pr.Problem(world, learner, 2, 0.95, horizon)
    at_once, in_time = quick_search(problem, 1e-6), quick_search(problem, 5.0)
    for plan in (at_once, in_time):
        assert plan.lower_bound <= plan.value == pytest.approx(pr.evaluate(problem, plan.policy))
    assert in_time.value == pytest.approx(pr.solve(problem).value, rel=1e-2)
