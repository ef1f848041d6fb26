"""The running service: its state, advice for the next round, and what callers see of rounds.

A tutor replays a record that is not in memory, which may take seconds. Its advice for the next
round is therefore started as soon as a round ends, and the call that opens the next round usually
finds it done. If not, the call waits up to `patience` seconds and then gets a 503; the work
continues, and a repeated call finds it. Older advice is never used instead, because what a person
is shown must not depend on how busy a machine is.

What a plan shows next is looked up within the transaction that opens a round. Whatever takes longer
(a tutor's advice, tests that are not available) is computed outside it, from a snapshot,
and written only if the person's rounds have not changed meanwhile; otherwise it is computed again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import Request
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from sqlalchemy import Connection
from starlette.responses import Response

from preceptor.errors import InvalidInput, PreceptorError
from preceptor.live.service.access import Buckets, KnownTokens, Refusal
from preceptor.live.service.guides import PlanCache, PlanGuide, reason_in_words
from preceptor.live.service.pool import Pool, TookTooLong, WorkerDied
from preceptor.live.service.records import PersonRecord, RecordCache
from preceptor.live.service.schemas import Opening
from preceptor.live.service.settings import Recent, Settings
from preceptor.live.service.tutors import Tutors
from preceptor.live.store import people, plans, rounds
from preceptor.live.store.database import Store
from preceptor.live.store.people import AdvisedPerson
from preceptor.live.store.plans import HeldCase
from preceptor.live.store.rounds import Offer, StoredRound
from preceptor.live.store.tables import Conflict, StoreBusy


class Metrics:
    """Metrics of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.calls = Counter(
            "preceptor_requests",
            "Calls by route, method and status.",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "preceptor_request_seconds",
            "Duration of calls.",
            ("method", "route"),
            registry=self.registry,
        )
        self.rounds = Counter(
            "preceptor_rounds", "Rounds by step.", ("step",), registry=self.registry
        )

    def text(self) -> str:
        """All metrics in the Prometheus text format."""
        return generate_latest(self.registry).decode()


_Key = tuple[str, str, str, int, tuple[int, ...] | None, tuple[float | None, ...] | None]


@dataclass(frozen=True)
class RoundAdvice:
    """What to show, and why; `propensity` is its probability, 1 unless chance decides.

    Advice that was computed outside a transaction holds for one `version` of a person. Where a
    tutor picks the case, `case_number` is its number in the person's list.
    """

    columns: Sequence[int]
    reason: str
    propensity: float = 1.0
    version: int | None = None
    case_number: int | None = None


@dataclass(frozen=True)
class Snapshot:
    """What advice depends on: a person with their record, and the tests that can be shown.

    `known` are results (n,) that a tutor may look at, None where unknown; `policy` is the policy of
    an arm that looks at cases, as plain data. `pool` are cases of the person's list, by number,
    from which the tutor picks.
    """

    guide: PlanGuide
    person: AdvisedPerson
    record: PersonRecord
    available: tuple[int, ...] | None
    known: tuple[float | None, ...] | None = None
    policy: Mapping[str, Any] | None = None
    pool: Mapping[int, HeldCase] | None = None

    def key(self, task: str) -> _Key:
        """Key of a task; every change of a person's rounds increments their version."""
        who = self.person
        return who.id, task, self.guide.sha256, who.version, self.available, self.known


