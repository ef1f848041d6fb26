"""What is wrong with what a tutor was given."""

from __future__ import annotations

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
    if not all(isinstance(entry, Round) for entry in tutor.record):
        faults.append("record: must be a list of rounds")
    return faults
