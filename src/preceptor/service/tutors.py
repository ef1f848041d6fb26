"""Tutors in memory, one a person, made from a record or brought up to date with it.

A tutor follows from the problem and the record alone, so nothing but rounds is kept in the store.
The last tutor of a person stays in memory, because it knows the plan that it follows at the moment
and is only told what is new. `TASKS` is what a process that plans beside the service can do.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from preceptor.problem import Problem
from preceptor.service.recent import Recent
from preceptor.tutoring import Tutor
from preceptor.tutoring.rounds import Round


class Tutors:
    """One tutor a person, made or brought up to date when somebody asks."""

    def __init__(self) -> None:
        self._tutors: Recent[tuple[str, str], Tutor] = Recent()

    def of(
        self, problem: Callable[[], Problem], plan: str, who: str, record: Sequence[Round]
    ) -> Tutor:
        """The tutor of somebody after these rounds.

        Parameters
        ----------
        problem
            Gives what they may be and what may be shown, where there is no tutor yet.
        plan
            The name of that problem.
        who
            The person.
        record
            Their answered rounds.

        Returns
        -------
        Tutor
            Equal to one that is made from the whole record.
        """
        record, key = tuple(record), (plan, who)
        known = self._tutors.get(key)
        tutor = None if known is None else _brought_up(known, record)
        if tutor is None:
            tutor = Tutor(problem(), record=record)
        self._tutors.put(key, tutor)
        return tutor

    def forget(self, who: str) -> None:
        """Nothing about somebody who was erased stays in memory."""
        self._tutors.forget(lambda key: key[1] == who)


def _brought_up(tutor: Tutor, record: Sequence[Round]) -> Tutor | None:
    """The tutor after what is new in the record; None if the record went another way."""
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
        tutor = tutor.answered(new.shown, new.values, new.answer)
        for number, heard in enumerate(record[:played]):
            if heard.heard == played and heard.outcome is not None:
                tutor = tutor.told(heard.outcome, number)
    return tutor if tutor.record == tuple(record) else None


# --- tasks of a process that plans: plain data in, plain data out ------------------------------

_TUTORS = Tutors()


def ready() -> dict[str, Any]:
    """Say that the process has begun."""
    return {}


def advise(
    plan: str,
    problem: Mapping[str, Any],
    who: str,
    record: Sequence[Mapping[str, Any]],
    available: Sequence[int] | None,
) -> dict[str, Any]:
    """What somebody's tutor says."""
    rounds = [Round.from_dict(each) for each in record]
    tutor = _TUTORS.of(lambda: Problem.from_dict(problem), plan, who, rounds)
    said = tutor.recommendation(available)
    return {"columns": list(said.shown), "reason": said.reason}


def forget(who: str) -> dict[str, Any]:
    """Nothing about somebody who was erased stays in memory."""
    _TUTORS.forget(who)
    return {}


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    each.__name__: each for each in (ready, advise, forget)
}
