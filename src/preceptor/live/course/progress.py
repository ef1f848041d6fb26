"""How far trainees are: their error compared with an expert, what they weigh wrongly, their kind.

Errors are squared errors relative to those of an expert, a linear reader of the same tests with the
right weights. `alone` is what the tutor expects from all answers so far; checks are measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from preceptor.learners.families import SURE
from preceptor.learners.tutor import Tutor
from preceptor.learners.tutor_record import results_in_world_units
from preceptor.live.ai_advice import WrongWeight, wrong_weights
from preceptor.live.course.course import Course
from preceptor.live.store.courses import Trainee
from preceptor.live.store.rounds import Offer, StoredRound
from preceptor.report.session import least_square, outcome_given

# An error within this of an expert's counts as an expert's.
CLOSE = 1.1
# Checks averaged for one point of the curve: one check says little.
_CHECKS = 3
# Answers before weights and kinds are reported; with fewer they still change from case to case.
_ENOUGH = 20
# Tests named at most.
_NAMED = 2


class ProgressCurve(NamedTuple):
    """Cases (counted from 1) and relative errors: estimated alone, and in the last checks."""

    alone: list[tuple[int, float]]
    checks: list[tuple[int, float]]


@dataclass(frozen=True)
class Standing:
    """What the class page says about one trainee."""

    trainee: Trainee
    answers: int
    curve: ProgressCurve
    wrong: list[WrongWeight] | None
    """None while it is too early to tell."""
    kind: tuple[str, float] | None
    """The likeliest kind and its probability; None while it is too early to tell."""

    @property
    def cases_needed(self) -> int | None:
        """Cases until the estimated error stayed within 10% of an expert's; None if it is not."""
        far = [case for case, error in self.curve.alone if error > CLOSE]
        if not self.curve.alone or (far and far[-1] == self.curve.alone[-1][0]):
            return None
        return far[-1] if far else 0


class SeenTrainee(NamedTuple):
    """The rounds of a trainee, what is said about them, and what comes once they go on."""

    rounds: list[StoredRound]
    standing: Standing
    coming: Offer | None


def expert_error(course: Course, each: StoredRound) -> float:
    """Expected squared error of an expert who sees what a round showed, in outcome units."""
    world, shown = course.problem.world, course.guide.words.indices(each.shown or ())
    results = results_in_world_units(world, shown, each.values or ())
    best, left = outcome_given(world, shown, results)
    return least_square(course.problem, best, left) if world.is_binary else left


def curve_of(course: Course, played: Sequence[StoredRound]) -> ProgressCurve:
    """The curve of a trainee."""
    alone = [
        (each.number + 1, float(each.opened_with["alone"]))
        for each in played
        if "alone" in each.opened_with
    ]
    checked = [each for each in played if each.prediction is not None and not each.feedback]
    errors = [((each.prediction or 0.0) - (each.outcome or 0.0)) ** 2 for each in checked]
    expert = [expert_error(course, each) for each in checked]
    checks = [
        (
            checked[i].number + 1,
            sum(errors[max(0, i + 1 - _CHECKS) : i + 1])
            / sum(expert[max(0, i + 1 - _CHECKS) : i + 1]),
        )
        for i in range(len(checked))
    ]
    return ProgressCurve(alone, checks)


def standing(
    course: Course, trainee: Trainee, tutor: Tutor, played: Sequence[StoredRound]
) -> Standing:
    """What the class page says about one trainee."""
    is_early = tutor.rounds < _ENOUGH
    kind, share = max(tutor.kinds.items(), key=lambda item: item[1])
    return Standing(
        trainee,
        tutor.rounds,
        curve_of(course, played),
        None if is_early else wrong_weights(tutor)[:_NAMED],
        None if is_early or share < SURE else (kind, share),
    )


class Used(NamedTuple):
    """How often each row was used for teaching, and each set shown, the most frequent first."""

    rows: dict[int, int]
    sets: list[tuple[list[str], int]]


def used(course: Course, everyone: Sequence[Sequence[StoredRound]]) -> Used:
    """What a class has seen in teaching."""
    taught = [each for played in everyone for each in played if each.feedback]
    sets = Counter(tuple(each.shown or ()) for each in taught)
    named = [(course.guide.words.tests(list(labels)), n) for labels, n in sets.most_common()]
    rows = Counter(each.case_number for each in taught if each.case_number is not None)
    return Used(dict(sorted(rows.items())), named)
