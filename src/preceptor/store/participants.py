"""Participants as they are kept: where they are in the protocol, and what they said on the way.

A participant is at one step (`stage`) of the study's protocol. Every move names the step it leaves,
so whatever comes twice, late or from another tab is a `Conflict` and changes nothing. Once somebody
has an arm there is a person of the same name, whose rounds are kept as all rounds are.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, delete, insert, select, update

from preceptor.store import chain, people
from preceptor.store.clock import later, now
from preceptor.store.refusals import Conflict, NotThere
from preceptor.store.tables import given_answer, participant, participant_link


@dataclass(frozen=True)
class Participant:
    """A row of the table, in its order."""

    id: str
    study: str
    kind: str
    status: str
    stage: int
    quizzes: int
    arm: str | None
    place: int | None
    draw: int | None
    is_lapsed: bool
    recruiter: str | None
    code: str | None
    version: int
    created: str
    seen_at: str
    ended_at: str | None

    @property
    def is_active(self) -> bool:
        """Whether there is something left to do for them."""
        return self.status == "active"


@dataclass(frozen=True)
class Answer:
    """What somebody said at a step that is no round."""

    participant: str
    stage: int
    attempt: int
    what: str
    answer: Any
    is_right: bool | None
    at: str


def join(
    connection: Connection, study: str, *, kind: str, recruiter: str | None = None
) -> tuple[Participant, bool]:
    """Somebody new; or, if the recruiter's name of them is known, the one who has it."""
    if recruiter is not None:
        there = by_recruiter(connection, study, kind, recruiter)
        if there is not None:
            return there, False
    at = now()
    made = Participant(
        id=uuid4().hex,
        study=study,
        kind=kind,
        status="active",
        stage=0,
        quizzes=0,
        arm=None,
        place=None,
        draw=None,
        is_lapsed=False,
        recruiter=recruiter,
        code=None,
        version=1,
        created=at,
        seen_at=at,
        ended_at=None,
    )
    connection.execute(insert(participant).values(vars(made)))
    chain.append(connection, "joined", made.id, {"study": study, "kind": kind})
    return made, True


def recruiters_name(key: str, given: str) -> str:
    """A recruiter's name of somebody, as it is kept: only who has the key can compare."""
    return hmac.new(bytes.fromhex(key), given.encode(), hashlib.sha256).hexdigest()


def by_recruiter(
    connection: Connection, study: str, kind: str, recruiter: str
) -> Participant | None:
    """Whoever has this (hashed) name with the recruiter."""
    own = (participant.c.study == study) & (participant.c.kind == kind)
    asked = select(participant).where(own, participant.c.recruiter == recruiter)
    row = connection.execute(asked).first()
    return None if row is None else Participant(*row)


def new_link(connection: Connection, who: Participant) -> str:
    """A secret that leads to somebody, shown once and kept as a hash."""
    secret = secrets.token_urlsafe()
    row = {"sha256": _sha256(secret), "participant": who.id, "created": now(), "revoked": None}
    connection.execute(insert(participant_link).values(row))
    return secret


def revoke_links(connection: Connection, who: Participant) -> None:
    """No link leads to them any more."""
    own = participant_link.c.participant == who.id
    connection.execute(update(participant_link).where(own).values(revoked=now()))


def by_link(connection: Connection, secret: str) -> Participant | None:
    """Whoever has this link, unless it was revoked."""
    asked = (
        select(participant)
        .join(participant_link, participant_link.c.participant == participant.c.id)
        .where(participant_link.c.sha256 == _sha256(secret), participant_link.c.revoked.is_(None))
    )
    row = connection.execute(asked).first()
    return None if row is None else Participant(*row)


def find(connection: Connection, who: str, *, to_change: bool = False) -> Participant:
    """Somebody who must be there; to be changed, nobody else may change them meanwhile."""
    asked = select(participant).where(participant.c.id == who)
    row = connection.execute(asked.with_for_update() if to_change else asked).first()
    if row is None:
        raise NotThere(f"participant: {who!r} is not here")
    return Participant(*row)


def everyone(connection: Connection, study: str, kind: str | None = None) -> list[Participant]:
    """All participants of a study, in the order in which they came."""
    asked = select(participant).where(participant.c.study == study)
    if kind is not None:
        asked = asked.where(participant.c.kind == kind)
    ordered = asked.order_by(participant.c.created, participant.c.id)
    return [Participant(*row) for row in connection.execute(ordered)]


