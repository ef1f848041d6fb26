"""Planning some rounds and committing: never worse than the paper's rule, bound always valid."""

import itertools
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

import preceptor as pr
from tests.oracles import schedule_value
from tests.strategies import examples, problems


def best_over_all(problem, length, rounds):
    """Brute force: every prefix of that length, every set after it.

    Showing something after nothing is left out: the solver plans as if waiting could be put off to
    the end (`planned_sets`), which holds for the optimum, but not where one set must follow.
    """
    sets = list(problem.budget.subsets(problem.size))
    return min(
        schedule_value(problem, [*prefix, *[commit] * (rounds - length)])
        for *prefix, commit in itertools.product(sets, repeat=length + 1)
        if not any(later and not sooner for sooner, later in pairwise([*prefix, commit]))
    )


@examples(60)
@given(problems(sizes=(1, 2), horizons=(None,)))
def test_best_suffix_is_the_best_prefix_and_commitment_together(problem):
    problem = problem.replace(discount=min(problem.discount, 0.6))
    plan = pr.solve(problem, "truncated", length=2)
    assert_allclose(plan.value, best_over_all(problem, 2, 60), rtol=1e-7, atol=1e-10)
    assert plan.lower_bound <= plan.value
    assert_allclose(pr.evaluate(problem, plan.policy), plan.value)


@given(problems(sizes=(2,), horizons=(9,)))
@examples(40)
def test_finite_horizons_count_the_rounds_that_are_left(problem):
    plan = pr.solve(problem, "truncated", length=2)
    assert_allclose(plan.value, best_over_all(problem, 2, 9), rtol=1e-8, atol=1e-11)
    exact = pr.solve(problem, "finite").value
    assert plan.lower_bound <= exact + 1e-9 * abs(exact) <= plan.value + 2e-9 * abs(exact)


@given(problems(sizes=(2, 3), horizons=(6,)))
@examples(30)
def test_the_papers_rule_is_never_better_and_full_length_is_exact(problem):
    exact = pr.solve(problem, "finite").value
    for length in (1, 3):
        ours = pr.solve(problem, "truncated", length=length)
        last = pr.solve(problem, "truncated", length=length, suffix="last")
        assert ours.value <= last.value * (1 + 1e-10)
        schedule = last.policy.schedule(6)
        assert len(set(schedule[length - 1 :])) == 1
        assert last.lower_bound <= exact * (1 + 1e-10)
    whole = pr.solve(problem, "truncated", length=6)
    assert_allclose(whole.value, exact, rtol=1e-10)
    assert whole.status is pr.Status.OPTIMAL


def test_a_users_own_risk_is_planned_too():
    world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    learner = pr.Learner([0.2, 1.3], pr.Geometric(1.4))
    exact = pr.Problem(world, learner, 1, discount=0.8, risk=pr.Huber(1.0))
    own = exact.replace(risk=pr.ResidualRisk(pr.Huber(1.0).charge, kinks=(-1.0, 1.0)))
    assert_allclose(
        pr.solve(own, "truncated", length=4).value,
        pr.solve(exact, "truncated", length=4).value,
        rtol=1e-9,
    )


def test_retained_optimality_of_the_papers_rule_grows_as_it_says():
    """(2,1), ρ=.8, δ=.99, α=1.10, 20 draws: about 98% at T̄=80 (paper), ours at least as much."""
    shares, ours = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        world = pr.World.equicorrelated(rng.uniform(0, 1, 2), 0.8)
        learner = pr.Learner(rng.uniform(0, 1, 2), pr.Geometric(1.10))
        problem = pr.Problem(world, learner, pr.Exactly(1), horizon=600)
        best = pr.solve(problem, "finite").value
        shares.append(best / pr.solve(problem, "truncated", length=80, suffix="last").value)
        ours.append(best / pr.solve(problem, "truncated", length=40).value)
    assert 0.96 < np.mean(shares) <= 1.0
    assert np.mean(ours) > 0.999


@pytest.mark.parametrize(
    ("options", "words"),
    [({"length": 0}, "length: 0"), ({"suffix": "longest"}, "suffix: 'longest'")],
)
def test_faults(options, words):
    world = pr.World.equicorrelated([1.0, 1.0], 0.5)
    problem = pr.Problem(world, pr.Learner([0.0, 0.0], pr.OneShot()), 1)
    with pytest.raises(pr.InvalidInput, match=words):
        pr.solve(problem, "truncated", **options)
