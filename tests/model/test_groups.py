"""Tests that consist of several columns: shown, counted and priced as one."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.model.budgets import Grouped
from preceptor.planning.candidate_sets import first_candidates, neighbours
from tests.oracles import brute_force
from tests.strategies import budgets, covariance, examples, seeds

NAMES = ["age", "site=a", "weight", "site=b"]


def world(seed: int = 0, **changes) -> pr.World:
    rng = np.random.default_rng(seed)
    groups = {"site": [1, 3]}
    options = {"noise_variance": 0.3, "names": NAMES, "groups": groups} | changes
    return pr.World(rng.standard_normal(4), covariance(rng, 4), **options)


def columns(blocks, tests) -> tuple[int, ...]:
    return tuple(sorted(i for test in tests for i in blocks[test]))


# --- the world ------------------------------------------------------------------------------------


def test_tests_are_in_the_order_of_their_first_columns():
    assert world().tests == ("age", "site", "weight")
    assert world().blocks == ((0,), (1, 3), (2,))
    assert world(groups=None).tests == tuple(NAMES)
    assert pr.World([1.0, 1.0], np.eye(2), groups={"both": [1, 0]}).tests == ("both",)


def test_sets_are_named_by_test_and_parts_by_column():
    assert world().name_of((0, 1, 3)) == ("age", "site")
    assert world().name_of((3, 2)) == ("site=b", "weight")
    assert world().name_of(()) == ()


@given(st.sets(st.sampled_from(["age", "site", "weight"])))
def test_names_and_columns_are_inverse(names):
    assert set(world().name_of(world().columns_of(names))) == names


def test_a_single_column_can_be_meant_by_its_own_name():
    assert world().columns_of(["site=b", "age"]) == (0, 3)
    with pytest.raises(pr.InvalidInput, match="test: 'sight' is not known"):
        world().columns_of(["sight"])


def test_groups_survive_files():
    assert pr.World.from_json(world().to_json()) == world()
    assert world().to_dict()["groups"] == {"site": [1, 3]}
    assert world() != world(groups=None)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"site": [1, 4]}, r"'site' has column 4, must be among 0\.\.3"),
        ({"site": [1.5]}, "'site' has column 1.5"),
        ({"site": []}, "'site' has column"),
        ({"a": [0, 1], "b": [1, 2]}, "column 1 appears twice"),
        ({"age": [1, 3]}, "'age' names two tests"),
        (3, "groups: 3, must be a table"),
    ],
)
def test_bad_groups(groups, words):
    with pytest.raises(pr.InvalidProblem, match=words):
        world(groups=groups)


# --- the budget -----------------------------------------------------------------------------------


@st.composite
def grouped_budgets(draw):
    """A budget over two to four tests, and columns shuffled over them."""
    tests = draw(st.integers(2, 4))
    inner = draw(budgets(tests))
    sizes = draw(st.lists(st.integers(1, 3), min_size=tests, max_size=tests))
    order = np.random.default_rng(draw(seeds)).permutation(sum(sizes))
    cuts = np.cumsum([0, *sizes])
    blocks = [order[a:b].tolist() for a, b in itertools.pairwise(cuts)]
    return Grouped(inner, blocks)


@given(grouped_budgets())
def test_sets_are_the_inner_sets_column_by_column(budget):
    size, blocks = sum(map(len, budget.blocks)), budget.blocks
    inner = budget.budget
    expected = [columns(blocks, tests) for tests in inner.subsets(len(blocks))]
    assert sorted(budget.subsets(size)) == sorted(expected)
    family = budget.sets(size)
    assert list(family) == sorted(expected, key=lambda s: (len(s), s))
    every = [s for w in range(size + 1) for s in itertools.combinations(range(size), w)]
    assert [s for s in every if budget.allows(s)] == list(family)
    for tests, price in zip(inner.sets(len(blocks)), inner.sets(len(blocks)).prices, strict=True):
        assert_allclose(family.prices[family.index(columns(blocks, tests))], price)


@given(grouped_budgets(), seeds)
def test_maximise_finds_the_best_set_of_whole_tests(budget, seed):
    size = sum(map(len, budget.blocks))
    scores = np.random.default_rng(seed).standard_normal(size)
    chosen = budget.maximise(scores)
    assert budget.allows(chosen)
    best = max(scores[list(s)].sum() for s in budget.subsets(size))
    assert_allclose(scores[list(chosen)].sum(), best, atol=1e-9)


@given(grouped_budgets())
def test_files_hold_the_inner_budget_and_the_blocks(budget):
    assert pr.Budget.from_dict(budget.to_dict()) == budget
    assert set(budget.to_dict()) == {"kind", "budget", "blocks"}


@given(grouped_budgets())
def test_a_listing_keeps_sets_and_prices(budget):
    size = sum(map(len, budget.blocks))
    wanted = [s for s in budget.subsets(size) if s][:3]
    assume(wanted)
    family, whole = budget.listing(wanted).sets(size), budget.sets(size)
    assert sorted(family) == sorted(wanted)
    for index, shown in enumerate(family):
        assert_allclose(family.prices[index], whole.prices[whole.index(shown)])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Grouped(pr.AtMost(1), [[0], [2]]), "every column from 0 on"),
        (lambda: Grouped(pr.AtMost(1), [[0, 1], []]), "without columns"),
        (lambda: Grouped(pr.AtMost(3), [[0, 1], [2]]), "3 tests per round, but there are only 2"),
        (lambda: Grouped(pr.Knapsack([1.0, 1.0, 1.0], 2.0), [[0, 1], [2]]), "3 costs for 2 tests"),
        (lambda: Grouped(Grouped(pr.AtMost(1), [[0], [1]]), [[0], [1]]), "grouped already"),
        (lambda: Grouped(pr.AtMost(1), 3), "list of columns"),
        (lambda: Grouped(pr.AtMost(1), [[0], [1, 2]]).listing([(1,)]), "part of a test"),
    ],
)
def test_bad_grouped_budgets(make, words):
    with pytest.raises(pr.InvalidProblem, match=words):
        make()


# --- the problem ----------------------------------------------------------------------------------


def problem(budget, seed: int = 0, **changes) -> pr.Problem:
    rng = np.random.default_rng(seed + 1)
    learner = pr.Learner(0.4 * rng.standard_normal(4), pr.Geometric(1.6))
    return pr.Problem(world(seed), learner, budget, **{"discount": 0.9, "horizon": 3} | changes)


BUDGETS = {
    "one test": 1,
    "two tests": 2,
    "exactly two at a price": pr.Exactly(2, price=[0.2, 0.1, 0.3]),
    "a price for each": pr.AtMost(2, price=0.15),
    "costs": pr.Knapsack([1.0, 1.5, 1.0], 2.2),
    "listed tests": pr.Listed([[0, 1], [2], []], price=0.1),
}
by_budget = pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)


def by_hand(grouped: pr.Problem, budget) -> pr.Problem:
    """The same with every set of columns written out, and prices put on single columns."""
    blocks = ((0,), (1, 3), (2,))
    inner = pr.AtMost(budget) if isinstance(budget, int) else budget
    prices = np.broadcast_to(inner.price, 3)
    # the price of a test of two columns is split between them
    price = [prices[0], prices[1] / 2, prices[2], prices[1] / 2]
    sets = [columns(blocks, tests) for tests in inner.subsets(3)]
    plain = pr.World(
        grouped.world.coefficients, grouped.world.covariance, grouped.world.noise_variance
    )
    return grouped.replace(world=plain, budget=pr.Listed(sets, price=price))


@pytest.mark.few(6)
@by_budget
@pytest.mark.parametrize("seed", range(3))
def test_an_exact_plan_is_the_best_of_all_sequences(budget, seed):
    grouped = problem(budget, seed)
    plan = pr.solve(grouped, "finite")
    least, _ = brute_force(by_hand(grouped, budget))
    assert_allclose(plan.value, least, rtol=1e-9)
    for shown in plan.policy.schedule(3):
        assert (1 in shown) == (3 in shown)


@pytest.mark.few(4)
@pytest.mark.parametrize("method", ["stationary", "truncated", "lattice", "search", "certified"])
@pytest.mark.parametrize("name", ["exactly two at a price", "costs"])
def test_every_solver_plans_groups_as_it_plans_listed_sets(name, method):
    budget = BUDGETS[name]
    grouped = problem(budget, seed=5, horizon=None, discount=0.8)
    options = {
        "search": {"time_limit": None, "max_kicks": 3},
        "certified": {"time_limit": None, "max_iterations": 20, "width": 40},
    }.get(method, {})
    plan, other = (pr.solve(p, method, **options) for p in (grouped, by_hand(grouped, budget)))
    assert_allclose(plan.value, other.value, rtol=1e-6)
    assert_allclose(plan.lower_bound, other.lower_bound, rtol=1e-4)
    assert_allclose(pr.evaluate(grouped, plan.policy), plan.value, rtol=1e-9)
    assert pr.Plan.from_json(plan.to_json()) == plan


def test_budgets_count_tests_and_the_plan_speaks_of_tests():
    both = problem(pr.Exactly(1), seed=0, horizon=None)
    assert isinstance(both.budget, Grouped)
    assert set(both.sets) == {(0,), (2,), (1, 3)}
    plan = pr.solve(problem(pr.Listed([[1]]), horizon=None))
    assert plan.policy.commit == (1, 3)
    assert "Always show site." in plan.explain()
    assert plan.explain().startswith("A plan for 3 tests")


def test_a_policy_may_not_show_a_part_of_a_test():
    with pytest.raises(pr.InvalidPolicy, match=r"set \(1,\): not allowed"):
        pr.evaluate(problem(2), pr.Stationary((1,)))


def test_single_columns_with_a_name_of_their_own_need_no_grouping():
    named = world(groups={"site": [3]})
    plain = pr.Problem(named, pr.Learner(np.zeros(4), pr.OneShot()), 2)
    assert plain.budget == pr.AtMost(2)
    assert named.name_of((3,)) == ("site",)


def test_a_grouped_budget_must_be_that_of_the_world():
    other = Grouped(pr.AtMost(1), [[0, 1], [2], [3]])
    with pytest.raises(pr.InvalidProblem, match="groups columns as"):
        problem(other)
    with pytest.raises(pr.InvalidProblem, match="only 3"):
        problem(4)
    with pytest.raises(pr.InvalidProblem, match="4 prices for 3 tests"):
        problem(pr.AtMost(1, price=[1.0, 1.0, 1.0, 1.0]))


def test_neighbours_of_a_set_differ_by_whole_tests():
    grouped = problem(2)
    near = neighbours(grouped, [(0,)])
    assert near == {(), (0,), (2,), (1, 3), (0, 2), (0, 1, 3)}
    assert all(grouped.budget.allows(shown) for shown in first_candidates(grouped))


@examples(20)
@given(grouped_budgets(), seeds)
def test_random_groups_by_brute_force(budget, seed):
    size, rng = sum(map(len, budget.blocks)), np.random.default_rng(seed)
    groups = {f"g{t}": block for t, block in enumerate(budget.blocks)}
    made = pr.World(rng.standard_normal(size), covariance(rng, size), 0.1, groups=groups)
    learner = pr.Learner(rng.standard_normal(size), pr.Geometric(1.5))
    asked = pr.Problem(made, learner, budget.budget, discount=0.9, horizon=2)
    assert_allclose(pr.solve(asked, "finite").value, brute_force(asked)[0], rtol=1e-8)
