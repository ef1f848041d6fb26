"""A diagnostic block: rounds that are there to find out how somebody learns, as a schedule.

A round shows some tests of a case. In teaching rounds the outcome is told afterward; probes leave
it out, so that nothing is learned from them, and may ask for a case with given results. As a file
a block has the columns of a log, so that whoever fills in who answered what has one.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from preceptor._base.checks import is_number
from preceptor._base.files import check_ending, read_text, write_text
from preceptor._base.typed import number_in, yes_no_in
from preceptor._base.values import Value
from preceptor._base.words import counted, listed, unknown_names
from preceptor.errors import InvalidFile, InvalidInput

_COLUMNS = ("round", "shown", "values", "feedback")


@dataclass(frozen=True, eq=False)
class BlockRound(Value):
    """One round: the tests to show, whether to tell the outcome, and results if they are set.

    Whether it makes sense depends on the world, so `Block` looks.

    Parameters
    ----------
    show
        Names of the tests.
    feedback
        Whether the outcome is told afterward; a round without is a probe.
    values
        Results that the case must have, one for each test shown, in the units that people read; any
        case will do if left out.

    Examples
    --------
    >>> BlockRound(("weight",), feedback=False, values=(95.0,)).values
    (95.0,)
    """

    show: tuple[str, ...]
    feedback: bool = True
    values: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "show", tuple(str(name) for name in self.show))
        if self.values is not None:
            object.__setattr__(self, "values", tuple(self.values))


@dataclass(frozen=True, eq=False)
class Block(Value):
    """A schedule of teaching rounds and probes.

    Parameters
    ----------
    names
        The tests (columns) of the world.
    rounds
        What to do, in order.

    Raises
    ------
    InvalidInput
        Rounds that make no sense, all of them in one message.

    Examples
    --------
    >>> block = Block(["weight", "abdomen"], [BlockRound(("weight",))] * 3
    ...               + [BlockRound(("weight",), False, (95.0,))])
    >>> print(block.in_words())
    Rounds 1 to 3: show weight of any case, and tell the outcome afterward.
    Round 4: show weight 95 as a probe, without telling any outcome.
    """

    names: tuple[str, ...]
    rounds: tuple[BlockRound, ...]

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.names)
        rounds = tuple(self.rounds)
        faults = [] if rounds else ["rounds: none; a block needs at least one"]
        for number, each in enumerate(rounds, start=1):
            faults += _faults(each, f"round {number}", names)
        InvalidInput.raise_if(faults)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "rounds", rounds)

    def __len__(self) -> int:
        return len(self.rounds)

    @property
    def probes(self) -> int:
        """How many rounds do not tell the outcome."""
        return sum(not each.feedback for each in self.rounds)

    def to_csv(self) -> str:
        """CSV text that `read` reads.

        Returns
        -------
        str
            Columns round, shown, values (of probes) and feedback.

        Raises
        ------
        InvalidInput
            A test whose name has a semicolon.
        """
        split = [name for name in self.names if ";" in name]
        InvalidInput.raise_if(
            f"names: {name!r} has a semicolon, which separates names in a list; rename it"
            for name in split
        )
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for number, each in enumerate(self.rounds, start=1):
            values = ";".join(f"{value:.6g}" for value in each.values or ())
            told = "yes" if each.feedback else "no"
            writer.writerow([number, ";".join(each.show), values, told])
        return text.getvalue()

    def write(self, path: str | Path) -> None:
        """Write a .csv file, whole or not at all.

        Parameters
        ----------
        path
            Ends in .csv.

        Raises
        ------
        InvalidFile
            Another ending, or the file cannot be written.
        """
        check_ending(path, (".csv",))
        write_text(path, self.to_csv())

    @classmethod
    def read(cls, path: str | Path, names: Sequence[str]) -> Block:
        """Read what `write` wrote.

        Parameters
        ----------
        path
            A .csv file.
        names
            The tests of the world.

        Returns
        -------
        Block
            Equal to what was written, up to six digits of the values.

        Raises
        ------
        InvalidFile
            The file cannot be read, or has rounds that make no sense; the message says where.
        """
        check_ending(path, (".csv",))
        text = read_text(path)
        try:
            return cls(tuple(names), tuple(_rounds(text)))
        except InvalidInput as error:
            raise InvalidFile([f"{path}: {fault}" for fault in error.faults]) from None
        except csv.Error as error:
            raise InvalidFile(f"{path}: {error}") from None

    def in_words(self) -> str:
        """What to do, in a few lines; rounds that are alike share one."""
        lines, number = [], 1
        for _, alike in groupby(self.rounds, key=lambda r: r.show if r.feedback else None):
            several = list(alike)
            first = several[0]
            when = f"Round {number}"
            if len(several) > 1:
                when = f"Rounds {number} to {number + len(several) - 1}"
            lines.append(f"{when}: {_to_do(first, several)}.")
            number += len(several)
        return "\n".join(lines)


def _faults(each: BlockRound, where: str, names: Sequence[str]) -> list[str]:
    """What is wrong with a round, for tests of these names."""
    found = unknown_names(where, each.show, names)
    if not each.show:
        found.append(f"{where}: shows nothing; name at least one test")
    if len(set(each.show)) < len(each.show):
        found.append(f"{where}: names a test twice in {', '.join(each.show)}")
    if not isinstance(each.feedback, bool):
        found.append(f"{where}: feedback is {each.feedback!r}, must be true or false")
    if each.values is None:
        return found
    if len(each.values) != len(each.show):
        found.append(
            f"{where}: {len(each.values)} values for {len(each.show)} tests; give one for each"
        )
    wrong = [value for value in each.values if not is_number(value)]
    return found + [f"{where}: value {value!r}, must be a finite number" for value in wrong]


def _to_do(first: BlockRound, several: Sequence[BlockRound]) -> str:
    if first.feedback:
        return f"show {listed(list(first.show))} of any case, and tell the outcome afterward"
    cases = []
    for each in several:
        values = each.values or (math.nan,) * len(each.show)
        case = " and ".join(
            name if math.isnan(value) else f"{name} {value:.4g}"
            for name, value in zip(each.show, values, strict=True)
        )
        if case not in cases:
            cases.append(case)
    again = " again and again" if len(cases) < len(several) else ""
    probes = "as a probe" if len(several) == 1 else f"in turn{again}, as probes"
    return f"show {', then '.join(cases)} {probes}, without telling any outcome"


def _rounds(text: str) -> Iterable[BlockRound]:
    """Rounds in CSV text; every fault names its line."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    header = [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = header
    missing = [name for name in ("shown", "feedback") if name not in header]
    if missing:
        raise InvalidInput(
            f"has columns {', '.join(header) or 'none'}, must have {', '.join(_COLUMNS)}; "
            "`preceptor diagnose` writes such a file"
        )
    rounds, faults = [], []
    for row in reader:
        where = f"line {reader.line_num}"
        told = yes_no_in(row["feedback"] or "")
        if told is None:
            faults.append(f"{where}: feedback is {row['feedback']!r}, must be yes or no")
        cells = [cell for cell in (row.get("values") or "").split(";") if cell.strip()]
        try:
            values = tuple(number_in(cell) for cell in cells) or None
        except ValueError:
            faults.append(f"{where}: values {row.get('values')!r}, must be numbers")
            values = None
        show = tuple(name.strip() for name in (row["shown"] or "").split(";") if name.strip())
        rounds.append(BlockRound(show, bool(told), values))
    InvalidInput.raise_if(faults)
    return rounds


def summary(block: Block) -> str:
    """E.g. "40 rounds, 10 of them probes"."""
    return f"{counted(len(block), 'round')}, {block.probes} of them probes"
