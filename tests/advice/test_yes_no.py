"""Rivals of a plan for a diagnosis, what mistakes cost, and changed assumptions."""

import itertools

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.alternatives import alternatives, followed_rounds
from preceptor.advice.options import Charges, TableOptions, risk_for
from preceptor.advice.sensitivity import more_correlated
from preceptor.errors import InvalidInput
from preceptor.model.world import Units
from preceptor.planning.candidate_sets import most_predictive_set

COVARIANCE = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.4], [0.2, 0.4, 1.0]])
WORLD = pr.World([1.0, -0.8, 0.5], COVARIANCE, outcome=pr.Binary(0.2))
NUMBER = pr.World([1.0, -0.8, 0.5], COVARIANCE, units=Units([0] * 3, [1] * 3, "weight, kg"))
LEARNER = pr.Learner([0.2, 0.4, 0.9], pr.Geometric(1.3))
RISKS = {
    "even": pr.Decision(),
    "dear misses": pr.Decision(5.0, 1.0),
    "brier": pr.Brier(),
    "log loss": pr.LogLoss(),
}


def task(risk, **changes):
    return pr.Problem(WORLD, LEARNER, **({"budget": 1, "discount": 0.9, "risk": risk} | changes))


def rivals_of(problem, orders=4):
    return {r.name: r for r in alternatives(pr.solve(problem, "stationary"), orders=orders)}


@pytest.mark.parametrize("risk", RISKS.values(), ids=RISKS)
def test_the_same_answer_for_every_case_costs_what_it_must(risk):
    problem = task(risk)
    found = rivals_of(problem)
    weight = 10.0  # of all cases together
    if risk.decides:
        assert list(found) == ["fixed", "predictive", "random", "yes", "no"]
        assert found["yes"].value == pytest.approx(weight * risk.false_alarm * 0.8)
        assert found["no"].value == pytest.approx(weight * risk.miss * 0.2)
        assert float(found["yes"].mistakes.sensitivity) == 1.0
        assert float(found["no"].mistakes.specificity) == 1.0
    else:
        assert list(found) == ["fixed", "predictive", "random", "prevalence"]
        own = 0.2 * 0.8 if isinstance(risk, pr.Brier) else -0.2 * np.log(0.2) - 0.8 * np.log(0.8)
        assert found["prevalence"].value == pytest.approx(weight * own)
    same = [rival for rival in found.values() if not rival.needs_tests]
    for rival in same:
        assert rival.policy is None
        assert rival.losses.size == followed_rounds(problem)
        np.testing.assert_allclose(rival.losses, rival.value / weight, rtol=1e-12)


def test_always_the_prevalence_is_what_the_best_guess_without_tests_costs():
    for risk in (pr.Brier(), pr.LogLoss()):
        problem = task(risk)
        blind = dict(zip(problem.sets, problem.oracle.floors(), strict=True))[()]
        assert rivals_of(problem)["prevalence"].losses[0] == pytest.approx(blind)


@pytest.mark.parametrize("risk", RISKS.values(), ids=RISKS)
def test_the_most_predictive_tests_have_the_lowest_floor_of_this_risk(risk):
    problem = task(risk, budget=pr.AtMost(2, price=[0.5, 0.0, 0.0]))
    floors = problem.oracle.floors() - problem.sets.prices
    shown = most_predictive_set(problem)
    assert dict(zip(problem.sets, floors, strict=True))[shown] == pytest.approx(floors.min())


@pytest.mark.parametrize("risk", [RISKS["even"], RISKS["dear misses"]], ids=["even", "dear"])
def test_mistakes_of_rivals_add_up_to_their_losses(risk):
    for rival in rivals_of(task(risk)).values():
        np.testing.assert_allclose(rival.mistakes_along.cost(risk), rival.losses, atol=1e-7)
        if rival.name != "random":
            assert 10.0 * float(rival.mistakes.cost(risk)) == pytest.approx(rival.value, abs=1e-6)


def test_a_random_order_agrees_with_all_orders_there_are():
    problem = task(pr.Decision(5.0, 1.0), discount=1.0, horizon=3)
    orders = itertools.product([(0,), (1,), (2,)], repeat=3)
    exact = np.mean([pr.evaluate(problem, pr.ExploreThenCommit(o, o[-1])) for o in orders])
    found = rivals_of(problem, orders=600)["random"]
    assert abs(found.value - exact) < 4 * found.standard_error
    assert 3.0 * float(found.mistakes.cost(problem.risk)) == pytest.approx(found.value, abs=1e-6)


def test_more_correlated_tests_leave_yes_as_common_as_it_was():
    changed = more_correlated(task(pr.Decision()), 1.2).world
    assert changed.outcome == WORLD.outcome
    assert changed.sample(200_000, rng=1).outcomes.mean() == pytest.approx(0.2, abs=0.004)
    assert changed.score_variance != pytest.approx(WORLD.score_variance, rel=1e-3)


@pytest.mark.parametrize(
    ("given", "risk"),
    [
        ({}, pr.Decision()),
        ({"miss_cost": 5.0}, pr.Decision(5.0, 1.0)),
        ({"risk": "decision", "false_alarm_cost": 3.0}, pr.Decision(1.0, 3.0)),
        ({"risk": "brier"}, pr.Brier()),
        ({"risk": "log-loss"}, pr.LogLoss()),
        ({"risk": pr.Decision(2.0, threshold=0.4)}, None),
    ],
    ids=str,
)
def test_words_become_a_risk(given, risk):
    assert risk_for(WORLD, Charges(**given), TableOptions()) == (
        given["risk"] if risk is None else risk
    )


@pytest.mark.parametrize(
    ("world", "charged", "table", "message"),
    [
        (
            NUMBER,
            {"miss_cost": 5.0},
            {},
            "miss_cost: is about outcomes that are yes or no, but weight, kg is read as a number; "
            "leave it out",
        ),
        (NUMBER, {}, {"link": "logistic", "as_number": True}, r"link: .*; leave out `as_number`"),
        (NUMBER, {"risk": "brier"}, {}, "risk: is about outcomes that are yes or no"),
        (WORLD, {"miss_cost": 0.0}, {}, "miss_cost: 0, must be a cost above 0"),
        (WORLD, {"false_alarm_cost": -1.0}, {}, "false_alarm_cost: -1, must be a cost above 0"),
        (WORLD, {"miss_cost": 2.0, "risk": "brier"}, {}, "miss_cost: .*`risk` says otherwise"),
        (WORLD, {"risk": "squared"}, {}, "risk: 'squared', must be decision, brier, log-loss"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused(world, charged, table, message):
    with pytest.raises(InvalidInput, match=message):
        risk_for(world, Charges(**charged), TableOptions(**table))


def test_costs_of_a_number_are_refused_by_advise():
    table = {"age": [50, 61, 47, 70, 39, 58], "risk": [2.0, 5.1, 2.2, 5.0, 1.4, 5.3]}
    with pytest.raises(InvalidInput, match=r"miss_cost: .*risk is read as a number"):
        pr.advise(table, "risk", risk=Charges(miss_cost=2.0))
    with pytest.raises(InvalidInput, match="miss_cost: already decided"):
        pr.advise(task(pr.Decision()), risk=Charges(miss_cost=2.0))
