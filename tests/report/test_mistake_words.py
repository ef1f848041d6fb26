"""A diagnosis in words: every sentence, and none that is about numbers."""

from pathlib import Path

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.advising import advice_on
from preceptor.advice.options import TableOptions
from preceptor.model.mistakes import best_mistakes, mistakes_along, mistakes_of
from preceptor.report.advice_words import in_numbers
from preceptor.report.html import render_report
from preceptor.report.mistakes_and_people import in_100
from preceptor.report.phrases import per_case, scale_of
from preceptor.report.tables import assumptions, rival_rows

DIAGNOSIS = Path(__file__).parents[2] / "examples" / "diagnosis.toml"
# What only makes sense of outcomes that are numbers.
FOREIGN = ("root-mean-square", "of the variance", "squared error", "units of the outcome")


def plan_of(problem, policy):
    value = pr.evaluate(problem, policy)
    return pr.Plan(problem, policy, value, 0.9 * value, pr.Status.BOUNDED, "by hand", 0.0)


@pytest.fixture(scope="module")
def advice():
    """The example in the docs, over a few cases."""
    problem = pr.Problem.load(DIAGNOSIS).replace(horizon=12)
    policy = pr.ExploreThenCommit([(0,)] * 4 + [(1,)] * 2, (0,))
    return advice_on(plan_of(problem, policy), vary=False)


def with_risk(advice, risk):
    problem = advice.plan.problem.replace(risk=risk)
    return advice_on(plan_of(problem, advice.plan.policy), vary=False)


def test_the_example_says_what_it_is():
    plan = pr.solve(pr.Problem.load(DIAGNOSIS))
    assert plan.value == pytest.approx(7.320958, abs=1e-6)
    assert plan.exploration_length == 45
    fixed = pr.solve(plan.problem, "stationary")
    assert fixed.policy.commit == (0,)
    assert fixed.value / plan.value - 1.0 == pytest.approx(0.073, abs=5e-4)


def test_numbers_in_sentences_are_those_of_the_model(advice):
    plan = advice.plan
    found, best = mistakes_of(plan.problem, plan.policy), best_mistakes(plan.problem, (0,))
    fixed = next(rival for rival in advice.rivals if rival.name == "fixed")

    def two(mistakes):
        return in_100(float(mistakes.misses)), in_100(float(mistakes.false_alarms))

    (misses, alarms), (theirs, loud), (least, still) = map(two, (found, fixed.mistakes, best))
    said = advice.headline[1]
    assert (
        f"Per 100 cases: {misses} misses and {alarms} false alarms with this plan; {theirs} and "
        f"{loud} with the best fixed set (also the most predictive); 90.0 false alarms by "
        "always saying yes (refer all); 10.0 misses by always saying no."
    ) in said
    own, other = (per_case(plan.problem, value) for value in (plan.value, fixed.value))
    assert own == pytest.approx(100.0 * (2.0 * found.misses + found.false_alarms))
    assert (
        f"Cost per 100 cases (a miss costs 2, a false alarm 1): {own:.4g}, against {other:.4g} "
        "with the best fixed set (also the most predictive) and 20 by always saying no."
    ) in said
    assert (
        f"The best reader of scan would still make {least} misses and {still} false alarms" in said
    )


def test_a_plan_in_words_goes_from_case_to_case(advice):
    plan = advice.plan
    text = " ".join(plan.explain().split())
    along = mistakes_along(plan.problem, plan.policy.schedule(12))
    for case in (1, 7, 12):
        here = along.at(case - 1)
        assert (
            f"case {case} {in_100(float(here.misses))} misses and "
            f"{in_100(float(here.false_alarms))} false alarms per 100; sensitivity "
            f"{float(here.sensitivity):.0%}, specificity {float(here.specificity):.0%}"
        ) in text
    best = best_mistakes(plan.problem, (0,))
    assert (
        f"Best achievable: {in_100(float(best.misses))} misses and "
        f"{in_100(float(best.false_alarms))} false alarms per 100 cases (the best reader of scan: "
        f"sensitivity {float(best.sensitivity):.0%}, specificity {float(best.specificity):.0%})."
    ) in text
    assert "per case on average (decisions: a miss costs 2, a false alarm 1)." in text


