"""Numbers, shares and yes or no as people type them: "1.234,5", "70 %", "<5 mg/l", "ja".

All tables, logs, prompts, forms and options are read here. What a caller may decide is which sign
stands before decimals and which unit may follow; nobody reads infinities, NaN or `1_000`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sized
from functools import lru_cache
from typing import Any, NamedTuple

YES = frozenset({"yes", "y", "true", "1", "ja", "j", "wahr", "oui", "vrai", "si", "sí"})
NO = frozenset({"no", "n", "false", "0", "nein", "falsch", "non", "faux"})

# Nobody measures these: they mean missing wherever they stand.
ALWAYS_MISSING = frozenset(
    {"na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "?", ".", "missing", "#value!", "#div/0!"}
)
# Among numbers these mean missing, among words they may be an answer ("none", "+" and "-").
MISSING_AMONG_NUMBERS = frozenset(
    {"-", "--", "\u2013", "\u2014", "none", "unknown", "unk", "n.a.", "n.d.", "nd", "not done"}
    | {"not known", "not available", "k.a.", "k. a."}
)

# Longer texts spell no number that anybody measured.
_LONGEST = 400


def _form(decimal: str) -> re.Pattern[str]:
    sign, other = re.escape(decimal), re.escape("," if decimal == "." else ".")
    # One mark between all thousands: an apostrophe, a space, or the other of comma and point.
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
# As programs write most numbers; looked at first, 200,000 cells of a log take .5 s, not 1.7 s.
_PLAIN = re.compile(r"[+-]?\d+\.\d+")


class Spelled(NamedTuple):
    """A number, and what stood around it; `text` is how Python writes it, without its unit."""

    value: float
    unit: str = ""
    is_bound: bool = False
    has_groups: bool = False
    text: str = ""

    @property
    def is_alone(self) -> bool:
        """Whether nothing but the number was there."""
        return not self.unit and not self.is_bound


@lru_cache(maxsize=65_536)
def spelled(text: str, decimal: str = ".") -> Spelled | None:
    """The number in "63%", "63 y", "1,234" or "<5", and what stood around it; None if it is none.

    `decimal` stands before decimals. Numbers that are too large are infinite.

    >>> spelled("1.234,5 kg", ",")
    Spelled(value=1234.5, unit='kg', is_bound=False, has_groups=True, text='1234.5')
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
    return Spelled(float(plain), unit, is_bound, grouped is not None, plain)


def number_in(text: str, decimal: str | None = None, *, unit: str = "") -> float:
    """The finite number that a text spells.

    Parameters
    ----------
    text
        As it was typed.
    decimal
        What stands before decimals, "." or ","; either if None, and "1,234" is then refused, since
        it could be two numbers. So it is with ".", which is what files have that do not say. Where
        it is ",", points can also be those of a program: "3.5" is no number of thousands.
    unit
        May stand behind it.

    Returns
    -------
    float
        Finite.

    Raises
    ------
    ValueError
        The text spells none; the message goes on where the text ends.

    Examples
    --------
    >>> number_in("900,5"), number_in("1.234,5"), number_in("1.234", ",")
    (900.5, 1234.5, 1234.0)
    """
    if decimal != "," and _PLAIN.fullmatch(text):
        return _finite(float(text))
    return _finite(_read(text, decimal, unit).value)


def share_in(text: str, decimal: str | None = None, *, in_percent: bool = False) -> float:
    """The number that a text spells, a hundredth of it where there is a percent sign.

    `in_percent`: the sign may be left out. Digits are shifted, not divided, so that 14.3% and
    0.143 are the same to the last bit. Raises ValueError as `number_in` does.

    >>> share_in("70 %"), share_in("0,143"), share_in("14.3%"), share_in("14.3", in_percent=True)
    (0.7, 0.143, 0.143, 0.143)
    """
    found = _read(text, decimal, "%")
    if not found.unit and not in_percent:
        return _finite(found.value)
    digits, _, power = found.text.partition("e")
    return _finite(float(f"{digits}e{int(power or 0) - 2}"))


def yes_no_in(text: str, words: tuple[str, str] | None = None) -> bool | None:
    """Whether a text says yes; None if it says neither yes nor no.

    `words` are a table's own for no and for yes, which come first: where they are 1 and 2, 1 is no.

    >>> yes_no_in("Ja"), yes_no_in("1.0"), yes_no_in("benign", ("benign", "malignant"))
    (True, True, False)
    """
    word = text.strip().casefold()
    if words is not None and word in (own := [each.strip().casefold() for each in words]):
        return own.index(word) == 1
    # Spreadsheets turn whole numbers into 1.0 as soon as one cell of the column is empty.
    word = word[:1] if word in ("0.0", "1.0") else word
    return True if word in YES else False if word in NO else None


def _read(text: str, decimal: str | None, unit: str) -> Spelled:
    """The one number that a text can be, alone or with this unit."""
    point = _fitting(text, ".", unit)
    if decimal != "," and "," not in text and point is not None:
        return point
    comma = _fitting(text, ",", unit)
    if decimal != "," and point is not None and comma is not None:
        raise ValueError(f"could be {comma.text} or {point.text}; write one of them so")
    found = point if decimal == "." else comma or point
    if found is None:
        hint = " (write decimals with a point)" if decimal == "." and "," in text else ""
        raise ValueError(f"is not a number{hint}")
    return found


def _fitting(text: str, decimal: str, unit: str) -> Spelled | None:
    found = spelled(text, decimal)
    return found if found and not found.is_bound and found.unit in ("", unit) else None


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("is too large")
    return number


def is_empty(cell: Any) -> bool:
    """Whether a cell holds nothing, or one of the values that libraries put there instead."""
    if cell is None or isinstance(cell, str):
        return cell is None or not cell.strip()
    if isinstance(cell, Sized):  # a list in a cell
        return False
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):  # pandas.NA refuses to be compared
        return True
