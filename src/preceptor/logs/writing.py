"""Logs into frames and files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.files import write_bytes, write_text
from preceptor.errors import InvalidFile, InvalidInput, MissingExtra
from preceptor.logs.cells import in_iso
from preceptor.logs.checks import DECIDED, FIELD_COLUMNS
from preceptor.logs.in_world import require_tests
from preceptor.logs.levels import Category, categories_of, spoken

if TYPE_CHECKING:
    import pandas as pd

    from preceptor.logs.log import Log
    from preceptor.model.world import World

_COLUMNS = ("participant", "round", "shown", "prediction", "outcome")


def plain_rows(
    log: Log, world: World | None = None, *, wide: bool = False, unlisted: str = ""
) -> list[dict[str, Any]]:
    """One table of plain data for each row; None where there is nothing.

    Tests are in lists, `shown` and `values`, or have a column each if `wide`. Categories are levels
    where the world knows them; not if a name or a level holds `unlisted`.
    """
    # What says no more than the outcome does is left out: such logs stay as they always were.
    feedback = bool(np.any(log.feedback != ~np.isnan(log.outcome)))
    dates = not bool(np.all(np.isnat(log.when)))
    decided = log.said_decided if _may_be_yes_or_no(log) else None
    written = [*_COLUMNS, *["feedback"] * feedback, *["when"] * dates]
    written += [] if decided is None else [DECIDED]
    if wide and (taken := [name for name in log.names if name in written]):
        raise InvalidInput(
            f"log: a frame would need two columns {taken[0]!r}, one of them for the test of that "
            "name; write a file, which lists tests"
        )
    levels = _levels(log, world, unlisted)
    # Whoever reads it would take the column for another one.
    levels = {c: texts for c, texts in levels.items() if not wide or _is_free(c, log)}
    first = {category.columns[0]: category for category in levels}
    within = {column for category in levels for column in category.columns}
    rows = []
    for i in range(len(log)):
        row: dict[str, Any] = {"participant": str(log.participant[i]), "round": int(log.rounds[i])}
        values = log.values[i].tolist()
        cells: dict[str, Any] = {}
        for j, name in enumerate(log.names):
            if j in first:
                cells[first[j].test] = levels[first[j]][i]
            elif j not in within:
                cells[name] = values[j] if log.shown[i, j] else None
        if not wide:
            seen = {name: cell for name, cell in cells.items() if cell is not None}
            row |= {"shown": list(seen), "values": list(seen.values())}
        else:
            row |= cells
        row["prediction"] = float(log.prediction[i])
        row["outcome"] = None if np.isnan(log.outcome[i]) else float(log.outcome[i])
        if feedback:
            row["feedback"] = bool(log.feedback[i])
        if dates:
            row["when"] = None if np.isnat(log.when[i]) else in_iso(log.when[i])
        if decided is not None:
            row[DECIDED] = decided
        rows.append(row)
    return rows


def _may_be_yes_or_no(log: Log) -> bool:
    """Whether all numbers are such as yes-or-no outcomes and answers to them are."""
    heard = log.outcome[~np.isnan(log.outcome)]
    return bool(
        np.all((heard == 0.0) | (heard == 1.0))
        and np.all((log.prediction >= 0.0) & (log.prediction <= 1.0))
    )


def _levels(log: Log, world: World | None, unlisted: str) -> dict[Category, list[str | None]]:
    """Categories that can be written as levels in every row, with those levels."""
    if world is None:
        return {}
    require_tests(world, log)
    found = {}
    for category in categories_of(world):
        texts = spoken(log.shown, log.values, category)
        if texts is None:
            continue
        names = (category.test, *(text for text in texts if text is not None))
        if not unlisted or not any(unlisted in name for name in names):
            found[category] = texts
    return found


def _is_free(category: Category, log: Log) -> bool:
    """Whether a column with the name of the test can be nothing else."""
    own = {log.names[column] for column in category.columns}
    taken = {*FIELD_COLUMNS, *log.names} - own
    return category.test not in taken


def log_to_frame(log: Log, world: World | None = None, *, wide: bool = True) -> pd.DataFrame:
    """A pandas frame with a row for each round, and a column for each test if `wide`."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtra("pandas", "data", "a data frame") from None
    frame = pd.DataFrame(plain_rows(log, world, wide=wide))
    if "when" in frame and not (wide and "when" in log.names):  # not the test "when"
        frame["when"] = log.when
    tests = [name for name in log.names if name in frame] if wide else []
    texts = [c.test for c in categories_of(world)] if world is not None else []
    numbers = ["prediction", "outcome", *(name for name in tests if name not in texts)]
    return frame.astype(dict.fromkeys(numbers, "float64"))


def write_log(log: Log, path: str | Path, world: World | None = None) -> None:
    """A file that `Log.read` reads; it holds names of people, so a new one is its owner's alone."""
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        write_text(path, _csv_text(log, path, world), private=True)
    elif suffix in (".jsonl", ".ndjson"):
        lines = (json.dumps(row, ensure_ascii=False) for row in plain_rows(log, world))
        write_text(path, "\n".join(lines) + "\n", private=True)
    elif suffix == ".parquet":
        write_bytes(path, _parquet_bytes(log, world), private=True)
    else:
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in .csv, .jsonl or .parquet")


def _csv_text(log: Log, path: str | Path, world: World | None) -> str:
    split = [name for name in log.names if ";" in name]
    if split:
        raise InvalidFile(
            f"{path}: the name {split[0]!r} has a semicolon, which separates names in a list; "
            "use a .jsonl file"
        )
    rows = plain_rows(log, world, unlisted=";")
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _as_cell(value) for name, value in row.items()})
    return text.getvalue()


def _as_cell(value: Any) -> Any:
    """One value as a cell of a CSV file."""
    # repr of a float reads back to the same bits; csv writes floats that way by itself.
    if isinstance(value, list):
        return ";".join(v if isinstance(v, str) else repr(v) for v in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value


def _parquet_bytes(log: Log, world: World | None) -> bytes:
    frame = log_to_frame(log, world, wide=False)
    if any(isinstance(v, str) for cells in frame["values"] for v in cells):
        # A list has one type: beside levels, numbers are written as text, which keeps their bits.
        frame["values"] = [
            [v if isinstance(v, str) else repr(v) for v in c] for c in frame["values"]
        ]
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra("pyarrow", "data", "writing Parquet") from None
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()
