"""How a file is opened: options for reading it, what was guessed, and checks before it is parsed.

Type, size and text encoding are checked first, so that neither a device nor a small archive that
unpacks into a huge one can exhaust the machine's memory.
"""

from __future__ import annotations

import codecs
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from preceptor._base.checks import is_count
from preceptor._base.words import listed
from preceptor.errors import InvalidFile, InvalidInput

TEXT = (".csv", ".txt", ".tsv")
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet",)
TABLE_SUFFIXES = (*TEXT, *WORKBOOKS, *LINES, *PARQUET)

MOST_BYTES = 2**30
MOST_COLUMNS = 10_000
# Rows times columns, blank cells included.
MOST_CELLS = 50_000_000

EMPTY = "is empty; it needs a header and at least one row"

# First bytes of files whose content does not match a text suffix.
_SIGNATURES = {
    b"PK\x03\x04": "is packed, as workbooks are; name it .xlsx or .ods if it is one",
    b"\xd0\xcf\x11\xe0": "is an old Excel file; name it .xls",
    b"PAR1": "is a Parquet file; name it .parquet",
    b"\x1f\x8b": "is packed with gzip; unpack it first",
    b"%PDF": "is a PDF; export the table as .csv or .xlsx",
}


def suffix_of(path: Path) -> str:
    """Return the lower-case suffix of a file that can hold a table; refuse any other."""
    suffix = path.suffix.lower()
    if suffix not in TABLE_SUFFIXES:
        raise InvalidFile(f"{path}: ends in {suffix!r}, must end in {', '.join(TABLE_SUFFIXES)}")
    return suffix


