"""Before the first person waits: plans are read and kernels compiled."""

from __future__ import annotations

from sqlalchemy import Connection

from preceptor.service.guides import Guide
from preceptor.service.live import Live
from preceptor.store import plans
from preceptor.tutoring import Tutor

# Plans that are read ahead, the newest.
_MOST = 16


def warm(live: Live) -> None:
    """Do once what the first call of each kind would have to wait for."""

    def read(connection: Connection) -> list[Guide]:
        newest = plans.everyone(connection)[-_MOST:]
        named = [*newest, *([live.settings.plan] if live.settings.plan else [])]
        return [live.book.guide(connection, each) for each in dict.fromkeys(named)]

    for guide in live.store.read(read):
        size = guide.problem.size
        guide.wanted([0] * size, 0)
    if live.settings.plan is not None:
        own = live.book.known(live.settings.plan)
        if own is not None:
            Tutor(own.problem).recommendation()
