"""What a plan recommends to one person, in the names that callers use.

This is the one place where results, answers and outcomes are checked. Advice is fast enough for a
request, because nothing is solved here. A person who is off the plan continues from the furthest
point that they have reached; the reason mentions that a tutor, which adapts, may do better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from preceptor._base.checks import is_number
from preceptor._base.parallel import one_blas_thread
from preceptor._base.words import unknown_name_faults
from preceptor.advice.next_case import (
    FollowedPlan,
    NextCase,
    SeenSoFar,
    best_available,
    from_here,
    is_over,
    off_plan_in_words,
    unavailable_in_words,
)
from preceptor.data.log_cells import LogTests, cells_of
from preceptor.errors import InvalidInput
from preceptor.learners.tutor_record import TutorRound as Followed
from preceptor.learners.tutor_record import check_plausible
from preceptor.live.service.settings import Recent
from preceptor.live.store import plans
from preceptor.live.store.checking import PlanColumns
from preceptor.model.count_policy import CountPolicy
from preceptor.model.plan import Plan
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import YesNoRisk


class Seen(NamedTuple):
    """What a person saw: columns by name, in the order of the world, and their results."""

    labels: list[str]
    values: list[float]


class Wording:
    """Names and checks of one problem.

    Parameters
    ----------
    problem
        The problem with its tests and its outcome.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.labels = problem.world.labels
        self._tests = LogTests.of(problem.world)
        self._categories = {each.test: each for each in self._tests.categories}
        self._position = {label: i for i, label in enumerate(self.labels)}
        self._names: dict[tuple[str, ...], list[str]] = {}

    def columns(self, names: Sequence[str], what: str) -> TestSet:
        """Columns of tests by name; `what` names the field in error messages."""
        world = self.problem.world
        InvalidInput.raise_if(unknown_name_faults(what, names, world.tests))
        if len(set(names)) != len(names):
            raise InvalidInput(f"{what}: {', '.join(names)}; name each test once")
        return world.columns_of(names)

    def labels_of(self, columns: Sequence[int]) -> list[str]:
        """Columns by name."""
        return [self.labels[i] for i in columns]

    def indices(self, labels: Sequence[str]) -> TestSet:
        """Columns by index, in the order given."""
        return tuple(self._position[label] for label in labels)

    def tests(self, labels: Sequence[str]) -> list[str]:
        """Names of the tests that these columns make up."""
        key = tuple(labels)
        if key not in self._names:
            self._names[key] = list(self.problem.world.name_of(self.indices(labels)))
        return self._names[key]

    def counted(self, labels: Sequence[str]) -> list[int]:
        """1 for each column that is among these, (n,)."""
        shown = set(labels)
        return [int(label in shown) for label in self.labels]

    def counts(self, by_test: Mapping[str, int] | None, what: str) -> list[int]:
        """Exposure count of each column, from counts by name of test."""
        given = dict(by_test or {})
        self.columns(list(given), what)
        counts = [0] * len(self.labels)
        for name, count in given.items():
            for column in self.problem.world.columns_of([name]):
                counts[column] = count
        return counts

    def by_test(self, counts: Sequence[int]) -> dict[str, int]:
        """Exposure counts by name of test."""
        world = self.problem.world
        blocks = zip(world.tests, world.blocks, strict=True)
        return {name: counts[block[0]] for name, block in blocks}

    def seen(self, names: Sequence[str], values: Mapping[str, float | str]) -> Seen:
        """Check what a person saw of these tests."""
        columns = self.columns(names, "tests")
        faults = [f"values: {name!r} was shown, but has no result" for name in names]
        faults = [fault for fault, name in zip(faults, names, strict=True) if name not in values]
        extra = [name for name in values if name not in names]
        faults += [f"values: {name!r} has a result, but was not shown" for name in extra]
        InvalidInput.raise_if(faults)
        read = self.results(values)
        labels, numbers = self.labels_of(columns), [read[i] for i in columns]
        Followed.checked(self.problem.world, columns, numbers, None)
        return Seen(labels, numbers)

    def results(self, values: Mapping[str, float | str]) -> dict[int, float]:
        """Results by column; a categorical test is given by its level."""
        read: dict[int, float] = {}
        faults = []
        for name, value in values.items():
            category = self._categories.get(name)
            columns = self.columns([name], "values")
            if category is not None:
                try:
                    read |= category.values_of(value)
                except ValueError as error:
                    faults.append(f"values: {error}")
            elif isinstance(value, str) or not is_number(value):
                faults.append(f"values: {name!r} is {value!r}, must be a finite number")
            elif len(columns) > 1:
                faults.append(f"values: {name!r} has several columns, and no level names them")
            else:
                read[columns[0]] = float(value)
        InvalidInput.raise_if(faults)
        return read

    def spoken(self, labels: Sequence[str], values: Sequence[float]) -> dict[str, float | str]:
        """Results by test, in the units that people read."""
        columns = self.indices(labels)
        whole = np.full(len(self.labels), np.nan)
        whole[list(columns)] = values
        return cells_of(sorted(columns), whole, self._tests)

    def answer(self, given: float) -> float:
        """Check an answer; for decisions yes is 1 and no is 0."""
        risk = self.problem.risk
        if isinstance(risk, YesNoRisk) and risk.decides:
            return self._yes_or_no("prediction", given)
        return self._number("prediction", given)

    def outcome(self, given: float) -> float:
        """Check an outcome."""
        if self.problem.is_binary:
            return self._yes_or_no("outcome", given)
        return self._number("outcome", given)

    def _yes_or_no(self, name: str, given: float) -> float:
        if given not in (0, 1):
            raise InvalidInput(f"{name}: {given!r}, must be 1 for yes or 0 for no")
        return float(given)

    def _number(self, name: str, given: float) -> float:
        if not is_number(given):
            raise InvalidInput(f"{name}: {given!r}, must be a finite number")
        check_plausible(self.problem.world, name, given)
        return float(given)


