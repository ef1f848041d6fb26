"""Many learners at once: the same plans as one by one, whatever the number of processes."""

import dataclasses

import numpy as np
import pytest

import preceptor as pr
from preceptor._base.progress import Status
from preceptor.planning import solvers as batch
from preceptor.planning.solvers import share_oracles


def classroom(people):
    world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    rng = np.random.default_rng(0)
    return [
        pr.Problem(world, pr.Learner(rng.uniform(0, 1, 2), pr.Geometric(1.1)), 1, horizon=30)
        for _ in range(people)
    ]


@pytest.mark.full
def test_same_plans_in_order_with_one_and_two_processes():
    problems = classroom(20)
    alone = [pr.solve(problem) for problem in problems]
    seen = []
    for workers in (1, 2):
        plans = pr.solve_many(problems, workers=workers, progress=seen.append)
        assert [plan.value for plan in plans] == [plan.value for plan in alone]
        assert [plan.policy for plan in plans] == [plan.policy for plan in alone]
    assert seen[-1].done == 1.0


@pytest.fixture
def solved(monkeypatch):
    """Which problems were really solved."""
    seen = []
    usual = batch.solve

    def watched(problem, method, **options):
        seen.append(problem)
        return usual(problem, method, **options)

    monkeypatch.setattr(batch, "solve", watched)
    return seen


@pytest.mark.parametrize("torn", [0, 40])
def test_a_run_that_was_stopped_goes_on(tmp_path, solved, torn):
    """The file is cut in the middle, as a kill does; a plan that is half there is made again."""
    problems = classroom(6)
    path = tmp_path / "plans.jsonl"
    whole = pr.solve_many(problems, workers=1, resume=path)
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 6
    path.write_text("".join(lines[:4]) + lines[4][:torn])
    solved.clear()
    told = []
    again = pr.solve_many(problems, workers=1, resume=path, progress=told.append)
    assert solved == problems[4:]
    assert [plan.policy for plan in again] == [plan.policy for plan in whole]
    assert again[:4] == whole[:4]  # to the second that they took
    assert [update.done for update in told] == [4 / 6, 1.0]
    # In another order, and with somebody new, only the new one is left to do.
    solved.clear()
    more = classroom(7)
    reversed_plans = pr.solve_many(more[::-1], workers=1, resume=path)
    assert solved == more[6:]
    assert [plan.problem for plan in reversed_plans] == more[::-1]


def test_what_was_kept_is_used_only_for_the_same_question(tmp_path, solved):
    problems = classroom(1)
    path = tmp_path / "plans.jsonl"

    def count(*changed, **options):
        solved.clear()
        pr.solve_many(*changed, workers=1, resume=path, **options)
        return len(solved)

    assert count(problems) == 1
    assert count(problems) == 0
    assert count(problems, "finite") == 1
    assert count([problems[0].replace(horizon=31)]) == 1
    assert count(problems, "finite", memory_limit=10**8) == 1
    assert count(problems, "finite", memory_limit=10**9) == 1
    assert count(problems, "finite", memory_limit=10**8) == 0


def test_after_another_version_everything_is_made_again(tmp_path, solved, monkeypatch):
    path = tmp_path / "plans.jsonl"
    pr.solve_many(classroom(1), workers=1, resume=path)
    monkeypatch.setattr("preceptor._base.many.package_code", lambda: "another planner")
    pr.solve_many(classroom(1), workers=1, resume=path)
    assert len(solved) == 2


def test_an_interrupted_plan_is_not_kept(tmp_path, solved, monkeypatch):
    path = tmp_path / "plans.jsonl"
    usual = batch.solve

    def stopped(problem, method):
        return dataclasses.replace(usual(problem, method), status=Status.INTERRUPTED)

    with monkeypatch.context() as interrupted:
        interrupted.setattr(batch, "solve", stopped)
        assert pr.solve_many(classroom(1), workers=1, resume=path)[0].status is Status.INTERRUPTED
    assert pr.solve_many(classroom(1), workers=1, resume=path)[0].status is Status.OPTIMAL
    assert len(solved) == 2


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
    with pytest.raises(pr.InvalidInput, match="cluster: 8786, must be"):
        pr.solve_many(classroom(1), cluster=8786)
    with pytest.raises(pr.InvalidFile, match="nowhere: no such folder; make it first"):
        pr.solve_many(classroom(1), resume="nowhere/plans.jsonl")
    with pytest.raises(pr.UnknownMethod):
        pr.solve_many(classroom(1), "best")


def test_what_is_no_problem_is_named():
    with pytest.raises(pr.InvalidInput, match="problems: item 0 is of type NoneType"):
        pr.solve_many([None])
