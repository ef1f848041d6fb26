"""Large arrays as text for a file: compressed with their shape and type, or run-length encoded.

A table over counts with 400 million entries has a million runs of equal numbers. As runs it is read
from a file in milliseconds, and any entry is found by bisection without expanding the table.

A few hundred bytes can decompress to gigabytes, so an array is checked against the size that its
shape and type imply before and while it is decompressed.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count
from preceptor._base.values import Value
from preceptor.errors import InvalidFile

# Booleans, integers and floats; other types (objects, text) are never read.
TYPES = frozenset(("|b1", "|i1", "|u1")) | {
    f"{order}{kind}" for order in "<>" for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f4", "f8")
}
# Ample for a plan for three tests, which has millions of entries of one or two bytes.
MOST_BYTES = 2**27
# Entries of a table that are compared at once: they fit in a cache.
_CHUNK = 1 << 20
# Planning makes no larger table within its default memory. A small file may claim any number of
# entries, so this is checked before anything is expanded.
MOST_ENTRIES = 2**29


def pack(array: npt.NDArray[Any]) -> dict[str, Any]:
    """A large array as plain data: shape, type and compressed content."""
    raw = zlib.compress(np.ascontiguousarray(array).tobytes(), 6)
    text = base64.b64encode(raw).decode("ascii")
    return {"shape": list(array.shape), "type": array.dtype.str, "zlib": text}


def unpack(name: str, packed: Any) -> npt.NDArray[Any]:
    """The array that `pack` packed; a damaged or too large one is reported by name."""
    try:
        return _unpacked(packed)
    except (ValueError, zlib.error) as error:
        raise InvalidFile(f"{name}: the packed array is damaged ({error})") from None


def _unpacked(packed: Any) -> npt.NDArray[Any]:
    """Check shape and type, then decompress at most one byte more than they say."""
    if not isinstance(packed, Mapping) or set(packed) != {"shape", "type", "zlib"}:
        raise ValueError("must have shape, type and zlib")
    shape, kind, text = packed["shape"], packed["type"], packed["zlib"]
    if not isinstance(kind, str) or kind not in TYPES:
        raise ValueError(f"type {kind!r}, must be one of {', '.join(sorted(TYPES))}")
    if not isinstance(text, str):
        raise ValueError(f"zlib {text!r}, must be text")
    if not isinstance(shape, list) or not all(is_count(length, least=0) for length in shape):
        raise ValueError(f"shape {shape!r}, must be whole numbers of at least 0")
    size = math.prod(shape) * np.dtype(kind).itemsize
    if size > MOST_BYTES:
        raise ValueError(f"shape {shape} takes more than {MOST_BYTES // 2**20} MB, the limit")
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(base64.b64decode(text, validate=True), size + 1)
    if len(raw) != size or not unpacker.eof:
        raise ValueError("does not hold what its shape says")
    return np.frombuffer(raw, dtype=kind).reshape(shape)


@dataclass(frozen=True, eq=False)
class RunTable(Value):
    """A run-length encoded array in C order: values, and where each run ends (exclusive).

    >>> table = RunTable.of(np.array([[7, 7], [7, 2]]))
    >>> table.values.tolist(), table.ends.tolist(), table.at((1, 1))
    ([7, 2], [3, 4], 2)
    """

    shape: tuple[int, ...]
    values: npt.NDArray[np.integer]
    ends: npt.NDArray[np.int64]

    @classmethod
    def of(cls, array: npt.NDArray[np.integer]) -> RunTable:
        """Encode a non-empty array."""
        flat = array.reshape(-1)
        changes = []
        for first in range(0, flat.size - 1, _CHUNK):
            chunk = flat[first : first + _CHUNK + 1]
            changes.append(np.flatnonzero(chunk[1:] != chunk[:-1]) + (first + 1))
        ends = np.concatenate([*changes, [flat.size]])
        return cls(array.shape, flat[ends - 1], ends)

    def at(self, where: tuple[int, ...]) -> int:
        """Return one entry."""
        position = 0
        for index, size in zip(where, self.shape, strict=True):
            position = position * size + index
        return int(self.values[np.searchsorted(self.ends, position, side="right")])

    def unfolded(self) -> npt.NDArray[np.integer]:
        """Expand to the whole array."""
        return np.repeat(self.values, np.diff(self.ends, prepend=0)).reshape(self.shape)

    def packed(self) -> dict[str, Any]:
        """As plain data; no run of a table that fits in memory needs more than 32 bits."""
        lengths = np.diff(self.ends, prepend=0).astype("<u4")
        return {"shape": list(self.shape), "values": pack(self.values), "lengths": pack(lengths)}

    @classmethod
    def unpacked(cls, name: str, data: Mapping[str, Any]) -> RunTable:
        """Rebuild what `packed` gave; a damaged or too large table is refused by name."""
        if not {"shape", "values", "lengths"} <= data.keys():
            raise InvalidFile(f"{name}: the packed table needs shape, values and lengths")
        shape = data["shape"]
        whole = isinstance(shape, list) and all(type(n) is int and n > 0 for n in shape)
        if not whole or not shape:
            raise InvalidFile(f"{name}: shape {shape!r}, must be whole numbers of at least 1")
        entries = math.prod(shape)
        if entries > MOST_ENTRIES:
            raise InvalidFile(
                f"{name}: {entries:,} entries, at most {MOST_ENTRIES:,} are read; solve the "
                "problem again with smaller `caps`"
            )
        values, lengths = (unpack(name, data[part]) for part in ("values", "lengths"))
        faults = []
        if values.ndim != 1 or values.shape != lengths.shape:
            faults.append(f"{name}: {values.size:,} values for {lengths.size:,} runs")
        if values.dtype.kind not in "iu" or lengths.dtype.kind != "u" or lengths.itemsize > 4:
            faults.append(f"{name}: values and lengths of runs must be whole numbers")
        InvalidFile.raise_if(faults)
        # Lengths of at most 32 bits, fewer than 2^29 of them: this sum cannot overflow.
        ends = np.cumsum(lengths, dtype=np.int64)
        if ends.size == 0 or int(ends[-1]) != entries or int(lengths.min()) < 1:
            raise InvalidFile(f"{name}: its runs do not fill a table of shape {shape}")
        return cls(tuple(shape), values, ends)
