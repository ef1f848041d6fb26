"""Advice for crowds and for every kind of person: person options, rivals, changes, proofs."""

from dataclasses import replace

import numpy as np
import pytest

import preceptor as pr
from preceptor._base.progress import Deadline
from preceptor.advice.alternatives import alternatives, best_fixed_set, followed_rounds
from preceptor.advice.options import PersonOptions
from preceptor.advice.planning import DUAL, EXACT, SEMIDEFINITE, Effort, plan_for, with_proofs
from preceptor.advice.sensitivity import sensitivity
from preceptor.errors import InvalidInput
from preceptor.model.evaluation import expected_costs
from preceptor.people.crowd import Crowd
from preceptor.planning.candidate_sets import full_sets
from preceptor.planning.crowd_plans import NOTHING_LEARNED
from preceptor.planning.search import improved
from preceptor.simulation.named import KINDS
from tests.advice.people import CROWD, INITIAL, PROBLEM, WORLD, crowd_plan, second_moment_costs

TABLE = {
    "age": [50, 61, 47, 70, 39, 58, 44, 66],
    "bmi": [22, 31, 25, 28, 24, 33, 29, 21],
    "risk": [2.0, 5.1, 2.2, 5.0, 1.4, 5.3, 3.1, 3.0],
}
RNG = np.random.default_rng(2)
QUICK = {"tests": 1, "cases": 4, "half_life": 2, "time_limit": 0.05, "vary": False}


def test_without_a_word_on_the_person_it_is_the_crowd():
    said, stages = [], []

    def hear(update):
        said.append(update.sentence)
        stages.append(update.stage)

    advice = pr.advise(TABLE, "risk", **QUICK, progress=hear)
    # "planning" is what the command line calls all of it.
    assert list(dict.fromkeys(stages))[:2] == ["estimating", "preparing"]
    assert "planning" not in stages
    problem = advice.plan.problem
    world = problem.world
    assert problem.learner == Crowd.default(world, np.zeros(2), half_life=2, tests=1)
    assert advice.plan.regrets is not None
    assert advice.plan.regrets.objective == "regret"
    assert any("7 kinds of person" in sentence for sentence in said)


def test_beliefs_apply_to_all_kinds():
    advice = pr.advise(
        TABLE, "risk", **QUICK, person=PersonOptions(beliefs="marginal", objective="mean")
    )
    firsts = [m.person.initial for m in advice.plan.problem.learner.members]
    assert advice.plan.regrets.objective == "mean"
    assert np.any(firsts[0])
    for first in firsts:
        np.testing.assert_array_equal(first, firsts[0])


def test_by_showings_is_what_it_was():
    exact = {k: v for k, v in QUICK.items() if k not in ("time_limit", "cases")}
    exact |= {"about": 4, "full_plan": True}
    advice = pr.advise(TABLE, "risk", person="by-showings", **exact)
    world = advice.plan.problem.world
    novice = pr.Learner(np.zeros(2), pr.Geometric.from_half_life(2))
    problem = pr.Problem(world, novice, pr.AtMost(1), 1 - 1 / 4)
    assert advice.plan.problem == problem
    direct = pr.solve(problem)
    assert advice.plan.to_dict() | {"seconds": 0} == direct.to_dict() | {"seconds": 0}


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_can_be_asked_for(kind):
    # Those who are no faster or slower than others take no half-life.
    fixed = {"half_life": None} if kind in ("bayesian", "no-learning") else {}
    advice = pr.advise(TABLE, "risk", person=kind, **QUICK | fixed)
    person = advice.plan.problem.learner
    assert person.kind == kind
    assert not np.any(person.initial)
    plan = advice.plan
    costs = expected_costs(plan.problem, plan.policy)
    if kind == "crowd":
        assert plan.value == pytest.approx(person.weights @ costs)
    elif kind != "by-showings":
        assert plan.value == pytest.approx(costs[0])
    assert plan.lower_bound <= plan.value
    assert len(advice.rivals) == 3
    assert "What to show" in advice.explain()


