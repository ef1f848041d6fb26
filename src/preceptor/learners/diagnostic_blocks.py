"""A diagnostic block: a schedule of rounds that reveals how a person learns.

A round shows some tests of a case. Teaching rounds tell the outcome afterward; probes do not, so
that nothing is learned from them, and may ask for a case with given results. A block file has the
columns of a log: adding participants and answers turns it into one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from preceptor._base.checks import is_number, parse_number, parse_yes_no
from preceptor._base.files import check_ending, read_text, write_text
from preceptor._base.values import Value
from preceptor._base.words import counted, csv_text, listed, unknown_name_faults
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.learners.folding import folded
from preceptor.learners.records import AnsweredRounds
from preceptor.model.sets import TestSet
from preceptor.model.world import World

_COLUMNS = ("round", "shown", "values", "feedback")


@dataclass(frozen=True, eq=False)
class BlockRound(Value):
    """One round: the tests to show, whether to tell the outcome, and prescribed results if any.

    `Block` validates it, since that depends on the tests of the world.

    Parameters
    ----------
    show
        Names of the tests.
    feedback
        Whether the outcome is told afterward; a round without feedback is a probe.
    values
        Results that the case must have, one for each test shown, in the units that people read; any
        case by default.

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
        The rounds, in order.

    Raises
    ------
    InvalidInput
        Invalid rounds, all of them in one message.

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
        """Number of rounds that do not tell the outcome."""
        return sum(not each.feedback for each in self.rounds)

    def to_csv(self) -> str:
        """Return CSV text that `read` can read.

        Returns
        -------
        str
            Columns round, shown, values (of probes) and feedback.

        Raises
        ------
        InvalidInput
            A test whose name contains a semicolon.
        """
        InvalidInput.raise_if(
            f"names: {name!r} contains a semicolon, which separates names in a list; rename it"
            for name in self.names
            if ";" in name
        )
        rows: list[Sequence[object]] = [_COLUMNS]
        for number, each in enumerate(self.rounds, start=1):
            values = ";".join(f"{value:.6g}" for value in each.values or ())
            rows.append([number, ";".join(each.show), values, "yes" if each.feedback else "no"])
        return csv_text(rows)

    def write(self, path: str | Path) -> None:
        """Write a .csv file atomically.

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
            The file cannot be read, or has invalid rounds; the message says where.
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
        """Instructions in a few lines; consecutive rounds of one type share a line."""
        lines, number = [], 1
        for _, alike in groupby(self.rounds, key=lambda r: r.show if r.feedback else None):
            several = list(alike)
            last = number + len(several) - 1
            when = f"Round {number}" if number == last else f"Rounds {number} to {last}"
            lines.append(f"{when}: {_instruction(several)}.")
            number = last + 1
        return "\n".join(lines)


def _faults(each: BlockRound, where: str, names: Sequence[str]) -> list[str]:
    """List faults of a round, given the names of the tests."""
    found = unknown_name_faults(where, each.show, names)
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


def _instruction(several: Sequence[BlockRound]) -> str:
    """What to do in consecutive rounds of one type."""
    if several[0].feedback:
        return f"show {listed(list(several[0].show))} of any case, and tell the outcome afterward"
    cases = list(dict.fromkeys(_case(each) for each in several))
    again = " repeatedly" if len(cases) < len(several) else ""
    probes = "as a probe" if len(several) == 1 else f"in turn{again}, as probes"
    return f"show {', then '.join(cases)} {probes}, without telling any outcome"


def _case(each: BlockRound) -> str:
    if each.values is None:
        return " and ".join(each.show)
    results = zip(each.show, each.values, strict=True)
    return " and ".join(f"{name} {value:.4g}" for name, value in results)


def _rounds(text: str) -> Iterable[BlockRound]:
    """Parse rounds from CSV text; every fault names its line."""
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
        told = parse_yes_no(row["feedback"] or "")
        if told is None:
            faults.append(f"{where}: feedback is {row['feedback']!r}, must be yes or no")
        cells = [cell for cell in (row.get("values") or "").split(";") if cell.strip()]
        try:
            values = tuple(parse_number(cell) for cell in cells) or None
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


# --- Candidate designs for a diagnostic block, and cases drawn for a block -------------------
#
# The decisive design shows a weak test A alone for three quarters of the rounds, while a strong
# test B that is correlated with it stays hidden. People who learn from outcomes come to read A as
# if it were B; people who learn by showings do not. Probes of A and B without feedback, before and
# after, measure this. Variants also teach B, which separates learners from people who do not
# learn, and people who fill in hidden tests from those who do not.
#
# How well the design works depends on A: best if its own weight is 0 or has the opposite sign to
# what it is credited with, because then the two kinds move it in opposite directions.

# Distance of probes from the average, in standard deviations.
PROBED_AT = 2.0
# Pairs of tests that are tried: those that fold most.
_PAIRS = 6


def teaching_round(world: World, shown: TestSet) -> BlockRound:
    """A round that shows these columns of any case, and tells the outcome."""
    return BlockRound(tuple(world.labels[i] for i in shown))


def probe(world: World, shown: TestSet, at: Sequence[float]) -> BlockRound:
    """A round without feedback whose results are `at` standard deviations from the average."""
    columns, values = list(shown), np.zeros(world.size)
    values[columns] = np.asarray(at) * np.sqrt(np.diag(world.covariance))[columns]
    read = values if world.units is None else world.units.restore(values)
    names = tuple(world.labels[i] for i in shown)
    return BlockRound(names, feedback=False, values=tuple(read[columns].tolist()))


def draw_cases(
    world: World,
    rounds: Sequence[BlockRound],
    people: int,
    rng: np.random.Generator | int | None,
) -> AnsweredRounds:
    """Draw cases for this number of people, in the world's units; answers are still 0."""
    length, n = len(rounds), world.size
    shown, asked = np.zeros((length, n), dtype=np.bool_), np.full((length, n), np.nan)
    for t, each in enumerate(rounds):
        columns = [world.labels.index(name) for name in each.show]
        shown[t, columns] = True
        if each.values is not None:
            asked[t, columns] = each.values
    if world.units is not None:
        asked = world.units.standardise(asked)
    told = np.array([each.feedback for each in rounds])
    cases = world.sample(people * length, rng)
    features = cases.features.reshape(people, length, n)
    features = np.where(np.isnan(asked), features, asked)
    outcomes = np.where(told, cases.outcomes.reshape(people, length), np.nan)
    values = np.where(shown, features, 0.0)
    return AnsweredRounds(shown, told, values, np.zeros(outcomes.shape), outcomes)