@pytest.mark.parametrize(
    ("risk", "label", "what"),
    [
        (pr.Decision(), "wrong decisions per 100 cases", "wrong decisions"),
        (pr.Decision(3.0), "cost per 100 cases", "cost"),
        (pr.Brier(), "Brier score", "Brier score"),
        (pr.LogLoss(), "log loss", "log loss"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.kind,
)
def test_a_risk_has_its_name_and_no_words_of_numbers(advice, risk, label, what):
    scale = scale_of(advice.plan.problem.replace(risk=risk))
    assert (scale.label, scale.what, scale.unit) == (label, what, "")
    found = with_risk(advice, risk)
    page = render_report(found)
    for text in (found.explain(), page, repr(found), repr(found.plan), repr(found.plan.problem)):
        assert not [words for words in FOREIGN if words in text.lower()]
    assert f"of the {what} compared with always showing" in " ".join(found.headline) or (
        "Costs" in found.headline[1]
    )


def test_probabilities_are_told_beside_the_prevalence(advice):
    found = with_risk(advice, pr.Brier())
    said = found.headline[1]
    assert "and 0.09 by always saying the prevalence (10%)." in said
    least = found.plan.problem.oracle.floors().min()
    assert f"The best reader of scan would still have {least:.4g} (Brier score)." in said


def test_prices_are_part_of_the_cost(advice):
    problem = advice.plan.problem
    priced = problem.replace(budget=pr.AtMost(1, price=[0.05, 0.01]))
    assert scale_of(priced).label == "cost per 100 cases, prices included"
    plan = plan_of(priced, advice.plan.policy)
    assert "prices included" in advice_on(plan, vary=False).headline[1]


def test_a_plan_that_is_no_use_says_so(advice):
    """False alarms so dear that never alarming is better than learning."""
    problem = advice.plan.problem.replace(
        learner=pr.Learner([3.0, -4.0], pr.Geometric(1.0)), risk=pr.Decision(1.0, 20.0, 0.3)
    )
    said = advice_on(plan_of(problem, pr.Stationary((1,))), vary=False).headline[1]
    assert "Beware: always saying no costs less than showing any tests by this plan." in said
    assert "Beware" not in advice.headline[1]


def test_rows_of_rivals_have_both_mistakes(advice):
    rows = {row.title: row for row in rival_rows(advice.plan, advice.rivals)}
    always = rows["Always saying yes (refer all)"]
    assert (always.misses, always.false_alarms, always.per_case) == ("0.0", "90.0", "90")
    assert rows["Best achievable"].misses == in_100(
        float(best_mistakes(advice.plan.problem, (0,)).misses)
    )
    assert in_numbers(advice.plan, advice.rivals)[0].startswith("Per 100 cases: ")


def test_plain_data_has_rates(advice):
    data = advice.to_dict()
    found = mistakes_of(advice.plan.problem, advice.plan.policy)
    rates = data["mistakes"]
    assert rates["misses_per_100"] == pytest.approx(100.0 * float(found.misses))
    assert rates["sensitivity"] == pytest.approx(float(found.sensitivity))
    assert rates["specificity"] == pytest.approx(float(found.specificity))
    assert data["alternatives"][-1]["mistakes"]["misses_per_100"] == pytest.approx(10.0)


def test_assumptions_say_how_common_yes_is_and_when_people_say_it(advice):
    rows = dict(assumptions(advice.plan))
    assert rows["Prevalence"] == "yes in 10% of all cases"
    assert rows["Answers"] == ("yes above a probability of 33%; a miss costs 2, a false alarm 1")
    everything = best_mistakes(advice.plan.problem, (0, 1))
    assert f"still {in_100(float(everything.misses))} misses" in rows["Left unexplained"]
    risk = pr.Brier(believed_prevalence=0.25)
    rows = dict(assumptions(with_risk(advice, risk).plan))
    assert rows["Prevalence"] == "yes in 10% of all cases; the person takes it to be 25%"
    assert rows["Answers"].startswith("probabilities; Brier score")


def test_worlds_and_people_say_what_they_are():
    world = pr.World.equicorrelated([1.0, 0.8], 0.8, outcome=pr.Binary(0.125))
    assert repr(world).splitlines()[0] == "World of 2 tests; outcome: yes in 12.5% of all cases"
    # By Owen's T, or a million draws: 0.914 of pairs of a yes-case and a no-case are ranked right.
    scores = world.sample(400_000, rng=0)
    total = scores.features @ world.coefficients
    ranks = np.argsort(np.argsort(total)) + 1.0
    yes = scores.outcomes == 1.0
    area = (ranks[yes].sum() - yes.sum() * (yes.sum() + 1) / 2) / (yes.sum() * (~yes).sum())
    said = float(repr(world).rsplit(" ", 1)[1])
    assert abs(said - area) < 0.004
    novice = pr.Learner([0.0, 0.0], pr.Geometric(1.1))
    assert novice.beliefs_in_words(world) == (
        "a novice who takes every case for an average one, whatever the tests say"
    )
    assert pr.Learner([2.0, 1.6], pr.Geometric(1.1)).beliefs_in_words(world) == (
        "weights of their own; shown every test, their score would have a correlation of 1.00 with "
        "the true one"
    )


@pytest.mark.full
def test_a_linear_reading_of_yes_and_no_says_that_it_is_linear():
    """The same table read as a number: only linear readers are bounded."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(80, 2))
    ill = (x @ [1.0, 0.5] + rng.normal(size=80) > 0).astype(float)
    table = {"a": x[:, 0], "b": x[:, 1], "ill": ill}
    given = {"tests": 1, "cases": 4, "person": "by-showings", "vary": False}
    advice = pr.advise(table, "ill", table=TableOptions(as_number=True), **given)
    assert advice.estimate.is_linear_reading
    least = np.sqrt(advice.plan.problem.oracle.floors().min())
    assert f"No linear reader of the allowed tests can be below {least:.4g}" in advice.headline[1]
    assert "no linear reader of all tests is typically off by less than" in render_report(advice)

    assert not pr.advise(table, "ill", **given).estimate.is_linear_reading