def answers_of(connection: Connection, who: str) -> list[Answer]:
    """What somebody said at steps that are no rounds, in order."""
    asked = select(given_answer).where(given_answer.c.participant == who)
    ordered = asked.order_by(given_answer.c.stage, given_answer.c.attempt)
    return [Answer(*row) for row in connection.execute(ordered)]


def say(
    connection: Connection,
    who: Participant,
    what: str,
    answer: Any,
    *,
    attempt: int = 0,
    is_right: bool | None = None,
) -> None:
    """Write down what somebody said at the step they are at."""
    row = Answer(who.id, who.stage, attempt, what, answer, is_right, now())
    connection.execute(insert(given_answer).values(vars(row)))
    said = {"stage": who.stage, "attempt": attempt, "what": what, "is_right": is_right}
    chain.append(connection, "said", who.id, {**said, "answer": answer})


def must_be_at(who: Participant, stage: int) -> None:
    """Raise `Conflict` if the call was made for another step than the one somebody is at."""
    if not who.is_active or who.stage != stage:
        raise Conflict(f"step: {stage} is over, they are at {who.stage}", who)


def change(connection: Connection, who: Participant, **fields: Any) -> Participant:
    """Change somebody who was found `to_change`; their version moves on, and they were seen."""
    changed = {"version": who.version + 1, "seen_at": now(), **fields}
    connection.execute(update(participant).where(participant.c.id == who.id).values(changed))
    return replace(who, **changed)


def filled(connection: Connection, study: str, kind: str) -> dict[str, frozenset[int]]:
    """The places of each arm that are taken by people who finished or are at it."""
    own = (participant.c.study == study) & (participant.c.kind == kind)
    there = participant.c.status.in_(("active", "completed")) & participant.c.place.is_not(None)
    asked = select(participant.c.arm, participant.c.place)
    rows = connection.execute(asked.where(own, there, participant.c.is_lapsed.is_(False)))
    places: dict[str, set[int]] = {}
    for arm, place in rows:
        places.setdefault(str(arm), set()).add(int(place))
    return {arm: frozenset(taken) for arm, taken in places.items()}


def let_lapse(connection: Connection, study: str, kind: str, minutes: float) -> int:
    """Whoever has been silent for so long no longer fills an arm; gives how many that are."""
    own = (participant.c.study == study) & (participant.c.kind == kind)
    silent = (participant.c.status == "active") & (participant.c.seen_at < later(-60.0 * minutes))
    late = own & silent & participant.c.is_lapsed.is_(False)
    names = list(connection.execute(select(participant.c.id).where(late)).scalars())
    if names:
        connection.execute(update(participant).where(late).values(is_lapsed=True))
    for name in names:
        chain.append(connection, "lapsed", name, {"minutes": minutes})
    return len(names)


def assigned_before(connection: Connection, study: str, kind: str) -> int:
    """How many have ever been assigned to an arm."""
    own = (participant.c.study == study) & (participant.c.kind == kind)
    asked = select(participant.c.draw).where(own, participant.c.draw.is_not(None))
    return len(connection.execute(asked).all())


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
    """Give somebody an arm and a place, and make the person whose rounds are kept from now on.

    `drawn_from` is all that the draw depended on; it is written down.
    """
    enrolled_with = {"study": who.study, "arm": arm, "plan": plan, "policy": policy, "cases": cases}
    people.enrol(
        connection,
        who.id,
        plan=plan,
        policy=policy,
        counts=[0] * columns,
        case_list=cases,
        is_bot=who.kind != "real",
        enrolled_with=enrolled_with,
    )
    said = {"arm": arm, "place": place, "draw": number, **drawn_from}
    chain.append(connection, "assigned", who.id, said)
    return change(connection, who, arm=arm, place=place, draw=number, is_lapsed=False)


def end(
    connection: Connection, who: Participant, status: str, code: str | None = None
) -> Participant:
    """They finished, withdrew, were screened out, or did not agree."""
    chain.append(connection, status, who.id, {"stage": who.stage})
    return change(connection, who, status=status, code=code, ended_at=now())


def forget(connection: Connection, who: str) -> None:
    """Everything that somebody said and every way that leads to them; that they were there stays.

    What is left has another name, so that nobody can tell who it was. Rounds and events are
    `erasing.erase`'s.
    """
    connection.execute(delete(given_answer).where(given_answer.c.participant == who))
    connection.execute(delete(participant_link).where(participant_link.c.participant == who))
    stays = {"id": uuid4().hex, "recruiter": None, "code": None, "place": None}
    own = participant.c.id == who
    connection.execute(update(participant).where(own).values(status="withdrawn", **stays))


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
