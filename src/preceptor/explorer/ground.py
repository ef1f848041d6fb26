"""What is explored: a world of tests, where its numbers come from, and where sliders begin."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from preceptor._base.discounting import cases_to_come
from preceptor._base.parsing import parse_json
from preceptor._base.values import FloatArray
from preceptor._base.words import counted
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.model.budgets import AtMost
from preceptor.model.world import World
from preceptor.people.by_showings import Learner
from preceptor.people.curves import Geometric
from preceptor.problem import Problem
from preceptor.tables import Reading

# Of a table that somebody brings; the paper's worlds and ours have fewer.
MOST_TESTS = 50
# Sets beyond this number could not be searched while somebody waits.
_MOST_SETS, _MOST_AT_ONCE = 2_000, 8
# The name of the ground that somebody brings themselves.
OWN = "own"
# Bytes of a table that somebody sends, and of what a page carries of it once it is unpacked.
MOST_BYTES = 1_000_000
_DAMAGED = "table: is damaged; bring the table again"


@dataclass(frozen=True, eq=False)
class Ground:
    """A world, and what a visitor is told about it.

    Attributes
    ----------
    name
        In addresses.
    title
        For readers.
    about
        A sentence or two on what it is.
    world
        How tests and outcomes come about; where `correlations` are given, at one of them.
    correlations
        From where to where the one correlation between all tests can be moved; None for a world
        that is as its cases are.
    initial
        First beliefs (n,) that come with it; None if there are only those of `BELIEFS`.
    start
        Where sliders begin, by name; what is left out begins where it usually does.
    command
        The beginning of a command that reads the same table; empty if there is no table.
    notes
        What a reader should know of how it was read, a sentence each.
    """

    name: str
    title: str
    about: str
    world: World
    correlations: tuple[float, float] | None = None
    initial: FloatArray | None = None
    start: Mapping[str, float | str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_own(self) -> bool:
        """Whether somebody brought it, so that no link can hold it."""
        return self.name == OWN

    @property
    def most_tests(self) -> int:
        """How many tests may be shown per case, at most, for a plan to be found at once."""
        blocks = len(self.world.blocks)
        sizes = range(min(blocks, _MOST_AT_ONCE) + 1)
        sets = accumulate(comb(blocks, size) for size in sizes)
        return max(sum(many <= _MOST_SETS for many in sets) - 1, 1)

    def at(self, correlation: float | None) -> World:
        """The world at this correlation."""
        if correlation is None:
            return self.world
        world = self.world
        return World.equicorrelated(
            world.coefficients, correlation, world.noise_variance, world.names
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for a ground that somebody brought."""
        return {
            "title": self.title,
            "about": self.about,
            "world": self.world.to_dict(),
            "initial": None if self.initial is None else self.initial.tolist(),
            "start": dict(self.start),
            "command": list(self.command),
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Ground:
        """Rebuild what `to_dict` gave; whatever else it holds is refused."""
        texts = ("title", "about")
        lists = ("command", "notes")
        is_fit = (
            set(data) == {*texts, *lists, "world", "initial", "start"}
            and all(isinstance(data[name], str) for name in texts)
            and all(_are_texts(data[name]) for name in lists)
            and isinstance(data["start"], Mapping)
        )
        if not is_fit:
            raise InvalidInput("table: is not what this page was given; bring the table again")
        world = World.from_dict(data["world"])
        given = data["initial"]
        initial = None if given is None else Learner(given, Geometric(1.1)).initial
        if initial is not None and initial.size != world.size:
            raise InvalidInput("table: first beliefs are about other tests; bring the table again")
        start, command, notes = dict(data["start"]), tuple(data["command"]), tuple(data["notes"])
        return brought(
            cls(OWN, data["title"], data["about"], world, None, initial, start, command, notes)
        )


def as_text(ground: Ground) -> str:
    """A ground that somebody brought, for a hidden field of a form: the server keeps nothing."""
    packed = zlib.compress(json.dumps(ground.to_dict()).encode(), 9)
    return base64.urlsafe_b64encode(packed).decode("ascii")


def from_text(text: str) -> Ground:
    """What `as_text` wrote; whatever else somebody sends is refused."""
    try:
        unpacking = zlib.decompressobj()
        raw = unpacking.decompress(base64.urlsafe_b64decode(text.encode()), MOST_BYTES)
        data = parse_json(raw.decode())
    except (binascii.Error, zlib.error, UnicodeError, InvalidFile):
        raise InvalidInput(_DAMAGED) from None
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise InvalidInput(_DAMAGED)
    return Ground.from_dict(data)


def _are_texts(items: object) -> bool:
    return isinstance(items, list) and all(isinstance(item, str) for item in items)


def brought(ground: Ground) -> Ground:
    """The ground, unless it has more tests than can be explored while somebody waits."""
    many = len(ground.world.tests)
    if many > MOST_TESTS:
        raise InvalidInput(
            f"table: {counted(many, 'test')}, the explorer takes at most {MOST_TESTS}; drop some "
            "columns, or use `preceptor plan`"
        )
    return ground


def ground_of_table(
    path: Path,
    outcome: str | None,
    *,
    called: str | None = None,
    unit: str | None = None,
    drop: Sequence[str] = (),
    reading: Reading | None = None,
    options: Sequence[str] = (),
) -> Ground:
    """A table of cases as something to explore; arguments are those of `advise`.

    `called` is the name that readers know the file by, where that is not its own; `options` are
    further words of a command that reads it in the same way.
    """
    from preceptor.estimation.world import fit_source

    name = called or path.name
    try:
        estimate = fit_source(path, outcome, unit=unit, drop=drop, reading=reading)
    except InvalidInput as error:
        faults = [fault.replace(str(path), name) for fault in error.faults]
        raise InvalidInput(faults) from None
    world = estimate.world
    known = f"{counted(estimate.rows, 'case')} and {counted(len(world.tests), 'test')}"
    about = f"{known}; the outcome is {outcome}."
    command = ["preceptor", "plan", called or str(path), "--outcome", str(outcome)]
    command += [] if unit is None else ["--unit", unit]
    for column in drop:
        command += ["--drop", column]
    command += options
    return brought(
        Ground(
            OWN,
            name,
            about,
            world,
            command=tuple(command),
            notes=tuple(estimate.warnings),
        )
    )


def ground_of_problem(problem: Problem, called: str) -> Ground:
    """A problem as something to explore; what sliders cannot say is said in its notes."""
    notes = []
    start: dict[str, float | str] = {}
    budget, person = problem.budget, problem.learner
    if isinstance(budget, AtMost) and not np.any(budget.prices(problem.size)):
        start["tests"] = int(budget.k)
    else:
        notes.append("Costs and other limits on what may be shown are left out here.")
    if problem.horizon is not None:
        start |= {"cases": problem.horizon, "ends": "yes"}
        if problem.discount < 1.0:
            notes.append("Here all cases count the same until the last one.")
    else:
        start |= {"cases": round(cases_to_come(problem.discount)), "ends": "no"}
    if isinstance(person, Learner) and isinstance(person.curves, Geometric):
        half_life = float(np.log(2.0) / np.log(person.curves.alpha))
        start["half_life"] = round(4.0 * half_life) / 4.0
    if isinstance(person, Learner) and isinstance(person.imputation, (int, float)):
        start["imputation"] = round(float(person.imputation), 1)
    if not isinstance(person, Learner) or "half_life" not in start:
        notes.append("The plan here is for somebody who learns by showings.")
    if any(problem.start_counts):
        notes.append("Here the person has not seen any test yet.")
    about = f"{counted(len(problem.world.tests), 'test')}, as in that file."
    initial = np.array(person.initial, dtype=np.float64)
    given = {**start, "beliefs": "given"}
    return brought(
        Ground(OWN, called, about, problem.world, None, initial, given, (), tuple(notes))
    )
