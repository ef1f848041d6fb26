"""Misses and false alarms: closed forms against simulation, against losses, and by symmetry."""

import numpy as np
import pytest

import preceptor as pr
from preceptor._base.numerics import total_weight
from preceptor.errors import NotApplicable
from preceptor.model.evaluation import losses_along
from preceptor.model.mistakes import (
    best_mistakes,
    mistakes_along,
    mistakes_from,
    mistakes_of,
    most_informative_set,
)

COVARIANCE = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.4], [0.2, 0.4, 1.0]])
SCHEDULE = [(0, 1), (0, 1), (2,), (), (1, 2), (0,)]
POLICY = pr.ExploreThenCommit(SCHEDULE, (0, 2))


def problem(link="probit", horizon=None, **risk):
    world = pr.World([1.0, -0.8, 0.5], COVARIANCE, outcome=pr.Binary(0.2, link))
    learner = pr.Learner([0.2, 0.4, 0.9], pr.Geometric(1.3))
    budget = pr.AtMost(2, price=[0.1, 0.2, 0.0])
    decision = pr.Decision(**({"miss": 5.0, "false_alarm": 2.0} | risk))
    return pr.Problem(world, learner, budget, 0.9, horizon, decision)


PROBLEMS = {
    "probit": problem(),
    "logistic": problem("logistic"),
    "with an end": problem(horizon=9),
    "own threshold": problem(threshold=0.4),
    "believes in more": problem(believed_prevalence=0.35),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("task", PROBLEMS.values(), ids=PROBLEMS)
def test_losses_under_other_costs_tell_the_same(task):
    """Two ways to the same shares: a closed form, and differences of losses."""
    ours = mistakes_along(task, SCHEDULE)
    theirs = mistakes_from(task, lambda other: losses_along(other, SCHEDULE))
    np.testing.assert_allclose(ours.misses, theirs.misses, atol=1e-8)
    np.testing.assert_allclose(ours.false_alarms, theirs.false_alarms, atol=1e-8)


@pytest.mark.parametrize("task", PROBLEMS.values(), ids=PROBLEMS)
def test_with_their_costs_and_prices_they_are_the_loss(task):
    along = mistakes_along(task, SCHEDULE)
    prices = np.array([sum((0.1, 0.2, 0.0)[i] for i in shown) for shown in SCHEDULE])
    np.testing.assert_allclose(
        along.cost(task.risk) + prices, losses_along(task, SCHEDULE), atol=1e-7
    )
    free = task.replace(budget=2)
    weight = total_weight(task.discount, task.horizon)
    value = pr.evaluate(free, POLICY) / weight
    assert float(mistakes_of(free, POLICY).cost(task.risk)) == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize("name", ["probit", "logistic"])
def test_shares_are_those_of_simulated_cases(name):
    task = PROBLEMS[name]
    world, cases = task.world, 400_000
    drawn = world.sample(cases, rng=7)
    yes = drawn.outcomes == 1.0
    along = mistakes_along(task, SCHEDULE)
    for t in (0, 4):
        shown = list(SCHEDULE[t])
        counts = np.array([[sum(i in s for s in SCHEDULE[:t]) for i in range(3)]])
        weights = world.coefficients - task.by_showings.errors(world, counts)[0]
        filled = drawn.features[:, shown] @ np.linalg.solve(
            COVARIANCE[np.ix_(shown, shown)], COVARIANCE[shown]
        )
        scores = world.base_score + filled @ weights
        said = task.risk.answer(world.outcome.from_score, scores) == 1.0
        for found, exact in (
            (np.mean(yes & ~said), along.misses[t]),
            (np.mean(~yes & said), along.false_alarms[t]),
        ):
            assert abs(found - exact) < 4.0 * np.sqrt(exact * (1.0 - exact) / cases)


def test_rates_are_shares_of_their_own_kind_of_case():
    found = mistakes_along(PROBLEMS["probit"], [()])
    # Nothing is shown, and an average case is below the threshold or above it for everybody.
    rates = sorted([found.sensitivity[0], found.specificity[0]])
    assert rates == pytest.approx([0.0, 1.0], abs=1e-12)


def test_even_decisions_of_a_perfect_reader_are_wrong_by_an_angle():
    """arccos(r)/π of all cases, half of them misses: r is the score's correlation."""
    world = pr.World([1.5, 0.5], np.eye(2), outcome=pr.Binary(0.5))
    task = pr.Problem(world, pr.Learner([0.0, 0.0], pr.Geometric(1.1)), 1)
    for shown, a in (((0,), 1.5), ((1,), 0.5)):
        wrong = np.arccos(a / np.sqrt(1.0 + 2.5)) / np.pi
        best = best_mistakes(task, shown)
        assert float(best.misses) == pytest.approx(wrong / 2.0, abs=1e-12)
        assert float(best.false_alarms) == pytest.approx(wrong / 2.0, abs=1e-12)


@pytest.mark.parametrize("name", ["probit", "logistic"])
def test_nobody_costs_less_than_the_best_reader_and_that_is_the_floor(name):
    task = PROBLEMS[name].replace(budget=2)
    floors = dict(zip(task.sets, task.oracle.floors(), strict=True))
    for shown, floor in floors.items():
        assert float(best_mistakes(task, shown).cost(task.risk)) == pytest.approx(floor, abs=1e-9)
        assert losses_along(task, [shown])[0] >= floor - 1e-8
    least = min(floors.values())
    assert floors[most_informative_set(task)] == pytest.approx(least)


def test_probabilities_have_neither():
    task = PROBLEMS["probit"].replace(risk=pr.Brier())
    with pytest.raises(NotApplicable, match=r"not Brier score.*Decision\(miss, false_alarm\)"):
        mistakes_along(task, SCHEDULE)


def test_of_a_crowd_they_are_averages_and_still_the_loss():
    """Nobody but people by showings has a closed form; costs tell all the same."""
    world = pr.World([1.0, -0.8, 0.5], COVARIANCE, outcome=pr.Binary(0.2))
    crowd = pr.Crowd(
        {
            "slow": (pr.DeltaRule([0.0] * 3, 0.01), 0.25),
            "by showings": (pr.Learner([0.2, 0.4, 0.9], pr.Geometric(1.3)), 0.75),
        }
    )
    task = pr.Problem(world, crowd, 2, 0.9, risk=pr.Decision(5.0, 2.0))
    along = mistakes_along(task, SCHEDULE)
    np.testing.assert_allclose(along.cost(task.risk), losses_along(task, SCHEDULE), atol=1e-7)
    each = [mistakes_along(task.replace(learner=p), SCHEDULE) for p in crowd.people.values()]
    np.testing.assert_allclose(
        along.misses, 0.25 * each[0].misses + 0.75 * each[1].misses, atol=1e-7
    )
    value = pr.evaluate(task, POLICY) / 10.0
    assert float(mistakes_of(task, POLICY).cost(task.risk)) == pytest.approx(value, abs=1e-7)
