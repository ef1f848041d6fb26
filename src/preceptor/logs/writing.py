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

if TYPE_CHECKING:
    import pandas as pd

    from preceptor.logs.log import Log

LAYOUTS = ("lists", "wide")
_COLUMNS = ("participant", "round", "shown", "prediction", "outcome")


def plain_rows(log: Log, layout: str = "lists") -> list[dict[str, Any]]:
    """One table of plain data for each row; None where there is nothing."""
    if layout not in LAYOUTS:
        raise InvalidInput(f"layout: {layout!r}, must be 'lists' or 'wide'")
    # What says no more than the outcome does is left out: such logs stay as they always were.
    feedback = bool(np.any(log.feedback != ~np.isnan(log.outcome)))
    dates = not bool(np.all(np.isnat(log.when)))
    written = [*_COLUMNS, *["feedback"] * feedback, *["when"] * dates]
    if layout == "wide" and (taken := [name for name in log.names if name in written]):
        raise InvalidInput(
            f"layout: 'wide' would need two columns {taken[0]!r}, one of them for the test of that "
            "name; use layout='lists'"
        )
    rows = []
    for i in range(len(log)):
        row: dict[str, Any] = {"participant": str(log.participant[i]), "round": int(log.rounds[i])}
        values = log.values[i].tolist()
        seen = np.flatnonzero(log.shown[i]).tolist()
        if layout == "lists":
            row |= {"shown": [log.names[j] for j in seen], "values": [values[j] for j in seen]}
        else:
            row |= {
                name: values[j] if log.shown[i, j] else None for j, name in enumerate(log.names)
            }
        row["prediction"] = float(log.prediction[i])
        row["outcome"] = None if np.isnan(log.outcome[i]) else float(log.outcome[i])
        if feedback:
            row["feedback"] = bool(log.feedback[i])
        if dates:
            row["when"] = None if np.isnat(log.when[i]) else in_iso(log.when[i])
        rows.append(row)
    return rows


def log_to_frame(log: Log, layout: str) -> pd.DataFrame:
    """A pandas frame with a row for each round."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtra("pandas", "data", "a data frame") from None
    frame = pd.DataFrame(plain_rows(log, layout))
    if "when" in frame and not (layout == "wide" and "when" in log.names):  # not the test "when"
        frame["when"] = log.when
    numbers = ["prediction", "outcome", *(log.names if layout == "wide" else ())]
    return frame.astype(dict.fromkeys(numbers, "float64"))


def write_log(log: Log, path: str | Path, layout: str) -> None:
    """A file that `Log.read` reads."""
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        write_text(path, _csv_text(log, path, layout))
    elif suffix in (".jsonl", ".ndjson"):
        lines = (json.dumps(row, ensure_ascii=False) for row in plain_rows(log, layout))
        write_text(path, "\n".join(lines) + "\n")
    elif suffix == ".parquet":
        write_bytes(path, _parquet_bytes(log, layout))
    else:
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in .csv, .jsonl or .parquet")


def _csv_text(log: Log, path: str | Path, layout: str) -> str:
    if layout == "lists":
        split = [name for name in log.names if ";" in name]
        if split:
            raise InvalidFile(
                f"{path}: the name {split[0]!r} has a semicolon, which separates names in a list; "
                "use layout='wide' or a .jsonl file"
            )
    rows = plain_rows(log, layout)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: as_cell(value) for name, value in row.items()})
    return text.getvalue()


def as_cell(value: Any) -> Any:
    """One value as a cell of a CSV file."""
    # repr of a float reads back to the same bits; csv writes floats that way by itself.
    if isinstance(value, list):
        return ";".join(v if isinstance(v, str) else repr(v) for v in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value


def _parquet_bytes(log: Log, layout: str) -> bytes:
    frame = log_to_frame(log, layout)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra("pyarrow", "data", "writing Parquet") from None
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()
