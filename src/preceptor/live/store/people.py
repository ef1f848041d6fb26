"""People who are advised: the plan each follows, and how far along it they are.

A row of the table `person` is one human. This file reads and changes the part that says how they
are advised; `participants` has the part that says where they are in a study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from preceptor.live.store import chain
from preceptor.live.store.chain import now
from preceptor.live.store.tables import Conflict, NotFound, person


@dataclass(frozen=True)
class AdvisedPerson:
    """How one human is advised; `counts` to `rounds` follow from their rounds."""

    id: str
    kind: str
    created: str
    seen_at: str
    plan: str
    policy: str
    enrolled_with: dict[str, Any]
    case_list: str | None
    counts: list[int]
    position: int = 0
    answers: int = 0
    rounds: int = 0
    version: int = 1
    study: str | None = None

    @property
    def is_bot(self) -> bool:
        """Whether they are simulated, or a preview."""
        return self.kind != "real"


_SELECT = select(*(person.c[field.name] for field in fields(AdvisedPerson))).where(
    person.c.id == bindparam("who")
)
_LOCKED = _SELECT.with_for_update()
_CHANGE = (
    update(person)
    .where(person.c.id == bindparam("who"))
    .values({person.c.version: person.c.version + 1})
)


def look_up(connection: Connection, who: str, *, to_change: bool = False) -> AdvisedPerson | None:
    """Return a person who is advised, if there is one; `to_change` locks the row."""
    row = connection.execute(_LOCKED if to_change else _SELECT, {"who": who}).first()
    return None if row is None or row.plan is None else AdvisedPerson(*row)


def find(connection: Connection, who: str, *, to_change: bool = False) -> AdvisedPerson:
    """Return a person who is advised; raise `NotFound` if there is none."""
    found = look_up(connection, who, to_change=to_change)
    if found is None:
        raise NotFound(f"person: {who!r} is not enrolled; enrol with PUT /v1/people/{who} first")
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
) -> tuple[AdvisedPerson, bool]:
    """Enrol a person; return them, and whether they are new.

    Raises
    ------
    Conflict
        That name is taken: by an enrolment that says something else, or in a study.
    """
    there = connection.execute(_LOCKED, {"who": who}).first()
    if there is not None:
        if there.enrolled_with != enrolled_with:
            raise Conflict(
                f"person: {who!r} is enrolled already, and differently; choose another name, or "
                "send the same enrolment"
            )
        return AdvisedPerson(*there), False
    at = now()
    kind = "bot" if is_bot else "real"
    made = AdvisedPerson(who, kind, at, at, plan, policy, enrolled_with, case_list, list(counts))
    connection.execute(insert(person), vars(made))
    chain.append(connection, "enrolled", who, enrolled_with)
    return made, True


def change(connection: Connection, who: str, **columns: Any) -> None:
    """Change a person whose row is locked; their version is incremented."""
    connection.execute(_CHANGE, {"who": who, **columns, "seen_at": now()})
