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
    problems = classroom(20)
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
    *alike, different = share_oracles([*problems, other])
    assert alike == problems
    assert alike[0].oracle is alike[1].oracle is alike[2].oracle
    assert different.oracle is not alike[0].oracle


def test_given_problems_stay_untouched_unless_they_asked():
    problems = classroom(3)
    asked = problems[1].oracle
    before = [dict(vars(problem)) for problem in problems]
    plans = pr.solve_many(problems, workers=1)
    # Compared by identity: what an untouched problem holds is what it held.
    for problem, held in zip(problems, before, strict=True):
        assert vars(problem).keys() == held.keys()
        assert all(vars(problem)[name] is held[name] for name in held)
    assert vars(problems[1])["_remembered"] == {"oracle": asked}
    assert [plan.problem for plan in plans] == problems
    assert len({id(plan.problem.oracle) for plan in plans}) == 1


def test_faults_and_nothing_to_do():
    assert pr.solve_many([]) == []
    with pytest.raises(pr.InvalidInput, match="workers: 0"):
        pr.solve_many(classroom(1), workers=0)
    with pytest.raises(pr.UnknownMethod):
        pr.solve_many(classroom(1), "best")
