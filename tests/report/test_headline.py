"""Advice in short: the first words somebody reads."""

from dataclasses import replace

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.advice import Advice, Provenance
from preceptor.advice.advising import advice_on
from preceptor.model.policies import ExploreThenRepeat
from preceptor.model.world import Units
from preceptor.report.advice_words import headline
from tests.advice.test_few_sets import PROBLEMS

WORLD = pr.World(
    [1.0, 0.8, 0.5],
    pr.World.equicorrelated([1, 1, 1], 0.5).covariance,
    0.3,
    names=["bmi", "bp", "age"],
    units=Units([25, 90, 3], [4, 10, 1], "risk", 19.0),
)
LEARNER = pr.Learner([0.0, 0.0, 2.0], pr.Geometric(1.3))


def advice_of(policy, horizon=None, **fields):
    discount = 0.9 if horizon is None else 1.0
    problem = pr.Problem(WORLD, LEARNER, 1, discount, horizon)
    value = pr.evaluate(problem, policy)
    plan = pr.Plan(problem, policy, value, value / 2, pr.Status.BOUNDED, "by hand", 0.0)
    return Advice(plan, (), (), Provenance("a plan", "", None, 0, "1"), **fields)


MANY = PROBLEMS["eight cases"].world
ROTATING = PROBLEMS["eight cases"].replace(
    world=pr.World(
        MANY.coefficients,
        MANY.covariance,
        MANY.noise_variance,
        units=Units([0.0] * 4, [1.0] * 4, "risk", 19.0),
    )
)
ROTATES = [(0,), (1,), (2,), (0,), (1,), (2,)]


@pytest.mark.parametrize(
    ("policy", "horizon", "words"),
    [
        (pr.Stationary((1,)), None, "No schedule is needed: always show bp."),
        (
            pr.Stationary(()),
            None,
            "Showing none of the tests costs least: what a learner gains from them is less than "
            "the chance in single outcomes, which they would learn as well, costs. Tests that tell "
            "more, or learners who change less with each outcome, would change that.",
        ),
        (
            pr.ExploreThenCommit([(0,)] * 4, (1,)),
            None,
            "Show bmi for 4 cases, then always show bp.",
        ),
        (
            pr.ExploreThenCommit([(0,)] * 4, (1,)),
            9,
            "Show bmi for 4 cases, then show bp for the remaining 5 cases.",
        ),
        (
            pr.ExploreThenCommit([(0,)] * 4, (1,)),
            5,
            "Show bmi for 4 cases, then show bp in the last case.",
        ),
        (
            pr.ExploreThenCommit(ROTATES, (1,)),
            None,
            "In the first 6 cases show bmi (2 cases), bp (2 cases) and age (2 cases), in the order "
            "of the schedule; then always bp.",
        ),
        (
            pr.ExploreThenCommit(ROTATES, (1,)),
            8,
            "Follow a schedule of 8 cases that rotates among 3 sets.",
        ),
        (
            pr.ExploreThenCommit(ROTATES, (1,)),
            20,
            "In the first 6 cases show bmi (2 cases), bp (2 cases) and age (2 cases), in the order "
            "of the schedule; then always bp (to the last, case 20).",
        ),
        (
            ExploreThenRepeat([(0,)], word=[(1,), (2,)]),
            None,
            "Follow the schedule for 1 case, then repeat a cycle of 2 cases with 2 sets, over and "
            "over.",
        ),
    ],
)
def test_what_to_do(policy, horizon, words):
    assert headline(advice_of(policy, horizon))[0] == words


def test_nothing_is_claimed_that_was_not_compared():
    said = headline(advice_of(pr.Stationary((1,))))
    assert said[1] == "What it is worth was not compared."
    assert "The world is taken as given" in said[2]
    assert said[3] == "Wrong for: people who do not learn as assumed (by-showings)."


def test_worth_is_a_share_of_the_loss_and_an_error_in_units():
    plan = pr.solve(ROTATING)
    advice = advice_on(plan)
    fixed = advice.rivals[0]
    saved = 1 - plan.value / fixed.value
    assert saved > 0.005
    worth = advice.headline[1]
    assert f"Saves {saved:.1%} of the loss compared with always showing" in worth
    own, other = ((each.value / 8) ** 0.5 for each in (plan, fixed))
    said = f"Root-mean-square error (risk): {own:.4g} per case, against {other:.4g} with the best"
    assert said in worth
    assert advice.explain().startswith("In short\n  ")
    if advice.changes[0].saving > 1e-4:
        assert advice.changes[0].direction in advice.headline[3]


def test_the_plan_found_by_search_stands_beside_a_simpler_one():
    free = pr.solve(ROTATING)
    policy = pr.Stationary((0,))
    plan = replace(free, policy=policy, value=pr.evaluate(ROTATING, policy))
    simple = Advice(plan, (), (), Provenance("a plan", "", None, 0, "1"), free=free)
    saved = 1 - free.value / plan.value
    assert f"A schedule would save {saved:.1%} of the loss" in simple.headline[1]
    assert "The plan found by search" in simple.explain()


@pytest.mark.parametrize("is_binary", [False, True])
def test_where_no_test_is_worth_showing_it_says_how_little_the_tests_tell(is_binary):
    rng = np.random.default_rng(1)
    x, outcome = rng.standard_normal((200, 2)), rng.standard_normal(200)
    told = np.where(outcome > 0, "ill", "well") if is_binary else outcome
    estimate = pr.fit_world({"bmi": x[:, 0], "bp": x[:, 1], "y": told}, "y")
    problem = pr.Problem(estimate.world, pr.NoLearning([3.0, 3.0]), 1, 0.9)
    value = pr.evaluate(problem, pr.Stationary(()))
    plan = pr.Plan(problem, pr.Stationary(()), value, 0.0, pr.Status.BOUNDED, "by hand", 0.0)
    made = Advice(plan, (), (), Provenance("a plan", "", None, 0, "1"), estimate=estimate)
    first = headline(made)[0]
    if is_binary:
        low, high = estimate.held_out.auc_interval
        assert f"their AUC is {estimate.held_out.auc:.2f} ({low:.2f} to {high:.2f}; 0.5" in first
        assert low < 0.5 < high
    else:
        assert "they predict 0% of its variance in held-out cases (0% to " in first
    assert "Showing none of the tests costs least" in first
