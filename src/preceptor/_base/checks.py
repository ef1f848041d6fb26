"""Checks of single values, and numbers, shares and yes or no as people type them.

All tables, logs, prompts, forms and options are read here: "1.234,5", "70 %", "<5 mg/l", "ja".
Callers choose the decimal sign and the unit that may follow; infinities, NaN and `1_000` are never
accepted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sized
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from preceptor.errors import InvalidInput


def is_number(value: object) -> bool:
    """Whether this is a finite real number; booleans are not."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer too large for a double
        return False


def is_count(value: object, least: int) -> bool:
    """Whether this is an integer of at least `least`; booleans are not."""
    return (
        isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= least
    )


def count_faults(least: int, *, or_none: bool = False, **given: object) -> list[str]:
    """A fault for each option, by name, that is not an integer of at least `least`.

    >>> count_faults(1, rounds=0, people=3)
    ['rounds: 0, must be a whole number of at least 1']
    """
    return [
        f"{name}: {value!r}, must be a whole number of at least {least}"
        for name, value in given.items()
        if not (is_count(value, least) or (or_none and value is None))
    ]


def is_probability(value: object) -> bool:
    """Whether this is a number strictly between 0 and 1."""
    return is_number(value) and 0.0 < float(value) < 1.0  # type: ignore[arg-type]


def check_level(level: object) -> None:
    """Raise `InvalidInput` unless this is a probability strictly between 0 and 1."""
    if not is_probability(level):
        raise InvalidInput(f"level: {level!r}, must be between 0 and 1")


YES = frozenset({"yes", "y", "true", "1", "ja", "j", "wahr", "oui", "vrai", "si", "sí"})
NO = frozenset({"no", "n", "false", "0", "nein", "falsch", "non", "faux"})

