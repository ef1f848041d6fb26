"""Search by prices for everybody who learns by showings: curves, imputation, other risks."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.planning import by_prices
from preceptor.planning.by_prices import _committed, has_prices, search_by_prices
from preceptor.planning.finite import as_policy
from preceptor.planning.search import SQUARED_INSTEAD


def problem_for(learner, k=1, discount=0.9, horizon=None, **changes):
    world = pr.World.equicorrelated([1.0, -0.7, 0.4], 0.6, 0.1)
    return pr.Problem(world, learner, k, discount, horizon).replace(**changes)


FIRST = [0.2, 0.5, -0.6]
LEARNERS = {
    "floor": pr.Learner(FIRST, pr.Geometric(1.3, floor=0.1)),
    "power law": pr.Learner(FIRST, pr.PowerLaw(0.75)),
    "one showing": pr.Learner(FIRST, pr.OneShot()),
    "wrong imputation": pr.Learner(FIRST, pr.Geometric(1.3), 0.5),
    "all of it": pr.Learner(
        FIRST, [pr.PowerLaw(1.5), pr.Geometric(1.2, floor=0.2), pr.Geometric(1.5)], 0.3
    ),
}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("horizon", [9, None])
def test_finds_what_is_best(learner, horizon):
    """Against every schedule (by dynamic programming), or the lattice."""
    problem = problem_for(learner, horizon=horizon)
    assert has_prices(problem)
    exact = pr.solve(problem, "finite" if horizon else "lattice")
    plan = pr.solve(problem, "search", time_limit=None, max_kicks=20)
    assert plan.value == pytest.approx(pr.evaluate(problem, plan.policy), rel=1e-12)
    assert exact.lower_bound <= plan.value * (1 + 1e-9)
    assert plan.value <= exact.value * (1 + 1e-6)
    again = pr.solve(problem, "search", time_limit=None, max_kicks=20)
    assert again.policy.schedule(30) == plan.policy.schedule(30)


@pytest.mark.parametrize("risk", [pr.Huber(0.3), pr.AbsoluteError()])
def test_other_risks_start_from_the_plan_for_squared_errors(risk):
    problem = problem_for(LEARNERS["floor"], risk=risk, horizon=9)
    assert not has_prices(problem)
    plan = pr.solve(problem, "search", time_limit=None, max_kicks=5)
    assert plan.value <= pr.solve(problem, "finite").value * (1 + 1e-6)
    squared = search_by_prices(problem, seed=0, max_kicks=5, stop=lambda: False)
    start = pr.evaluate(problem, as_policy(problem, squared.path, squared.commit))
    assert plan.value <= start * (1 + 1e-12)


def test_somebodys_own_risk_is_planned_for_as_if_squared():
    problem = problem_for(LEARNERS["power law"], risk=pr.ResidualRisk(np.abs), horizon=6)
    plan = pr.solve(problem, "search", time_limit=None, max_kicks=5)
    assert plan.notes == (SQUARED_INSTEAD,)
    known = problem.replace(risk=pr.AbsoluteError())
    assert plan.value == pytest.approx(pr.evaluate(known, plan.policy), rel=1e-4)
    assert plan.lower_bound <= pr.solve(known, "finite").value * (1 + 1e-4)


def test_a_plan_to_begin_with_is_not_lost():
    problem = problem_for(LEARNERS["power law"])
    best = search_by_prices(problem, seed=0, max_kicks=20, stop=lambda: False)
    again = search_by_prices(problem, seed=1, max_kicks=0, stop=lambda: True, start=best.path)
    value, kept = (
        pr.evaluate(problem, as_policy(problem, found.path, found.commit))
        for found in (best, again)
    )
    assert kept == pytest.approx(value, rel=1e-6)


def test_of_very_many_sets_the_promising_ones_are_searched(monkeypatch):
    problem = problem_for(LEARNERS["power law"], k=2)
    options = {"seed": 0, "max_kicks": 5, "stop": lambda: False}
    all_sets = search_by_prices(problem, **options)
    monkeypatch.setattr(by_prices, "_MOST_SETS", 3)
    few = search_by_prices(problem, **options)
    again = search_by_prices(problem, **options, start=few.path)
    costs = [
        pr.evaluate(problem, as_policy(problem, found.path, found.commit))
        for found in (all_sets, few, again)
    ]
    assert costs[1] <= costs[0] * 1.05
    assert costs[2] <= costs[1] * (1 + 1e-9)


def test_a_word_to_repeat_gives_way_to_its_best_set():
    problem = problem_for(LEARNERS["floor"])
    path, commit = _committed(problem, np.array([1, 2]), (2, 3))
    assert path.tolist() == [1, 2, 2, 3]
    costs = {last: pr.evaluate(problem, as_policy(problem, path, last)) for last in (2, 3)}
    assert commit == min(costs, key=costs.get)
