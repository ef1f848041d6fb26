"""Opening a round: decide what to recommend, then write it down, in one transaction if possible.

A plan is looked up within the transaction. What takes longer (a tutor that plans again, tests that
are not available) is worked out beside it, from a snapshot, and written only if the person has not
moved on meanwhile; else it is worked out again.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from preceptor.errors import PreceptorError
from preceptor.service.advising import Advice, Snapshot
from preceptor.service.guides import Guide, in_words
from preceptor.service.live import Live
from preceptor.service.schemas import Opening
from preceptor.service.views import must_be_free
from preceptor.store import people, plans, rounds
from preceptor.store.people import Person
from preceptor.store.refusals import Conflict, StoreBusy
from preceptor.store.rounds import Offer, Round

_ATTEMPTS = 5


@dataclass(frozen=True)
class Opened:
    """A round, and whether it is new."""

    round: Round
    guide: Guide
    is_new: bool


async def open_round(
    live: Live,
    who: str,
    asked: Opening,
    settled: Advice | None = None,
    number: int | None = None,
) -> Opened:
    """The next round of somebody, or the one that is open.

    Where it is `settled` beforehand what to show, as in a test of a study, nobody is asked. With a
    `number` it is that round which is opened; `Conflict` if another is next.
    """
    thought: tuple[int, Advice] | None = None
    for _ in range(_ATTEMPTS):
        found = await live.store.writing(_Attempt(live, who, asked, settled, number, thought))
        if isinstance(found, Opened):
            return found
        thought = (found.person.version, await think(live, found))
    raise StoreBusy(f"person: {who!r} keeps changing; try again")


async def think(live: Live, snapshot: Snapshot) -> Advice:
    """What takes longer than a look-up."""
    guide, who, available = snapshot.guide, snapshot.person, snapshot.available
    if who.policy == "tutor":
        return await live.advising.advice(snapshot)
    assert available is not None
    at_hand = partial(guide.at_hand, who.counts, who.position, available)
    case = await asyncio.to_thread(at_hand)
    return Advice(case.shown, in_words(case))


async def think_ahead(live: Live, who: str) -> None:
    """Begin with what somebody's tutor is going to be asked next."""

    def look(connection: Connection) -> Snapshot:
        person = people.find(connection, who)
        guide = live.book.guide(connection, person.plan)
        return Snapshot(guide, person, rounds.all_of(connection, who), None)

    with contextlib.suppress(PreceptorError):  # whoever opens the round will hear of it
        live.advising.begin(await live.store.reading(look))


@dataclass(frozen=True)
class _Attempt:
    """One transaction that opens a round, or says what has to be thought about first."""

    live: Live
    who: str
    asked: Opening
    settled: Advice | None
    number: int | None
    thought: tuple[int, Advice] | None

    def __call__(self, connection: Connection) -> Opened | Snapshot:
        who = people.find(connection, self.who, to_change=True)
        if self.number is None:  # whoever opens rounds of a study says which one
            must_be_free(who)
        there = rounds.open_of(connection, who.id)
        if there is not None:
            return Opened(there, self.live.book.guide(connection, there.plan), False)
        if self.number is not None and self.number != who.rounds:
            raise Conflict(f"round {self.number}: is over; round {who.rounds} is next")
        guide = self.live.book.guide(connection, who.plan)
        case_number, available = self._at_hand(connection, guide, who)
        advice = self._advice(guide, who, available)
        if advice is None:
            return Snapshot(guide, who, rounds.all_of(connection, who.id), available)
        made = rounds.offer(
            connection,
            who,
            Offer(
                recommended=guide.words.labels_of(advice.columns),
                reason=advice.reason,
                opened_with=self.asked.model_dump(exclude_none=True),
                feedback=self.asked.feedback,
                case_number=case_number,
                propensity=advice.propensity,
            ),
        )
        return Opened(made, guide, True)

    def _at_hand(
        self, connection: Connection, guide: Guide, who: Person
    ) -> tuple[int | None, tuple[int, ...] | None]:
        """Which case of the person's list it is, if there is one, and what can be shown of it."""
        named = self.asked.available
        available = None if named is None else guide.words.columns(named, "available")
        if who.case_list is None:
            return None, available
        held = plans.case_list_of(connection, who.case_list)
        # A case that was seen and left is not shown again: cases go by rounds, not by answers.
        if who.rounds >= held.size:
            raise Conflict(f"cases: all {held.size} of {held.name!r} have been; enrol with more")
        values = plans.case_of(connection, held.name, who.rounds).values
        there = {i for i, value in enumerate(values) if value is not None}
        if len(there) < len(values):
            available = tuple(sorted(there if available is None else there & set(available)))
        return who.rounds, available

    def _advice(
        self, guide: Guide, who: Person, available: tuple[int, ...] | None
    ) -> Advice | None:
        """What to show, if that is known without thinking."""
        if self.settled is not None:
            return self.settled
        if self.thought is not None and self.thought[0] == who.version:
            return self.thought[1]
        if who.policy == "tutor":
            return None
        case = guide.wanted(who.counts, who.position)
        if available is not None and not set(case.shown) <= set(available):
            return None
        return Advice(case.shown, in_words(case))
