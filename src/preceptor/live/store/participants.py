"""Participants of a study: where they are in its protocol, and what they said on the way.

A participant is at one step (`stage`) of the protocol. Every move names the step it leaves, so a
form that comes twice, late or from another tab is a `Conflict` and changes nothing. Once they have
an arm, the same row also says how they are advised (`people`).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, update

from preceptor.errors import InvalidInput
from preceptor.live.store import chain
from preceptor.live.store.chain import later, now
from preceptor.live.store.plans import sha256_of
from preceptor.live.store.tables import (
    Conflict,
    NotFound,
    given_answer,
    participant_link,
    person,
    withdrawn,
)


@dataclass(frozen=True)
class Participant:
    """Where one human is in a study."""

    id: str
    study: str
    kind: str
    created: str
    seen_at: str
    recruiter: str | None = None
    status: str = "active"
    stage: int = 0
    quizzes: int = 0
    arm: str | None = None
    place: int | None = None
    draw: int | None = None
    is_lapsed: bool = False
    code: str | None = None
    ended_at: str | None = None

    @property
    def is_active(self) -> bool:
        """Whether the study is still open for them."""
        return self.status == "active"


@dataclass(frozen=True)
class StepAnswer:
    """What a participant said at a step that is no case."""

    participant: str
    stage: int
    attempt: int
    what: str
    answer: Any
    is_right: bool | None
    at: str


_SELECT = select(*(person.c[field.name] for field in fields(Participant))).where(
    person.c.study.is_not(None)
)


def in_study(study: str, kind: str | None = None) -> ColumnElement[bool]:
    """Rows of the participants of a study, of one kind or of all."""
    own = person.c.study == study
    return own if kind is None else own & (person.c.kind == kind)


def join(
    connection: Connection, study: str, *, kind: str, recruiter: str | None = None
) -> Participant:
    """Add a participant at the first step."""
    at = now()
    made = Participant(uuid4().hex, study, kind, at, at, recruiter)
    connection.execute(insert(person).values(version=1, **vars(made)))
    chain.append(connection, "joined", made.id, {"study": study, "kind": kind})
    return made


def recruiters_name(key: str, given: str) -> str:
    """Hash a recruiter's name for a participant; comparing hashes needs the study's key."""
    return hmac.new(bytes.fromhex(key), given.encode(), hashlib.sha256).hexdigest()


def by_recruiter(
    connection: Connection, study: str, kind: str, recruiter: str
) -> Participant | None:
    """Return the participant with this (hashed) recruiter's name, if there is one."""
    asked = _SELECT.where(in_study(study, kind), person.c.recruiter == recruiter)
    row = connection.execute(asked).first()
    return None if row is None else Participant(*row)


def has_withdrawn(connection: Connection, study: str, recruiter: str) -> bool:
    """Whether the participant with this (hashed) recruiter's name has withdrawn."""
    own = (withdrawn.c.study == study) & (withdrawn.c.recruiter == recruiter)
    return connection.execute(select(withdrawn.c.study).where(own)).first() is not None


def forget_recruiter(connection: Connection, who: Participant) -> Participant:
    """Remove a recruiter's name from a participant; that of a real one is remembered by itself."""
    if who.recruiter is not None and who.kind == "real":
        row = {"study": who.study, "recruiter": who.recruiter}
        connection.execute(insert(withdrawn).values(row))
    return change(connection, who, recruiter=None)


def new_link(connection: Connection, who: Participant) -> str:
    """Return a new secret for a personal link; only its hash is kept."""
    secret = secrets.token_urlsafe()
    row = {"sha256": sha256_of(secret), "participant": who.id, "created": now()}
    connection.execute(insert(participant_link).values(row))
    return secret


def revoke_links(connection: Connection, who: Participant) -> None:
    """Revoke all personal links of a participant."""
    own = participant_link.c.participant == who.id
    connection.execute(update(participant_link).where(own).values(revoked=now()))


