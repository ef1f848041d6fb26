"""Algorithm 1 against brute force over all sequences, and against printed figures."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.planning.count_space import CountSpace
from tests.oracles import brute_force, schedule_value
from tests.strategies import examples, problems


@examples(150)
@given(problems(sizes=(1, 2, 3), horizons=(1, 2, 3, 4)))
def test_value_and_schedule_are_those_of_the_best_sequence(problem):
    least, winners = brute_force(problem)
    plan = pr.solve(problem, "finite")
    assert_allclose(plan.value, least, rtol=1e-9, atol=1e-12)
    assert tuple(plan.policy.schedule(problem.horizon)) in winners
    assert plan.status is pr.Status.OPTIMAL
    assert plan.lower_bound == plan.value


@given(problems(sizes=(4,), horizons=(2, 3)))
@examples(20)
def test_four_tests_against_brute_force(problem):
    assert_allclose(pr.solve(problem, "finite").value, brute_force(problem)[0], rtol=1e-9)


@given(problems(sizes=(2, 3), horizons=(7, 12)))
def test_reported_value_is_the_value_of_the_schedule(problem):
    plan = pr.solve(problem, "finite")
    schedule = plan.policy.schedule(problem.horizon)
    assert_allclose(schedule_value(problem, schedule), plan.value, rtol=1e-9)
    assert_allclose(pr.evaluate(problem, plan.policy), plan.value, rtol=1e-9)


@given(problems(sizes=(2, 3), horizons=(3, 6)))
@examples(25)
def test_compiled_and_batched_routes_agree(problem):
    """A user's own risk takes the batched route; the same risk as a built-in one the compiled."""
    own = pr.ResidualRisk(problem.risk.charge, kinks=(-2.0, 0.0, 2.0, *_threshold(problem.risk)))
    compiled = pr.solve(problem, "finite")
    batched = pr.solve(problem.replace(risk=own), "finite")
    assert_allclose(batched.value, compiled.value, rtol=1e-7, atol=1e-9)


def _threshold(risk):
    return (-risk.threshold, risk.threshold) if isinstance(risk, pr.Huber) else ()


def test_showing_nothing_waits_until_the_end():
    """So at most one test has no more states than exactly one, and stops where tests mislead."""
    world = pr.World.equicorrelated([1.0, 0.1], 0.0, noise_variance=1e-3)
    learner = pr.Learner([-1.0, 4.0], pr.Geometric(1.001))  # what is shown makes it worse
    either = pr.Problem(world, learner, 1, discount=0.9, horizon=30)
    one = either.replace(budget=pr.Exactly(1))
    assert pr.solve(either, "finite").states == pr.solve(one, "finite").states
    assert pr.solve(either, "finite").policy.schedule(30) == [()] * 30
    assert pr.solve(either, "finite").value < pr.solve(one, "finite").value
    sampled = either.replace(loss=pr.Empirical(64))  # where even a blind guess depends on beliefs
    assert pr.solve(sampled, "finite").states > pr.solve(either, "finite").states


@pytest.mark.parametrize(
    ("budget", "size", "rounds", "states"),
    [
        (pr.Exactly(1), 2, 600, 601),
        (pr.Exactly(2), 3, 600, 602 * 601 // 2),  # counted by what is hidden
        (pr.AtMost(1), 2, 600, 602 * 601 // 2),
        (pr.Exactly(3), 3, 50, 1),
    ],
)
def test_states_are_numbered_without_waste(budget, size, rounds, states):
    assert CountSpace.smallest(budget.sets(size), rounds).layer_size(rounds) == states


@pytest.mark.parametrize("budget", [pr.AtMost(2), pr.Exactly(2), pr.Exactly(1)])
def test_ranks_and_partial_sums_are_one_to_one(budget):
    space = CountSpace.smallest(budget.sets(4), 4)
    for rank in range(space.layer_size(4)):
        sums = space.partial_sums(rank)
        assert np.all(np.diff(sums) >= 0)
        assert sum(int(space.binomials[j, s]) for j, s in enumerate(sums)) == rank
    assert space.offsets.tolist() == np.cumsum([0, *map(space.layer_size, range(1, 5))]).tolist()
    assert space.states() == space.offsets[-1]


def test_refuses_before_it_allocates_and_says_what_to_do():
    world = pr.World.equicorrelated(np.ones(6), 0.5)
    learner = pr.Learner(np.zeros(6), pr.Geometric(1.05))
    problem = pr.Problem(world, learner, 2, horizon=600)
    with pytest.raises(pr.TooLarge, match=r"states and would take .* GiB.*length=\d+") as caught:
        pr.solve(problem, "finite")
    assert caught.value.bytes_needed > 2**32


def test_infinite_horizon_is_refused_with_a_remedy():
    world = pr.World.equicorrelated([1.0, 1.0], 0.5)
    problem = pr.Problem(world, pr.Learner([0.0, 0.0], pr.Geometric(1.05)), 1)
    with pytest.raises(pr.NotApplicable, match="truncated"):
        pr.solve(problem, "finite")
