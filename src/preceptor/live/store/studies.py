"""Studies in the store: frozen when opened, with their arms and their registration."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from preceptor.live.store import chain
from preceptor.live.store.chain import now
from preceptor.live.store.tables import Conflict, NotFound, study, study_arm


@dataclass(frozen=True)
class KeptStudy:
    """A row of the table, in its column order."""

    id: str
    config: str
    sha256: str
    state: str
    people: int
    key: str
    registration: str
    registration_sha256: str
    opened: str
    closed: str | None = None
    unblinded: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether new participants may join."""
        return self.state == "open"


@dataclass(frozen=True)
class KeptArm:
    """A row of the table, in its column order."""

    study: str
    name: str
    position: int
    policy: str
    plan: str
    cap: int | None
    is_open: bool


def open_study(
    connection: Connection,
    name: str,
    *,
    config: str,
    sha256: str,
    people: int,
    registration: str,
    registration_sha256: str,
    arms: Sequence[KeptArm],
) -> tuple[KeptStudy, bool]:
    """Store a study, which is frozen from now on; return it, and whether it is new.

    The plans of the arms must be stored already (`plans.keep`).

    Raises
    ------
    Conflict
        A study of that name exists and differs.
    """
    there = look_up(connection, name)
    if there is not None:
        if there.sha256 == sha256:
            return there, False
        raise Conflict(
            f"study: {name!r} was opened on {there.opened[:10]} and differs; a study does not "
            "change once it is open, so give this one another id"
        )
    made = KeptStudy(
        name,
        config,
        sha256,
        "open",
        people,
        secrets.token_hex(32),
        registration,
        registration_sha256,
        now(),
    )
    connection.execute(insert(study).values(vars(made)))
    connection.execute(insert(study_arm), [vars(arm) for arm in arms])
    said = {"study": name, "sha256": sha256, "registration": registration_sha256}
    chain.append(connection, "study opened", None, said)
    return made, True


def look_up(connection: Connection, name: str, *, to_change: bool = False) -> KeptStudy | None:
    """Return a study, if there is one; `to_change` locks the row."""
    asked = select(study).where(study.c.id == name)
    row = connection.execute(asked.with_for_update() if to_change else asked).first()
    return None if row is None else KeptStudy(*row)


def find(connection: Connection, name: str, *, to_change: bool = False) -> KeptStudy:
    """Return a study; raise `NotFound` if there is none."""
    found = look_up(connection, name, to_change=to_change)
    if found is None:
        raise NotFound(f"study: {name!r} is not here; open it with `preceptor study open`")
    return found


def everyone(connection: Connection) -> list[KeptStudy]:
    """All studies, the latest first."""
    rows = connection.execute(select(study).order_by(study.c.opened.desc()))
    return [KeptStudy(*row) for row in rows]


def arms_of(connection: Connection, name: str) -> list[KeptArm]:
    """The arms of a study, in the order of its file."""
    asked = select(study_arm).where(study_arm.c.study == name).order_by(study_arm.c.position)
    return [KeptArm(*row) for row in connection.execute(asked)]


def close_arm(connection: Connection, name: str, arm: str, reason: str) -> None:
    """Stop assigning participants to an arm; those already in it continue."""
    find(connection, name, to_change=True)
    if arm not in [each.name for each in arms_of(connection, name)]:
        raise NotFound(f"arm: study {name!r} has no arm {arm!r}")
    own = (study_arm.c.study == name) & (study_arm.c.name == arm)
    connection.execute(update(study_arm).where(own).values(is_open=False))
    chain.append(connection, "arm closed", None, {"study": name, "arm": arm, "reason": reason})


def raise_people(connection: Connection, name: str, people: int, reason: str) -> None:
    """Raise the number of participants above the registered one, for a recorded reason."""
    there = find(connection, name, to_change=True)
    if people <= there.people:
        raise Conflict(f"people: {people}, must be more than the {there.people} there are now")
    _change(connection, name, people=people)
    said = {"study": name, "from": there.people, "to": people, "reason": reason}
    chain.append(connection, "people raised", None, said)


def unblind(connection: Connection, name: str, who: str, reason: str) -> None:
    """Show results by arm from now on; the event records who decided that, and why."""
    there = find(connection, name, to_change=True)
    if there.unblinded is None:
        _change(connection, name, unblinded=now())
    chain.append(connection, "unblinded", None, {"study": name, "who": who, "reason": reason})


def exported(connection: Connection, name: str, who: str, kind: str, *, full: bool) -> None:
    """Record an export of the data of a study."""
    said = {"study": name, "who": who, "kind": kind, "full": full}
    chain.append(connection, "exported", None, said)


def close(connection: Connection, name: str, reason: str) -> KeptStudy:
    """Let no new participants in; those who have begun may finish."""
    there = find(connection, name, to_change=True)
    if there.state == "closed":
        return there
    _change(connection, name, state="closed", closed=now())
    chain.append(connection, "study closed", None, {"study": name, "reason": reason})
    return find(connection, name)


def _change(connection: Connection, name: str, **fields: Any) -> None:
    connection.execute(update(study).where(study.c.id == name).values(fields))
