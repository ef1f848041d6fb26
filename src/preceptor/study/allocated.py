"""Who was assigned to which arm, in which order, and whether each draw follows from the seed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, select

from preceptor.store.tables import event, participant
from preceptor.study.allocation import Filled, draw
from preceptor.study.study import Study


@dataclass(frozen=True)
class Assignment:
    """A draw as it was written down.

    Attributes
    ----------
    number
        How many were assigned before.
    block
        Which permuted block it belongs to, from 0.
    order
        Arms in the order that was drawn for this block.
    arm, place
        What was drawn.
    status
        What became of the person.
    follows
        Whether the same is drawn again from the seed and from what was filled then; None if that
        is not known any more because the person was erased.
    """

    number: int
    block: int
    order: tuple[str, ...]
    arm: str
    place: int | None
    status: str
    follows: bool | None


def assignments(connection: Connection, study: Study, kind: str) -> list[Assignment]:
    """All draws of a study for one kind of participant, in order."""
    return list(_assignments(connection, study, kind))


def _assignments(connection: Connection, study: Study, kind: str) -> Iterator[Assignment]:
    own = (participant.c.study == study.id) & (participant.c.kind == kind)
    written = (event.c.subject == participant.c.id) & (event.c.kind == "assigned")
    asked = (
        select(participant, event.c.payload)
        .select_from(participant.outerjoin(event, written))
        .where(own, participant.c.draw.is_not(None))
        .order_by(participant.c.draw, participant.c.id)
    )
    size = len(study.configuration.arm)
    for row in connection.execute(asked):
        said = None if row.payload is None else json.loads(row.payload)
        order = () if said is None else tuple(said.get("order", ()))
        status = "silent" if row.is_lapsed and row.status == "active" else row.status
        yield Assignment(
            number=row.draw,
            block=row.draw // size,
            order=order,
            arm=row.arm,
            place=row.place,
            status=status,
            follows=None if said is None else _follows(study, row, said),
        )


def _follows(study: Study, row: object, said: dict[str, object]) -> bool:
    """Draw once more, from what was written down."""
    filled, caps, is_open = said.get("filled"), said.get("caps"), said.get("open")
    if not isinstance(filled, dict) or not isinstance(caps, dict) or not isinstance(is_open, list):
        return False
    arms = [
        Filled(name, frozenset(filled.get(name, ())), caps.get(name), name in is_open)
        for name in (arm.name for arm in study.configuration.arm)
    ]
    number = said.get("draw")
    if not isinstance(number, int):
        return False
    found = draw(arms, number, study.configuration.seed)
    return (
        found is not None
        and (found.arm, found.place) == (said.get("arm"), said.get("place"))
        and (found.arm, number) == (getattr(row, "arm", None), getattr(row, "draw", None))
    )
