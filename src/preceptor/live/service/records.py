"""Records of people: answered rounds as a tutor follows them, read from the store once.

A call reads only what has changed since the last one, so what it takes does not grow with the
number of rounds a person has played.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from sqlalchemy import Connection

from preceptor.learners.tutor_record import TutorRound
from preceptor.live.service.guides import PlanGuide
from preceptor.live.service.settings import Recent
from preceptor.live.store import rounds
from preceptor.live.store.people import AdvisedPerson
from preceptor.live.store.rounds import StoredRound


@dataclass(frozen=True)
class PersonRecord:
    """Answered rounds in the order of the answers, each with when its outcome was told.

    Attributes
    ----------
    rounds
        The rounds, without their cases.
    cases
        The case of each, by its number in the person's list; None if the caller has it.
    changed
        The last event of each.
    seq
        The last event of any of the person's rounds; 0 if there is none.
    """

    rounds: tuple[TutorRound, ...] = ()
    cases: tuple[int | None, ...] = ()
    changed: tuple[int, ...] = ()
    seq: int = 0

    def after(self, guide: PlanGuide, news: Sequence[StoredRound]) -> Self:
        """The record after these rounds have changed."""
        if not news:
            return self
        rows, cases, changed = list(self.rounds), list(self.cases), list(self.changed)
        for each in sorted(news, key=lambda one: one.answered or 0):
            if each.answered is not None:
                here = slice(each.answered - 1, each.answered)
                rows[here] = [_followed(guide, each)]
                cases[here], changed[here] = [each.case_number], [each.seq]
        last = max(each.seq for each in news)
        return type(self)(tuple(rows), tuple(cases), tuple(changed), last)

    def in_pool(self, pool: Mapping[int, Any]) -> tuple[TutorRound, ...]:
        """The rounds, each with the place of its case in a pool, which has cases by number."""
        places: dict[int | None, int] = {number: place for place, number in enumerate(pool)}
        return tuple(
            replace(each, case=places.get(number))
            for each, number in zip(self.rounds, self.cases, strict=True)
        )

    def since(self, seq: int) -> list[tuple[int, dict[str, Any]]]:
        """Rounds that have changed since an event, by their places, as plain data."""
        return [
            (place, self.rounds[place].to_dict())
            for place, changed in enumerate(self.changed)
            if changed > seq
        ]


def _followed(guide: PlanGuide, each: StoredRound) -> TutorRound:
    told = each.status == "told"
    return TutorRound(
        guide.words.indices(each.shown or ()),
        tuple(each.values or ()),
        each.prediction,
        each.outcome if told else None,
        each.outcome_known_at if told else None,
    )


class RecordCache:
    """A cache of records, one per person."""

    def __init__(self) -> None:
        self._known: Recent[tuple[str, str], PersonRecord] = Recent()

    def of(self, connection: Connection, guide: PlanGuide, person: AdvisedPerson) -> PersonRecord:
        """The record of a person as this connection sees it."""
        key = (guide.sha256, person.id)
        record = self._known.get(key) or PersonRecord()
        record = record.after(guide, rounds.changed_since(connection, person.id, record.seq))
        if len(record.rounds) != person.answers:
            # Another process erased them, and they are enrolled again under the same name.
            record = PersonRecord().after(guide, rounds.all_of(connection, person.id))
        self._known.put(key, record)
        return record

    def forget(self, who: str) -> None:
        """Drop everything about an erased person from memory."""
        self._known.forget(lambda key: key[1] == who)
