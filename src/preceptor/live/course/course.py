"""A course: cases with outcomes, the problem of teaching them, and how pages show them.

A fifth of the cases is set aside. Every tenth case that a trainee sees is one of these, without
feedback, in the same order and with the same tests for everyone, so that progress can be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidInput
from preceptor.learners.case_choice import CasePool
from preceptor.live.service.guides import PlanGuide, read_plan
from preceptor.live.store import courses, plans
from preceptor.live.store.courses import COURSE, KeptCourse
from preceptor.live.store.plans import HeldCase
from preceptor.model.plan import Plan
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.planning.solvers import solve

# One case of this number is a check without feedback.
EVERY = 10
# Share of the cases set aside for checks, and the most that are: a check every tenth case for 600.
_ASIDE, _MOST_ASIDE = 0.2, 60
# The least number of cases that leaves something to teach and to check.
_FEWEST = 20
# Cases that one trainee may be taught: with 100 the tutor gained about one case over 20.
_FEWEST_EACH = 100
ANSWERS = ("number", "slider", "yes or no", "percent")


@dataclass(frozen=True)
class Look:
    """How a test or the outcome is shown: unit, decimals, and what replaces its numbers."""

    unit: str = ""
    decimals: int = 1
    cells: list[str | None] | None = None
    is_image: bool = False


@dataclass(frozen=True)
class CourseConfig:
    """How pages look; unlike cases and problem it may change from one start to the next.

    Attributes
    ----------
    title, outcome
        Name of the course, and what trainees predict.
    answer
        One of `ANSWERS`.
    language
        Name of a message catalogue.
    contrast
        Whether trainees are told after a case which test they seem to weigh wrongly.
    media
        Folder of the images.
    look, looks
        Of the outcome, and by name of test.
    """

    title: str
    outcome: str
    answer: str = "number"
    language: str = "en"
    contrast: bool = False
    media: str | None = None
    look: Look = field(default_factory=Look)
    looks: Mapping[str, Look] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> CourseConfig:
        """Rebuild from plain data."""
        looks = {name: Look(**each) for name, each in data["looks"].items()}
        return cls(**{**data, "look": Look(**data["look"]), "looks": looks})


class CheckCase(NamedTuple):
    """A case that was set aside, and the tests shown of it."""

    row: int
    shown: TestSet


class Course:
    """A course in memory.

    Parameters
    ----------
    config
        How pages look.
    guide
        The plan, with the problem.
    values
        Results (cases, n) in the units of the table, NaN where missing.
    outcomes
        True outcomes (cases,).
    """

    def __init__(
        self, config: CourseConfig, guide: PlanGuide, values: FloatArray, outcomes: FloatArray
    ) -> None:
        self.config, self.guide = config, guide
        self.values, self.outcomes = values, outcomes

    @property
    def problem(self) -> Problem:
        """The problem of teaching."""
        return self.guide.problem

    @cached_property
    def _order(self) -> tuple[IntArray, IntArray]:
        """Rows to teach and rows set aside; all can show at least one largest set."""
        rows = np.flatnonzero([bool(self._sets_of(row)) for row in range(self.outcomes.size)])
        if rows.size < _FEWEST:
            raise InvalidInput(
                f"cases: {rows.size} with an outcome and enough results, must be at least "
                f"{_FEWEST}; add rows to the table"
            )
        rows = np.random.default_rng(rows.size).permutation(rows)
        aside = min(max(round(_ASIDE * rows.size), 1), _MOST_ASIDE)
        return np.sort(rows[aside:]), rows[:aside]

    def _sets_of(self, row: int) -> list[TestSet]:
        """The largest sets all of whose results are known for a case."""
        missing = set(np.flatnonzero(np.isnan(self.values[row])).tolist())
        return [shown for shown in self._largest if missing.isdisjoint(shown)]

    @cached_property
    def _largest(self) -> list[TestSet]:
        sets = self.problem.sets
        most = max(len(shown) for shown in sets)
        return [shown for shown in sets if len(shown) == most]

    @property
    def teaching(self) -> IntArray:
        """Rows that may be taught."""
        return self._order[0]

    def rows_for(self, who: str) -> IntArray:
        """The rows that may be taught to one trainee, so that neighbours see different cases.

        They are half of the cases, but not fewer than `_FEWEST_EACH` where there are more.
        """
        rows = self.teaching
        size = min(max(rows.size // 2, _FEWEST_EACH), rows.size)
        drawn = np.random.default_rng(seed_of(who)).choice(rows, size, replace=False)
        found: IntArray = np.sort(drawn)
        return found

    def pool_of(self, rows: IntArray) -> CasePool:
        """These cases, for a tutor to choose from."""
        return CasePool(self.values[rows], self.outcomes[rows])

    @cached_property
    def checks(self) -> list[CheckCase]:
        """The checks, in the order in which everyone gets them."""
        drawn = np.random.default_rng(0)
        rows = self._order[1].tolist()
        return [CheckCase(row, sets[int(drawn.integers(len(sets)))]) for row in rows
                if (sets := self._sets_of(row))]  # fmt: skip

    def check_at(self, number: int) -> CheckCase | None:
        """The check that is case `number`, counted from 0; None if that case is taught."""
        turn, place = divmod(number, EVERY)
        return self.checks[turn % len(self.checks)] if place == EVERY - 1 else None

    def row_at(self, number: int, who: str) -> int:
        """The row of a case where cases come in random order, another one for each trainee."""
        turn, place = divmod(number, self.teaching.size)
        order = np.random.default_rng([seed_of(who), turn]).permutation(self.teaching)
        return int(order[place])


def seed_of(who: str) -> int:
    """A random seed of a person, from their id."""
    return int.from_bytes(hashlib.sha256(who.encode()).digest()[:8], "big")


def held(values: FloatArray, outcomes: FloatArray) -> tuple[list[HeldCase], str]:
    """Cases as the store keeps them, and their hash."""
    rows = [
        HeldCase([None if np.isnan(x) else float(x) for x in row], float(outcome))
        for row, outcome in zip(values, outcomes, strict=True)
    ]
    return rows, hashlib.sha256(values.tobytes() + outcomes.tobytes()).hexdigest()


def plan_for(problem: Problem) -> str:
    """A plan file for a course without one: the best set, always. It also names the problem."""
    # Durations are left out: the same table gives the same file.
    return replace(solve(problem, "stationary"), seconds=0.0, compiled=0.0, proved=0.0).to_json()


def start(
    connection: Connection,
    config: CourseConfig,
    plan: str,
    values: FloatArray,
    outcomes: FloatArray,
    picks: str,
    given: Mapping[str, Any],
) -> bool:
    """Start the course, or go on with the one that is there; return whether it is new.

    Parameters
    ----------
    connection
        Its transaction may write.
    config
        How pages look; replaces what it was.
    plan
        A plan file.
    values, outcomes
        The cases.
    picks
        What the tutor chooses, if the course is new.
    given
        Options that must not change, by name.

    Raises
    ------
    InvalidInput
        The course that is there has other cases or other options.
    """
    course = Course(config, read_plan(plan), values, outcomes)
    assert course.checks  # too few cases are refused before anything is stored
    cases, sha256 = held(values, outcomes)
    frozen = {"cases": sha256, **given}
    there = courses.look_up(connection)
    if there is None:
        name, _ = plans.keep(connection, plan)
        plans.keep_cases(connection, COURSE, name, sha256, cases)
        courses.keep(connection, config=asdict(config), frozen=frozen, plan=name, picks=picks)
        return True
    InvalidInput.raise_if(
        f"{name}: differs from when this course was started; give the same table and options, or "
        "start another course with --database"
        for name, value in frozen.items()
        if there.frozen.get(name) != value
    )
    courses.change(connection, config=asdict(config))
    return False


def read(connection: Connection) -> tuple[KeptCourse, str, list[HeldCase]]:
    """The course as stored: its row, its plan file and its cases."""
    kept = courses.find(connection)
    return kept, plans.body_of(connection, kept.plan), plans.cases_of(connection, COURSE)


def course_of(kept: KeptCourse, plan: str, cases: Sequence[HeldCase]) -> Course:
    """The course in memory."""
    values = [[np.nan if x is None else x for x in each.values] for each in cases]
    outcomes = np.array([each.outcome for each in cases])
    guide = PlanGuide(Plan.from_json(plan), kept.plan)
    return Course(CourseConfig.of(kept.config), guide, np.array(values), outcomes)
