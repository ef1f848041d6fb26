"""One more round at the end of a log file: whole or not at all, and only if nobody else wrote.

The row goes into the file's own columns; every byte that is there already stays.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.files import write_bytes
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.logs.cells import in_iso
from preceptor.logs.columns import FIELDS
from preceptor.logs.levels import Category, Tests, cells_of
from preceptor.logs.log import Log
from preceptor.logs.matching import DECIDED, Columns, by_level
from preceptor.logs.writing import as_cell
from preceptor.model.world import World

_SUFFIXES = (".csv", ".jsonl", ".ndjson")
_NEW_COLUMNS = ("participant", "round", "shown", "values", "prediction", "outcome", "when")


@dataclass(frozen=True)
class NewRound:
    """A round that has just been played, in the units that the person read.

    Attributes
    ----------
    participant
        Who.
    shown
        Columns that were shown, by index.
    values
        Their results, in the same order.
    answer
        What the person said.
    outcome
        What was true; None if they were not told.
    """

    participant: str
    shown: tuple[int, ...]
    values: tuple[float, ...]
    answer: float
    outcome: float | None = None


@dataclass(frozen=True)
class LogFile:
    """A log file as it was when it was read.

    Attributes
    ----------
    path
        Where it is.
    content
        What was in it; None if there was no such file.
    """

    path: Path
    content: bytes | None

    @classmethod
    def at(cls, path: str | Path) -> LogFile:
        """Remember what is there now.

        Parameters
        ----------
        path
            A .csv or .jsonl file, which need not be there yet.

        Returns
        -------
        LogFile
            To be written to later, if nobody else does so first.
        """
        return cls(Path(path), _content(Path(path)))

    @property
    def has_rows(self) -> bool:
        """Whether there is anything but a header."""
        lines = [line for line in (self.content or b"").splitlines() if line.strip()]
        return len(lines) > (1 if self.path.suffix.lower() == ".csv" else 0)

    def append(
        self,
        log: Log | None,
        names: Sequence[str] | World,
        entry: NewRound,
        *,
        columns: Mapping[str, str] | None = None,
    ) -> Log:
        """Write one more row, whole or not at all.

        Parameters
        ----------
        log
            What was read from the file; None if there was no file.
        names
            The tests, n of them; or their world, which knows the levels of categories: these are
            written as people saw them.
        entry
            What to add; its round follows the person's last one.
        columns
            Maps the names of `Log.read` to those of the file.

        Returns
        -------
        Log
            With the new row.

        Raises
        ------
        InvalidInput
            Numbers that make no sense.
        InvalidFile
            The file has changed since, or a row cannot be added to it.
        """
        tests = Tests.of(names)
        after = extended(log, tests.names, entry)
        own = after.for_participant(entry.participant)
        row = self._with_row(own, tests, dict(columns or {}))
        if _content(self.path) != self.content:
            raise InvalidFile(
                f"{self.path}: was changed by somebody else in the meantime; nothing was written, "
                "look at it and record the case again"
            )
        write_bytes(self.path, row, private=True)
        return after

    def _with_row(self, own: Log, tests: Tests, columns: dict[str, str]) -> bytes:
        suffix = self.path.suffix.lower()
        if suffix not in _SUFFIXES:
            raise InvalidFile(
                f"{self.path}: ends in {suffix!r}, a case can be added to .csv and .jsonl files; "
                "save the log as one of them (in a spreadsheet: File, Save As, CSV in UTF-8 with "
                "commas between cells) and give that file from now on"
            )
        before = self.content or b""
        try:
            text = before.decode("utf-8")
        except UnicodeDecodeError:
            raise InvalidFile(
                f"{self.path}: is not text in UTF-8, so no case can be added; save it as UTF-8"
            ) from None
        ending = "\r\n" if "\r\n" in text else "\n"
        if text and not text.endswith("\n"):
            text += ending
        if suffix == ".csv":
            text += self._csv_lines(text, own, tests, columns, ending)
        else:
            text += json.dumps(_record(text, own, tests, columns), ensure_ascii=False) + ending
        return text.encode("utf-8")

    def _csv_lines(
        self,
        text: str,
        own: Log,
        tests: Tests,
        columns: dict[str, str],
        ending: str,
    ) -> str:
        header = next(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")), [])
        header = [name.strip() for name in header]
        written = io.StringIO(newline="")
        writer = csv.writer(written, lineterminator=ending)
        if not text:
            header = [columns.get(field, field) for field in _NEW_COLUMNS]
            writer.writerow(header)
        fields = _fields(own, tests, _as_levels(header, tests, columns), unlisted=";")
        row = _laid_out(header, fields, columns)
        listed = columns.get("shown", "shown") in header
        if listed and any(";" in name for name in fields["shown"]):
            raise InvalidFile(
                f"{self.path}: a name with a semicolon cannot stand in a list; use a .jsonl file"
            )
        missing = [c for c in _needed(fields, columns) if c not in header]
        if missing or row is None:
            raise InvalidFile(
                f"{self.path}: no case can be added, since its first line has no column "
                f"{', '.join(missing) or 'for the tests'} (cells must be separated by commas); "
                "save it that way, or use a .jsonl file"
            )
        writer.writerow([as_cell(row.get(name)) for name in header])
        return written.getvalue()


def extended(log: Log | None, names: tuple[str, ...], entry: NewRound) -> Log:
    """The log with one more round of somebody, checked as any other."""
    shown = np.zeros((1, len(names)), dtype=np.bool_)
    values = np.full((1, len(names)), np.nan)
    shown[0, list(entry.shown)] = True
    values[0, list(entry.shown)] = entry.values
    there = log is not None and entry.participant in log.participants
    before = log.for_participant(entry.participant) if log is not None and there else None
    dated = before is None or not np.isnat(before.when[-1])
    when = np.datetime64(datetime.now(UTC).replace(tzinfo=None, microsecond=0), "us")
    if before is not None and dated:
        when = max(when, before.when[-1])  # even if a clock was set back
    new: dict[str, Any] = {
        "participant": [entry.participant],
        "rounds": [1 if before is None else int(before.rounds[-1]) + 1],
        "shown": shown,
        "values": values,
        "prediction": [entry.answer],
        "outcome": [np.nan if entry.outcome is None else entry.outcome],
        "feedback": [entry.outcome is not None],
        "when": np.array([when if dated else np.datetime64("NaT")], dtype="datetime64[us]"),
    }
    try:
        row = Log(names, *(new[field] for field in FIELDS))
    except InvalidInput as error:
        raise InvalidInput([fault.removeprefix("row 0, ") for fault in error.faults]) from None
    if log is None:
        return row
    joined = [np.concatenate([getattr(log, f), getattr(row, f)]) for f in FIELDS]
    return Log(names, *joined, decided=log.said_decided)


def _as_levels(there: Sequence[str], tests: Tests, columns: Mapping[str, str]) -> list[Category]:
    """Categories whose levels the file has a place for: in lists, or in a column of their own."""
    if not there or columns.get("shown", "shown") in there:
        return list(tests.categories)
    found = Columns(there, columns)
    return [each for each in tests.categories if by_level(found, each, tests.names)]


def _fields(
    own: Log, tests: Tests, as_levels: Sequence[Category], *, unlisted: str = ""
) -> dict[str, Any]:
    """The last row by our names of columns; levels only where they do not hold `unlisted`."""
    seen, told = np.flatnonzero(own.shown[-1]).tolist(), bool(own.feedback[-1])
    if unlisted:
        levels = {each: (each.test, each.level_of(own.values[-1]) or "") for each in as_levels}
        as_levels = [each for each in as_levels if not any(unlisted in t for t in levels[each])]
    cells = cells_of(seen, own.values[-1], tests, as_levels)
    return {
        "participant": str(own.participant[-1]),
        "round": int(own.rounds[-1]),
        "shown": list(cells),
        "values": list(cells.values()),
        "prediction": float(own.prediction[-1]),
        "outcome": float(own.outcome[-1]) if told else None,
        "feedback": told,
        "when": None if np.isnat(own.when[-1]) else in_iso(own.when[-1]),
        DECIDED: own.said_decided,
    }


def _needed(fields: Mapping[str, Any], columns: Mapping[str, str]) -> list[str]:
    needed = ["participant", "round", "prediction", *["outcome"] * fields["feedback"]]
    return [columns.get(field, field) for field in needed]


def _laid_out(
    there: Sequence[str],
    fields: Mapping[str, Any],
    columns: Mapping[str, str],
) -> dict[str, Any] | None:
    """Cells by the file's own columns; None if it has no place for the tests."""
    ours = ("participant", "round", "prediction", "outcome", "feedback", "when", DECIDED)
    row = {columns.get(field, field): fields[field] for field in ours}
    if columns.get("shown", "shown") in there:
        return row | {columns.get(field, field): fields[field] for field in ("shown", "values")}
    shown = [columns.get(name, name) for name in fields["shown"]]
    tests = dict(zip(shown, fields["values"], strict=True))
    return {**row, **tests} if set(tests) <= set(there) else None


def _record(text: str, own: Log, tests: Tests, columns: Mapping[str, str]) -> dict[str, Any]:
    """A line of JSON with the keys of the lines before, or of a new file."""
    lines = text.removeprefix("\ufeff").splitlines()
    keys = dict.fromkeys(key for line in lines if line.strip() for key in json.loads(line))
    there = list(keys) or [columns.get(field, field) for field in _NEW_COLUMNS]
    as_levels = _as_levels(there, tests, columns)
    fields = _fields(own, tests, as_levels)
    there += [key for key in _needed(fields, columns) if key not in there]
    within = {column for each in as_levels for column in each.columns}
    names = [each.test for each in as_levels]
    names += [name for i, name in enumerate(tests.names) if i not in within]
    if columns.get("shown", "shown") not in there:
        there += [key for name in names if (key := columns.get(name, name)) not in there]
    row = _laid_out(there, fields, columns) or {}
    known = {*_NEW_COLUMNS, "feedback", DECIDED, *names, *tests.names}
    kept = {columns.get(name, name) for name in known}
    return {key: row.get(key) for key in there if key in kept}


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read ({error.strerror})") from None