def pairs(world: World, allowed: Iterable[TestSet]) -> list[tuple[TestSet, TestSet]]:
    """Allowed sets, each with the hidden test that it would be credited for most."""
    found = []
    for weak in allowed:
        folding = folded(world, weak)
        blocks = [block for block in world.blocks if not set(block) & set(weak)]
        if not weak or not blocks or folding.variance <= 0.0:
            continue
        share = [sum(folding.shares.get(i, 0.0) for i in block) for block in blocks]
        found.append((folding.variance, weak, blocks[int(np.argmax(share))]))
    found.sort(key=lambda each: -each[0])
    return [(weak, strong) for _, weak, strong in found[:_PAIRS]]


def probes(world: World, weak: TestSet, strong: TestSet) -> list[BlockRound]:
    """Probes of A alone, then of A and B in opposite and equal directions, high and low.

    Both at once separate their weights; A alone also tells whether B is filled in.
    """
    both = tuple(sorted((*weak, *strong)))
    found = [probe(world, weak, (sign,) * len(weak)) for sign in (PROBED_AT, -PROBED_AT)]
    for with_strong in (-1.0, 1.0):
        for sign in (PROBED_AT, -PROBED_AT):
            at = tuple(sign if i in weak else with_strong * sign for i in both)
            found.append(probe(world, both, at))
    return found


def decisive_design(
    world: World,
    weak: TestSet,
    strong: TestSet,
    rounds: int,
    *,
    strong_share: float = 0.0,
    share: float = 0.75,
) -> list[BlockRound]:
    """The decisive design: probes, A alone with feedback, probes.

    `share` is the share of rounds with feedback; `strong_share` the share of those which show B
    alone, after A. Two fifths of the probes come first: without them A's first weight is unknown.
    """
    teaching = round(share * rounds)
    asked = rounds - teaching
    first = min(max(round(0.4 * asked), 2), asked // 2)
    of_strong = round(strong_share * teaching)
    every = probes(world, weak, strong)
    # With few probes left, those of both tests tell more at the end than those of A alone.
    last = every[2:] + every[:2]
    return (
        [every[i % len(every)] for i in range(first)]
        + [teaching_round(world, weak)] * (teaching - of_strong)
        + [teaching_round(world, strong)] * of_strong
        + [last[i % len(last)] for i in range(asked - first)]
    )
