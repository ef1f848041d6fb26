"""Plans in memory, by their hash: a file is read once, however many people follow it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

from sqlalchemy import Connection

from preceptor.plan import Plan
from preceptor.service.guides import Guide
from preceptor.store import plans
from preceptor.store.checking import Columns

# Plans that are kept in memory; others are read again when they are needed.
_MOST = 256


class Book:
    """Guides by hash; those that were not used for long make room for others."""

    def __init__(self) -> None:
        self._guides: OrderedDict[str, Guide] = OrderedDict()
        self._lock = threading.Lock()

    def guide(self, connection: Connection, sha256: str) -> Guide:
        """The guide of a plan that is kept in the store.

        Parameters
        ----------
        connection
            To read it if it is not in memory.
        sha256
            Its hash.

        Returns
        -------
        Guide
            Shared by all who ask.

        Raises
        ------
        NotThere
            There is no such plan.
        """
        found = self.known(sha256)
        if found is None:
            found = Guide(Plan.from_json(plans.body_of(connection, sha256)), sha256)
            self.add(found)
        return found

    def columns_of(self, connection: Connection, sha256: str) -> Columns:
        """What a check of the store has to know about the tests of a plan."""
        words = self.guide(connection, sha256).words
        return Columns(words.counted, lambda by_test: words.counts(by_test, "start"))

    def known(self, sha256: str) -> Guide | None:
        """The guide, if it is in memory."""
        with self._lock:
            found = self._guides.get(sha256)
            if found is not None:
                self._guides.move_to_end(sha256)
            return found

    def forget(self, hashes: Iterable[str]) -> None:
        """Plans that are no longer kept."""
        with self._lock:
            for each in hashes:
                self._guides.pop(each, None)

    def add(self, guide: Guide) -> None:
        """Remember a guide that somebody has made."""
        with self._lock:
            self._guides[guide.sha256] = guide
            while len(self._guides) > _MOST:
                self._guides.popitem(last=False)
