"""What planning needs of a person: expected losses, and the price of changing one round.

Planners do not know how any kind of person learns. They set a schedule (positions of sets, round by
round) and then step backward through it: at every round the walk returns the cost of the *whole*
schedule with another set there (`prices`), and fixes the chosen one (`step_back`). Where prices are
exact, no schedule is ever replayed to price a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidProblem

# What follows the searched rounds: positions of the sets that are repeated forever, in order; empty
# if the horizon ends with the searched rounds.
Tail = tuple[int, ...]


class Expected(Protocol):
    """Expected losses of a person in one world, for one list of sets, prices included."""

    exact: bool
    """Whether `losses` and `total` are exact up to rounding; else see `accuracy`."""
    exact_prices: bool
    """Whether `Walk.prices` are exact; otherwise they are first order and must be confirmed."""
    accuracy: str
    """A sentence about the error of an inexact expectation; empty if it is exact."""

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Return the expected loss of each round (rounds,) of a schedule of set positions."""

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Return the discounted loss of a schedule and of its tail repeated forever.

        A tail needs discount < 1. Infinite if the person's errors diverge along the tail.
        """

    def walk(self, rounds: int, discount: float) -> Walk:
        """Return a walk for schedules of this many rounds."""

    def floors(self) -> FloatArray:
        """Return a lower bound on the loss of each set (sets,), whatever has been learned."""


@runtime_checkable
class ReportsErrors(Protocol):
    """An optional ability of an expectation: expected errors of the weights over time."""

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Return true minus expected weights before each round of a schedule (rounds, n)."""


class Walk(Protocol):
    """One schedule on which changes are priced, from the last round to the first."""

    def forward(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Set the schedule; return its total cost.

        Rounds before `since` must be the same as in the last schedule set. Afterwards the walk is
        at the end: call `prices(rounds - 1, ...)` and `step_back(rounds - 1, ...)` next.
        """

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """Return the total cost of the schedule with each of these sets in round t instead.

        Rounds after t are those fixed by `step_back`, rounds before t those set by `forward`.
        """

    def step_back(self, t: int, position: int) -> None:
        """Fix the set shown in round t, and step back, so that round t - 1 can be priced."""

    def replace_block(self, t: int, positions: IntArray) -> float:
        """Return the total cost of the schedule with these sets in rounds t, t + 1, ... instead.

        Valid once the walk has stepped back to the round after the block.
        """

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """Return the total cost of the present schedule with each of these tails."""


@runtime_checkable
class StepsOverBlocks(Protocol):
    """An optional ability of a walk: to fix many rounds in one step, where that is faster."""

    def step_back_over(self, t: int, positions: IntArray) -> None:
        """Fix rounds t, t + 1, ... up to the present round in one step."""


def positions_of(schedule: Sequence[int] | IntArray) -> IntArray:
    """Return positions of sets as a contiguous integer array."""
    return np.ascontiguousarray(schedule, dtype=np.int64)


def check_endless(discount: float) -> None:
    """Raise `InvalidProblem` if a tail is repeated forever without discounting."""
    if not discount < 1.0:
        raise InvalidProblem(
            f"discount: {discount!r}, must be below 1 where a set is repeated forever; give a "
            "horizon instead"
        )