def test_first_showings_teach_all_kinds_alike():
    """With one test shown, the delta rule's mean error shrinks as the curve says."""
    world = pr.World([1.0], [[2.0]], 0.1)
    estimate = pr.Problem(world, pr.Learner([0.0], pr.Geometric.from_half_life(5)), 1)
    person = KINDS["delta-rule"](estimate, 5.0)
    assert 1 - person.rate * 2.0 == pytest.approx(0.5 ** (1 / 5))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"person": "wizard"}, "person: 'wizard' is not known; there are crowd, by-showings"),
        ({"person": PersonOptions("crowd", learner=pr.NoLearning([0.0, 0.0]))}, "one of them out"),
        ({"person": PersonOptions("delta-rule", objective="mean")}, "objective: compares"),
        ({"person": PersonOptions(half_life=3)}, "half_life: is in `person` too"),
        ({"person": "no-learning"}, "half_life: is a learning speed"),
        ({"person": PersonOptions(objective="median")}, "objective: 'median', must be one of"),
        ({"person": pr.NoLearning([0.0, 0.0])}, "half_life: already decided"),
        ({"person": pr.NoLearning([0.0]), "half_life": None}, "lengths must agree"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        pr.advise(TABLE, "risk", **QUICK | arguments)


def test_a_person_or_a_problem_is_taken_as_it_is():
    mine = pr.DeltaRule([0.1, 0.0], 0.3)
    options = QUICK | {"half_life": None}
    assert pr.advise(TABLE, "risk", person=mine, **options).plan.problem.learner == mine
    assert (
        pr.advise(TABLE, "risk", person=PersonOptions(learner=mine), **options).plan.problem.learner
        == mine
    )
    assert pr.advise(PROBLEM, time_limit=0.05).plan.problem == PROBLEM


def test_rivals_of_a_crowd_cost_what_its_people_cost():
    plan = crowd_plan()
    fixed, predictive, random = alternatives(plan, orders=3, seed=5)
    costs = {s: expected_costs(PROBLEM, pr.Stationary(s)) for s in PROBLEM.sets}
    worst = {s: (cost / plan.regrets.best).max() for s, cost in costs.items()}
    assert worst[fixed.policy.shown] == pytest.approx(min(worst.values()))
    mean = {s: CROWD.weights @ cost for s, cost in costs.items()}
    assert mean[best_fixed_set(PROBLEM)] == pytest.approx(min(mean.values()))
    assert fixed.value == pytest.approx(mean[fixed.policy.shown])
    # The columns of the regrets are the same rivals.
    np.testing.assert_allclose(plan.regrets.costs[2], costs[fixed.policy.shown])
    np.testing.assert_allclose(plan.regrets.costs[1], costs[predictive.policy.shown])
    assert random.standard_error > 0
    assert random.losses.size == fixed.losses.size == followed_rounds(PROBLEM)


def test_random_orders_are_followed_person_by_person():
    """One delta rule: the mean over the drawn orders, by a plain recursion."""
    person = pr.DeltaRule(INITIAL, 0.2, 1.0)
    problem = pr.Problem(WORLD, person, 1, 0.9, horizon=12)
    plan = pr.solve(problem, "search", time_limit=None, max_kicks=0)
    rng = np.random.default_rng(7)
    sets = full_sets(problem, rng)
    picks = rng.integers(len(sets), size=(4, 12))
    found = alternatives(plan, orders=4, seed=7)[2]
    losses = [second_moment_costs(problem, person, [sets[i] for i in order]) for order in picks]
    np.testing.assert_allclose(found.losses, np.mean(losses, axis=0))
    assert found.value == pytest.approx(np.mean(losses, axis=0) @ 0.9 ** np.arange(12))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("person", "changes"),
    [
        (pr.DeltaRule(INITIAL, 0.1), 6),
        (pr.Forgetful(INITIAL, pr.Geometric(1.3), 0.05), 6),
        (pr.Bayesian(INITIAL, 0.7, 0.5), 6),
        (pr.NoLearning(INITIAL), 4),
    ],
)
def test_assumptions_about_other_people_can_be_changed(person, changes):
    plan = pr.solve(pr.Problem(WORLD, person, 1, 0.8), "search", time_limit=None, max_kicks=0)
    found = sensitivity(plan)
    assert len(found) == changes
    for change in found:
        assert type(change.problem.learner) is type(person)
        assert change.kept == pytest.approx(pr.evaluate(change.problem, plan.policy))
        assert change.bound - 1e-9 <= change.again <= change.kept
    slower = [c for c in found if c.assumption == "learning speed" and c.factor < 1]
    if slower and isinstance(person, pr.DeltaRule):
        assert slower[0].problem.learner.rate == pytest.approx(0.08)


