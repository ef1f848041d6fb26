"""Files before they are taken apart: what they are, how large, and the letters of their bytes.

Everything is looked at before anything is loaded, so that neither a device nor a small file that
unpacks into a huge one can take the machine.
"""

from __future__ import annotations

import codecs
import stat
from pathlib import Path

from preceptor.errors import InvalidFile

TEXT = (".csv", ".txt", ".tsv")
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet",)
TABLE_SUFFIXES = (*TEXT, *WORKBOOKS, *LINES, *PARQUET)

MOST_BYTES = 2**30
MOST_COLUMNS = 10_000
# Rows times columns that are laid out, blank cells counted.
MOST_CELLS = 50_000_000

# What a file begins with that is not what its ending says.
_BEGINNINGS = {
    b"PK\x03\x04": "is packed, as workbooks are; name it .xlsx or .ods if it is one",
    b"\xd0\xcf\x11\xe0": "is an old Excel file; name it .xls",
    b"PAR1": "is a Parquet file; name it .parquet",
    b"\x1f\x8b": "is packed with gzip; unpack it first",
    b"%PDF": "is a PDF; export the table as .csv or .xlsx",
}


def suffix_of(path: Path) -> str:
    """The ending of a file that can hold a table, small; any other is refused."""
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in {', '.join(TABLE_SUFFIXES)}")
    return suffix


def check_file(path: Path) -> int:
    """How many bytes a regular file has; anything else, and what is too large, is refused."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise InvalidFile(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        raise InvalidFile(f"{path}: cannot be read ({_why(error)})") from None
    if stat.S_ISDIR(found.st_mode):
        raise InvalidFile(f"{path}: is a folder, expected a file")
    if not stat.S_ISREG(found.st_mode):
        raise InvalidFile(f"{path}: is a device or a pipe; save the table as a file first")
    if found.st_size > MOST_BYTES:
        raise InvalidFile(
            f"{path}: has {found.st_size / 2**30:.1f} GB, at most {MOST_BYTES // 2**30} GB are "
            "read; give fewer rows or columns"
        )
    return found.st_size


def read_bytes(path: Path) -> bytes:
    """The whole of a regular file."""
    check_file(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read ({_why(error)})") from None


def beginning(path: Path, count: int = 512) -> bytes:
    """The first bytes of a regular file."""
    check_file(path)
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read ({_why(error)})") from None


def refuse_other_kinds(path: Path, start: bytes) -> None:
    """Refuse what is no text although its ending says so."""
    for sign, what in _BEGINNINGS.items():
        if start.startswith(sign):
            raise InvalidFile(f"{path}: {what}")
    if is_web_page(start):
        raise InvalidFile(f"{path}: is a web page; save it as .csv or .xlsx")


def is_web_page(start: bytes) -> bool:
    """Whether a file begins like HTML, as many "Excel" exports do."""
    text = start.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").lstrip().lower()
    return text.startswith((b"<html", b"<!doctype", b"<table", b"<?xml", b"<meta", b"<head"))


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
    return f"letters in {encoding.upper()}"


def _likely(raw: bytes) -> list[str]:
    """By a mark at the beginning, or else by trying."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return ["utf-16"]
    return ["utf-8", "cp1252"]


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
