"""Cached tutors, one per person, made from a record or brought up to date with it.

A tutor follows from the problem and the record alone, so the store keeps nothing but rounds. The
last tutor of a person stays in memory, because it has its current plan and only needs what is new.
`TASKS` are the tasks of a worker process of the service.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from preceptor.learners.case_choice import CasePool
from preceptor.learners.case_policy import CaseAware
from preceptor.learners.tutor import Tutor
from preceptor.learners.tutor_record import TutorRound
from preceptor.live.service.settings import Recent
from preceptor.model.problem import Problem


class Tutors:
    """A cache of tutors, one per person."""

    def __init__(self) -> None:
        self._tutors: Recent[tuple[str, str], Tutor] = Recent()

    def of(
        self, first: Callable[[], Tutor], plan: str, who: str, record: Sequence[TutorRound]
    ) -> Tutor:
        """Return the tutor of a person after these rounds.

        Parameters
        ----------
        first
            Makes the tutor before the first round, if there is none yet.
        plan
            Hash of the plan, which names the problem.
        who
            The person.
        record
            Their answered rounds.

        Returns
        -------
        Tutor
            Equal to a tutor made from the whole record.
        """
        record, key = tuple(record), (plan, who)
        known = self._tutors.get(key)
        tutor = None if known is None else _brought_up(known, record)
        if tutor is None:
            tutor = dataclasses.replace(first(), record=record)
        self._tutors.put(key, tutor)
        return tutor

    def forget(self, who: str) -> None:
        """Drop everything about an erased person from memory."""
        self._tutors.forget(lambda key: key[1] == who)


def _brought_up(tutor: Tutor, record: Sequence[TutorRound]) -> Tutor | None:
    """The tutor after the new part of the record; None if the record diverged."""
    before = tutor.record
    if len(before) > len(record):
        return None
    for number, (then, now) in enumerate(zip(before, record, strict=False)):
        if then == now:
            continue
        late = then.outcome is None and now.heard == len(before)
        if not late or dataclasses.replace(now, outcome=None, heard=None) != then:
            return None
        assert now.outcome is not None
        tutor = tutor.told(now.outcome, number)
    for played in range(len(before) + 1, len(record) + 1):
        new = record[played - 1]
        tutor = tutor.after(new.shown, new.values, new.answer, case=new.case)
        for number, heard in enumerate(record[:played]):
            if heard.heard == played and heard.outcome is not None:
                tutor = tutor.told(heard.outcome, number)
    return tutor if tutor.record == tuple(record) else None


_TUTORS = Tutors()


def ready() -> dict[str, Any]:
    """Confirm that the worker has started."""
    return {}


def advise(
    plan: str,
    problem: Mapping[str, Any],
    who: str,
    record: Sequence[Mapping[str, Any]],
    available: Sequence[int] | None,
    known: Sequence[float | None] | None = None,
    policy: Mapping[str, Any] | None = None,
    pool: Sequence[tuple[Sequence[float], float]] = (),
) -> dict[str, Any]:
    """Advice of a person's tutor, who may look at known results or pick a case of a pool.

    `policy` is a `CaseAware`; the pool has results and outcome of each case.
    """

    def first() -> Tutor:
        given = Problem.from_dict(problem)
        return Tutor(given) if policy is None else CaseAware.from_dict(policy).tutor(given)

    rounds = [TutorRound.from_dict(each) for each in record]
    tutor = _TUTORS.of(first, plan, who, rounds)
    case = None if known is None else [np.nan if each is None else each for each in known]
    past = CasePool(*map(np.array, zip(*pool, strict=True))) if pool else None
    said = tutor.recommendation(available, case=case, pool=past)
    return {"columns": list(said.shown), "reason": said.reason, "case": said.case}


def forget(who: str) -> dict[str, Any]:
    """Drop everything about an erased person from memory."""
    _TUTORS.forget(who)
    return {}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    each.__name__: each for each in (ready, advise, forget)
}