def test_a_crowd_is_varied_by_its_people_alone():
    assert sensitivity(crowd_plan()) == ()


def test_improving_goes_on_from_a_word():
    problem = pr.Problem(WORLD, pr.Forgetful(INITIAL, pr.Geometric(1.3), 0.1), 1, 0.8)
    policy = pr.ExploreThenRepeat([(2,)] * 3, [(0,), (1,), (1,)])
    better = improved(problem, policy)
    assert pr.evaluate(problem, better) < pr.evaluate(problem, policy)


def test_proofs_hold_for_every_person():
    plan = with_proofs(crowd_plan(), 0.3)
    bounds = dict(zip(plan.regrets.people, plan.regrets.bounds, strict=True))
    kinds = dict(zip(plan.regrets.people, plan.regrets.bound_kinds, strict=True))
    assert kinds["by showings"] in (DUAL, EXACT)
    assert kinds["by showings, with a floor"] == EXACT
    # As far as the time went; she learns from outcomes.
    assert kinds["ann"] in (
        f"{SEMIDEFINITE}, for schedules fixed in advance",
        "floor of every case",
    )
    assert kinds["not learning"] == NOTHING_LEARNED
    # What is best for each of them by an exact method, or by looking through all fixed sets.
    for name in ("by showings", "by showings, with a floor"):
        exact = pr.solve(PROBLEM.replace(learner=CROWD.people[name]), "lattice")
        assert bounds[name] <= exact.value * (1 + 1e-9)
    fixed = [expected_costs(PROBLEM, pr.Stationary(s))[3] for s in PROBLEM.sets]
    assert bounds["not learning"] == pytest.approx(min(fixed))
    # No schedule of eight cases with any set after it goes below what is proven for her.
    for _ in range(200):
        drawn = [PROBLEM.sets[i] for i in RNG.integers(len(PROBLEM.sets), size=9)]
        policy = pr.ExploreThenCommit(drawn[:8], drawn[8])
        assert expected_costs(PROBLEM, policy)[0] >= bounds["ann"] * (1 - 1e-9)
    assert np.all(plan.regrets.bounds <= plan.regrets.best + 1e-12)
    assert np.all(plan.regrets.best <= crowd_plan().regrets.best + 1e-12)


def test_own_plans_that_a_proof_brings_along_are_taken():
    """A regret is measured against the best plan that anything found."""
    plan = crowd_plan()
    poor = replace(plan, regrets=replace(plan.regrets, best=plan.regrets.best * 1.1))
    again = with_proofs(poor, 0.3)
    assert again.regrets.best[1] <= plan.regrets.best[1] * (1 + 1e-6)


def test_time_limits_are_divided(monkeypatch):
    spent = []

    def solve(problem, method, *, time_limit, **_options):
        spent.append(time_limit)
        return crowd_plan()

    monkeypatch.setattr("preceptor.advice.planning.solve", solve)
    monkeypatch.setattr(
        "preceptor.advice.planning.with_proofs", lambda plan, each, seed: spent.append(each) or plan
    )
    whole = Deadline(10.0, clock=lambda: 0.0)
    plan_for(PROBLEM, None, Effort(whole))
    plan_for(PROBLEM, None, Effort(whole, limited=True))
    # Planning takes half of what is left. Three of the four have proofs that take time, which take
    # less than half of that, and no more than half a second each.
    assert spent == [4.0, 0.5, 5.0 - 3 * 0.5, 0.5]
