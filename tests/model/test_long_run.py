"""Tail losses, and the ties that let a policy change sets for ever."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model.long_run import (
    frozen_counts,
    recurrent_tests,
    settled_round,
    tail_losses,
    tail_minimisers,
    tied_sets,
)
from preceptor.theory.one_step import explained_covariance
from tests.strategies import covariance, problems, seeds


def pair(coefficients, initial=(0.3, -0.2), correlation=0.6, noise=0.1, budget=1) -> pr.Problem:
    world = pr.World.equicorrelated(coefficients, correlation, noise_variance=noise)
    return pr.Problem(world, pr.Learner(initial, pr.Geometric(1.2)), budget, discount=0.9)


@given(seeds, st.integers(2, 4))
def test_tail_losses_follow_the_proposition(seed, size):
    rng = np.random.default_rng(seed)
    world = pr.World(rng.standard_normal(size), covariance(rng, size), 0.2)
    learner = pr.Learner(rng.standard_normal(size), pr.Geometric(1.3))
    problem = pr.Problem(world, learner, pr.AtMost(2))
    recurrent = rng.permutation(size)[: rng.integers(1, size + 1)].tolist()
    counts = rng.integers(0, 5, size)
    errors = learner.errors(world, counts)
    errors[recurrent] = 0.0
    a, sigma = world.coefficients, world.covariance
    for shown, loss in tail_losses(problem, recurrent, counts).items():
        assert set(shown) <= set(recurrent)
        told = explained_covariance(sigma, shown)
        expected = 0.2 + a @ (sigma - told) @ a + errors @ told @ errors
        assert_allclose(loss, expected, rtol=1e-8)


def settles_fast(curve: pr.Curve) -> bool:
    """Whether a curve is at its limit, up to rounding, after some hundred showings."""
    return float(curve.retention(800)) - np.sqrt(curve.limit) < 1e-12


@given(problems(horizons=(None,)), seeds)
def test_tail_losses_are_the_limit_along_a_policy(problem, seed):
    assume(all(settles_fast(curve) for curve in problem.learner.curve_of))
    rng = np.random.default_rng(seed)
    sets = list(problem.sets)
    cycle = [sets[i] for i in rng.integers(0, len(sets), 3)]
    prefix = [sets[i] for i in rng.integers(0, len(sets), 4)]
    for policy in (pr.Alternating(cycle), pr.ExploreThenCommit(prefix, commit=cycle[0])):
        recurrent = recurrent_tests(policy)
        losses = tail_losses(problem, recurrent, frozen_counts(problem, policy))
        schedule = policy.schedule(3000)
        counts = np.array(problem.start_counts)
        for shown in schedule:
            counts[list(shown)] += 1
        errors = problem.learner.errors(problem.world, counts)[None, :]
        for shown, tail in losses.items():
            assert_allclose(problem.oracle.loss_of(errors, shown)[0], tail, rtol=1e-8, atol=1e-12)


@given(st.floats(0.1, 2.0), st.floats(-0.95, 0.95), st.sampled_from([1, -1]))
def test_equal_sizes_tie_and_unequal_ones_do_not(size, correlation, sign):
    policy = pr.ExploreThenCommit([(1,), (0,), (1,)], commit=(0,))
    tied = pair([size, sign * size], correlation=correlation)
    assert (1,) in tied_sets(tied, policy)
    losses = tail_losses(tied, [0, 1], [0, 0])
    assert {(0,), (1,)} <= set(tail_minimisers(tied, losses))
    untied = pair([size, sign * size * 1.001], correlation=correlation)
    assert (1,) not in tied_sets(untied, policy)
    difference = np.subtract(*[tail_losses(untied, [0, 1], [0, 0])[(i,)] for i in (0, 1)])
    a = untied.world.coefficients
    assert_allclose(difference, (1 - correlation**2) * (a[1] ** 2 - a[0] ** 2), atol=1e-12)


@given(seeds, st.integers(2, 4), st.integers(1, 2))
def test_drawn_coefficients_do_not_tie(seed, size, budget):
    rng = np.random.default_rng(seed)
    world = pr.World(rng.standard_normal(size), covariance(rng, size), 0.05)
    learner = pr.Learner(rng.standard_normal(size), pr.Geometric(1.1))
    problem = pr.Problem(world, learner, pr.AtMost(budget))
    for recurrent in itertools.combinations(range(size), min(size, budget + 1)):
        losses = tail_losses(problem, recurrent, rng.integers(0, 9, size))
        assert len(tail_minimisers(problem, losses)) == 1
    commit = problem.sets[int(rng.integers(len(problem.sets)))]
    assert tied_sets(problem, pr.Stationary(commit)) == []


def test_ties_are_seen_without_noise():
    # Only the third test matters, so whatever shows it ends at a loss of 0, but for rounding.
    root = np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.4], [0.0, 0.0, 0.7]])
    sigma = root.T @ root
    world = pr.World([0.0, 0.0, 1.7], sigma, noise_variance=0.0)
    problem = pr.Problem(world, pr.Learner([0.1, 0.2, 0.3], pr.OneShot()), pr.AtMost(2))
    losses = tail_losses(problem, [0, 1, 2], [0, 0, 0])
    assert set(tail_minimisers(problem, losses)) == {(2,), (0, 2), (1, 2)}
    all_taught = pr.ExploreThenCommit([(0, 1)], commit=(2,))
    assert tied_sets(problem, all_taught) == [(0, 2), (1, 2)]
    # Where the person's error about a test stays, showing another one helps or harms.
    assert tied_sets(problem, pr.Stationary((2,))) == []


def test_a_plan_says_that_its_last_set_ties():
    plan = pr.solve(pair([1.0, 1.0], initial=(0.0, 0.0), budget=pr.Exactly(1)))
    assert any("exactly as good" in note for note in plan.notes)
    plan = pr.solve(pair([1.0, 0.9], initial=(0.0, 0.0), budget=pr.Exactly(1)))
    assert not any("exactly as good" in note for note in plan.notes)


def test_recurrent_tests_and_the_round_from_which_only_they_are_shown():
    problem = pair([1.0, 0.5]).replace(start=(2, 1))
    policy = pr.ExploreThenCommit([(1,), (), (1,), (0,), ()], commit=(0,))
    assert recurrent_tests(policy) == {0}
    assert settled_round(policy) == 3
    assert frozen_counts(problem, policy).tolist() == [2, 3]
    around = pr.Alternating([(0,), (1,), ()])
    assert recurrent_tests(around) == {0, 1}
    assert settled_round(around) == 0


def test_a_policy_of_unknown_kind_is_refused():
    class Wandering(pr.Alternating):
        kind = ""

    class Unknown(pr.Stationary):
        kind = ""
        commit = None
        exploration_length = None

    assert recurrent_tests(Wandering([(0,), (1,)])) == {0, 1}
    with pytest.raises(pr.NotApplicable, match="Unknown"):
        recurrent_tests(Unknown((0,)))
