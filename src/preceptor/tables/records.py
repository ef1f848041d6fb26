"""JSON lines: a table with names in each line, all of them together one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preceptor._base.parsing import parse_json_line
from preceptor.errors import InvalidFile
from preceptor.tables.assumed import Assumed
from preceptor.tables.letters import decode, in_words
from preceptor.tables.names import clean, first_faults, header_faults
from preceptor.tables.opening import read_bytes, refuse_other_kinds
from preceptor.tables.reading import Reading

# Cells that are laid out although nobody wrote them: so many, or so many for each that is there.
_MOST_BLANK, _MOST_BLANK_EACH = 1_000_000, 10


def read_lines(
    path: Path, how: Reading, assumed: Assumed
) -> tuple[dict[str, list[Any]], list[str]]:
    """Cells by column, a column for every name that any line has; and what to call each row."""
    raw = read_bytes(path)
    refuse_other_kinds(path, raw[:512])
    text, encoding = decode(path, raw, how.encoding)
    spoken = in_words(encoding)
    if how.encoding is None and spoken is not None:
        assumed.add(spoken, "encoding")
    records, faults = [], []
    # Not splitlines(): JSON may hold other signs that it takes for the end of a line.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            record = parse_json_line(line)
        except InvalidFile as error:
            faults.append(f"{place}: {error}")
            continue
        if type(record) is not dict:
            faults.append(f"{place}: expected a table with names")
        else:
            records.append((place, record))
    InvalidFile.raise_if(f"{path}: {fault}" for fault in first_faults(faults))
    return _by_column(path, records)


def _by_column(
    path: Path, records: Sequence[tuple[str, dict[str, Any]]]
) -> tuple[dict[str, list[Any]], list[str]]:
    keys = dict.fromkeys(key for _, record in records for key in record)
    filled = sum(len(record) for _, record in records)
    blank = len(keys) * len(records) - filled
    if blank > _MOST_BLANK and blank > _MOST_BLANK_EACH * filled:
        raise InvalidFile(
            f"{path}: {len(records):,} rows with {len(keys):,} names, nearly all of them blank; "
            "use the same names in every row"
        )
    names = [clean(key) for key in keys]
    InvalidFile.raise_if(f"{path}: {fault}" for fault in header_faults(names, "names"))
    columns = {
        name: [_written(record.get(key)) for _, record in records]
        for name, key in zip(names, keys, strict=True)
    }
    return columns, [place for place, _ in records]


def _written(cell: Any) -> Any:
    """Text without halves of letters, which JSON may hold and nobody can write."""
    if isinstance(cell, str) and not cell.isascii():
        return cell.encode("utf-8", "replace").decode("utf-8")
    return [_written(item) for item in cell] if isinstance(cell, list) else cell