def check_file(path: Path) -> None:
    """Refuse anything but a regular file of at most `MOST_BYTES`."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise InvalidFile(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        raise InvalidFile(f"{path}: cannot be read ({_reason(error)})") from None
    if stat.S_ISDIR(found.st_mode):
        raise InvalidFile(f"{path}: is a folder, expected a file")
    if not stat.S_ISREG(found.st_mode):
        raise InvalidFile(f"{path}: is a device or a pipe; save the table as a file first")
    if found.st_size > MOST_BYTES:
        raise InvalidFile(
            f"{path}: has {found.st_size / 2**30:.1f} GB, at most {MOST_BYTES // 2**30} GB are "
            "read; give fewer rows or columns"
        )


def check_extent(
    path: Path, rows: int, columns: int, most: int | None = None, remedy: str = "give fewer"
) -> None:
    """Refuse a table of more than `most` cells, `MOST_CELLS` by default."""
    most = most or MOST_CELLS
    if rows * columns > most:
        raise InvalidFile(
            f"{path}: {rows:,} rows of {columns:,} columns, at most {most:,} cells are read; "
            f"{remedy}"
        )


def read_bytes(path: Path, count: int = -1) -> bytes:
    """Return the first `count` bytes of a regular file, or all of them."""
    check_file(path)
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be read ({_reason(error)})") from None


def refuse_other_kinds(path: Path, start: bytes) -> None:
    """Refuse a file that is not text although its suffix says so."""
    for signature, what in _SIGNATURES.items():
        if start.startswith(signature):
            raise InvalidFile(f"{path}: {what}")
    if is_web_page(start):
        raise InvalidFile(f"{path}: is a web page; save it as .csv or .xlsx")


def is_web_page(start: bytes) -> bool:
    """Whether a file begins like HTML, as many "Excel" exports do."""
    text = start.removeprefix(b"\xef\xbb\xbf").replace(b"\0", b"").lstrip().lower()
    return text.startswith((b"<html", b"<!doctype", b"<table", b"<?xml", b"<meta", b"<head"))


def decode(path: Path, raw: bytes, encoding: str | None) -> tuple[str, str]:
    """Return the text without a byte-order mark, and the encoding that was used."""
    is_utf16 = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    likely = ["utf-16"] if is_utf16 else ["utf-8", "cp1252"]
    for name in likely if encoding is None else [encoding]:
        try:
            text = raw.decode(name)
            text.encode("utf-8")  # some encodings yield lone surrogates, which cannot be written
        except (UnicodeError, ValueError):
            continue
        text = text.removeprefix("\ufeff")
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            raise InvalidFile(
                f"{path}: line {line} holds a zero byte, so it is damaged or not text; export it "
                "again, or give the `encoding`"
            )
        return text, name
    if encoding is not None:
        raise InvalidFile(f"{path}: is not text in {encoding} (`encoding`)")
    raise InvalidFile(f"{path}: is text neither in UTF-8 nor in cp1252; give the `encoding`")


def encoding_note(encoding: str) -> str | None:
    """Describe an encoding that had to be guessed; None for UTF-8."""
    if encoding == "utf-8":
        return None
    return "Windows letters (cp1252)" if encoding == "cp1252" else f"letters in {encoding.upper()}"


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


_SEPARATOR_NAMES = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}


@dataclass(frozen=True)
class Reading:
    """How to read a table where guessing would go wrong.

    Options that are left out are guessed, and the guess is reported.

    Parameters
    ----------
    sheet
        The sheet of a workbook, by name or by number from 1; the first by default.
    separator
        The character between cells of a text file, such as ";"; "tab" means a tab.
    decimal
        The decimal mark, "." or ",".
    encoding
        The text encoding, such as "utf-8", "utf-16" or "cp1252".
    missing
        Values that mean "missing", such as "999" or "-", in any column; "insulin=0" applies to
        one column only.
    positive
        For an outcome with two values, the one that counts as 1.

    Raises
    ------
    InvalidInput
        Invalid options, all of them in one message.

    Examples
    --------
    >>> Reading(separator=";", decimal=",", missing=["999"])
    Reading(sheet=None, separator=';', decimal=',', encoding=None, missing=('999',), positive=None)
    """

    sheet: str | int | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: Sequence[str] = ()
    positive: str | None = None

    def for_log(self, path: str | Path) -> Reading:
        """Options for a log that accompanies a table read with these options.

        File format options carry over, `sheet` only if the log is a workbook. `missing` and
        `positive` describe values of the table and do not.

        Parameters
        ----------
        path
            The file of the log.

        Returns
        -------
        Reading
            Options for that file.
        """
        is_workbook = Path(path).suffix.lower() in WORKBOOKS
        return replace(self, sheet=self.sheet if is_workbook else None, missing=(), positive=None)

    def __post_init__(self) -> None:
        if self.separator in ("tab", "\\t"):
            object.__setattr__(self, "separator", "\t")
        codes = [self.missing] if isinstance(self.missing, str) else self.missing
        object.__setattr__(self, "missing", tuple(map(str, codes)))
        InvalidInput.raise_if(_option_faults(self))


def _option_faults(reading: Reading) -> Iterator[str]:
    sheet, separator, decimal = reading.sheet, reading.separator, reading.decimal
    if not (sheet is None or is_count(sheet, least=1) or (isinstance(sheet, str) and sheet)):
        yield f"sheet: {sheet!r}, must be the name of a sheet, or its number from 1"
    if separator is not None and not _can_separate(separator):
        yield f"separator: {separator!r}, must be one character such as , ; | or tab"
    if decimal not in (None, ".", ","):
        yield f"decimal: {decimal!r}, must be '.' or ','"
    elif decimal is not None and decimal == separator:
        yield f"decimal: {decimal!r} is also the `separator`; the two must differ"
    if reading.encoding is not None and not _is_encoding(reading.encoding):
        yield f"encoding: {reading.encoding!r} is not known; use utf-8, utf-16, cp1252 or latin1"


def _can_separate(character: Any) -> bool:
    return (
        isinstance(character, str)
        and len(character) == 1
        and character.isascii()
        and (character.isprintable() or character == "\t")
        and not character.isalnum()
        and character not in "\"'.+-"
    )


def _is_encoding(name: Any) -> bool:
    """Whether Python knows it as a text encoding rather than a bytes transform."""
    try:
        codecs.lookup(name)
        return "a".encode(name).decode(name) == "a"
    except (LookupError, ValueError, TypeError):
        return False


@dataclass
class ReadingNotes:
    """Collects what was guessed while a file was read."""

    path: Path
    guesses: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)

    def guess(self, what: str, option: str) -> None:
        """Record a guess, and the option that overrides it."""
        self.guesses.append(what)
        if option not in self.options:
            self.options.append(option)

    def guess_separator(self, separator: str) -> None:
        """Record which character was taken to separate cells."""
        name = _SEPARATOR_NAMES.get(separator, repr(separator))
        self.guess(f"{name} between cells", "separator")

    def say(self, sentence: str) -> None:
        """Record something else that was done, as a sentence."""
        self.sentences.append(f"{self.path.name}: {sentence}")

    @contextmanager
    def on_errors(self) -> Iterator[None]:
        """Add the notes so far to errors raised inside, since a wrong guess may be the cause."""
        try:
            yield
        except InvalidInput as error:
            raise error.with_notes(self.notes) from None

    @property
    def notes(self) -> tuple[str, ...]:
        """All guesses in one sentence, then the other sentences."""
        if not self.guesses:
            return tuple(self.sentences)
        options = ", ".join(f"`{option}`" for option in self.options)
        verb = "says" if len(self.options) == 1 else "say"
        first = f"{self.path.name}: read with {listed(self.guesses)}; {options} {verb} otherwise"
        return (first, *self.sentences)
