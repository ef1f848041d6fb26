"""Planning from a person's state, and the best available set."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.advice.next_case import (
    SeenSoFar,
    after_log,
    best_available,
    from_here,
    next_case,
    remembering,
    seen_since_plan,
    so_far_from,
)
from preceptor.advice.options import PersonOptions
from preceptor.data.log import Log
from tests.advice.people import CROWD, INITIAL, PROBLEM, WORLD


def a_log(rounds: int = 6, who: str = "ann") -> Log:
    rng = np.random.default_rng(2)
    shown = np.eye(3, dtype=bool)[np.arange(rounds) % 2]
    assert WORLD.units is not None
    values = WORLD.units.restore(rng.normal(size=(rounds, 3)))
    outcome = 19.0 + rng.normal(size=rounds)
    told = np.arange(rounds) % 3 > 0
    return Log(
        WORLD.labels, [who] * rounds, range(rounds), shown, np.where(shown, values, np.nan),
        rng.normal(size=rounds), outcome, told,
    )  # fmt: skip


def acted(person: pr.Person, log: Log) -> np.ndarray:
    """Weights of a person after the log."""
    acting, units = person.acting(WORLD), WORLD.units
    assert units is not None
    for row in np.flatnonzero(log.told):
        seen = tuple(np.flatnonzero(log.shown[row]).tolist())
        values = units.standardise(log.values)[row, list(seen)]
        acting.feedback(seen, values, float(units.centre(log.outcome)[row]))
    return np.asarray(acting.weights)


def test_every_member_of_a_crowd_is_followed_through_the_log() -> None:
    log = a_log()
    now = from_here(PROBLEM, after_log(log))
    assert now.learner.kind == "crowd"
    assert_allclose(now.learner.weights, CROWD.weights)  # type: ignore[attr-defined]
    for name, person in now.learner.people.items():  # type: ignore[attr-defined]
        assert_allclose(person.initial, acted(CROWD.people[name], log), err_msg=name)


def test_people_by_showings_need_counts_only() -> None:
    problem = PROBLEM.replace(learner=pr.Learner(INITIAL, pr.Geometric(1.3)), horizon=9)
    log = a_log()
    told = (log.shown & log.told[:, None]).sum(axis=0).tolist()
    now = from_here(problem, after_log(log))
    assert list(now.start_counts) == told
    assert now.horizon == 9  # cases count from now
    again = from_here(now, SeenSoFar((1, 0, 2)))
    assert list(again.start_counts) == [told[0] + 1, told[1], told[2] + 2]


def test_counts_stand_for_cases_like_those_of_the_world() -> None:
    now = from_here(PROBLEM, SeenSoFar((300, 0, 0)))
    people = now.learner.people  # type: ignore[attr-defined]
    # She ignores correlations and learns from outcomes, so bmi has come to stand for all tests.
    alone = WORLD.covariance[0] @ WORLD.coefficients / WORLD.covariance[0, 0]
    assert_allclose(people["ann"].initial, [alone, *INITIAL[1:]], atol=0.2)
    assert people["not learning"].initial.tolist() == INITIAL
    learner = pr.Learner(INITIAL, pr.Geometric(1.3))
    expected = WORLD.coefficients - learner.errors(WORLD, [300, 0, 0])
    assert_allclose(people["by showings"].initial, expected)


def test_a_plan_remembers_what_was_before(tmp_path) -> None:
    log = a_log(6)
    problem = PROBLEM.replace(learner=pr.Learner(INITIAL, pr.Geometric(1.3)), horizon=4)
    so_far = after_log(log.head(4))
    plan = remembering(pr.solve(from_here(problem, so_far)), so_far)
    plan.save(tmp_path / "plan.json")
    read = pr.Plan.load(tmp_path / "plan.json")
    assert (read.seen_before, read.rounds_before) == (so_far.counts, 4)
    assert read == plan
    later = seen_since_plan(read, after_log(log))
    assert later.rounds == 2
    assert later.counts == tuple(np.subtract(after_log(log).counts, so_far.counts).tolist())
    assert seen_since_plan(read, so_far).rounds == 0
    with pytest.raises(pr.InvalidInput, match="the plan was made after 4 rounds of this person"):
        seen_since_plan(read, after_log(log.head(3)))
    damaged = plan.to_dict() | {"seen_before": [1, -2, 0]}
    with pytest.raises(pr.InvalidFile, match="seen_before"):
        pr.Plan.from_dict(damaged)


def test_counts_and_logs_are_checked() -> None:
    assert so_far_from(WORLD, PersonOptions()) is None
    found = so_far_from(WORLD, PersonOptions(shown={"bp": 3}))
    assert found is not None
    assert (found.counts, found.rounds) == ((0, 3, 0), None)
    with pytest.raises(pr.InvalidInput) as caught:
        so_far_from(WORLD, PersonOptions(shown={"bpp": 3, "age": -1, "bmi": 1.5}))  # type: ignore[dict-item]
    assert len(caught.value.faults) == 3
    with pytest.raises(pr.InvalidInput, match="`log` says already"):
        so_far_from(WORLD, PersonOptions(shown={"bp": 3}, log=a_log()))


def test_advise_plans_from_a_log() -> None:
    advice = pr.advise(PROBLEM, person=PersonOptions(log=a_log()), time_limit=0.2, vary=False)
    counts = after_log(a_log()).counts
    assert (advice.plan.seen_before, advice.plan.rounds_before) == (counts, 6)
    text = " ".join(advice.explain().split())
    assert f"The person has already seen bmi {'twice' if counts[0] == 2 else counts[0]}" in text


def test_a_crowd_that_is_off_the_plan_is_planned_for_anew() -> None:
    """A person who was shown bp for long does not return to a plan that begins with it."""
    policy = pr.ExploreThenCommit([(1,)] * 30, (0,))
    plan = pr.Plan(PROBLEM, policy, pr.evaluate(PROBLEM, policy), 0.0, pr.Status.BOUNDED, "", 0.0)
    found = next_case(plan, SeenSoFar((0, 12, 50)))
    assert not found.on_plan
    now = from_here(PROBLEM, SeenSoFar((0, 12, 50)))
    assert "beyond what its first 12 cases show" in found.reasons[0]
    assert "a new plan" in found.reasons[1]
    alone = [pr.evaluate(now, pr.Stationary((i,))) for i in range(3)]
    assert found.shown == (int(np.argmin(alone)),)


def test_the_best_at_hand_is_the_best_of_all_sets() -> None:
    problem = PROBLEM.replace(budget=2)
    rest = pr.ExploreThenRepeat([(0, 1)] * 3, [(0,), (1,)])
    sets = [(0,), (2,), (0, 2)]
    costs = [
        pr.evaluate(problem, pr.ExploreThenRepeat([s, *[(0, 1)] * 3], [(0,), (1,)])) for s in sets
    ]
    assert best_available(problem, (0, 2), (0, 1), rest) == sets[int(np.argmin(costs))]


def test_nothing_at_hand_that_the_budget_allows() -> None:
    problem = PROBLEM.replace(budget=pr.Exactly(2))
    with pytest.raises(pr.NotApplicable, match=r"available: age; .* no set of these fits"):
        best_available(problem, (2,), (0, 1), None)


def test_many_tests_at_hand_are_not_all_tried() -> None:
    world = pr.World.equicorrelated(np.linspace(1.0, 0.1, 40), 0.2)
    problem = pr.Problem(world, pr.Learner([0.0] * 40, pr.Geometric(1.1)), 5, 0.9)
    shown = best_available(problem, range(1, 40), (0, 1), pr.Stationary((0, 1)))
    assert 0 not in shown
    assert 1 in shown