def renew_link(connection: Connection, study: str, who: str) -> str:
    """Return the secret of a new personal link; earlier links of this participant stop working.

    Raises `InvalidInput` for a participant who is not under way.
    """
    found = find(connection, who, to_change=True)
    if found.study != study or not found.is_active:
        raise InvalidInput(f"participant: {who!r} is not under way in study {study!r}")
    revoke_links(connection, found)
    return new_link(connection, found)


def by_link(connection: Connection, secret: str) -> Participant | None:
    """Return the participant with this personal link, unless it was revoked."""
    asked = _SELECT.join(participant_link, participant_link.c.participant == person.c.id).where(
        participant_link.c.sha256 == sha256_of(secret), participant_link.c.revoked.is_(None)
    )
    row = connection.execute(asked).first()
    return None if row is None else Participant(*row)


def find(connection: Connection, who: str, *, to_change: bool = False) -> Participant:
    """Return a participant; raise `NotFound` if there is none. `to_change` locks the row."""
    asked = _SELECT.where(person.c.id == who)
    row = connection.execute(asked.with_for_update() if to_change else asked).first()
    if row is None:
        raise NotFound(f"participant: {who!r} is not here")
    return Participant(*row)


def everyone(connection: Connection, study: str, kind: str | None = None) -> list[Participant]:
    """All participants of a study, in the order in which they joined."""
    asked = _SELECT.where(in_study(study, kind)).order_by(person.c.created, person.c.id)
    return [Participant(*row) for row in connection.execute(asked)]


def answers_of(connection: Connection, who: str) -> list[StepAnswer]:
    """What a participant said at steps that are no cases, in order."""
    asked = select(given_answer).where(given_answer.c.participant == who)
    ordered = asked.order_by(given_answer.c.stage, given_answer.c.attempt)
    return [StepAnswer(*row) for row in connection.execute(ordered)]


def say(
    connection: Connection,
    who: Participant,
    what: str,
    answer: Any,
    *,
    attempt: int = 0,
    is_right: bool | None = None,
) -> None:
    """Record what a participant said at the step they are at."""
    row = StepAnswer(who.id, who.stage, attempt, what, answer, is_right, now())
    connection.execute(insert(given_answer).values(vars(row)))
    said = {"stage": who.stage, "attempt": attempt, "what": what, "is_right": is_right}
    chain.append(connection, "said", who.id, {**said, "answer": answer})


def must_be_at(who: Participant, stage: int) -> None:
    """Raise `Conflict` if a participant is at another step than the call was made for."""
    if not who.is_active or who.stage != stage:
        raise Conflict(f"step: {stage} is over, they are at {who.stage}", who)


def change(connection: Connection, who: Participant, **columns: Any) -> Participant:
    """Change a participant whose row is locked; they were last seen now."""
    changed = {"seen_at": now(), **columns}
    connection.execute(update(person).where(person.c.id == who.id).values(changed))
    return replace(who, **changed)


def filled(connection: Connection, study: str, kind: str) -> dict[str, frozenset[int]]:
    """Places of each arm taken by participants who completed the study or are active."""
    there = person.c.status.in_(("active", "completed")) & person.c.place.is_not(None)
    asked = select(person.c.arm, person.c.place).where(in_study(study, kind), there)
    places: dict[str, set[int]] = {}
    for arm, place in connection.execute(asked.where(person.c.is_lapsed.is_(False))):
        places.setdefault(str(arm), set()).add(int(place))
    return {arm: frozenset(taken) for arm, taken in places.items()}


