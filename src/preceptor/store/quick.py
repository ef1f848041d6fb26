"""Statements that run on every call, without what SQLAlchemy does for statements in general.

Finding a row by its key takes SQLite 4 microseconds, and SQLAlchemy six times as long around it.
So such a statement is compiled once, and then goes to the driver as it is; the types of its columns
still translate. With Postgres the way to the server takes longer than all of this: there SQLAlchemy
runs them as any other statement.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Dialect, Select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.dml import UpdateBase

Translate = Callable[[Any], Any] | None


class Quick:
    """A statement that is compiled once.

    Parameters
    ----------
    statement
        Finds one row, or changes some; what it is given goes by names.
    """

    def __init__(self, statement: Select[Any] | UpdateBase) -> None:
        self._statement = statement
        self._compiled: dict[tuple[str, ...], _Compiled] = {}

    def first(
        self, connection: Connection, given: Mapping[str, Any] | None = None
    ) -> Sequence[Any] | None:
        """The first row, in the order of the columns; None if there is none."""
        given = given or {}
        if connection.dialect.name != "sqlite":
            return connection.execute(self._statement, given).first()
        compiled = self._for(connection, given)
        row = compiled.run(connection, given).fetchone()
        return None if row is None else compiled.read(row)

    def change(self, connection: Connection, given: Mapping[str, Any]) -> None:
        """Insert or update; the columns are those that are named."""
        if connection.dialect.name != "sqlite":
            connection.execute(self._statement, given)
            return
        self._for(connection, given).run(connection, given)

    def _for(self, connection: Connection, given: Mapping[str, Any]) -> _Compiled:
        names = tuple(given)
        found = self._compiled.get(names)
        if found is None:
            found = _Compiled(self._statement, names, connection.dialect)
            self._compiled[names] = found
        return found


class _Compiled:
    """A statement for SQLite: its text, and what translates values there and back."""

    def __init__(
        self, statement: Select[Any] | UpdateBase, names: Sequence[str], dialect: Dialect
    ) -> None:
        changes = isinstance(statement, UpdateBase)
        compiled = statement.compile(dialect=dialect, column_keys=names if changes else None)
        self._text = str(compiled)
        fixed = compiled.params
        self._given: list[tuple[str, Any, Translate]] = []
        for name in getattr(compiled, "positiontup", None) or ():
            kind = compiled.binds[name].type.dialect_impl(dialect)
            self._given.append((name, fixed[name], kind.bind_processor(dialect)))
        columns = () if isinstance(statement, UpdateBase) else tuple(statement.selected_columns)
        self._back: list[tuple[int, Callable[[Any], Any]]] = []
        for i, column in enumerate(columns):
            back = column.type.dialect_impl(dialect).result_processor(dialect, None)
            if back is not None:
                self._back.append((i, back))

    def run(self, connection: Connection, given: Mapping[str, Any]) -> sqlite3.Cursor:
        values = [
            given.get(name, fixed) if there is None else there(given.get(name, fixed))
            for name, fixed, there in self._given
        ]
        if not connection.in_transaction():
            connection.begin()
        driver: Any = connection.connection.driver_connection
        try:
            cursor: sqlite3.Cursor = driver.execute(self._text, values)
        except sqlite3.Error as error:
            raise DBAPIError.instance(
                self._text, values, error, sqlite3.Error, hide_parameters=True
            ) from error
        return cursor

    def read(self, row: Sequence[Any]) -> Sequence[Any]:
        values = list(row)
        for i, back in self._back:
            values[i] = back(values[i])
        return values
