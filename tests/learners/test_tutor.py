"""The tutor as a value: what happens, what is known, what to do."""

from __future__ import annotations

import numpy as np
import pytest

import preceptor as pr
from preceptor.data.log import Log
from preceptor.errors import InvalidFile
from preceptor.learners.case_choice import CaseRule
from preceptor.learners.simulated_tutoring import tutored
from preceptor.learners.tutor_record import TutorRound
from preceptor.planning.candidate_sets import most_predictive_set

INITIAL = [0.2, 1.3, 0.4]


@pytest.fixture(scope="module")
def problem() -> pr.Problem:
    world = pr.World.equicorrelated([1.0, 0.5, -0.4], 0.7, 0.1, names=["bmi", "bp", "age"])
    crowd = pr.Crowd(
        {
            "by showings": (pr.Learner(INITIAL, pr.Geometric(1.2)), 0.5),
            "by outcomes": (pr.DeltaRule(INITIAL, 0.1), 0.5),
        }
    )
    return pr.Problem(world, crowd, 2, horizon=60)


@pytest.fixture
def tutor(problem: pr.Problem) -> pr.Tutor:
    begun = pr.Tutor(problem)
    for t in range(6):
        begun = begun.after(["bmi", "age"], [t - 2.0, 0.5], answer=0.3 * t, outcome=1.0 - t)
    return begun


def test_it_survives_a_file_with_all_it_knows(tutor: pr.Tutor) -> None:
    again = pr.Tutor.from_json(tutor.to_json())
    assert again == tutor
    assert again.kinds == tutor.kinds
    assert again.recommendation() == tutor.recommendation()
    assert again.coefficients.tolist() == tutor.coefficients.tolist()


def test_advice_does_not_depend_on_when_it_was_asked_for(problem: pr.Problem) -> None:
    asked = silent = pr.Tutor(problem)
    for t in range(20):
        asked.next()
        round_ = (["bp", "age"], [0.1 * t, -1.0], 0.2 * t, 0.3)
        asked, silent = asked.after(*round_), silent.after(*round_)
    assert asked.next() == silent.next()


def test_answered_and_told_are_after(tutor: pr.Tutor) -> None:
    whole = tutor.after(["bp"], [1.0], 0.5, 0.7)
    parts = tutor.answered(["bp"], [1.0], 0.5).told(0.7)
    assert parts == whole
    assert parts.kinds == whole.kinds


def test_a_late_truth_counts_once_and_when_it_is_told(problem: pr.Problem) -> None:
    """Somebody who hears of round 0 after round 1 has answered round 1 without knowing it."""
    late = pr.Tutor(problem).answered(["bmi"], [1.0], 0.2).answered(["bp"], [1.0], 0.4)
    late = late.told(2.0, round=0).told(-1.0)
    assert late.rounds == 2
    assert [r.heard for r in late.record] == [2, 2]
    at_once = pr.Tutor(problem).after(["bmi"], [1.0], 0.2, 2.0).after(["bp"], [1.0], 0.4, -1.0)
    assert late.kinds != at_once.kinds
    # By showings the order of showings does not matter to where weights are.
    assert pr.Tutor.from_json(late.to_json()).kinds == late.kinds


def test_a_probe_teaches_nothing(problem: pr.Problem) -> None:
    begun = pr.Tutor(problem, spread=0.0, level=False)
    probed = begun.after(["bmi"], [1.0], answer=0.2)
    for kind in range(2):
        assert probed.bank.posterior_weights(kind)[0] == pytest.approx(
            begun.bank.posterior_weights(kind)[0]
        )
    assert probed.rounds == 1


def test_through_a_log_is_round_by_round(tutor: pr.Tutor) -> None:
    rows = [r.shown for r in tutor.record]
    shown = np.zeros((6, 3), dtype=bool)
    values = np.full((6, 3), np.nan)
    for i, entry in enumerate(tutor.record):
        shown[i, list(rows[i])] = True
        values[i, list(rows[i])] = entry.values
    log = Log(
        tutor.problem.world.labels, ["ann"] * 6, range(6), shown, values,
        [r.answer for r in tutor.record], [r.outcome for r in tutor.record],
    )  # fmt: skip
    assert pr.Tutor(tutor.problem).through(log) == tutor


def test_kinds_add_up_and_name_everybody(tutor: pr.Tutor) -> None:
    assert list(tutor.kinds) == ["by showings", "by outcomes", "none of these"]
    assert sum(tutor.kinds.values()) == pytest.approx(1.0)


def test_intervals_hold_the_share_they_promise(tutor: pr.Tutor) -> None:
    bank, rng = tutor.bank, np.random.default_rng(0)
    shares = bank.joint.ravel()
    drawn = []
    for part in rng.choice(shares.size, 20_000, p=shares / shares.sum()):
        kind, j = divmod(int(part), bank.scatters.size)
        each = bank.followers[kind]
        spread = np.sqrt(np.diagonal(each.weights_covariance[j]))
        drawn.append(each.weights[j] + spread * rng.standard_normal(3))
    ends = tutor.intervals(0.8)
    inside = np.mean((drawn > ends[:, 0]) & (drawn < ends[:, 1]), axis=0)
    assert inside == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / 20_000))


