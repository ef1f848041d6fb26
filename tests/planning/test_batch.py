"""Many learners at once: the same plans as one by one, whatever the number of processes."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.planning.batch import share_oracles


def classroom(people):
    world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    rng = np.random.default_rng(0)
    return [
        pr.Problem(world, pr.Learner(rng.uniform(0, 1, 2), pr.Geometric(1.1)), 1, horizon=30)
        for _ in range(people)
    ]


def test_same_plans_in_order_with_one_and_two_processes():
    problems = classroom(40)
    alone = [pr.solve(problem) for problem in problems]
    seen = []
    for workers in (1, 2):
        plans = pr.solve_many(problems, workers=workers, progress=seen.append)
        assert [plan.value for plan in plans] == [plan.value for plan in alone]
        assert [plan.policy for plan in plans] == [plan.policy for plan in alone]
    assert seen[-1].done == 1.0


def test_learners_that_share_a_world_share_its_factors():
    problems = classroom(3)
    other = problems[0].replace(budget=pr.Exactly(1))
    first, second, third, apart = share_oracles([*problems, other])
    assert first.oracle is second.oracle is third.oracle
    assert apart.oracle is not first.oracle
    assert [first, second, third, apart] == [*problems, other]
    assert problems[1].oracle is not first.oracle  # what was given stays as it was


def test_faults_and_nothing_to_do():
    assert pr.solve_many([]) == []
    with pytest.raises(pr.InvalidInput, match="workers: 0"):
        pr.solve_many(classroom(1), workers=0)
    with pytest.raises(pr.UnknownMethod):
        pr.solve_many(classroom(1), "best")
