"""A ground that somebody brought as text that a page carries, so that the server keeps nothing."""

from __future__ import annotations

import base64
import binascii
import json
import zlib

from preceptor._base.parsing import parse_json
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.explorer.ground import Ground

# Letters that are read back, and bytes that they may unpack to: fifty tests need a tenth of it.
_LONGEST, _MOST_BYTES = 60_000, 1_000_000
_DAMAGED = "table: is damaged; bring the table again"


def as_text(ground: Ground) -> str:
    """For a hidden field of a form."""
    packed = zlib.compress(json.dumps(ground.to_dict()).encode(), 9)
    text = base64.urlsafe_b64encode(packed).decode("ascii")
    if len(text) > _LONGEST:
        raise InvalidInput("table: too many tests to be explored here; use `preceptor plan`")
    return text


def from_text(text: str) -> Ground:
    """What `as_text` wrote; whatever else somebody sends is refused."""
    if len(text) > _LONGEST:
        raise InvalidInput(_DAMAGED)
    try:
        unpacking = zlib.decompressobj()
        raw = unpacking.decompress(base64.urlsafe_b64decode(text.encode()), _MOST_BYTES)
        data = parse_json(raw.decode())
    except (binascii.Error, zlib.error, UnicodeError, InvalidFile):
        raise InvalidInput(_DAMAGED) from None
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise InvalidInput(_DAMAGED)
    return Ground.from_dict(data)