@pytest.mark.full
def test_it_finds_out_who_it_is_and_then_does_what_suits_them(problem: pr.Problem) -> None:
    for name, person in problem.learner.people.items():  # type: ignore[attr-defined]
        run = tutored(
            pr.Tutor(problem, spread=0.0), person.acting(problem.world), 60, 1, response_noise=0.05
        )
        assert run.tutor.kinds[name] > 0.95
        alone = pr.Tutor(problem.replace(learner=person), spread=0.0)
        oracle = tutored(alone, person.acting(problem.world), 60, 1, response_noise=0.05)
        assert run.cost <= 1.4 * oracle.cost


def test_plan_goes_on_from_here(tutor: pr.Tutor) -> None:
    plan = tutor.plan(time_limit=0.2)
    assert plan.problem.horizon == 54
    crowd = plan.problem.learner
    assert isinstance(crowd, pr.Crowd)
    assert crowd.people["by outcomes"].initial == pytest.approx(tutor.bank.posterior_weights(1)[0])
    shares = tutor.bank.kinds
    assert crowd.weights == pytest.approx((shares[:2] + shares[2] / 2) / 1.0)
    assert plan.regrets is not None


def test_only_what_is_available_is_advised(tutor: pr.Tutor) -> None:
    wanted = tutor.next()
    others = [i for i in range(3) if i not in wanted[:1]]
    found = tutor.recommendation(available=others)
    assert set(found.shown) <= set(others)
    assert "would be better, but cannot be shown" in found.reason
    assert tutor.next(available=range(3)) == wanted


def test_without_a_case_what_is_learned_counts_for_as_long_as_it_is_remembered(
    tutor: pr.Tutor,
) -> None:
    """By showings to the end; who follows outcomes overwrites a tenth of it in every round."""
    problem, blind = tutor.problem, np.full(3, np.nan)
    discount, left = problem.discount, 60 - tutor.rounds - 1
    lasts = {
        "by showings": min(sum(discount**t for t in range(1, left + 1)), 30.0),
        "by outcomes": sum(discount**t * 0.9 ** (2 * (t - 1)) for t in range(1, left + 1)),
    }
    best = pr.Stationary(most_predictive_set(problem))
    score, total = np.zeros(len(problem.sets)), 0.0
    for k, (name, rounds) in enumerate(lasts.items()):
        rule = CaseRule(problem, tutor.bank, problem.sets, "best", tutor.rounds)
        now, change = rule.of_kinds(blind)[k]
        alone = problem.replace(learner=problem.learner.people[name])  # type: ignore[attr-defined]
        share = tutor.kinds[name] + tutor.kinds["none of these"] / 2
        weight = share / pr.evaluate(alone, best)
        score += weight * (now[0] + rounds * change[0])
        total += weight
    some = [i for i, shown in enumerate(problem.sets) if shown]
    assert tutor.next() == problem.sets[min(some, key=lambda i: score[i])]
    found = rule.while_aided(rule.of_kinds(blind))
    np.testing.assert_allclose((found.now + found.change)[0], score / total)
    # In the last round nothing later counts.
    last = CaseRule(problem, tutor.bank, problem.sets, "best", 59)
    assert not last.while_aided(last.of_kinds(blind)).change.any()


def test_reasons_name_the_tests_and_the_share(problem: pr.Problem) -> None:
    tutor = pr.Tutor(problem)
    tutor = tutor.after(tutor.next(), [0.5] * len(tutor.next()), 0.4, 0.5)
    said = tutor.recommendation()
    assert all(name in said.reason for name in said.names)
    assert said.reason.startswith("Show ")
    assert said.reason.endswith(".")


