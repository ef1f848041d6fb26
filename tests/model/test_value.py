"""Exact values of policies against sums written out, finite and infinite, for every curve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor._base.numerics import geometric_sum, negligible_after
from preceptor.model.evaluation import commit_value, losses_along, tail_sums
from tests.oracles import round_loss, schedule_value
from tests.strategies import curves, examples, problems, seeds


def long_sum(problem, counts, shown, rounds):
    counts, total = list(counts), 0.0
    for t in range(rounds):
        total += problem.discount**t * round_loss(problem, counts, shown)
        for i in shown:
            counts[i] += 1
    return total


@examples(60)
@given(problems(sizes=(2, 3)), seeds)
def test_commit_value_is_the_long_sum_for_every_curve_and_risk(problem, seed):
    rng = np.random.default_rng(seed)
    problem = problem.replace(horizon=None, discount=float(rng.uniform(0.0, 0.9)))
    counts = np.array(problem.start_counts) + rng.integers(0, 5, problem.size)
    shown = problem.sets[int(rng.integers(len(problem.sets)))]
    forever = commit_value(problem, counts, shown)
    wanted = long_sum(problem, counts, shown, 400)
    assert_allclose(forever, wanted, rtol=1e-9, atol=1e-12)
    seven = commit_value(problem, counts, shown, 7)
    assert_allclose(seven, long_sum(problem, counts, shown, 7), rtol=1e-10, atol=1e-13)


@given(problems(sizes=(2, 3), horizons=(None,)), seeds)
def test_explore_then_commit_is_its_prefix_plus_its_tail(problem, seed):
    rng = np.random.default_rng(seed)
    problem = problem.replace(discount=0.8)
    sets = list(problem.sets)
    prefix = [sets[i] for i in rng.integers(0, len(sets), 6)]
    policy = pr.ExploreThenCommit(prefix, sets[int(rng.integers(len(sets)))])
    got = pr.evaluate(problem, policy)
    wanted = schedule_value(problem, policy.schedule(250))
    assert_allclose(got, wanted, rtol=1e-10)


@pytest.mark.parametrize(
    "policy",
    [
        pr.Alternating([(0,), (1,)]),
        pr.Alternating([(0,), (), (1,)]),
        pr.Stationary((1,)),
        pr.CountPolicy(np.array([[1, 2], [1, 2]]), ((), (0,), (1,))),
    ],
)
def test_policies_of_every_shape_over_an_infinite_horizon(policy):
    world = pr.World.equicorrelated([1.0, 0.7], 0.6)
    learner = pr.Learner([0.0, 0.3], [pr.Geometric(1.2), pr.PowerLaw(0.75)])
    problem = pr.Problem(world, learner, 1, discount=0.9)
    got = pr.evaluate(problem, policy)
    assert_allclose(got, schedule_value(problem, policy.schedule(400)), rtol=1e-11)


def test_finite_evaluation_is_a_plain_sum_even_undiscounted():
    world = pr.World.equicorrelated([1.0, 0.7], 0.6)
    problem = pr.Problem(
        world, pr.Learner([0.0, 0.3], pr.PowerLaw(1.0)), 1, discount=1.0, horizon=9
    )
    policy = pr.ExploreThenCommit([(0,), (1,)], (0,))
    assert_allclose(pr.evaluate(problem, policy), schedule_value(problem, policy.schedule(9)))
    assert_allclose(pr.evaluate(problem, policy), losses_along(problem, policy.schedule(9)).sum())


def test_a_policy_the_budget_does_not_allow_is_refused():
    world = pr.World.equicorrelated([1.0, 0.7], 0.6)
    problem = pr.Problem(world, pr.Learner([0.0, 0.3], pr.OneShot()), 1)
    with pytest.raises(pr.InvalidPolicy, match=r"set \(0, 1\): not allowed"):
        pr.evaluate(problem, pr.Stationary((0, 1)))
    with pytest.raises(pr.InvalidPolicy, match=r"tests 0\.\.1"):
        pr.evaluate(problem, pr.Stationary((5,)))


@given(st.floats(0.0, 0.9999))
def test_what_is_left_out_weighs_nothing(discount):
    rounds = negligible_after(discount)
    assert discount**rounds / (1 - discount) <= 1.01e-15 or discount == 0.0


@given(st.floats(0.0, 1.0), st.integers(0, 50))
def test_geometric_sums(ratio, rounds):
    wanted = sum(ratio**t for t in range(rounds))
    assert_allclose(geometric_sum(np.array(ratio), rounds), wanted, rtol=1e-9)


@given(st.lists(curves, min_size=2, max_size=2), st.sampled_from([None, 1, 5, 30]))
def test_tables_of_tail_sums(several, rounds):
    """Both layouts, product and table, are the sums they stand for."""
    world = pr.World.equicorrelated([1.0, 0.7], 0.6)
    problem = pr.Problem(world, pr.Learner([0.0, 0.3], several), 1, discount=0.8, start=(2, 0))
    sums = tail_sums(problem, 6, rounds)
    t = np.arange(250 if rounds is None else rounds)
    weights = 0.8**t
    retained = [c.retention(s + np.arange(300)) for c, s in zip(several, (2, 0), strict=True)]
    for i in range(2):
        for p in range(7):
            assert_allclose(sums.first[i, p], weights @ retained[i][p + t], rtol=1e-9, atol=1e-12)
            for j in range(2):
                for q in range(7):
                    if sums.second.size:
                        got = sums.second[i, j, p, q]
                    else:
                        got = sums.scale[i, j] * sums.retention[i, p] * sums.retention[j, q]
                    wanted = weights @ (retained[i][p + t] * retained[j][q + t])
                    assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)