# Never a measurement: these mean missing in any column.
ALWAYS_MISSING = frozenset(
    {"na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "?", ".", "missing", "#value!", "#div/0!"}
)
# Missing in a column of numbers; in a column of words they may be answers ("none", "+", "-").
MISSING_AMONG_NUMBERS = frozenset(
    {"-", "--", "\u2013", "\u2014", "none", "unknown", "unk", "n.a.", "n.d.", "nd", "not done"}
    | {"not known", "not available", "k.a.", "k. a."}
)

# No measurement takes more characters than this.
_LONGEST = 400


def _form(decimal: str) -> re.Pattern[str]:
    sign, other = re.escape(decimal), re.escape("," if decimal == "." else ".")
    # One separator between all thousands: an apostrophe, a space, or the other of comma and point.
    mark = rf"(?P<mark>[{other}'\u2019 \u00a0\u202f])"
    grouped = rf"(?P<grouped>[1-9]\d{{0,2}}{mark}\d{{3}}(?:(?P=mark)\d{{3}})*)"
    return re.compile(
        r"(?P<bound>[<>≤≥]=?)?\s*(?P<sign>[+-]?)"
        rf"(?:{grouped}(?:{sign}(?P<decimals>\d+))?"
        rf"|(?P<whole>\d+)(?:{sign}(?P<part>\d*))?|{sign}(?P<fraction>\d+))"
        r"(?:[eE](?P<power>[+-]?\d{1,4}))?\s*"
        r"(?P<unit>%|‰|[^\W\d_][\w/%.^·*²³-]{0,11}|°[CF]?)?"
    )


_FORMS = {",": _form(","), ".": _form(".")}
# How programs write most numbers. Tried first, 200,000 cells of a log take 0.5 s, not 1.7 s.
_PLAIN = re.compile(r"[+-]?\d+\.\d+")


class ParsedNumber(NamedTuple):
    """A parsed number and what surrounded it; `text` is how Python writes it, without the unit."""

    value: float
    unit: str = ""
    is_bound: bool = False
    has_groups: bool = False
    text: str = ""

    @property
    def is_alone(self) -> bool:
        """Whether there was neither a unit nor a sign such as "<"."""
        return not self.unit and not self.is_bound


@lru_cache(maxsize=65_536)
def parse_spelling(text: str, decimal: str = ".") -> ParsedNumber | None:
    """Parse "63%", "63 y", "1,234" or "<5"; None if the text is not a number.

    `decimal` is the decimal sign. Numbers too large for a float are infinite.

    >>> parse_spelling("1.234,5 kg", ",")
    ParsedNumber(value=1234.5, unit='kg', is_bound=False, has_groups=True, text='1234.5')
    """
    if len(text) > _LONGEST and not text.strip().lstrip("+-").isdecimal():
        return None
    found = _FORMS[decimal].fullmatch(text.strip().replace("\N{MINUS SIGN}", "-"))
    if found is None:
        return None
    grouped = found["grouped"]
    whole = found["whole"] or re.sub(r"\D", "", grouped or "0")
    part = found["decimals"] or found["part"] or found["fraction"]
    plain = f"{found['sign']}{whole}"
    plain += (f".{part}" if part else "") + (f"e{found['power']}" if found["power"] else "")
    is_bound, unit = found["bound"] is not None, found["unit"] or ""
    return ParsedNumber(float(plain), unit, is_bound, grouped is not None, plain)


class AmbiguousNumber(ValueError):
    """A text that could be two numbers: 1,234."""


def parse_number(text: str, decimal: str | None = None, *, unit: str = "") -> float:
    """Parse a finite number.

    Parameters
    ----------
    text
        As it was typed.
    decimal
        The decimal sign, "." or ","; None accepts either and refuses "1,234", which is ambiguous.
        So does ".", the default of files that do not state it. With ",", a point that cannot
        separate thousands is a decimal point: "3.5".
    unit
        A unit that may follow the number.

    Returns
    -------
    float
        Finite.

    Raises
    ------
    ValueError
        The text is not a number; the message continues a sentence that starts with the text.

    Examples
    --------
    >>> parse_number("900,5"), parse_number("1.234,5"), parse_number("1.234", ",")
    (900.5, 1234.5, 1234.0)
    """
    if decimal != "," and _PLAIN.fullmatch(text):
        return _finite(float(text))
    return _finite(_read(text, decimal, unit).value)


def parse_share(text: str, decimal: str | None = None, *, in_percent: bool = False) -> float:
    """Parse a number; one with a percent sign is divided by 100.

    With `in_percent` the sign may be left out. The decimal exponent is shifted instead of dividing,
    so that 14.3% and 0.143 agree to the last bit. Raises ValueError as `parse_number` does.

    >>> parse_share("70 %"), parse_share("0,143"), parse_share("14.3", in_percent=True)
    (0.7, 0.143, 0.143)
    """
    found = _read(text, decimal, "%")
    if not found.unit and not in_percent:
        return _finite(found.value)
    digits, _, power = found.text.partition("e")
    return _finite(float(f"{digits}e{int(power or 0) - 2}"))


def parse_yes_no(text: str, words: tuple[str, str] | None = None) -> bool | None:
    """Whether a text says yes; None if it says neither yes nor no.

    `words` are a table's own words for no and yes, which take precedence: with 1 and 2, 1 is no.

    >>> parse_yes_no("Ja"), parse_yes_no("1.0"), parse_yes_no("benign", ("benign", "malignant"))
    (True, True, False)
    """
    word = text.strip().casefold()
    if words is not None and word in (own := [each.strip().casefold() for each in words]):
        return own.index(word) == 1
    # Spreadsheets write integers as 1.0 as soon as one cell of the column is empty.
    word = word[:1] if word in ("0.0", "1.0") else word
    return True if word in YES else False if word in NO else None


def _read(text: str, decimal: str | None, unit: str) -> ParsedNumber:
    """Parse the only number that a text can be, alone or with this unit."""
    point = _fitting(text, ".", unit)
    if decimal != "," and "," not in text and point is not None:
        return point
    comma = _fitting(text, ",", unit)
    if decimal != "," and point is not None and comma is not None:
        raise AmbiguousNumber(f"could be {comma.text} or {point.text}; write one of them instead")
    found = point if decimal == "." else comma or point
    if found is None:
        hint = " (write decimals with a point)" if decimal == "." and "," in text else ""
        raise ValueError(f"is not a number{hint}")
    return found


def _fitting(text: str, decimal: str, unit: str) -> ParsedNumber | None:
    found = parse_spelling(text, decimal)
    return found if found and not found.is_bound and found.unit in ("", unit) else None


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("is too large")
    return number


def is_empty(cell: Any) -> bool:
    """Whether a cell is empty, or holds a library's missing value."""
    if cell is None or isinstance(cell, str):
        return cell is None or not cell.strip()
    if isinstance(cell, Sized):  # a list in a cell
        return False
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):  # pandas.NA refuses to be compared
        return True
