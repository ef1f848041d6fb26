"""The paper's beam against a plain twin of it, and best commitments against one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model.evaluation import commit_value
from preceptor.planning.guided_beam import merge
from preceptor.planning.truncated import CommitValues
from tests.oracles import round_loss
from tests.strategies import examples, problems, seeds

squared = st.just(pr.SquaredError())


def plain_beam(problem, width, layers):
    """Dicts and sorting, one state and one suffix at a time."""
    sets = list(problem.budget.subsets(problem.size))
    start = np.array(problem.start_counts)
    layer = {(0,) * problem.size: 0.0}
    for t in range(layers):
        children = {}
        for counts, value in layer.items():
            for shown in sets:
                cost = value + problem.discount**t * round_loss(problem, start + counts, shown)
                after = tuple(c + (i in shown) for i, c in enumerate(counts))
                children[after] = min(cost, children.get(after, np.inf))
        left = None if problem.horizon is None else problem.horizon - t - 1
        scores = {
            counts: value
            + problem.discount ** (t + 1)
            * min(commit_value(problem, start + counts, s, left) for s in sets)
            for counts, value in children.items()
        }
        kept = sorted(scores, key=scores.__getitem__)[:width]
        layer = {counts: children[counts] for counts in kept}
    return scores[kept[0]]


@examples(40)
@given(problems(sizes=(2, 3), horizons=(None, 7)), st.integers(1, 4))
def test_same_value_as_the_plain_twin(problem, width):
    plan = pr.solve(problem, "beam", width=width, layers=3)
    assert_allclose(plan.value, plain_beam(problem, width, 3), rtol=1e-7, atol=1e-10)
    assert_allclose(pr.evaluate(problem, plan.policy), plan.value)
    assert plan.lower_bound <= plan.value


@examples(60)
@given(problems(sizes=(1, 2, 3, 4), horizons=(None, 9), risks=squared), seeds)
def test_best_commitment_of_many_states(problem, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, (70, problem.size))
    left = None if problem.horizon is None else 5
    costs, chosen = CommitValues(problem, 6, left).best(counts)
    start = np.array(problem.start_counts)
    for row in (0, 1, 69):
        each = [commit_value(problem, start + counts[row], s, left) for s in problem.sets]
        assert_allclose(costs[row], min(each), rtol=1e-8, atol=1e-11)
        assert_allclose(each[chosen[row]], min(each), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize(("width", "value"), [(1, 86.02), (10, 82.06), (100, 78.50)])
def test_it_is_the_poor_optimiser_that_others_measured(width, value):
    """(5,2), ρ=.99, seed 0: values of another implementation of the same beam."""
    rng = np.random.default_rng(0)
    a, h = rng.uniform(0, 1, 5), rng.uniform(0, 1, 5)
    world = pr.World.equicorrelated(a, 0.99)
    problem = pr.Problem(world, pr.Learner(h, pr.Geometric(1.05)), 2, discount=0.99)
    plan = pr.solve(problem, "beam", width=width, layers=200)
    assert round(plan.value, 2) == value


@given(seeds, st.integers(1, 9), st.sampled_from([1, 3, 700]))
def test_the_cheapest_child_of_equal_counts_survives(seed, size, largest):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, largest + 1, (12, size))
    shown = np.unique(rng.random((5, size)) < 0.5, axis=0)
    costs = rng.integers(0, 5, (12, len(shown))).astype(float)
    best = {}
    for parent, action in itertools.product(range(12), range(len(shown))):
        child, cost = tuple(counts[parent] + shown[action]), costs[parent, action]
        if child not in best or cost < costs[best[child]]:
            best[child] = (parent, action)
    endless, every = np.full(size, 2**40), np.arange(len(shown))
    members = np.where(shown, np.arange(shown.shape[1]), -1)
    merged = merge(counts, costs, members, every, endless)
    survivors = zip(merged.parents.tolist(), merged.actions.tolist(), strict=True)
    assert sorted(survivors) == sorted(best.values())


def test_progress_is_reported_and_memory_refused():
    world = pr.World.equicorrelated([1.0, 0.8, 0.3], 0.8)
    problem = pr.Problem(world, pr.Learner([0.2, 1.3, 0.1], pr.Geometric(1.1)), 1)
    seen = []
    pr.solve(problem, "beam", width=5, layers=4, progress=seen.append)
    assert [update.done for update in seen] == [0.25, 0.5, 0.75, 1.0]
    assert [u.value for u in seen] == sorted((u.value for u in seen), reverse=True)
    with pytest.raises(pr.TooLarge, match=r"use width=\d+ or less"):
        pr.solve(problem, "beam", width=10**9)
    with pytest.raises(pr.InvalidInput, match="width: 0"):
        pr.solve(problem, "beam", width=0)
