"""Budgets: which sets, in which order, at what price."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from tests.strategies import budgets, seeds


@given(st.data(), st.integers(1, 5))
def test_sets_are_exactly_the_allowed_ones_in_order_of_size(data, size):
    budget = data.draw(budgets(size))
    every = [s for w in range(size + 1) for s in itertools.combinations(range(size), w)]
    allowed = [s for s in every if budget.allows(s)]
    family = budget.sets(size)
    assert list(family) == allowed == list(budget.subsets(size))
    assert len(family) <= budget.count(size)
    assert [family.index(s) for s in allowed] == [*range(len(allowed))]
    assert family.membership.sum(axis=1).tolist() == [len(s) for s in allowed]


@given(st.data(), st.integers(1, 6), seeds)
def test_maximise_finds_the_best_total_score(data, size, seed):
    budget = data.draw(budgets(size))
    scores = np.random.default_rng(seed).standard_normal(size)
    best = max(scores[list(s)].sum() for s in budget.subsets(size))
    chosen = budget.maximise(scores)
    assert budget.allows(chosen)
    assert_allclose(scores[list(chosen)].sum(), best, atol=1e-9)


def test_price_is_one_number_or_one_for_each_test():
    assert pr.AtMost(2, price=0.5).sets(2).prices.tolist() == [0.0, 0.5, 0.5, 1.0]
    assert pr.AtMost(2, price=[1.0, 2.0]).sets(2).prices.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pr.AtMost(0), "k: 0, must be a whole number of at least 1"),
        (lambda: pr.Exactly(1.5), "k: 1.5"),
        (lambda: pr.AtMost(1, price=-1.0), "price: -1.0"),
        (lambda: pr.Knapsack([1.0, -2.0], 3.0), "costs"),
        (lambda: pr.Knapsack([1.0, 2.0], -1.0), "limit: -1.0"),
        (lambda: pr.Knapsack([1.0, 2.0], 0.5), "nothing could ever be shown"),
        (lambda: pr.Knapsack(["dear"], 0.5), "give a list or array of numbers"),
    ],
)
def test_faults(make, words):
    with pytest.raises(pr.InvalidProblem, match=words):
        make()


def test_too_many_sets_are_not_listed():
    with pytest.raises(pr.TooLarge, match="79,375,496 sets"):
        pr.AtMost(5).sets(100)


def test_listed_sets_and_nothing_else():
    budget = pr.Listed([[2, 0], [1], []], price=0.5)
    assert list(budget.subsets(3)) == [(), (1,), (0, 2)]
    assert budget.allows((0, 2))
    assert not budget.allows((0,))
    assert budget.maximise(np.array([1.0, -1.0, -3.0])) == ()
    assert pr.Budget.from_dict(budget.to_dict()) == budget
    for wrong, words in [([[]], "no set shows"), ([[0, 0]], "distinct"), (3, "list of sets")]:
        with pytest.raises(pr.InvalidProblem, match=words):
            pr.Listed(wrong)
    world = pr.World([1.0, 1.0], np.eye(2))
    with pytest.raises(pr.InvalidProblem, match=r"only tests 0\.\.1"):
        pr.Problem(world, pr.Learner([0.0, 0.0], pr.OneShot()), budget)
