"""The front door: registry, automatic choice, options, ties, and what every plan promises."""

import numpy as np
import pytest
from hypothesis import given

import preceptor as pr
from preceptor.planning.solvers import SOLVERS
from preceptor.testing.problems import known_instances, small_problems
from preceptor.testing.solvers import check_plan, check_solver
from tests.strategies import problems

# Searches have a clock by default; here they get a few steps instead.
QUICK = {
    "search": {"time_limit": None, "max_kicks": 1},
    "certified": {"time_limit": None, "max_iterations": 4, "width": 20},
    "beam": {"width": 8, "layers": 8},
}


def two_tests(rho=0.8, **changes):
    world = pr.World.equicorrelated([1.0, 0.8], rho)
    return pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), **({"budget": 1} | changes))


def test_auto_says_what_it_picked_and_why():
    assert pr.solve(two_tests(horizon=50)).method == "finite"
    assert pr.solve(two_tests(rho=0.0)).method == "independent"
    infinite = pr.solve(two_tests())
    assert infinite.method != "auto"
    assert "infinite" in infinite.reason
    big = pr.World.equicorrelated(np.linspace(0.1, 1, 6), 0.5)
    wide = pr.Problem(big, pr.Learner(np.zeros(6), pr.Geometric(1.05)), 2, horizon=300)
    plan = pr.solve(wide, time_limit=2.0)
    assert "too many to be exact" in plan.reason
    assert plan.method == "certified"
    assert plan.lower_bound <= plan.value


@pytest.mark.few(7)
@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("method", SOLVERS)
def test_every_solver_keeps_the_contract(method, part):
    every = [*small_problems().items()]
    # Each part has a problem that the solver serves.
    served = next(each for each in every if not SOLVERS[method].why_not(each[1]))
    problems = dict([served, *every[part::6]])
    check_solver(SOLVERS[method], problems, **QUICK.get(method, {}))


@given(problems(sizes=(1, 2, 3), horizons=(1, 3, 5)))
def test_plans_of_random_problems_say_the_truth(problem):
    for method, solver in SOLVERS.items():
        if not solver.why_not(problem):
            check_plan(solver.plan(problem, QUICK.get(method, {})))


@pytest.mark.parametrize("known", known_instances(), ids=lambda known: known.name)
def test_known_optima_are_found(known):
    plan = pr.solve(known.problem)
    assert plan.value == pytest.approx(known.value, rel=known.tolerance)
    assert plan.lower_bound <= known.value * (1 + known.tolerance)
    if known.exploration_length is not None:
        assert plan.exploration_length == known.exploration_length


def test_unknown_method_and_options_are_named():
    with pytest.raises(pr.UnknownMethod, match=r"'best' is not known; use one of auto, "):
        pr.solve(two_tests(), "best")
    with pytest.raises(pr.UnknownMethod, match=r"no option width; it takes length"):
        pr.solve(two_tests(), "truncated", width=3)
    with pytest.raises(TypeError, match="expected a Problem"):
        pr.solve("problem")


def test_a_tie_in_the_long_run_is_said():
    world = pr.World.equicorrelated([1.0, 1.0], 0.9)
    symmetric = pr.Problem(world, pr.Learner([0.0, 0.0], pr.Geometric(1.1)), 1, horizon=80)
    assert any("exactly as good" in note for note in pr.solve(symmetric).notes)
    assert not pr.solve(two_tests(horizon=80)).notes


def test_starting_counts_continue_where_somebody_is():
    problem = two_tests(horizon=30)
    plan = pr.solve(problem)
    first = plan.policy.schedule(10)
    counts = [sum(i in s for s in first) for i in range(2)]
    rest = pr.solve(problem.replace(horizon=20, start=counts))
    head = pr.evaluate(problem.replace(horizon=10), pr.ExploreThenCommit(first, first[-1]))
    np.testing.assert_allclose(head + 0.99**10 * rest.value, plan.value, rtol=1e-12)
    assert rest.policy.schedule(20) == plan.policy.schedule(30)[10:]
