"""Large arrays as text for a file: compressed, with their shape and type.

A few hundred bytes can unpack to gigabytes, so an array is bounded by what its shape and type say
before anything is unpacked, and nothing beyond that is.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count
from preceptor.errors import InvalidFile

# What we pack: whole numbers and doubles. Types of other kinds (objects, text) are never read.
TYPES = frozenset(("|b1", "|i1", "|u1")) | {
    f"{order}{kind}" for order in "<>" for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f4", "f8")
}
# A table of counts has an axis for each test; NumPy knows no more than this.
_MOST_AXES = 32
# A plan for three tests has millions of entries of one byte or two.
MOST_BYTES = 2**27
# Nothing shrinks to less than about a thousandth by this compression.
_MOST_SHRINKING = 1100


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
    elif len(shape) > _MOST_AXES:
        yield f"shape of {len(shape)} axes, at most {_MOST_AXES}"
    elif _bytes(shape, kind) > MOST_BYTES:
        yield f"shape {shape} takes more than {MOST_BYTES // 2**20} MB, the most that is read"
    elif _bytes(shape, kind) > _MOST_SHRINKING * len(text):
        yield f"shape {shape} is more than {len(text)} letters can hold"


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
