"""People as they are kept: by a pseudonym of the caller's, with a plan and where they are on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from preceptor.store import chain
from preceptor.store.clock import now
from preceptor.store.refusals import Conflict, NotThere
from preceptor.store.tables import person


@dataclass(frozen=True)
class Person:
    """A row of the table, in its order; `counts` to `rounds` follow from the rounds."""

    id: str
    plan: str
    policy: str
    enrolled_with: dict[str, Any]
    case_list: str | None
    counts: list[int]
    position: int
    answers: int
    rounds: int
    is_bot: bool
    version: int
    created: str
    seen_at: str


_THEM = select(person).where(person.c.id == bindparam("who"))
_LOCKED = _THEM.with_for_update()
_CHANGE = update(person).where(person.c.id == bindparam("who"))


def look_up(connection: Connection, who: str, *, to_change: bool = False) -> Person | None:
    """Somebody, if they are there; to be changed, nobody else may change them meanwhile."""
    row = connection.execute(_LOCKED if to_change else _THEM, {"who": who}).first()
    return None if row is None else Person(*row)


def find(connection: Connection, who: str, *, to_change: bool = False) -> Person:
    """Somebody who must be there."""
    found = look_up(connection, who, to_change=to_change)
    if found is None:
        raise NotThere(f"person: {who!r} is not enrolled; put them to /v1/people/{who} first")
    return found


def enrol(
    connection: Connection,
    who: str,
    *,
    plan: str,
    policy: str,
    counts: Sequence[int],
    case_list: str | None,
    is_bot: bool,
    enrolled_with: dict[str, Any],
) -> tuple[Person, bool]:
    """Enrol somebody; gives them, and whether they are new.

    Raises
    ------
    Conflict
        They are enrolled with something else.
    """
    there = look_up(connection, who, to_change=True)
    if there is not None:
        if there.enrolled_with != enrolled_with:
            raise Conflict(
                f"person: {who!r} is enrolled already, with other words; take another name, or "
                "send the same"
            )
        return there, False
    at = now()
    row: dict[str, Any] = {
        "id": who,
        "plan": plan,
        "policy": policy,
        "enrolled_with": enrolled_with,
        "case_list": case_list,
        "counts": list(counts),
        "position": 0,
        "answers": 0,
        "rounds": 0,
        "is_bot": is_bot,
        "version": 1,
        "created": at,
        "seen_at": at,
    }
    connection.execute(insert(person), row)
    chain.append(connection, "enrolled", who, enrolled_with)
    return Person(**row), True


def change(connection: Connection, before: Person, **fields: Any) -> None:
    """Change somebody who was found `to_change`; their version moves on."""
    changed = {**fields, "version": before.version + 1, "seen_at": now()}
    connection.execute(_CHANGE, {"who": before.id, **changed})
