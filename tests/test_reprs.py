"""Values show themselves in a few lines, whatever their size, and say what they are in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pytest

import preceptor as pr
from preceptor.model.budgets import Grouped
from preceptor.model.world import Units

WORLD = pr.World.equicorrelated([0.5, -1.0], 0.5, 0.25, names=["bmi", "bp"])
PERSON = pr.Learner([0.0, 0.5], pr.Geometric.from_half_life(14))
PROBLEM = pr.Problem(WORLD, PERSON, 1, discount=0.99)


def plan(policy, problem=PROBLEM, value=20.0, bound=20.0, status=pr.Status.OPTIMAL):
    return pr.Plan(problem, policy, value, bound, status, "lattice", 1.5)


def large(names=None, per_test=False):
    """Sixty tests and everything that a value could want to say about them."""
    size = 60
    world = pr.World(
        np.linspace(-1, 1, size),
        0.5 * np.eye(size) + 0.5,
        0.5,
        names=names,
        units=Units(np.zeros(size), np.ones(size), outcome="body fat, %", outcome_mean=19.0),
        groups={f"site {i}": [2 * i, 2 * i + 1] for i in range(20)},
    )
    curve = pr.PowerLaw(0.75, floor=0.04)
    curves = [pr.PowerLaw(0.5 + i / size, floor=0.04) for i in range(size)] if per_test else curve
    person = pr.Learner(np.linspace(0, 1, size), curves, 0.25)
    budget = pr.Knapsack(np.linspace(1, 2, 40), 20.0, price=0.1)
    risk = pr.Huber(1.5)
    return pr.Problem(world, person, budget, risk=risk, start=[3] * size)


def test_a_world():
    assert repr(WORLD).splitlines() == [
        "World of 2 tests; outcome: no unit given",
        "  weights      bp -1, bmi 0.5",
        "  correlation  0.50 between two tests on average",
        "  explained    75% of the variance of the outcome, whose standard deviation is 1",
    ]


def test_a_world_names_its_outcome_groups_and_marginals():
    text = repr(large().world)
    assert text.startswith("World of 40 tests; outcome: body fat, %\n")
    assert "site 0 (2 columns)" in text
    assert "and 16 more" in text
    assert "Beta(2, 5)" in repr(pr.World.beta_copula([1.0, 0.5], 0.3))


def test_a_world_names_the_eight_largest_weights():
    weights = np.linspace(0.01, 0.6, 60)
    text = " ".join(repr(pr.World(weights, np.eye(60))).split())
    named = re.findall(r"x\d+ 0\.\d+", text)
    assert named == [f"x{i} {weights[i - 1]:.3g}" for i in range(60, 52, -1)]
    assert "and 52 more" in text
    assert "0.00 between two tests" in text


def test_a_world_that_explains_nothing_can_be_shown():
    assert "0% of the variance" in repr(pr.World([0.0], [[1.0]], 0.0))


def test_a_learner():
    assert repr(PERSON).splitlines() == [
        "Learner with beliefs about 2 tests",
        "  first weights  x2 0.5, x1 0",
        "  learning       the error of a weight halves every 14 showings",
        "  unseen tests   filled in from the shown ones, with the right correlations",
    ]
    assert "first weights  all 0" in repr(pr.Learner([0.0], pr.OneShot()))


def test_a_problem():
    assert repr(PROBLEM.replace(start=[0, 2])).splitlines() == [
        "Problem with 2 tests",
        "  tests          bmi, bp",
        "  per case       at most 1 of 2",
        "  learning       the error of a weight halves every 14 showings",
        "  first beliefs  weights of their own; shown every test they would miss 233% of the",
        "                 variance that tests explain",
        "  unseen tests   filled in from the shown ones, with the right correlations",
        "  time           about 100 more cases: each counts 0.99 times the one before",
        "  loss           squared error; exact, in closed form",
        "  already seen   bp twice",
    ]


def test_a_plan():
    policy = pr.ExploreThenCommit([(1,), (1,), (0,)], commit=(1,))
    assert repr(plan(policy, value=20.2)).splitlines() == [
        "Plan: at most 1.0% above the best possible plan",
        "  first    bp for 2 cases, then bmi for 1 case",
        "  then     from case 4: always bp",
        "  loss     20.2 in total, 0.202 per case on average; lower bound 20",
        "  method   lattice, 1.5 seconds",
        "  problem  per case at most 1 of 2; about 100 more cases: each counts 0.99 times the one",
        "           before",
    ]


@pytest.mark.parametrize(
    ("policy", "horizon", "words"),
    [
        (pr.Stationary((0,)), None, "show     always bmi"),
        (pr.Stationary(()), None, "show     always nothing"),
        (pr.ExploreThenCommit([(1,), (0,)] * 5, (1,)), None, "bmi (5 times) and bp (5 times)"),
        (pr.ExploreThenCommit([(1,), (0,)] * 5, (1,)), 4, "bmi (twice) and bp (twice) in 4 cases"),
        (pr.ExploreThenCommit([(1,), (0,)], (1,)), 2, "show     bp for 1 case, then bmi for 1"),
        (pr.Alternating([(0,), (1,)]), None, "over and over: bmi in 1 of 2 cases and bp in 1"),
        (
            pr.ExploreThenRepeat([(1,)] * 3, [(0,), (0,), (1,)]),
            None,
            "from case 4 over and over: bmi in 2 of 3 cases and bp in 1",
        ),
        (pr.Alternating([(0,), (1,)]), 3, "show     bmi for 1 case, then bp for 1 case, then bmi"),
    ],
)
def test_what_a_plan_shows(policy, horizon, words):
    assert words in repr(plan(policy, PROBLEM.replace(horizon=horizon)))


@pytest.mark.parametrize(
    ("bound", "status", "words"),
    [
        (20.0, pr.Status.OPTIMAL, "no plan can do better"),
        (19.0, pr.Status.BOUNDED, "at most 5.3% above the best possible plan"),
        (0.0, pr.Status.BOUNDED, "is not known"),
        (19.0, pr.Status.TIME_LIMIT, "stopped by its time limit"),
        (19.0, pr.Status.INTERRUPTED, "interrupted"),
    ],
)
def test_how_sure_a_plan_is(bound, status, words):
    assert words in repr(plan(pr.Stationary((0,)), bound=bound, status=status))


@pytest.mark.parametrize("per_test", [False, True])
@pytest.mark.parametrize("names", [None, [f"a rather long name of test {i}" for i in range(60)]])
def test_no_wall_for_sixty_tests(names, per_test):
    problem = large(names, per_test)
    sets = [tuple(range(2 * i, 2 * i + 20)) for i in range(15)]
    policy = pr.ExploreThenCommit(sets * 30, tuple(range(20)))
    shown = [problem.world, problem.learner, problem, plan(policy, problem)]
    for value in shown:
        text = repr(value)
        assert len(text.splitlines()) < 12
        assert max(map(len, text.splitlines())) <= 88
        assert "array" not in text


def test_showing_never_lists_sets(monkeypatch):
    def refuse(*_):
        raise AssertionError("listed the sets")

    for name in ("sets", "subsets", "count", "maximise"):
        for kind in (pr.Knapsack, Grouped):
            monkeypatch.setattr(kind, name, refuse)
    problem = large()
    made = plan(pr.Stationary((0, 1)), problem)
    assert repr(problem).startswith("Problem with 40 tests")
    assert "always site 0" in repr(made)
    assert "always site 0" in made._repr_html_()


def test_a_long_horizon_is_looked_at_in_part():
    asked = []

    class Endless(pr.Alternating):
        def schedule(self, rounds):
            asked.append(rounds)
            return super().schedule(rounds)

    policy = Endless([(0,), (1,)])
    repr(plan(policy, PROBLEM.replace(horizon=100_000)))
    assert max(asked) <= 10_000


class Page(HTMLParser):
    """Tags, attributes and texts of a piece of HTML."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_html_is_a_table_and_a_timeline_of_its_own():
    policy = pr.ExploreThenCommit([(1,), (1,), (0,)], commit=(1,))
    text = plan(policy)._repr_html_()
    page = Page(text)
    assert page.open == []
    assert {"table", "svg"} <= set(page.tags)
    assert page.tags.count("rect") == 4  # bmi once, bp before and after it, and a shade
    assert "from case 4: always bp" in page.texts
    # the name of the namespace is the only address, and nothing is loaded from it
    drawn = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|<script|<link|<img|url\(", drawn)


def test_names_are_escaped_in_html():
    evil = ['<script>alert("1")</script>', 'a & b\'s "test"']
    world = pr.World(WORLD.coefficients, WORLD.covariance, names=evil)
    made = plan(pr.ExploreThenCommit([(0,)], (1,)), PROBLEM.replace(world=world))
    page = Page(made._repr_html_())
    assert "script" not in page.tags
    assert not any(name.startswith("on") for name in page.attributes)
    assert any(evil[0] in text for text in page.texts)
    assert any(evil[1] in text for text in page.texts)


def test_a_timeline_has_at_most_twenty_rows_and_one_for_each_group():
    problem = large()
    every = plan(pr.Stationary(tuple(range(60))), problem)
    assert Page(every._repr_html_()).tags.count("rect") == 20
    group = plan(pr.Stationary((0, 1)), problem)
    page = Page(group._repr_html_())
    assert page.tags.count("rect") == 1
    assert "site 0" in page.texts
    assert "svg" not in Page(plan(pr.Stationary(()))._repr_html_()).tags


def test_small_values_keep_a_repr_that_can_be_typed():
    names = {name: getattr(pr, name) for name in pr.__all__}
    for value in (pr.Geometric(1.1), pr.AtMost(2), pr.Huber(2.0), pr.Stationary((0, 1))):
        assert eval(repr(value), names) == value


@dataclass(frozen=True, eq=False)
class Slow(pr.Curve):
    kind = "slow, for tests of words"

    def raw(self, counts):
        return 1.0 / (1.0 + counts)


@dataclass(frozen=True, eq=False)
class Odd(pr.Budget):
    """One test with an even number, of any number of tests."""

    def count(self, tests):
        return (tests + 1) // 2

    def subsets(self, tests):
        return iter([(i,) for i in range(0, tests, 2)])

    def allows(self, shown):
        return len(shown) == 1 and shown[0] % 2 == 0

    def maximise(self, scores):
        return (2 * int(np.argmax(scores[::2])),)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Slow(), "a curve of kind slow, for tests of words"),
        (Slow(floor=0.25), "a curve of kind slow, for tests of words; 50% of the error"),
        (pr.PowerLaw(0.0), "nothing is ever learned"),
        (pr.PowerLaw(2.0), "the error halves after 1 showing"),
        (pr.PowerLaw(1e-300), "falls as (showings + 1)^-1e-300"),
        (pr.Tabulated([1.0]), "nothing is ever learned"),
        (Odd(), "what the budget 'Odd' allows"),
        (Odd(price=0.5), "what the budget 'Odd' allows; each showing has a price"),
        (pr.AtMost(1), "at most 1 test"),
        (pr.Exactly(2), "exactly 2 tests"),
        (pr.Knapsack([1.0, 2.0], 2.5), "as many tests as cost at most 2.5 together"),
        (Grouped(pr.AtMost(1), [[0], [1, 2]]), "at most 1 of 2"),
        (pr.AbsoluteError(), "absolute error"),
        (pr.Huber(2.0), "squared up to an error of 2, linear beyond"),
        (pr.ResidualRisk(np.abs), "a custom function of the residual"),
        (pr.Empirical(samples=2000), "averaged over 2,000 drawn cases, linear imputation"),
    ],
    ids=repr,
)
def test_values_in_words(value, words):
    assert value.in_words().startswith(words) or words in value.in_words()


def test_a_problem_with_a_curve_and_a_budget_of_ones_own_can_be_shown():
    text = repr(pr.Problem(WORLD, pr.Learner([0.0, 0.0], Slow()), Odd()))
    assert "a curve of kind slow" in text
    assert "what the budget 'Odd' allows" in text


def test_advice_and_its_parts_are_no_wall_either():
    advice = pr.advise(PROBLEM.replace(discount=0.9))
    assert len(repr(advice.plan.policy)) < 1000
    assert len(repr(advice).splitlines()) <= 8
    assert "fixed +" in repr(advice)
    assert advice.plan.how_sure() in repr(advice)
    assert all(len(repr(rival)) < 300 for rival in advice.rivals)
    assert all(len(repr(change)) < 400 for change in advice.changes)
