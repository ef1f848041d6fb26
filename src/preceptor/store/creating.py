"""Create the tables of an empty database, and refuse a database of another version.

All of it is one transaction that excludes other writers: a process that starts at the same time
waits, and then finds the tables.
"""

from __future__ import annotations

from sqlalchemy import Connection, Engine, insert, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from preceptor.errors import InvalidFile
from preceptor.store.failures import in_words
from preceptor.store.tables import VERSION, metadata, tables_version


def create_tables(engine: Engine) -> None:
    """Create the tables of `store/tables.py`, unless they are there.

    Parameters
    ----------
    engine
        Its transactions may write.

    Raises
    ------
    InvalidFile
        The tables in the database are of another version.
    StoreFailure
        The database cannot be opened or written.
    """
    try:
        with engine.begin() as connection:
            present = metadata.tables.keys() & set(inspect(connection).get_table_names())
            if not present:
                metadata.create_all(connection)
                connection.execute(insert(tables_version).values(version=VERSION))
                return
            found = version_of(connection) if tables_version.name in present else None
    except SQLAlchemyError as error:
        raise in_words(error) from error
    if found != VERSION:
        said = "has no version" if found is None else f"is of version {found}"
        raise InvalidFile(
            f"database: {said}, this program needs version {VERSION}; start a new database, or "
            "open this one with the version of preceptor that made it"
        )


def version_of(connection: Connection) -> int | None:
    """The version of the tables in a database; None if it does not say."""
    return connection.execute(select(tables_version.c.version)).scalar()
