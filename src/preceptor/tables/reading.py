"""What to know about a table that it may not say itself, and what is assumed where nobody says."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from preceptor._base.checks import is_count
from preceptor._base.words import listed
from preceptor.errors import InvalidInput
from preceptor.tables.opening import WORKBOOKS

# How people write a tab where none can be typed.
_TABS = ("tab", "\\t")
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}


@dataclass(frozen=True)
class Reading:
    """How to read a table where guessing would go wrong; what is left out is guessed, and said.

    Parameters
    ----------
    sheet
        Which sheet of a workbook, by name or by number from 1; the first if left out.
    separator
        What stands between cells of a text file, such as ";"; "tab" is a tab.
    decimal
        What stands before decimals, "." or ",".
    encoding
        How letters are written, such as "utf-8", "utf-16" or "cp1252".
    missing
        Values that stand for a missing one, such as "999" or "-", in any column; "insulin=0" is
        about one column only.
    positive
        Which value of an outcome that takes two of them counts as 1.

    Raises
    ------
    InvalidInput
        Values that make no sense, all of them in one message.

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
        """How to read a log beside a table that is read like this.

        How files are written holds for both; which sheet only if the log is a workbook, and what
        values of the table mean is no matter of the log.

        Parameters
        ----------
        path
            The file of the log.

        Returns
        -------
        Reading
            For that file.
        """
        is_book = Path(path).suffix.lower() in WORKBOOKS
        sheet = self.sheet if is_book else None
        return replace(self, sheet=sheet, missing=(), positive=None)

    def __post_init__(self) -> None:
        if self.separator in _TABS:
            object.__setattr__(self, "separator", "\t")
        alone = [self.missing] if isinstance(self.missing, str) else self.missing
        object.__setattr__(self, "missing", tuple(map(str, alone)))
        InvalidInput.raise_if(_faults(self))


def _faults(reading: Reading) -> Iterator[str]:
    sheet, separator, decimal = reading.sheet, reading.separator, reading.decimal
    if not (sheet is None or is_count(sheet, least=1) or (isinstance(sheet, str) and sheet)):
        yield f"sheet: {sheet!r}, must be the name of a sheet, or its number from 1"
    if separator is not None and not _can_separate(separator):
        yield (
            f"separator: {separator!r}, must be one sign such as ',' ';' '|' or a tab (write tab)"
        )
    if decimal not in (None, ".", ","):
        yield f"decimal: {decimal!r}, must be '.' or ','"
    elif decimal is not None and decimal == separator:
        yield f"decimal: {decimal!r} is also the `separator`; cells and decimals need two signs"
    if reading.encoding is not None and not _is_encoding(reading.encoding):
        yield (
            f"encoding: {reading.encoding!r} is not known; use e.g. utf-8, utf-16, cp1252 or latin1"
        )


def _can_separate(sign: Any) -> bool:
    return (
        isinstance(sign, str)
        and len(sign) == 1
        and sign.isascii()
        and (sign.isprintable() or sign == "\t")
        and not sign.isalnum()
        and sign not in "\"'.+-"
    )


def _is_encoding(name: Any) -> bool:
    """Whether Python knows it, as letters rather than as a way to pack bytes."""
    try:
        codecs.lookup(name)
        return "a".encode(name).decode(name) == "a"
    except (LookupError, ValueError, TypeError):
        return False


@dataclass
class Assumed:
    """Collects what was not plain while a file was read."""

    path: Path
    parts: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def add(self, what: str, option: str) -> None:
        """Something that was taken for granted, and the argument that would say otherwise."""
        self.parts.append(what)
        if option not in self.options:
            self.options.append(option)

    def separator(self, sign: str) -> None:
        """What stands between cells."""
        self.add(f"{_SEPARATORS.get(sign, repr(sign))} between cells", "separator")

    def say(self, sentence: str) -> None:
        """Something else that was done, as a sentence of its own."""
        self.said.append(f"{self.path.name}: {sentence}")

    @contextmanager
    def beside_faults(self) -> Iterator[None]:
        """Faults that are met say also what was assumed before, which may be what is wrong."""
        try:
            yield
        except InvalidInput as error:
            raise error.beside(self.notes) from None

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence about what was assumed, if anything was, and those beside it."""
        if not self.parts:
            return tuple(self.said)
        others = ", ".join(f"`{option}`" for option in self.options)
        verb = "says" if len(self.options) == 1 else "say"
        first = f"{self.path.name}: read with {listed(self.parts)}; {others} {verb} otherwise"
        return (first, *self.said)
