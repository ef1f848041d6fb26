"""Bytes into text: by a mark at the beginning, by trying, or as somebody says."""

from __future__ import annotations

import codecs
from pathlib import Path

from preceptor.errors import InvalidFile

# Longer marks first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 65_536
# Half of the bytes of Latin letters in UTF-16 are zeros, all of them on one side.
_MOSTLY = 0.4


def decode(path: Path, raw: bytes, encoding: str | None) -> tuple[str, str]:
    """The text without a mark, and the encoding that it was read in."""
    for name in [encoding] if encoding is not None else _likely(raw):
        try:
            text = raw.decode(name)
            text.encode("utf-8")  # some encodings give halves of letters, which nobody can write
        except (UnicodeError, ValueError):
            continue
        text = text.removeprefix("\ufeff")
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise InvalidFile(
                f"{path}: line {line} holds a zero byte, so it is damaged or no text; export it "
                "again, or say the `encoding`"
            )
        return text, name
    if encoding is not None:
        raise InvalidFile(f"{path}: is not text in {encoding} (`encoding`)")
    raise InvalidFile(f"{path}: is text neither in UTF-8 nor in cp1252; say the `encoding`")


def in_words(encoding: str) -> str | None:
    """An encoding that had to be guessed, for a note; None for the usual one."""
    if encoding == "utf-8":
        return None
    if encoding == "cp1252":
        return "Windows letters (cp1252)"
    return f"letters in {encoding.removesuffix('-le').removesuffix('-be').upper()}"


def _likely(raw: bytes) -> list[str]:
    for mark, name in _MARKS:
        if raw.startswith(mark):
            return [name]
    sample = raw[:_SAMPLE]
    half = max(len(sample) // 2, 1)
    first, second = sample[0::2].count(0) / half, sample[1::2].count(0) / half
    if max(first, second) > _MOSTLY and min(first, second) < _MOSTLY / 2:
        return ["utf-16-be" if first > second else "utf-16-le"]
    return ["utf-8", "cp1252"]
