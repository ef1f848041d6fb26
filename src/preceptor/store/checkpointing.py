"""SQLite's log of changes is brought into the database beside the one who writes.

SQLite does that within a commit, every thousand pages, and whoever waits for that commit waits for
a second file to reach the disk. Here a thread does it, and commits go on meanwhile. While there is
no pause the log cannot begin anew, so it grows; from `PAGES` pages on the one who writes does it.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path

# Pages of the log after which the one who writes brings them in: 64 MB.
PAGES = 16_384
# Bytes of the log that are worth the work, and how often the thread looks, in seconds.
_WORTH, _LOOK = 4 << 20, 0.2


class Checkpointer:
    """A thread that brings changes into the database.

    Parameters
    ----------
    path
        The database.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._log = path, Path(f"{path}-wal")
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="preceptor-checkpoints", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop; closing the last connection brings in what is left."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(_LOOK):
            # Whatever is wrong with the database, the one who writes hears of it and says so.
            with contextlib.suppress(sqlite3.Error, OSError):
                self._look()

    def _look(self) -> None:
        size = self._log.stat().st_size
        if size < _WORTH:
            return
        with contextlib.closing(sqlite3.connect(self._path, timeout=0.0)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