@dataclass(frozen=True)
class Holding:
    """Who holds a place: from which step on, and how many minutes without a sign of them.

    Attributes
    ----------
    agreed
        Participants beyond this step hold a place, also while they have no arm.
    drop_after
        Minutes until a participant loses it.
    release_after
        The same before their first answer to a case.
    """

    agreed: int
    drop_after: float
    release_after: float

    @property
    def _holds(self) -> ColumnElement[bool]:
        return person.c.place.is_not(None) | (person.c.stage > self.agreed)

    @property
    def _is_silent(self) -> ColumnElement[bool]:
        is_new = func.coalesce(person.c.answers, 0) == 0
        return or_(
            person.c.seen_at < later(-60.0 * self.drop_after),
            is_new & (person.c.seen_at < later(-60.0 * self.release_after)),
        )

    def let_lapse(self, connection: Connection, study: str, kind: str) -> None:
        """Release the places of participants who have been inactive for too long."""
        is_here = (person.c.status == "active") & person.c.is_lapsed.is_(False)
        late = in_study(study, kind) & is_here & self._holds & self._is_silent
        names = list(connection.execute(select(person.c.id).where(late)).scalars())
        if names:
            connection.execute(update(person).where(late).values(is_lapsed=True))
        for name in names:
            chain.append(connection, "lapsed", name, {})

    def held(
        self, connection: Connection, study: str, kind: str, but: str | None = None
    ) -> dict[str | None, int]:
        """Places held in each arm, and under None by participants who have no arm yet.

        These have completed the study, or are active and were seen lately. Participant `but` is
        not counted.
        """
        is_here = person.c.is_lapsed.is_(False) & ~self._is_silent
        holds = (person.c.status == "active") & is_here & self._holds
        own = in_study(study, kind) & ((person.c.status == "completed") | holds)
        asked = select(person.c.arm, func.count()).where(own).group_by(person.c.arm)
        if but is not None:
            asked = asked.where(person.c.id != but)
        return {arm: int(count) for arm, count in connection.execute(asked)}


def assigned_before(connection: Connection, study: str, kind: str) -> int:
    """How many participants have ever been assigned to an arm."""
    asked = select(func.count(person.c.draw)).where(in_study(study, kind))
    return int(connection.execute(asked).scalar_one())


def assign(
    connection: Connection,
    who: Participant,
    *,
    arm: str,
    place: int,
    number: int,
    drawn_from: Mapping[str, Any],
    plan: str,
    policy: str,
    columns: int,
    cases: str,
) -> Participant:
    """Give a participant an arm and a place; from now on they are advised.

    `drawn_from` is everything that the draw depended on; the event records it.
    """
    enrolled_with = {"study": who.study, "arm": arm, "plan": plan, "policy": policy, "cases": cases}
    advised = {"plan": plan, "policy": policy, "case_list": cases, "enrolled_with": enrolled_with}
    start = {"counts": [0] * columns, "position": 0, "answers": 0, "rounds": 0}
    connection.execute(update(person).where(person.c.id == who.id).values({**advised, **start}))
    chain.append(connection, "enrolled", who.id, enrolled_with)
    said = {"arm": arm, "place": place, "draw": number, **drawn_from}
    chain.append(connection, "assigned", who.id, said)
    return change(connection, who, arm=arm, place=place, draw=number, is_lapsed=False)


def end(
    connection: Connection, who: Participant, status: str, code: str | None = None
) -> Participant:
    """End the study for a participant: completed, withdrawn, screened out or no consent."""
    chain.append(connection, status, who.id, {"stage": who.stage})
    return change(connection, who, status=status, code=code, ended_at=now())


def forget(connection: Connection, who: str) -> None:
    """Erase what a participant said and every link to them; the row stays under a new random name.

    Their rounds must be gone already; `checking.erase` does that and empties their events.
    """
    forget_recruiter(connection, find(connection, who, to_change=True))
    connection.execute(delete(given_answer).where(given_answer.c.participant == who))
    connection.execute(delete(participant_link).where(participant_link.c.participant == who))
    advised = ("plan", "policy", "enrolled_with", "case_list", "counts")
    numbers = ("position", "answers", "rounds", "code", "place")
    gone = dict.fromkeys((*advised, *numbers))
    stays = {"id": uuid4().hex, "status": "withdrawn", **gone}
    connection.execute(update(person).where(person.c.id == who).values(stays))
