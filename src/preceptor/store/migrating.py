"""Bring the tables of a database up to date, once, whoever starts first.

The steps (`migrations/versions`) travel with the package and need no files of configuration. All
of them are one transaction that nobody else can write beside: a process that starts at the same
time waits, and then finds nothing to do.
"""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from preceptor.errors import InvalidFile
from preceptor.store.failures import in_words

_STEPS = Path(__file__).with_name("migrations")


def migrate(engine: Engine, to: str = "head") -> None:
    """Make or change tables until they are those of this version.

    Parameters
    ----------
    engine
        Whose transactions may write.
    to
        The last step to take.

    Raises
    ------
    InvalidFile
        The database is of a newer version.
    StoreFailure
        It cannot be opened or written.
    """
    try:
        with engine.begin() as connection:
            here = current(connection)
            if here == newest() and to == "head":
                return
            if here is not None and here not in known():
                raise InvalidFile(
                    f"database: is of a newer version ({here}) than this program ({newest()}); "
                    "update preceptor, or restore a backup"
                )
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, to)
    except SQLAlchemyError as error:
        raise in_words(error) from error


def current(connection: Connection) -> str | None:
    """The last step that was taken; None for an empty database."""
    return MigrationContext.configure(connection).get_current_revision()


def newest() -> str:
    """The last step there is."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def known() -> list[str]:
    """All steps, the newest first."""
    return [each.revision for each in ScriptDirectory.from_config(_config()).walk_revisions()]


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_STEPS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
