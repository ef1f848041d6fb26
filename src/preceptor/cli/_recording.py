"""A case that has just been shown, as somebody types it: results, answer and outcome."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import preceptor
from preceptor._base.words import as_known, listed
from preceptor.errors import InvalidInput
from preceptor.logs.cells import as_number
from preceptor.logs.levels import Category, categories_of

# "1,234" is a little more than one, or more than a thousand.
_EITHER = re.compile(r"([+-]?[1-9]\d{0,2}),(\d{3})")
# Between named results; other commas stand before decimals.
_BEFORE_A_NAME = re.compile(r",(?=[^,;=]*=)")


@dataclass(frozen=True)
class Recorded:
    """What was typed: results, what was said, what was true, and which case it was.

    `anyway` records numbers that are not plausible as well.
    """

    values: str | None
    answer: str | None
    outcome: str | None
    case: int | None
    anyway: bool = False

    def numbers(
        self, world: preceptor.World, shown: Sequence[int], decimal: str | None = None
    ) -> tuple[tuple[int, ...], tuple[float, ...], float, float | None]:
        """Columns, their results, answer and outcome; `shown` is what should have been shown."""
        faults: list[str] = []
        columns: tuple[int, ...] = ()
        results: tuple[float, ...] = ()
        try:
            columns, results = results_in(self.values, world, shown, decimal)
        except InvalidInput as error:
            faults += error.faults
        answer, outcome = 0.0, None
        if self.answer is None:
            faults.append("--answer: give what the person said, e.g. --answer 20")
        else:
            answer = _read("--answer", self.answer, decimal, faults)
        if self.outcome is not None:
            outcome = _read("--outcome", self.outcome, decimal, faults)
        InvalidInput.raise_if(faults)
        return columns, results, answer, outcome


def typed(
    record: bool,
    values: str | None,
    answer: str | None,
    outcome: str | None,
    case: int | None,
    *,
    anyway: bool = False,
) -> Recorded | None:
    """What is to be recorded, if anything; options that need --record ask for it."""
    if record:
        return Recorded(values, answer, outcome, case, anyway)
    given = {"--values": values, "--answer": answer, "--outcome": outcome, "--case": case}
    given["--anyway"] = True if anyway else None
    InvalidInput.raise_if(
        f"{option}: is about a case that was shown; give --record too"
        for option, value in given.items()
        if value is not None
    )
    return None


def number_in(text: str, decimal: str | None = None) -> float:
    """A number as people type it, with a decimal point or comma; ValueError for anything else.

    >>> number_in("900,5"), number_in("1.234,5"), number_in("1234", ",")
    (900.5, 1234.5, 1234.0)
    """
    written = text.strip()
    found = _EITHER.fullmatch(written)
    if decimal is None and found is not None:
        whole, part = found.groups()
        raise ValueError(f"could be {whole}.{part} or {whole}{part}; write one of them so")
    if decimal is None:
        # Of two different signs the last one stands before the decimals.
        decimal = "," if written.rfind(",") > written.rfind(".") else "."
        if decimal == "." and "," in written:
            written = written.replace(",", "")
    try:
        number = as_number(written, decimal)
    except ValueError:
        raise ValueError("is not a number; write e.g. 20 or 20.5") from None
    if not math.isfinite(number):
        raise ValueError("must be a finite number")
    return number


def results_in(
    text: str | None, world: preceptor.World, shown: Sequence[int], decimal: str | None = None
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Columns and their results, from "85,18.2" in the order of `shown`, or from "wrist=18.2".

    Semicolons may stand between them instead; then decimals may have a comma. Where nothing is
    shown, nothing need be typed.
    """
    tests = world.name_of(shown)
    if text is None and tests:
        raise InvalidInput(
            f"--values: give the results that were seen, of {listed(tests)} in this order; or name "
            "what was shown, e.g. --values abdomen=85,wrist=18.2"
        )
    text = text or ""
    named = "=" in text and ";" not in text
    split = _BEFORE_A_NAME.split(text) if named else text.split(";" if ";" in text else ",")
    parts = [part.strip() for part in split]
    if text.strip() and all("=" in part for part in parts):
        pairs = [(part.split("=", 1)[0].strip(), part.split("=", 1)[1].strip()) for part in parts]
    elif len(tests) == 1 and "=" not in text and ";" not in text:
        pairs = [(tests[0], text.strip())]  # a comma can only be a decimal one
    elif len(parts) == len(tests) and not any("=" in part for part in parts):
        pairs = list(zip(tests, parts, strict=True))
    elif not text.strip() and not tests:
        pairs = []
    else:
        many = "1 result" if len(tests) == 1 else f"{len(tests)} results"
        raise InvalidInput(
            f"--values: {text!r}, must be {many}, of {', '.join(tests) or 'nothing'} in this order "
            "(with decimal commas, separate them by semicolons); or name what was shown, e.g. "
            "abdomen=85,wrist=18.2"
        )
    return _columns(world, pairs, decimal)


def _columns(
    world: preceptor.World, pairs: Sequence[tuple[str, str]], decimal: str | None
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    blocks = dict(zip(world.tests, world.blocks, strict=True))
    known = {category.test: category for category in categories_of(world)}
    names = [name for name, _ in pairs]
    called, faults = as_known("--values", dict.fromkeys(names), world.tests)
    faults += [f"--values: {n!r} comes twice" for n in dict.fromkeys(names) if names.count(n) > 1]
    found: dict[int, float] = {}
    for written, cell in pairs:
        name = called.get(written, written)
        block = blocks.get(name, ())
        try:
            if name in known:
                found |= _by_level(world, known[name], cell)
            elif len(block) == 1 and world.labels[block[0]] == name:
                found[block[0]] = number_in(cell, decimal)
            elif block:
                found |= _by_column(world, name, block, cell)
        except ValueError as error:
            faults.append(f"--values: {name} {cell!r} {error}")
    InvalidInput.raise_if(faults)
    return tuple(sorted(found)), tuple(found[i] for i in sorted(found))


def _by_level(world: preceptor.World, category: Category, cell: str) -> dict[int, float]:
    """Columns of a level, or the 0 or 1 of a test that is a single column."""
    try:
        return category.values_of(cell)
    except ValueError as error:
        only = category.columns[0]
        if world.labels[only] == category.test and cell in ("0", "1"):
            return {only: float(cell)}
        said = str(error).split(" is not known; ", 1)
        if len(said) == 1:
            raise
        raise ValueError(f"is not one of its levels; {said[1]}") from None


def _by_column(
    world: preceptor.World, name: str, block: Sequence[int], cell: str
) -> dict[int, float]:
    """Columns of a level where only their names tell which there are."""
    levels = [world.labels[i].removeprefix(f"{name}=") for i in block]
    if cell and cell not in levels:
        raise ValueError(
            f"is not one of its levels {', '.join(levels)} (write {name}= for the most common "
            "level, which has no column)"
        )
    return {i: float(cell == level) for i, level in zip(block, levels, strict=True)}


def _read(option: str, text: str, decimal: str | None, faults: list[str]) -> float:
    """The number that was typed; 0 and a fault where there is none."""
    try:
        return number_in(text, decimal)
    except ValueError as error:
        finite = "" if str(error).startswith(("is", "could")) else ","
        faults.append(f"{option}: {text if finite else repr(text)}{finite} {error}")
        return 0.0
