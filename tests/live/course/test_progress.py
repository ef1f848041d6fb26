"""What is said about trainees, compared with closed forms, brute force and simulated people."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

import preceptor as pr
from preceptor._base.values import FloatArray
from preceptor.learners.tutor import Tutor
from preceptor.live.ai_advice import wrong_weights
from preceptor.live.course.course import Course, CourseConfig, plan_for
from preceptor.live.course.lesson import CourseTutors, Lesson, choose
from preceptor.live.course.progress import (
    ProgressCurve,
    Standing,
    curve_of,
    expert_error,
    used,
)
from preceptor.live.service.guides import read_plan
from preceptor.live.store.courses import Trainee
from preceptor.live.store.people import AdvisedPerson
from preceptor.live.store.rounds import StoredRound
from preceptor.model.evaluation import people_of

WORLD = pr.World.equicorrelated([1.0, 0.6, -0.4], 0.5, names=["bmi", "bp", "age"])


@pytest.fixture(scope="module")
def course() -> Course:
    crowd = pr.Crowd.default(WORLD, tests=2)
    problem = pr.Problem(WORLD, crowd, budget=2, horizon=60)
    sample = WORLD.sample(60, rng=1)
    guide = read_plan(plan_for(problem))
    return Course(CourseConfig("t", "y"), guide, sample.features, sample.outcomes)


def played_round(course: Course, number: int, **changes: object) -> StoredRound:
    given = {
        "person": "ann", "number": number, "status": "told", "plan": "", "policy": "course",
        "opened_with": {}, "case_number": 0, "shown": ["bmi", "bp"], "values": [0.5, -1.0],
        "prediction": 1.0, "outcome": 0.0, "answered": number + 1, "outcome_known_at": number + 1,
        **changes,
    }  # fmt: skip
    return StoredRound(**given)  # type: ignore[arg-type]


def test_the_experts_error_is_the_conditional_variance(course: Course) -> None:
    each = played_round(course, 0)
    covariance = WORLD.covariance
    joint = covariance @ WORLD.coefficients
    block = covariance[:2, :2]
    left = WORLD.outcome_variance - joint[:2] @ np.linalg.solve(block, joint[:2])
    assert expert_error(course, each) == pytest.approx(left)
    # An expert's answers are off by that much on average: drawn cases agree.
    drawn = WORLD.sample(200_000, rng=0)
    weights = np.linalg.solve(block, joint[:2])
    errors = drawn.outcomes - drawn.features[:, :2] @ weights
    assert np.mean(errors**2) == pytest.approx(left, rel=0.02)


def test_checks_are_averaged_over_three(course: Course) -> None:
    answers = [3.0, 1.0, 2.0, 0.5]
    checks = [
        played_round(course, 10 * i + 9, status="untold", feedback=False, prediction=x)
        for i, x in enumerate(answers)
    ]
    expert = expert_error(course, checks[0])
    squares = np.square(answers)
    expected = [squares[0], squares[:2].mean(), squares[:3].mean(), squares[1:4].mean()]
    found = curve_of(course, [played_round(course, 0), *checks]).checks
    assert [case for case, _ in found] == [10, 20, 30, 40]
    assert [error for _, error in found] == pytest.approx([x / expert for x in expected])


def test_weights_are_judged_as_brute_force_does(course: Course) -> None:
    tutor = Tutor(course.problem)
    drawn = np.random.default_rng(2)
    for _ in range(25):  # answers that read the second test the wrong way round
        x = drawn.normal(size=2)
        answer = 0.9 * x[0] - 0.5 * x[1]
        tutor = tutor.after([0, 1], x, answer, float(x @ [1.0, 0.6]))
    found = {each.test: each.share for each in wrong_weights(tutor)}
    likeliest = max(tutor.names, key=lambda name: tutor.kinds[name])
    person = people_of(course.problem)[likeliest]
    omega, sigma, truth = person.imputing_covariance(WORLD), WORLD.covariance, WORLD.coefficients
    weights = tutor.coefficients

    def loss(weights: FloatArray) -> float:
        """Mean squared error over the three pairs of tests, hidden ones filled in."""
        total = WORLD.noise_variance
        for shown in ([0, 1], [0, 2], [1, 2]):
            filled = np.linalg.solve(omega[np.ix_(shown, shown)], omega[shown])
            read = np.zeros(3)
            read[shown] = filled @ weights
            total += (read - truth) @ sigma @ (read - truth) / 3
        return float(total)

    def with_one(i: int, value: float) -> float:
        changed = weights.copy()
        changed[i] = value
        return loss(changed)

    expert = minimize(loss, weights).fun
    for i, name in enumerate(WORLD.labels):
        best = minimize_scalar(lambda value, i=i: with_one(i, value))
        assert (name in found) == ((loss(weights) - best.fun) / expert >= 0.02)
        if name in found and found[name] != 0.0:
            assert found[name] == pytest.approx(weights[i] / best.x, rel=1e-4)
    assert found["bp"] < 0.0


def test_cases_until_close_to_an_expert() -> None:
    def needed(*errors: float) -> int | None:
        curve = ProgressCurve([(i + 1, error) for i, error in enumerate(errors)], [])
        who = Trainee("a", "Ann", False, "real", "", "", 1)
        return Standing(who, len(errors), curve, None, None).cases_needed

    assert needed() is None
    assert needed(1.4, 1.2) is None
    assert needed(1.4, 1.09, 1.05) == 1
    # A lucky case does not count: the error must stay close.
    assert needed(1.4, 1.09, 1.2, 1.08) == 3
    assert needed(1.05) == 0


def test_what_was_used(course: Course) -> None:
    ann = [played_round(course, 0), played_round(course, 1, case_number=4)]
    bob = [
        played_round(course, 0, case_number=4, shown=["age"], values=[0.0]),
        played_round(course, 1, case_number=9, feedback=False),
    ]
    found = used(course, [ann, bob])
    assert found.rows == {0: 1, 4: 2}
    assert found.sets == [(["bmi", "bp"], 2), (["age"], 1)]


def person(who: str) -> AdvisedPerson:
    return AdvisedPerson(who, "real", "", "", "", "course", {}, "course", [0, 0, 0])


def test_no_case_is_taught_that_is_set_aside_and_none_twice(course: Course) -> None:
    aside = {each.row for each in course.checks}
    assert aside.isdisjoint(course.teaching.tolist())
    assert len(aside) + course.teaching.size == 60
    tutors, seen = CourseTutors(course), []
    played: list[StoredRound] = []
    for number in range(25):
        lesson = Lesson(person("ann"), played, "open", "cases", None)
        offer = choose(course, tutors.of("ann", played), lesson)
        assert offer.feedback == (number % 10 != 9)
        row = offer.case_number
        assert row is not None
        assert (row in aside) == (not offer.feedback)
        seen.append(row)
        shown = course.guide.words.indices(offer.recommended)
        values = course.values[row, list(shown)].tolist()
        outcome = float(course.outcomes[row])
        status = "told" if offer.feedback else "untold"
        played = [
            *played,
            played_round(
                course, number, case_number=row, shown=offer.recommended, values=values,
                prediction=0.1, outcome=outcome, status=status, feedback=offer.feedback,
                opened_with=offer.opened_with,
            ),
        ]  # fmt: skip
    assert len(set(seen)) == 25
    # The tutor in memory is the one that the whole record makes, and the choice is the same.
    fresh = CourseTutors(course).of("ann", played)
    assert fresh.record == tutors.of("ann", played).record
    lesson = Lesson(person("ann"), played, "open", "cases", None)
    assert choose(course, fresh, lesson) == choose(course, tutors.of("ann", played), lesson)


def test_neighbours_get_other_cases(course: Course, tmp_path: Path) -> None:
    sample = WORLD.sample(400, rng=1)
    large = Course(course.config, course.guide, sample.features, sample.outcomes)
    rows = [large.rows_for(who).tolist() for who in ("ann", "bob")]
    assert [len(each) for each in rows] == [large.teaching.size // 2] * 2
    assert rows[0] != rows[1]
    assert set(rows[0]) | set(rows[1]) <= set(large.teaching.tolist())
    assert large.rows_for("ann").tolist() == rows[0]
