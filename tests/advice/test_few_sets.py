"""Plans of few sets: against every choice of sets there is, on problems small enough for that."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor._base.progress import Deadline
from preceptor.advice.advising import advice_on
from preceptor.advice.few_sets import check_simple, few_sets_offer, plan_with_few_sets
from preceptor.errors import InvalidInput
from preceptor.model.evaluation import expected_costs
from preceptor.people.crowd import Crowd


def drawn(seed, shown, discount, horizon):
    """Four correlated tests and a person far from the truth; seeds whose plans use many sets."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    covariance = root @ root.T + 0.2 * np.eye(4)
    scale = np.sqrt(np.diag(covariance))
    correlation = np.round(covariance / np.outer(scale, scale), 2)
    world = pr.World(np.round(rng.normal(size=4), 1) + 0.01, correlation, 0.1)
    learner = pr.Learner(np.round(rng.normal(size=4) * 1.5, 1), pr.Geometric(1.8))
    return pr.Problem(world, learner, pr.Exactly(shown), discount, horizon)


PROBLEMS = {
    "eight cases": drawn(196, 1, 1.0, 8),
    "without an end": drawn(206, 1, 0.8, None),
    "pairs": drawn(82, 2, 1.0, 6),
}
OUTCOMES = PROBLEMS["eight cases"].replace(
    learner=pr.DeltaRule(PROBLEMS["eight cases"].learner.initial, 0.25), horizon=6
)
PROBLEMS["from outcomes"] = OUTCOMES


def best_with(problem, sets):
    """The best plan with these sets only, by trying every schedule or by an exact method."""
    few = problem.replace(budget=pr.Listed(tuple(sets)))
    if problem.learns_by_showings:
        return pr.solve(few).value
    orders = itertools.product(sets, repeat=problem.horizon)
    return min(pr.evaluate(problem, pr.ExploreThenCommit(o[:-1], o[-1])) for o in orders)


@pytest.mark.few(1)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_two_sets_are_the_best_two_there_are(problem):
    free = pr.solve(problem, time_limit=1.0)
    if problem.learns_by_showings:
        assert len(set(free.policy.schedule(problem.horizon or 60))) > 2
    found = plan_with_few_sets(free, 2, deadline=Deadline(None))
    assert len(set(found.policy.schedule(problem.horizon or 60))) <= 2
    least = min(best_with(problem, pair) for pair in itertools.combinations(problem.sets, 2))
    assert found.value == pytest.approx(least, rel=1e-6)
    assert found.value == pytest.approx(pr.evaluate(problem, found.policy))
    assert found.lower_bound == free.lower_bound
    assert found.problem == problem


def test_one_set_is_the_best_fixed_one():
    problem = PROBLEMS["eight cases"]
    free = pr.solve(problem)
    found = plan_with_few_sets(free, 1, deadline=Deadline(None))
    fixed = min(pr.evaluate(problem, pr.Stationary(s)) for s in problem.sets)
    assert found.value == pytest.approx(fixed)
    more = found.value / free.value - 1
    assert more > 0.01
    assert "Limited to 1 different set, as asked" in found.notes[-1]
    assert "which uses 3" in found.notes[-1]


def test_a_plan_that_is_simple_already_stays():
    problem = PROBLEMS["eight cases"]
    free = pr.solve(problem)
    assert plan_with_few_sets(free, 4, deadline=Deadline(None)) is free


def test_a_crowd_s_few_sets_are_judged_by_its_objective():
    crowd = Crowd(
        {
            "by outcomes": (OUTCOMES.learner, 0.5),
            "by showings": (PROBLEMS["eight cases"].learner, 0.5),
        }
    )
    problem = OUTCOMES.replace(learner=crowd, horizon=5)
    free = pr.solve(problem, "search", time_limit=None, max_kicks=2)
    found = plan_with_few_sets(free, 2, deadline=Deadline(None))
    shown = set(found.policy.schedule(5))
    assert len(shown) <= 2

    def worst(policy):
        return float(np.max(expected_costs(problem, policy) / free.regrets.best))

    orders = [
        order
        for pair in itertools.combinations(problem.sets, 2)
        for order in itertools.product(pair, repeat=5)
    ]
    least = min(worst(pr.ExploreThenCommit(o[:-1], o[-1])) for o in orders)
    assert worst(found.policy) == pytest.approx(least, rel=2e-3)
    assert found.regrets.costs[0] == pytest.approx(expected_costs(problem, found.policy))


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True])
def test_a_number_of_sets_is_a_whole_number(wrong):
    with pytest.raises(InvalidInput, match="simple"):
        check_simple(wrong)


@pytest.mark.full
def test_three_sets_are_offered_only_where_they_cost_little_more():
    plans = {}
    for seed in (0, 5):
        rng = np.random.default_rng(seed)
        world = pr.World.equicorrelated(rng.uniform(0.5, 1.5, 4), 0.7)
        learner = pr.Learner(rng.uniform(-0.5, 1.5, 4), pr.Geometric(1.2))
        problem = pr.Problem(world, learner, 2, discount=0.97, horizon=16)
        plans[seed] = pr.solve(problem, "finite")
    assert [len(set(plan.policy.schedule(16))) for plan in plans.values()] == [3, 4]
    assert few_sets_offer(plans[0], deadline=Deadline(None)) is None
    assert few_sets_offer(plans[5], deadline=Deadline(1e-9)) is None
    few = few_sets_offer(plans[5], deadline=Deadline(None))
    assert few is not None
    assert len(set(few.policy.schedule(16))) <= 3
    assert_allclose(few.value, pr.evaluate(few.problem, few.policy), rtol=1e-9)
    more = few.value / plans[5].value - 1.0
    assert more < 0.005
    advice = replace(advice_on(plans[5], vary=False), few=few)
    assert re.search("Three sets are enough: `--simple 3` costs .* more", advice.headline[0])
