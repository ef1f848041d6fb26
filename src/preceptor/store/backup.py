"""Copy a database while it is in use: whole, as it was at one moment, and never over another file.

SQLite writes the copy itself; a plain copy of the file would miss what is still in the log of
changes beside it. Postgres brings a program of its own.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from sqlalchemy.engine import URL

from preceptor.errors import InvalidInput
from preceptor.store.refusals import StoreFailure


def back_up(url: URL, path: Path) -> int:
    """Write a copy of a SQLite database; gives its size in bytes.

    Parameters
    ----------
    url
        As `url_of` gives it.
    path
        Where nothing is yet. It is there, whole and read back, or not at all.

    Raises
    ------
    InvalidInput
        Something is there, or the database is no file of SQLite.
    StoreFailure
        The database cannot be read, or the copy not written.
    """
    if url.get_backend_name() != "sqlite":
        shown = url.set(drivername="postgresql", password=None).render_as_string()
        raise InvalidInput(
            "backup: this database is Postgres, which brings its own program; run\n"
            f"  pg_dump --format=custom --file={path} '{shown}'"
        )
    if path.exists():
        raise _in_the_way(path)
    if not path.parent.is_dir():
        raise InvalidInput(f"backup: the folder {path.parent} is not there; make it first")
    source = Path(url.database or "")
    if not source.exists():
        raise InvalidInput(f"database: {source} is not there")
    try:
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=path.parent) as folder:
            copy = Path(folder) / "copy.db"
            address = f"{source.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True)) as there:
                there.execute("VACUUM INTO ?", [str(copy)])
            with closing(sqlite3.connect(copy)) as written:
                found = written.execute("PRAGMA integrity_check").fetchone()[0]
            if found != "ok":
                raise StoreFailure(f"backup: the copy is damaged ({found}); so is the database")
            with copy.open("rb") as file:
                os.fsync(file.fileno())
            os.link(copy, path)  # fails where a name is taken, unlike renaming
    except FileExistsError:
        raise _in_the_way(path) from None
    except (OSError, sqlite3.Error) as error:
        raise StoreFailure(f"backup: {error}; nothing was written") from error
    return path.stat().st_size


def _in_the_way(path: Path) -> InvalidInput:
    return InvalidInput(f"backup: {path} is there already; choose another name")
