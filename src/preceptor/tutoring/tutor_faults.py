"""What is wrong with what a tutor was given."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.checks import is_count, is_number
from preceptor.errors import NotApplicable
from preceptor.evaluation.expectations import people_of
from preceptor.people.own_person import OwnPerson
from preceptor.problem import Problem
from preceptor.tutoring.rounds import Round

if TYPE_CHECKING:
    from preceptor.tutoring.tutor import Tutor


def tutor_faults(tutor: Tutor) -> list[str]:
    """Each fault as one sentence; raises `NotApplicable` for people who cannot be followed."""
    faults = []
    if not isinstance(tutor.problem, Problem):
        return [f"problem: {tutor.problem!r}, must be a Problem"]
    own = [n for n, p in people_of(tutor.problem).items() if isinstance(p, OwnPerson)]
    if own:
        raise NotApplicable(
            f"problem: {', '.join(own)} can only act and cannot be followed; use a kind that says "
            "how its weights move"
        )
    if tutor.spread is not None:
        wide = np.asarray(tutor.spread, dtype=object)
        numbers = [*wide.ravel().tolist()]
        shaped = wide.shape in ((), (tutor.problem.size,))
        if not shaped or not all(is_number(x) and x >= 0 for x in numbers):
            faults.append(
                f"spread: {tutor.spread!r}, must be one number of at least 0, or one for each of "
                f"the {tutor.problem.size} tests"
            )
    if not is_number(tutor.none_of_these) or not 0.0 <= tutor.none_of_these < 1.0:
        faults.append(f"none_of_these: {tutor.none_of_these!r}, must be at least 0 and below 1")
    if not is_count(tutor.common_rounds, least=1):
        faults.append(f"common_rounds: {tutor.common_rounds!r}, must be a whole number above 0")
    for name in ("level", "probing"):
        if not isinstance(getattr(tutor, name), (bool, np.bool_)):
            faults.append(f"{name}: {getattr(tutor, name)!r}, must be true or false")
    if not isinstance(tutor.record, (list, tuple)) or not all(
        isinstance(entry, Round) for entry in tutor.record
    ):
        return [*faults, "record: must be a list of rounds"]
    for index, entry in enumerate(tutor.record):
        found = _round_faults(entry, index, len(tutor.record), tutor.problem.size)
        faults += [f"record, round {index}: {fault}" for fault in found]
    return faults


def _round_faults(entry: Round, index: int, rounds: int, size: int) -> Iterator[str]:
    """What cannot have happened in the round with this index, from 0, of so many."""
    shown, values = entry.shown, entry.values
    if (
        not isinstance(shown, (list, tuple))
        or not all(is_count(test, least=0) and test < size for test in shown)
        or any(later <= test for test, later in pairwise(shown))
    ):
        yield f"shown {shown!r}, must be tests in ascending order, each from 0 to {size - 1}"
    elif not isinstance(values, (list, tuple)) or len(values) != len(shown):
        yield f"values {values!r}, must be as many numbers as tests were shown ({len(shown)})"
    if isinstance(values, (list, tuple)) and not all(map(is_number, values)):
        yield f"values {values!r}, must be finite numbers"
    for name in ("answer", "outcome"):
        given = getattr(entry, name)
        if given is not None and not is_number(given):
            yield f"{name} {given!r}, must be a finite number, or nothing"
    if entry.outcome is None:
        if entry.heard is not None:
            yield f"heard {entry.heard!r}, but there is no outcome; give both or neither"
    elif not is_count(entry.heard, least=index + 1) or int(entry.heard or 0) > rounds:
        yield f"heard {entry.heard!r}, must be a whole number from {index + 1} to {rounds}"