def test_a_person_of_none_of_the_kinds_is_reported() -> None:
    world = pr.World([1.0, 0.5], np.eye(2))
    crowd = pr.Crowd({"a": pr.NoLearning([0.0, 0.0]), "b": pr.NoLearning([1.0, 0.5])})
    tutor, rng = pr.Tutor(pr.Problem(world, crowd, 2), spread=0.05), np.random.default_rng(0)
    for t in range(60):
        values = rng.standard_normal(2)
        sign = 1.0 if t < 30 else -1.0
        tutor = tutor.after([0, 1], values, sign * values[0], 0.0)
    assert tutor.kinds["none of these"] > 0.5
    assert "None of the kinds explains the answers" in tutor.doubts()[0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda t: t.after(["bmi", "bmi"], [1, 2], 1.0), "once in a round"),
        (lambda t: t.after(["weight"], [1], 1.0), "'weight' not known; tests are bmi, bp, age"),
        (lambda t: t.after(["bmi"], [1, 2], 1.0), "one finite number for each test"),
        (lambda t: t.after(["bmi"], [1], float("nan")), "answer: nan"),
        (lambda t: t.after(["bmi"], [1], 1.0, float("inf")), "outcome: inf"),
        (lambda t: t.told(1.0), "was told before"),
        (lambda t: t.told(1.0, round=9), "round: 9, must be from 0 to 5"),
        (lambda t: pr.Tutor(t.problem).told(1.0), "none has been played yet"),
        (lambda t: pr.Tutor(t.problem, spread=-1), "spread: -1"),
        (lambda t: pr.Tutor(t.problem, none_of_these=1.0), "below 1"),
        (lambda t: pr.Tutor("x"), "must be a Problem"),
        (lambda t: t.intervals(1.5), "level: 1.5"),
    ],
)
def test_bad_input_is_named(tutor: pr.Tutor, call, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(pr.InvalidInput, match=said.replace("(", r"\(")):
        call(tutor)


@pytest.mark.parametrize(("answer", "outcome"), [(1e200, 1.0), (1.0, -1e200), (1e9, None)])
def test_implausible_numbers_are_refused(
    tutor: pr.Tutor, answer: float, outcome: float | None
) -> None:
    with pytest.raises(pr.InvalidInput, match="check units"):
        tutor.after(["bmi"], [1.0], answer, outcome)
    with pytest.raises(pr.InvalidInput, match="bmi 1e"):
        tutor.after(["bmi"], [1e200], 1.0, 1.0)


def test_something_is_always_shown() -> None:
    """Showing nothing would be best for people who misread every test and never learn."""
    world = pr.World([1.0, 0.5], np.eye(2))
    crowd = pr.Crowd({"a": pr.NoLearning([-1.0, -1.0]), "b": pr.NoLearning([-2.0, -1.0])})
    tutor = pr.Tutor(pr.Problem(world, crowd, 1))
    assert tutor.next() == (1,)
    assert tutor.next(available=[0]) == (0,)
    assert tutor.recommendation().reason.startswith("Show x2")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shown": [0, 99]}, r"round 2: shown \(0, 99\), must be tests in ascending order"),
        ({"shown": [2, 0]}, "ascending order, each from 0 to 2"),
        ({"shown": [0, 0]}, "ascending order"),
        ({"shown": [-1, 0]}, "ascending order"),
        ({"shown": [0, "age"]}, "ascending order"),
        ({"shown": None}, "shown None"),
        ({"shown": [0]}, r"as many numbers as tests were shown \(1\)"),
        ({"values": None}, "values None"),
        ({"values": [1.0, float("nan")]}, "must be finite numbers"),
        ({"answer": "a"}, "answer 'a', must be a finite number"),
        ({"outcome": [1]}, r"outcome \[1\]"),
        ({"outcome": None}, "heard 3, but there is no outcome"),
        ({"heard": None}, "heard None, must be a whole number from 3 to 6"),
        ({"heard": 2}, "heard 2"),
        ({"heard": 7}, "heard 7"),
        ({"heard": 3.0}, r"heard 3\.0"),
    ],
)
def test_a_record_that_cannot_have_happened_is_refused(tutor, change, said) -> None:  # type: ignore[no-untyped-def]
    data = tutor.to_dict()
    data["record"][2] |= change
    with pytest.raises(pr.InvalidInput, match=said):
        pr.Tutor.from_dict(data)


@pytest.mark.parametrize("record", [None, 3, "no", [1], [None]])
def test_a_record_is_a_list_of_rounds(tutor, record) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(pr.InvalidInput, match="record: must be a list of rounds"):
        pr.Tutor.from_dict(tutor.to_dict() | {"record": record})


def test_nothing_available_is_refused(problem: pr.Problem) -> None:
    exact = problem.replace(budget=pr.Exactly(2))
    with pytest.raises(pr.NotApplicable, match="allows no set"):
        pr.Tutor(exact).next(available=[0])


def test_people_who_only_act_are_refused() -> None:
    world = pr.World([1.0], [[1.0]])
    own = pr.OwnPerson(pr.NoLearning([0.0]).acting(world), [0.0])
    with pytest.raises(pr.NotApplicable, match="cannot be followed"):
        pr.Tutor(pr.Problem(world, own, 1))


def test_rounds_read_back(tutor: pr.Tutor) -> None:
    assert TutorRound.from_dict(tutor.record[0].to_dict()) == tutor.record[0]
    with pytest.raises(InvalidFile, match="unknown key"):
        pr.Tutor.from_dict(tutor.to_dict() | {"mood": "good"})


def test_a_tutor_that_only_watches_sees_what_the_plan_costs(problem: pr.Problem) -> None:
    """Who learns by showings does not care which cases come, so the cost is known beforehand."""
    assert problem.horizon is not None
    learner = problem.learner.people["by showings"]
    rng = np.random.default_rng(0)
    schedule = [problem.sets[i] for i in rng.integers(len(problem.sets), size=problem.horizon)]
    run = tutored(
        pr.Tutor(problem), learner.acting(problem.world), problem.horizon, 1, schedule=schedule
    )
    assert list(run.shown) == schedule
    plan = pr.ExploreThenCommit(schedule, schedule[-1])
    assert run.cost == pytest.approx(pr.evaluate(problem.replace(learner=learner), plan))
