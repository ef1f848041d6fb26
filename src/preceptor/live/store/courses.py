"""A course in the store: its settings, its trainees by name, and their personal links.

A database has at most one course. A trainee is a person who is advised (`people`) and has a name.
"""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, delete, insert, select, update

from preceptor.errors import InvalidInput
from preceptor.live.store import chain, checking, people
from preceptor.live.store.chain import now
from preceptor.live.store.tables import (
    Conflict,
    NotFound,
    course,
    participant_link,
    person,
    trainee,
)

COURSE = "course"
"""Id of the course, and name of its list of cases."""
LONGEST_NAME = 60
"""Characters of a trainee's name, at most."""


@dataclass(frozen=True)
class KeptCourse:
    """A row of the table, in its column order."""

    id: str
    config: dict[str, Any]
    frozen: dict[str, Any]
    plan: str
    state: str
    picks: str
    last_case: int | None
    created: str


@dataclass(frozen=True)
class Trainee:
    """A trainee, and how far they are."""

    id: str
    name: str
    is_removed: bool
    kind: str
    created: str
    seen_at: str
    version: int

    @property
    def is_bot(self) -> bool:
        """Whether they are simulated."""
        return self.kind != "real"


def look_up(connection: Connection, *, to_change: bool = False) -> KeptCourse | None:
    """Return the course, if there is one; `to_change` locks the row."""
    asked = select(course).where(course.c.id == COURSE)
    row = connection.execute(asked.with_for_update() if to_change else asked).first()
    return None if row is None else KeptCourse(*row)


def find(connection: Connection) -> KeptCourse:
    """Return the course; raise `NotFound` if there is none."""
    found = look_up(connection)
    if found is None:
        raise NotFound("course: there is none here; start one with `preceptor teach`")
    return found


def keep(
    connection: Connection,
    *,
    config: Mapping[str, Any],
    frozen: Mapping[str, Any],
    plan: str,
    picks: str,
) -> None:
    """Start the course; its plan and its cases must be stored already."""
    row = KeptCourse(COURSE, dict(config), dict(frozen), plan, "open", picks, None, now())
    connection.execute(insert(course).values(vars(row)))
    chain.append(connection, "course started", None, {"plan": plan, "frozen": row.frozen})


def change(connection: Connection, **columns: Any) -> None:
    """Change the course, and record what was changed."""
    connection.execute(update(course).where(course.c.id == COURSE).values(columns))
    said = {name: value for name, value in columns.items() if name != "config"}
    if said:
        chain.append(connection, "course changed", None, said)


def cleaned_name(typed: str) -> str:
    """A name without superfluous spaces; raise `InvalidInput` if it cannot be one.

    >>> cleaned_name("  Ann   Lee ")
    'Ann Lee'
    """
    name = " ".join(unicodedata.normalize("NFC", typed).split())
    if not name or len(name) > LONGEST_NAME or any(unicodedata.category(c)[0] == "C" for c in name):
        raise InvalidInput(
            f"name: {typed[:LONGEST_NAME]!r}, must have 1 to {LONGEST_NAME} printable characters"
        )
    return name


def same_name(name: str) -> str:
    """Equal for names that read alike.

    >>> same_name("ANN lee") == same_name("Ann Lee")
    True
    """
    return unicodedata.normalize("NFKC", name).casefold()


def join(connection: Connection, name: str, plan: str, columns: int, *, is_bot: bool) -> str:
    """Add a trainee with a cleaned name; return their id. A name that is taken is a `Conflict`."""
    key = same_name(name)
    taken = select(trainee.c.person).where(trainee.c.course == COURSE, trainee.c.same_name == key)
    if connection.execute(taken).first() is not None:
        raise Conflict(f"name: {name!r} is taken", name)
    who = uuid4().hex
    said = {"course": COURSE, "plan": plan}
    people.enrol(
        connection, who, plan=plan, policy=COURSE, counts=[0] * columns, case_list=COURSE,
        is_bot=is_bot, enrolled_with=said,
    )  # fmt: skip
    row = {"person": who, "course": COURSE, "name": name, "same_name": key, "is_removed": False}
    connection.execute(insert(trainee).values(row))
    return who


_EVERYONE = (
    select(
        trainee.c.person, trainee.c.name, trainee.c.is_removed,
        person.c.kind, person.c.created, person.c.seen_at, person.c.version,
    )
    .join(person, person.c.id == trainee.c.person)
    .order_by(person.c.created, trainee.c.person)
)  # fmt: skip


def everyone(connection: Connection) -> list[Trainee]:
    """All trainees in the order in which they joined, those who were removed included."""
    return [Trainee(*row) for row in connection.execute(_EVERYONE)]


def by_id(connection: Connection, who: str) -> Trainee:
    """Return a trainee; raise `NotFound` if there is none."""
    row = connection.execute(_EVERYONE.where(trainee.c.person == who)).first()
    if row is None:
        raise NotFound(f"trainee: {who!r} is not here")
    return Trainee(*row)


def by_link(connection: Connection, secret: str) -> Trainee | None:
    """Return the trainee with this personal link, unless it was revoked or they were removed."""
    asked = _EVERYONE.join(
        participant_link, participant_link.c.participant == trainee.c.person
    ).where(
        participant_link.c.sha256 == hashlib.sha256(secret.encode()).hexdigest(),
        participant_link.c.revoked.is_(None),
        trainee.c.is_removed.is_(False),
    )
    row = connection.execute(asked).first()
    return None if row is None else Trainee(*row)


def new_secret() -> str:
    """A secret for a personal link."""
    return secrets.token_urlsafe()


def new_link(connection: Connection, who: str, secret: str | None = None) -> str:
    """Return the secret of a new personal link; only its hash is kept."""
    secret = secret or new_secret()
    row = {
        "sha256": hashlib.sha256(secret.encode()).hexdigest(),
        "participant": who,
        "created": now(),
    }
    connection.execute(insert(participant_link).values(row))
    return secret


def remove(connection: Connection, who: str) -> None:
    """Let a trainee in no longer; what they answered stays, and so does their name."""
    by_id(connection, who)
    connection.execute(update(trainee).where(trainee.c.person == who).values(is_removed=True))
    own = participant_link.c.participant == who
    connection.execute(update(participant_link).where(own).values(revoked=now()))
    chain.append(connection, "removed", who, {})


def erase(connection: Connection, who: str) -> None:
    """Erase a trainee: name, links and answers."""
    by_id(connection, who)
    connection.execute(delete(participant_link).where(participant_link.c.participant == who))
    connection.execute(delete(trainee).where(trainee.c.person == who))
    checking.erase(connection, who)


def exported(connection: Connection, file: str, who: str) -> None:
    """Record an export of all data."""
    chain.append(connection, "exported", None, {"course": COURSE, "file": file, "who": who})