_CONTINUES = "Continuing with the plan from there; a tutor for this person may do better."


class PlanGuide(FollowedPlan):
    """A plan in use, by any number of people.

    Parameters
    ----------
    plan
        The plan to follow.
    sha256
        Hash of its file.
    """

    def __init__(self, plan: Plan, sha256: str) -> None:
        super().__init__(plan)
        self.sha256, self.words = sha256, Wording(plan.problem)

    @property
    def gap(self) -> float | None:
        """Largest relative excess of the plan's cost over the optimum; None if unknown."""
        return self.plan.gap if math.isfinite(self.plan.gap) else None

    def wanted(self, counts: Sequence[int], position: int | None) -> NextCase:
        """What the plan shows next, whether or not it is available.

        Parameters
        ----------
        counts
            Exposure count of each column since the plan began, (n,).
        position
            Rounds since the plan began; None if only counts are known.

        Returns
        -------
        NextCase
            Without its loss, which takes longer to compute.
        """
        problem, policy, reasons = self.problem, self.policy, []
        done, on_plan = self.place(counts, position)
        if self.planned is None or (isinstance(policy, CountPolicy) and not on_plan):
            totals = np.add(problem.start_counts, counts).tolist()
            shown = policy.recommend(totals, position if self.planned is None else None)
        else:
            shown = self.planned.shown(done)
        horizon = problem.horizon
        if horizon is not None and position is not None and position >= horizon:
            reasons.append(is_over(horizon))
        elif not on_plan and self.planned is not None:
            reasons += [off_plan_in_words(problem, self.planned, counts, done), _CONTINUES]
        return self.case(shown, position, done, on_plan, reasons)

    def best_available(
        self, counts: Sequence[int], position: int | None, available: Sequence[int]
    ) -> NextCase:
        """The best set among the available tests; takes longer than a look-up."""
        wanted = self.wanted(counts, position)
        if set(wanted.shown) <= set(available):
            return wanted
        with one_blas_thread():
            now, rest = self.problem, None
            if self.problem.learns_by_showings:
                now = from_here(self.problem, SeenSoFar(tuple(counts), None, position))
                rest = self.rest(self.place(counts, position)[0])
            shown = best_available(now, available, wanted.shown, rest)
        said = unavailable_in_words(self.problem, wanted.shown, available)
        names = tuple(self.problem.world.name_of(shown))
        return replace(wanted, shown=shown, names=names, reasons=(*wanted.reasons, said))


def read_plan(body: str) -> PlanGuide:
    """Read and check a plan file."""
    guide = PlanGuide(Plan.from_json(body), plans.sha256_of(body))
    guide.wanted([0] * guide.problem.size, 0)
    return guide


def reason_in_words(case: NextCase) -> str:
    """The full reason, as one paragraph."""
    return " ".join([case.in_words(), *case.reasons])


class PlanCache:
    """Plans in memory, by hash: each file is read once, however many people follow it."""

    def __init__(self) -> None:
        self._guides: Recent[str, PlanGuide] = Recent()

    def guide(self, connection: Connection, sha256: str) -> PlanGuide:
        """Return the guide of a stored plan.

        Parameters
        ----------
        connection
            To read the plan if it is not in memory.
        sha256
            Hash of its file.

        Returns
        -------
        PlanGuide
            Shared by all callers.

        Raises
        ------
        NotFound
            There is no such plan.
        """
        found = self.known(sha256)
        if found is None:
            found = PlanGuide(Plan.from_json(plans.body_of(connection, sha256)), sha256)
            self.add(found)
        return found

    def columns_of(self, connection: Connection, sha256: str) -> PlanColumns:
        """How names map to columns of a plan, for a check of the store."""
        words = self.guide(connection, sha256).words
        return PlanColumns(words.counted, lambda by_test: words.counts(by_test, "start"))

    def known(self, sha256: str) -> PlanGuide | None:
        """Return the guide if it is in memory."""
        return self._guides.get(sha256)

    def add(self, guide: PlanGuide) -> None:
        """Add a guide."""
        self._guides.put(guide.sha256, guide)
