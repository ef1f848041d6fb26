"""What is taken for granted, in words."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.report.tables import assumptions

WORLD = pr.World.equicorrelated([1.0, 0.5, 0.5], 0.5, 0.5)
NOVICE = pr.Learner(np.zeros(3), pr.Geometric.from_half_life(14))


def rows(**changes):
    problem = pr.Problem(WORLD, NOVICE, 2).replace(**changes)
    return dict(assumptions(pr.Plan(problem, pr.Stationary(()), 1, 1, pr.Status.BOUNDED, "", 0)))


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (pr.AtMost(2), "at most 2 of 3"),
        (pr.Exactly(1), "exactly 1 of 3"),
        (pr.Knapsack([1, 2, 3], 4), "as many of 3 as cost at most 4 together"),
        (pr.Listed([(0,), (1, 2)]), "one of 2 listed sets"),
        (pr.AtMost(2, price=0.1), "at most 2 of 3; each showing has a price"),
    ],
)
def test_budgets(budget, words):
    assert rows(budget=budget)["Tests per case"].startswith(words)


def test_a_test_of_several_columns_counts_once():
    world = pr.World(WORLD.coefficients, WORLD.covariance, 0.5, groups={"site": [1, 2]})
    assert rows(world=world, budget=pr.AtMost(1))["Tests per case"] == "at most 1 of 2"


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        (pr.Geometric.from_half_life(14), "the error of a weight halves every 14 showings"),
        (pr.Geometric(1.0), "nothing is ever learned"),
        (pr.PowerLaw(1.5), "falls as (showings + 1)^-1.5"),
        (pr.OneShot(floor=0.04), "one showing teaches the weight; 20% of the error is never"),
        (pr.Tabulated([1.0, 0.5]), "71% of the error of a weight remains after 1 showing"),
    ],
)
def test_curves(curve, words):
    assert words in curve.in_words()
    assert words in rows(learner=pr.Learner(np.zeros(3), curve))["Learning"]


def test_different_curves_are_counted():
    curves = [pr.OneShot(), pr.OneShot(), pr.PowerLaw(1.0)]
    assert "2 different ones" in rows(learner=pr.Learner(np.zeros(3), curves))["Learning"]


def test_beliefs_say_what_is_missed():
    assert "predicts the average" in rows()["Initial beliefs"]
    half = pr.Learner(0.5 * WORLD.coefficients, pr.Geometric(1.1))
    assert "miss 25% of the variance" in rows(learner=half)["Initial beliefs"]


@pytest.mark.parametrize(
    ("dial", "words"),
    [
        (0.0, "with the right correlations"),
        (1.0, "ignores correlations"),
        (0.25, "25% of the correlation is ignored"),
        (np.eye(3), "a covariance given for this person"),
    ],
)
def test_imputation(dial, words):
    learner = pr.Learner(np.zeros(3), pr.Geometric(1.1), dial)
    assert words in rows(learner=learner)["Hidden tests"]


def test_time_and_noise():
    assert rows(discount=0.99)["Time"].startswith("about 100 more cases")
    assert rows(discount=1.0, horizon=40)["Time"] == "40 cases"
    assert (
        rows(discount=0.5, horizon=40)["Time"] == "40 cases, each counting 0.5 times the one before"
    )
    explained = 1 - 0.5 / WORLD.outcome_variance
    assert f"explain {explained:.0%} of the variance" in rows()["Left unexplained"]
