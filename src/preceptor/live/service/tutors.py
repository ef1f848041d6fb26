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
        self._tutors: Recent[tuple[str, str], tuple[Tutor, tuple[TutorRound, ...]]] = Recent()

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
        tutor = None if known is None else _brought_up(*known, record)
        if tutor is None:
            tutor = dataclasses.replace(first(), record=record)
        self._tutors.put(key, (tutor, record))
        return tutor

    def forget(self, who: str) -> None:
        """Drop everything about an erased person from memory."""
        self._tutors.forget(lambda key: key[1] == who)


def _brought_up(
    tutor: Tutor, before: Sequence[TutorRound], record: Sequence[TutorRound]
) -> Tutor | None:
    """The tutor of `before` after the new part of the record; None if the record diverged."""
    if len(before) > len(record):
        return None
    changed = []
    for number, (then, now) in enumerate(zip(before, record, strict=False)):
        if then is now or then == now:  # thousands of rounds are the same objects as before
            continue
        late = then.outcome is None and now.heard == len(before)
        if not late or dataclasses.replace(now, outcome=None, heard=None) != then:
            return None
        assert now.outcome is not None
        tutor = tutor.told(now.outcome, number)
        changed.append(number)
    for played in range(len(before) + 1, len(record) + 1):
        new = record[played - 1]
        tutor = tutor.after(new.shown, new.values, new.answer, None, new.case)
        for number, heard in enumerate(record[:played]):
            if heard.heard == played and heard.outcome is not None:
                tutor = tutor.told(heard.outcome, number)
        changed.append(played - 1)
    same = all(tutor.record[number] == record[number] for number in changed)
    return tutor if same and len(tutor.record) == len(record) else None


_TUTORS = Tutors()
# The last event and the rounds of each person's record, as far as this worker was told.
_RECORDS: Recent[tuple[str, str], tuple[int, tuple[TutorRound, ...]]] = Recent()


def _record(plan: str, who: str, news: Mapping[str, Any]) -> tuple[TutorRound, ...] | None:
    """The record of a person after news of it; None if they follow on what is not known here."""
    seq, known = _RECORDS.get((plan, who)) or (0, ())
    if news["after"] == 0:
        known = ()
    elif news["after"] != seq:
        return None
    rows = list(known)
    for place, each in news["rounds"]:
        rows[place : place + 1] = [TutorRound.from_dict(each)]
    _RECORDS.put((plan, who), (news["seq"], tuple(rows)))
    return tuple(rows)


def ready() -> dict[str, Any]:
    """Confirm that the worker has started."""
    return {}


def beliefs_of(tutor: Tutor) -> dict[str, Any]:
    """What a tutor thinks that the person believes: weights with intervals, and kinds."""
    return {
        "means": tutor.coefficients.tolist(),
        "intervals": tutor.intervals().tolist(),
        "kinds": tutor.kinds,
    }


# Seconds that a worker follows a long record before others have a turn.
_AT_ONCE = 0.5


def _with_tutor(
    work: Callable[[Tutor], dict[str, Any]],
    plan: str,
    problem: Mapping[str, Any],
    who: str,
    news: Mapping[str, Any],
    policy: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The result of work with the tutor of a person after news of their record.

    If the record before the news is not known here, the result says so ("forgot"); if there is more
    of it to follow, with which arguments to go on ("more").
    """

    def first() -> Tutor:
        given = Problem.from_dict(problem)
        return Tutor(given) if policy is None else CaseAware.from_dict(policy).tutor(given)

    record = _record(plan, who, news)
    if record is None:
        return {"forgot": True}
    tutor = _TUTORS.of(first, plan, who, record)
    if not tutor.catch_up(_AT_ONCE):
        # A record without an event to name it by is told whole again.
        known = {"after": news["seq"], "seq": news["seq"], "rounds": []}
        return {"more": {"news": known} if news["seq"] else {}}
    return work(tutor)


def believe(
    plan: str,
    problem: Mapping[str, Any],
    who: str,
    news: Mapping[str, Any],
    policy: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Beliefs of a person by their tutor; arguments are those of `advise`."""
    return _with_tutor(beliefs_of, plan, problem, who, news, policy)


def advise(
    plan: str,
    problem: Mapping[str, Any],
    who: str,
    news: Mapping[str, Any],
    available: Sequence[int] | None,
    known: Sequence[float | None] | None = None,
    policy: Mapping[str, Any] | None = None,
    pool: Sequence[tuple[Sequence[float], float]] = (),
) -> dict[str, Any]:
    """Advice of a person's tutor, who may look at known results or pick a case of a pool.

    `news` are rounds that have changed `after` an event, by place, up to event `seq`; all of them
    after 0. `policy` is a `CaseAware`; the pool has results and outcome of each case.
    """

    def chosen(tutor: Tutor) -> dict[str, Any]:
        case = None if known is None else [np.nan if each is None else each for each in known]
        past = CasePool(*map(np.array, zip(*pool, strict=True))) if pool else None
        said = tutor.recommendation(available, case=case, pool=past)
        return {"columns": list(said.shown), "reason": said.reason, "case": said.case}

    return _with_tutor(chosen, plan, problem, who, news, policy)


def forget(who: str) -> dict[str, Any]:
    """Drop everything about an erased person from memory."""
    _TUTORS.forget(who)
    _RECORDS.forget(lambda key: key[1] == who)
    return {}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    each.__name__: each for each in (ready, advise, believe, forget)
}
