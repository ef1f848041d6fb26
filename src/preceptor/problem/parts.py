"""The parts of a problem file, read one by one, so that every fault of it is heard at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from preceptor._base.checks import is_number
from preceptor._base.gathering import Gathered
from preceptor.errors import InvalidFile, InvalidInput, InvalidProblem
from preceptor.model.budgets import Budget, as_budget
from preceptor.model.matrices import equicorrelation
from preceptor.model.world import World
from preceptor.people.person import size_faults
from preceptor.problem.checks import checked_start, discount_faults, horizon_faults

# A file of 80 kB may ask for so many tests that their covariance alone takes gigabytes.
_MOST_TESTS = 1_000


class Parts(Gathered):
    """The parts of a problem file."""

    def __init__(self, fields: dict[str, Any], known: Sequence[str]) -> None:
        super().__init__()
        self.fields = fields
        needed = ("world", "learner", "budget")
        missing = [name for name in needed if name not in fields]
        if missing:
            self.fault(f"problem file: {', '.join(missing)} missing")
        unknown = sorted(str(name) for name in set(fields) - set(known))
        if unknown:
            self.fault(
                f"Problem: unknown key {', '.join(map(repr, unknown))}; it takes {', '.join(known)}"
            )

    def part(self, name: str, read: Callable[[Any], Any]) -> Any:
        """What a field holds; None if it is missing or wrong."""
        if name not in self.fields:
            return None
        given = self.fields[name]
        if name != "budget" and not isinstance(given, Mapping):
            self.fault(f"{name}: got {given!r}, expected a table")
            return None
        return self.read(read, given)

    def together(self, world: Any, fields: Mapping[str, Any]) -> None:
        """What can be said about the whole although a part of it is wrong."""
        size = length_of(world, "coefficients")
        learner, budget = fields["learner"], fields["budget"]
        faults = []
        people = learner.size if learner else length_of(self.fields.get("learner"), "initial")
        if size and people:
            faults += size_faults(people, size)
        if size and isinstance(budget, Budget) and not length_of(world, "groups"):
            faults += budget.size_faults(size)
        horizon = fields.get("horizon")
        faults += horizon_faults(horizon) + discount_faults(fields.get("discount", 0.99), horizon)
        if size:
            checked_start(fields.get("start"), size, faults)
        self.add(faults, InvalidProblem)


def length_of(table: Any, name: str) -> int:
    """How many items a list in a file has; 0 if it is no list."""
    given = table.get(name) if isinstance(table, Mapping) else None
    return len(given) if isinstance(given, (list, tuple, Mapping, np.ndarray)) else 0


def world_in(table: Mapping[str, Any]) -> World:
    """In a file, `correlation = 0.8` may stand for unit variances and one correlation."""
    fields = dict(table)
    if "correlation" not in fields:
        return World.from_dict(fields)
    faults = []
    correlation, size = fields.pop("correlation"), max(length_of(fields, "coefficients"), 1)
    if "covariance" in fields:
        faults.append("world: give covariance or correlation, not both")
    elif not is_number(correlation):
        faults.append(f"world: correlation {correlation!r}, must be a number")
    elif size > _MOST_TESTS:
        faults.append(
            f"coefficients: {size:,} tests with one correlation, at most {_MOST_TESTS:,}; leave "
            "out tests that matter little"
        )
    elif not -1.0 < correlation < 1.0:
        faults.append(f"world: correlation {correlation}, must be above -1 and below 1")
    fits = not faults and size <= _MOST_TESTS
    # A wrong correlation is put right for a moment, to hear what else is wrong with the world.
    usable = correlation if fits else 0.0
    if size <= _MOST_TESTS:
        fields["covariance"] = equicorrelation(size, usable)
        try:
            world = World.from_dict(fields)
        except InvalidInput as error:
            if not faults:
                raise
            raise InvalidFile([*faults, *error.faults]) from None
    InvalidFile.raise_if(faults)
    return world


def budget_in(given: Any) -> Budget:
    """A number k, or a table with a kind."""
    return Budget.from_dict(given) if isinstance(given, Mapping) else as_budget(given)
