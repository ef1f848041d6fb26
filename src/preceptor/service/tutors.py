"""Tutors in memory, one a person, made from a record or brought up to date with it.

A tutor follows from the problem and the record alone, so nothing but rounds is kept in the store.
The last tutor of a person stays in memory, because it knows the plan that it follows at the moment
and is only told what is new.
"""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Sequence

from preceptor.problem import Problem
from preceptor.tutoring import Tutor
from preceptor.tutoring.rounds import Round

_MOST = 512


class Tutors:
    """One tutor a person, made or brought up to date when somebody asks."""

    def __init__(self) -> None:
        self._tutors: OrderedDict[tuple[str, str], Tutor] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, problem: Problem, plan: str, who: str, record: Sequence[Round]) -> Tutor:
        """The tutor of somebody after these rounds.

        Parameters
        ----------
        problem
            Says what they may be and what may be shown.
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
        with self._lock:
            known = self._tutors.get(key)
        tutor = None if known is None else _brought_up(known, record)
        if tutor is None:
            tutor = Tutor(problem, record=record)
        with self._lock:
            self._tutors[key] = tutor
            self._tutors.move_to_end(key)
            while len(self._tutors) > _MOST:
                self._tutors.popitem(last=False)
        return tutor

    def forget(self, who: str) -> None:
        """Nothing about somebody who was erased stays in memory."""
        with self._lock:
            for key in [key for key in self._tutors if key[1] == who]:
                del self._tutors[key]


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