class Advising:
    """Advice of tutors, started early and cached.

    Parameters
    ----------
    settings
        Its `patience` limits how long a call waits for a tutor.
    pool
        Worker processes in which tutors plan.
    """

    def __init__(self, settings: Settings, pool: Pool) -> None:
        self._patience, self._pool = settings.patience, pool
        self._begun: Recent[_Key, asyncio.Task[dict[str, Any]]] = Recent()
        self._sent: Recent[tuple[str, str], int] = Recent()

    def begin(self, snapshot: Snapshot, what: str = "advise") -> asyncio.Task[dict[str, Any]]:
        """Start computing advice or beliefs, unless that is under way or done."""
        key = snapshot.key(what)
        task = self._begun.get(key)
        if task is None or (task.done() and (task.cancelled() or task.exception())):
            task = asyncio.create_task(self._ask(snapshot, what))
            task.add_done_callback(_retrieve)
            self._begun.put(key, task)
        return task

    async def advice(self, snapshot: Snapshot) -> RoundAdvice:
        """Return the advice of a tutor once it is computed."""
        said = await self._result(snapshot, "advise")
        version = snapshot.person.version
        picked = None if said["case"] is None else list(snapshot.pool or ())[said["case"]]
        return RoundAdvice(
            tuple(said["columns"]), said["reason"], version=version, case_number=picked
        )

    async def beliefs(self, snapshot: Snapshot) -> dict[str, Any]:
        """Return what a tutor thinks that the person believes, once it is computed."""
        return await self._result(snapshot, "believe")

    async def _result(self, snapshot: Snapshot, what: str) -> dict[str, Any]:
        task = self.begin(snapshot, what)
        await asyncio.wait({task}, timeout=self._patience)
        if not task.done():
            raise _later("is still planning for this person")
        try:
            return task.result()
        except (WorkerDied, TookTooLong, asyncio.CancelledError):
            raise _later("did not finish its plan for this person") from None

    async def _ask(self, snapshot: Snapshot, what: str) -> dict[str, Any]:
        """Ask a worker, and tell it of the record what it does not know yet."""
        guide, who, pool = snapshot.guide, snapshot.person.id, snapshot.pool
        record, key = snapshot.record, (guide.sha256, who)
        args: dict[str, Any] = {
            "plan": guide.sha256,
            "problem": guide.problem.to_dict(),
            "who": who,
            "policy": snapshot.policy,
        }
        if what == "advise":
            cases = [] if pool is None else list(pool.values())
            args |= {"available": snapshot.available, "known": snapshot.known}
            args["pool"] = [[list(each.values), each.outcome] for each in cases]
        if pool is not None:  # cases are told by their places in it
            rows = list(enumerate(each.to_dict() for each in record.in_pool(pool)))
            news = {"after": 0, "seq": 0, "rounds": rows}
            return await self._pool.ask(what, {**args, "news": news}, who=who)
        for after in (self._sent.get(key) or 0, 0):  # a worker may have forgotten, or be another
            news = {"after": after, "seq": record.seq, "rounds": record.since(after)}
            said = await self._pool.ask(what, {**args, "news": news}, who=who)
            if not said.get("forgot"):
                break
        self._sent.put(key, record.seq)
        return said

    def forget(self, who: str) -> None:
        """Drop everything about an erased person from memory."""
        self._begun.forget(lambda key: key[0] == who)
        self._sent.forget(lambda key: key[1] == who)

    async def stop(self) -> None:
        """Cancel what is under way."""
        tasks = [task for task in self._begun.values() if not task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _retrieve(task: asyncio.Task[dict[str, Any]]) -> None:
    """Mark a failure as retrieved: a call that needs the advice reports it."""
    if not task.cancelled():
        task.exception()


def _later(said: str) -> Refusal:
    return Refusal(503, f"tutor: {said}; try again", {"Retry-After": "1"})


class Live:
    """The state of a running service.

    Parameters
    ----------
    settings
        Its options.
    store
        Its open database.
    """

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings, self.store = settings, store
        self.guides, self.tutors, self.records = PlanCache(), Tutors(), RecordCache()
        self.metrics = Metrics()
        self.buckets = Buckets(settings.rate, settings.burst)
        self.tokens = KnownTokens(store)
        self.pool = Pool(settings.planners)
        self.advising = Advising(settings, self.pool)
        self.ready = False
        self._owner_secret = settings.owner_secret
        self._asides: set[asyncio.Task[None]] = set()

    @property
    def needs_no_token(self) -> bool:
        """Whether callers on this machine need no token: it is trusted, and there is none."""
        return self.settings.trusts_loopback and not self.tokens.are_there

    def take_owner_secret(self, given: str) -> bool:
        """Whether this is the owner's secret, which nobody has used before."""
        expected = self._owner_secret
        if not expected or not hmac.compare_digest(given.encode(), expected.encode()):
            return False
        self._owner_secret = ""
        return True

    def aside(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something in the background."""
        task = asyncio.create_task(work)
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)

    def forget(self, who: str) -> None:
        """Drop everything about an erased person from memory, here and in the pool."""
        self.tutors.forget(who)
        self.records.forget(who)
        self.advising.forget(who)
        # A worker that dies over it has forgotten, too.
        self.aside(self.pool.tell_all("forget", {"who": who}))

    async def close(self) -> None:
        """Cancel background work and close the database."""
        for task in self._asides:
            task.cancel()
        await asyncio.gather(*self._asides, return_exceptions=True)
        await self.advising.stop()
        await self.pool.end()
        self.store.close()


def live_of(request: Request) -> Live:
    """State of the service that handles a request."""
    live: Live = request.app.state.live
    return live


def answer(body: Any, status: int = 200, **headers: str) -> Response:
    """Make a JSON response; floats round-trip exactly."""
    text = json.dumps(body, separators=(",", ":"), allow_nan=False)
    return Response(text, status, headers or None, "application/json")


# Fields of a person, and of a round, that callers see unchanged.
_OF_PEOPLE = ("plan", "policy", "is_bot", "rounds", "answers", "created", "seen_at")
_COPIED = (
    *("status", "reason", "policy", "plan", "propensity", "override_reason", "prediction"),
    *("feedback", "offered_at", "shown_at", "predicted_at", "ended_at"),
)


def round_view(guide: PlanGuide, there: StoredRound) -> dict[str, Any]:
    """A round for the caller: with the outcome only once the person may know it."""
    words, shown = guide.words, there.shown
    return {
        "person": there.person,
        "round": there.number,
        **{name: getattr(there, name) for name in _COPIED},
        "recommended": None if there.recommended is None else words.tests(there.recommended),
        "gap": guide.gap,
        "case": there.opened_with.get("case"),
        "available": there.opened_with.get("available"),
        "shown": None if shown is None else words.tests(shown),
        "values": None if shown is None else words.spoken(shown, there.values or ()),
        "outcome": there.outcome if there.status == "told" else None,
    }


def person_view(
    guide: PlanGuide, who: AdvisedPerson, open_round: StoredRound | None
) -> dict[str, Any]:
    """A person, without estimates, which take time to compute."""
    return {
        "person": who.id,
        "cases": who.case_list,
        "counts": guide.words.by_test(who.counts),
        "open_round": None if open_round is None else round_view(guide, open_round),
        **{name: getattr(who, name) for name in _OF_PEOPLE},
    }


def log_row(guide: PlanGuide, there: StoredRound, *, is_bot: bool) -> dict[str, Any]:
    """A row of the library's log (`Log.read`), with further columns of the store."""
    spoken = guide.words.spoken(there.shown or (), there.values or ())
    view = round_view(guide, there)
    same = ("status", "recommended", "policy", "plan", "propensity", "case", "override_reason")
    return {
        "participant": there.person,
        "round": there.number,
        "shown": list(spoken),
        "values": list(spoken.values()),
        "prediction": there.prediction,
        "outcome": there.outcome,
        "feedback": there.status == "told",
        "when": there.predicted_at,
        "seq": there.seq,
        **{name: view[name] for name in same},
        "is_bot": is_bot,
    }


def must_be_in_no_study(person: AdvisedPerson) -> AdvisedPerson:
    """Return a person who is in no study; raise `Conflict` if they are in one.

    Only the pages of a study move its participants: an answer sent by a program would be counted
    as theirs, and what they are shown reveals their arm.
    """
    if person.study is not None:
        raise Conflict(
            f"person: {person.id!r} takes part in study {person.study!r}: only its pages move "
            f"them, and its owner can look them up at /studies/{person.study}"
        )
    return person


@dataclass(frozen=True)
class OpenedRound:
    """A round, and whether it is new."""

    round: StoredRound
    guide: PlanGuide
    is_new: bool


async def open_round(live: Live, who: str, asked: Opening) -> OpenedRound:
    """Open the next round of a person, or return the one that is open."""
    planned: RoundAdvice | None = None
    end = time.monotonic() + live.settings.patience
    while True:
        found = await live.store.writing(_Attempt(live, who, asked, planned))
        if isinstance(found, OpenedRound):
            return found
        if planned is not None and time.monotonic() > end:
            raise StoreBusy(f"person: {who!r} keeps changing; try again")
        planned = await compute_advice(live, found)


async def compute_advice(live: Live, snapshot: Snapshot) -> RoundAdvice:
    """Compute advice that takes longer than a look-up."""
    guide, who, available = snapshot.guide, snapshot.person, snapshot.available
    if who.policy == "tutor":
        return await live.advising.advice(snapshot)
    assert available is not None
    at_hand = partial(guide.best_available, who.counts, who.position, available)
    case = await asyncio.to_thread(at_hand)
    return RoundAdvice(case.shown, reason_in_words(case), version=who.version)


async def snapshot_of(live: Live, who: str) -> Snapshot:
    """Read what a person's tutor needs to know for the next round."""

    def look(connection: Connection) -> Snapshot:
        person = people.find(connection, who)
        guide = live.guides.guide(connection, person.plan)
        return Snapshot(guide, person, live.records.of(connection, guide, person), None)

    return await live.store.reading(look)


async def start_advice(live: Live, who: str) -> None:
    """Start computing what a person's tutor will be asked next."""
    with contextlib.suppress(PreceptorError):  # the call that opens the round reports it
        live.advising.begin(await snapshot_of(live, who))


@dataclass(frozen=True)
class _Attempt:
    """One transaction that opens a round, or returns a snapshot to plan from first."""

    live: Live
    who: str
    asked: Opening
    planned: RoundAdvice | None

    def __call__(self, connection: Connection) -> OpenedRound | Snapshot:
        who = must_be_in_no_study(people.find(connection, self.who, to_change=True))
        there = rounds.open_of(connection, who.id)
        if there is not None:
            return OpenedRound(there, self.live.guides.guide(connection, there.plan), False)
        guide = self.live.guides.guide(connection, who.plan)
        case_number, available = self._available(connection, guide, who)
        known = self._known(guide, who)
        advice = self._advice(guide, who, available)
        if advice is None:
            record = self.live.records.of(connection, guide, who)
            return Snapshot(guide, who, record, available, known)
        offer = Offer(
            recommended=guide.words.labels_of(advice.columns),
            reason=advice.reason,
            opened_with=self.asked.model_dump(exclude_none=True),
            feedback=self.asked.feedback,
            case_number=case_number,
            propensity=advice.propensity,
        )
        return OpenedRound(rounds.offer(connection, who, offer), guide, True)

    def _available(
        self, connection: Connection, guide: PlanGuide, who: AdvisedPerson
    ) -> tuple[int | None, tuple[int, ...] | None]:
        """Which case of the person's list is next, if any, and which tests can be shown."""
        named = self.asked.available
        available = None if named is None else guide.words.columns(named, "available")
        if who.case_list is None:
            return None, available
        held = plans.case_list_of(connection, who.case_list)
        # Cases go by rounds, not by answers: one that was seen and abandoned is not shown again.
        if who.rounds >= held.size:
            raise Conflict(
                f"cases: all {held.size} of {held.name!r} have been used; enrol with a longer list"
            )
        values = plans.case_of(connection, held.name, who.rounds).values
        there = {i for i, value in enumerate(values) if value is not None}
        if len(there) < len(values):
            available = tuple(sorted(there if available is None else there & set(available)))
        return who.rounds, available

    def _known(self, guide: PlanGuide, who: AdvisedPerson) -> tuple[float | None, ...] | None:
        """Results that the tutor may look at, by column."""
        if self.asked.known is None:
            return None
        if who.policy != "tutor":
            raise InvalidInput("known: a plan does not look at results; enrol with a tutor")
        read = guide.words.results(self.asked.known)
        return tuple(read.get(column) for column in range(guide.problem.size))

    def _advice(
        self, guide: PlanGuide, who: AdvisedPerson, available: tuple[int, ...] | None
    ) -> RoundAdvice | None:
        """What to show; None if that has to be planned first."""
        if self.planned is not None and self.planned.version == who.version:
            return self.planned
        if who.policy == "tutor":
            return None
        case = guide.wanted(who.counts, who.position)
        if available is not None and not set(case.shown) <= set(available):
            return None
        return RoundAdvice(case.shown, reason_in_words(case))
