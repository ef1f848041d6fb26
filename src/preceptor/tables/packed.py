"""Parquet files, unpacked piece by piece so that none can take the machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from preceptor.errors import InvalidFile, MissingExtra
from preceptor.tables.opening import MOST_CELLS, check_file

# Unpacked, and once more as a frame.
MOST_BYTES = 2**29
_NUMBERS = re.compile(r"__index_level_\d+__")


def read_parquet(path: Path) -> Any:
    """The table as a frame; columns that pandas once used to number rows are left out."""
    check_file(path)
    try:
        import pandas  # noqa: F401
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("pandas with pyarrow", "data", "Reading Parquet") from None
    try:
        with parquet.ParquetFile(path) as file:
            rows, columns = file.metadata.num_rows, len(file.schema_arrow.names)
            if rows * columns > MOST_CELLS:
                raise InvalidFile(
                    f"{path}: {rows:,} rows of {columns:,} columns, at most {MOST_CELLS:,} cells "
                    "are read; give fewer"
                )
            parts, size = [], 0
            # Piece by piece: what is packed well can unpack into more than the machine has.
            for part in file.iter_batches(batch_size=4096):
                size += part.nbytes
                if size > MOST_BYTES:
                    raise InvalidFile(f"{path}: unpacks to more than 500 MB; give fewer rows")
                parts.append(part)
            table = pa.Table.from_batches(parts, file.schema_arrow)
            kept = [name for name in table.column_names if not _NUMBERS.fullmatch(name)]
            return table.select(kept).to_pandas(ignore_metadata=True)
    except InvalidFile:
        raise
    except Exception as error:  # Arrow has many kinds of errors, and damaged files find them all
        reason = " ".join(str(error).split())[:200]
        raise InvalidFile(f"{path}: not a Parquet file ({reason})") from None
