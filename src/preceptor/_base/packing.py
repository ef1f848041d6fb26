"""Large arrays as text for a file: compressed, with their shape and type."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from preceptor.errors import InvalidFile


def pack(array: npt.NDArray[Any]) -> dict[str, Any]:
    """A large array for a file: compressed, as text, with its shape and type."""
    raw = zlib.compress(np.ascontiguousarray(array).tobytes(), 6)
    text = base64.b64encode(raw).decode("ascii")
    return {"shape": list(array.shape), "type": array.dtype.str, "zlib": text}


def unpack(name: str, packed: Any) -> npt.NDArray[Any]:
    """What `pack` packed; a damaged one is reported by name."""
    try:
        raw = zlib.decompress(base64.b64decode(packed["zlib"], validate=True))
        return np.frombuffer(raw, dtype=packed["type"]).reshape(packed["shape"])
    except (KeyError, TypeError, ValueError, zlib.error) as error:
        raise InvalidFile(f"{name}: the packed array is damaged ({error})") from None
