"""What planning asks of a person: how they do on average, and what a change of one round is worth.

A planner knows nobody's mathematics. It lays a schedule (positions of sets, round by round), walks
it forward, and then goes backward through it: at every round the walk says what the *whole*
schedule would cost with another set there (`prices`), takes the chosen one in (`back`), and goes
on. Where prices are exact, no schedule is ever played again to price a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidProblem

# What comes after the searched rounds: positions of the sets that are repeated forever, in order;
# empty if the last searched round is the last of all.
Tail = tuple[int, ...]


class Expected(Protocol):
    """A kind of person in one world, with one list of sets: expected squared errors plus prices."""

    exact: bool
    """Whether `losses` and `total` are exact up to rounding; else `accuracy` says what is known."""
    exact_prices: bool
    """Whether `Walk.prices` are; otherwise they are good to first order and must be confirmed."""
    accuracy: str
    """How far off an inexact expectation is, as a sentence; empty if it is exact."""

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Expected loss of each round (rounds,) of a schedule of set positions, from the start."""

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Discounted loss of a schedule, and of its tail repeated forever (needs discount < 1).

        Infinite if the person's errors grow without end along the tail.
        """

    def walk(self, rounds: int, discount: float) -> Walk:
        """Room for schedules of so many rounds."""

    def floors(self) -> FloatArray:
        """For each set (sets,) a loss that nobody of this kind can go below, ever."""


@runtime_checkable
class TakesSpread(Protocol):
    """What an expectation may offer besides: present weights that are not known exactly."""

    def with_spread(self, covariance: FloatArray) -> Expected:
        """The same person, whose weights now are only known up to a covariance (n, n).

        Costs are then averages over it, as exact as those of known weights are.
        """


@runtime_checkable
class TellsErrors(Protocol):
    """What an expectation may offer besides: how wrong each weight is expected to be by when."""

    def expected_errors(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Truth minus expected weight before each round of a schedule, shape (rounds, n)."""


class Walk(Protocol):
    """One schedule on which changes are priced; the planner goes through it from the end."""

    def lay(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Walk a schedule forward; gives what it costs in all.

        Rounds before `since` are as they were when the last schedule was laid. Afterwards the walk
        stands at the end: `prices(rounds - 1, ...)` and `back(rounds - 1, ...)` may be asked.
        """

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """What the whole schedule costs in all with each of these sets in round t instead.

        Rounds after t are those taken in by `back`, rounds before t those that were laid.
        """

    def back(self, t: int, position: int) -> None:
        """Take in that this set is shown in round t; prices of round t - 1 may be asked next."""

    def block(self, t: int, positions: IntArray) -> float:
        """What the whole schedule costs in all with these sets in rounds t, t + 1, ... instead.

        May be asked when the walk has been taken back to the round after the block.
        """

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """What the laid schedule costs in all with each of these tails instead of its own."""


@runtime_checkable
class TakesStretches(Protocol):
    """What a walk may offer besides: many rounds at once, where that is quicker."""

    def back_over(self, t: int, positions: IntArray) -> None:
        """Take in rounds t, t + 1, ..., which end where the walk stands, at once."""


@runtime_checkable
class Resumable(TakesStretches, Protocol):
    """What a walk may offer if what comes after a round does not depend on what is before it.

    It remembers every round that it was taken back to; a planner that has changed an early round
    need not take in all the later ones again.
    """

    def resume(self, t: int) -> None:
        """Stand at round t again; rounds from t on are as they were when last taken in."""


def positions_of(schedule: Sequence[int] | IntArray) -> IntArray:
    """Positions of sets as kernels read them."""
    return np.ascontiguousarray(schedule, dtype=np.int64)


def check_endless(discount: float) -> None:
    """Refuse to repeat a set forever if later rounds weigh as much as earlier ones."""
    if not discount < 1.0:
        raise InvalidProblem(
            f"discount: {discount!r}, must be below 1 where a set is repeated forever; give a "
            "horizon instead"
        )
