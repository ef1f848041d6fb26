"""The library's log out of the store: rounds that were answered, in the order of their last change.

A round that is told days later comes again with a higher `seq`; the last row of a round holds.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from preceptor.store.rounds import Round
from preceptor.store.tables import participant, person, round_, study

_BLINDED = (
    select(participant.c.id)
    .join(study, study.c.id == participant.c.study)
    .where(participant.c.kind == "real", study.c.unblinded.is_(None))
)


def changed_after(
    connection: Connection, seq: int, limit: int, who: str | None = None
) -> list[tuple[Round, bool]]:
    """Answered rounds that changed after that event, and whether a bot played them.

    Without those of people in a study that is blinded: they would say who is in which arm.
    """
    asked = select(round_, person.c.is_bot).join(person, person.c.id == round_.c.person)
    asked = asked.where(round_.c.seq > seq, round_.c.prediction.is_not(None))
    asked = asked.where(round_.c.person.not_in(_BLINDED))
    if who is not None:
        asked = asked.where(round_.c.person == who)
    rows = connection.execute(asked.order_by(round_.c.seq).limit(limit))
    found = []
    for row in rows:
        fields = dict(row._mapping)
        is_bot = bool(fields.pop("is_bot"))
        found.append((Round(**fields), is_bot))
    return found
