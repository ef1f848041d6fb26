"""Large arrays as text for a file: compressed, with their shape and type, or as runs.

A table over counts with 400 million entries has a million runs of equal numbers. As runs it is read
from a file in some milliseconds and answers for any entry by bisection; nobody has to unfold it.

A few hundred bytes can unpack to gigabytes, so an array is bounded by what its shape and type say
before anything is unpacked, and nothing beyond that is.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count
from preceptor.errors import InvalidFile

# What we pack: whole numbers and doubles. Types of other kinds (objects, text) are never read.
TYPES = frozenset(("|b1", "|i1", "|u1")) | {
    f"{order}{kind}" for order in "<>" for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f4", "f8")
}
# A plan for three tests has millions of entries of one byte or two.
MOST_BYTES = 2**27
# Entries of a table that are compared with their neighbours at once: what fits in a cache.
_CHUNK = 1 << 20
# Planning makes no larger table in the memory it may use by default. A file of a few hundred bytes
# may claim any number of entries, so this is looked at before anything is unfolded.
MOST_ENTRIES = 2**29


def pack(array: npt.NDArray[Any]) -> dict[str, Any]:
    """A large array for a file: compressed, as text, with its shape and type."""
    raw = zlib.compress(np.ascontiguousarray(array).tobytes(), 6)
    text = base64.b64encode(raw).decode("ascii")
    return {"shape": list(array.shape), "type": array.dtype.str, "zlib": text}


def unpack(name: str, packed: Any) -> npt.NDArray[Any]:
    """What `pack` packed; a damaged one, or one that is too large, is reported by name."""
    faults = list(_faults(packed))
    if not faults:
        try:
            return _unpacked(packed["shape"], packed["type"], packed["zlib"])
        except (ValueError, zlib.error) as error:
            faults = [str(error)]
    raise InvalidFile(f"{name}: the packed array is damaged ({'; '.join(faults)})")


def _faults(packed: Any) -> Iterator[str]:
    """What is wrong with shape and type, before anything is unpacked."""
    if not isinstance(packed, Mapping) or set(packed) != {"shape", "type", "zlib"}:
        yield "must have shape, type and zlib"
        return
    shape, kind, text = packed["shape"], packed["type"], packed["zlib"]
    if not isinstance(kind, str) or kind not in TYPES:
        yield f"type {kind!r}, must be one of {', '.join(sorted(TYPES))}"
        return
    if not isinstance(text, str):
        yield f"zlib {text!r}, must be text"
        return
    if not isinstance(shape, list) or not all(is_count(length, least=0) for length in shape):
        yield f"shape {shape!r}, must be whole numbers of at least 0"
    elif _bytes(shape, kind) > MOST_BYTES:
        yield f"shape {shape} takes more than {MOST_BYTES // 2**20} MB, the most that is read"


def _bytes(shape: list[int], kind: str) -> int:
    return math.prod(shape) * np.dtype(kind).itemsize


def _unpacked(shape: list[int], kind: str, text: str) -> npt.NDArray[Any]:
    raw = _unzipped(base64.b64decode(text, validate=True), _bytes(shape, kind))
    return np.frombuffer(raw, dtype=kind).reshape(shape)


def _unzipped(packed: bytes, size: int) -> bytes:
    """So many bytes; more or fewer are an error, and no more than one more is ever made."""
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(packed, size + 1)
    if len(raw) != size or not unpacker.eof:
        raise ValueError("does not hold what its shape says")
    return raw


@dataclass(frozen=True, eq=False)
class RunTable:
    """An array of some shape as runs in C order: their values, and where each ends (exclusive).

    >>> table = RunTable.of(np.array([[7, 7], [7, 2]]))
    >>> table.values.tolist(), table.ends.tolist(), table.at((1, 1))
    ([7, 2], [3, 4], 2)
    """

    shape: tuple[int, ...]
    values: npt.NDArray[np.integer]
    ends: npt.NDArray[np.int64]

    @classmethod
    def of(cls, array: npt.NDArray[np.integer]) -> RunTable:
        """The runs of an array that is not empty."""
        flat = array.reshape(-1)
        changes = []
        for first in range(0, flat.size - 1, _CHUNK):
            chunk = flat[first : first + _CHUNK + 1]
            changes.append(np.flatnonzero(chunk[1:] != chunk[:-1]) + (first + 1))
        ends = np.concatenate([*changes, [flat.size]])
        return cls(array.shape, flat[ends - 1], ends)

    def at(self, where: tuple[int, ...]) -> int:
        """One entry."""
        position = 0
        for index, size in zip(where, self.shape, strict=True):
            position = position * size + index
        return int(self.values[np.searchsorted(self.ends, position, side="right")])

    def unfolded(self) -> npt.NDArray[np.integer]:
        """The whole array."""
        return np.repeat(self.values, np.diff(self.ends, prepend=0)).reshape(self.shape)

    def packed(self) -> dict[str, Any]:
        """For a file; no run of a table that fits in memory needs more than 32 bits."""
        lengths = np.diff(self.ends, prepend=0).astype("<u4")
        return {"shape": list(self.shape), "values": pack(self.values), "lengths": pack(lengths)}

    @classmethod
    def unpacked(cls, name: str, data: Mapping[str, Any]) -> RunTable:
        """What `packed` gave; a damaged or an enormous one is refused by name."""
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
        # Lengths of at most 32 bits, fewer than 2^29 of them: this sum cannot wrap round.
        ends = np.cumsum(lengths, dtype=np.int64)
        if ends.size == 0 or int(ends[-1]) != entries or int(lengths.min()) < 1:
            raise InvalidFile(f"{name}: its runs do not fill a table of shape {shape}")
        return cls(tuple(shape), values, ends)
