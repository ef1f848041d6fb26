"""People whose errors move each by itself, when one does not know exactly where they are.

Errors have a mean and a covariance. A round moves the mean as it would move known errors, and
shrinks the covariance; costs are quadratic, so their average is that of the mean plus one linear in
the covariance. Prices stay exact, and a walk takes about twice as long.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.people.coordinates import (
    Coordinates,
    CoordinateWalk,
    check_endless,
    packed_words,
    positions_of,
)
from preceptor.people.expected import Tail


class SpreadCoordinates:
    """`Expected` of the people of `Coordinates` whose errors now have a covariance: exact."""

    exact = True
    exact_prices = True
    accuracy = ""

    def __init__(self, known: Coordinates, covariance: FloatArray) -> None:
        self.known = known
        self.covariance = np.array(covariance, dtype=np.float64)
        given = known.deviations
        self.shrinking = (known.keep, given.omega, given.members, given.sizes, given.factor)

    def with_spread(self, covariance: FloatArray) -> SpreadCoordinates:
        """Even less known."""
        return SpreadCoordinates(self.known, self.covariance + covariance)

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Expected loss of each round, from the start."""
        from preceptor.people._spread_kernels import play_spread

        sets = positions_of(schedule)
        added = np.empty(sets.size)
        play_spread(sets, 1.0, *self.shrinking, self.covariance.copy(), added)
        return self.known.losses(sets) + added

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Discounted loss of a schedule and of its tail repeated forever."""
        from preceptor.people._spread_kernels import play_spread, rest_of

        sets, spread = positions_of(schedule), self.covariance.copy()
        added = play_spread(sets, float(discount), *self.shrinking, spread, np.empty(sets.size))
        if tail:
            adjoint = self.known.tail_adjoint(tail, discount)
            added += discount**sets.size * rest_of(adjoint, spread)
        return float(self.known.total(sets, discount, tail) + added)

    def walk(self, rounds: int, discount: float) -> SpreadWalk:
        """Room for schedules of so many rounds."""
        return SpreadWalk(self, rounds, discount)

    def floors(self) -> FloatArray:
        """Loss of the best reader of each set, price included, shape (sets,)."""
        return self.known.floors()


class SpreadWalk(CoordinateWalk):
    """A walk with exact prices; the covariance of errors goes along with their mean."""

    def __init__(self, expected: SpreadCoordinates, rounds: int, discount: float) -> None:
        from preceptor.people import _spread_kernels

        super().__init__(expected.known, rounds, discount)
        self._spreading = _spread_kernels
        self._shrinking = expected.shrinking
        self._spreads = np.tile(expected.covariance, (rounds + 1, 1, 1))
        self._added = np.zeros(rounds + 1)

    def lay(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Walk a schedule forward; gives what it costs in all."""
        mean = super().lay(schedule, tail, since)
        self._spreading.walk_spread(
            positions_of(schedule), since, self._discount, *self._shrinking, self._spreads,
            self._added,
        )  # fmt: skip
        rest = self._spreading.rest_of(self._adjoint, self._spreads[-1])
        return float(mean + self._added[-1] + self._weights[-1] * rest)

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """What the whole schedule costs in all with each of these sets in round t instead."""
        out = super().prices(t, positions)
        out += self._added[t]
        keep, _, calm_keep, _, moved, omega, members, sizes, _, _, factor = self._pricing
        self._spreading.spread_prices(
            positions_of(positions), self._spreads[t], self._weights[t], self._discount,
            self._adjoint, keep, calm_keep, moved, omega, members, sizes, factor, out,
        )  # fmt: skip
        return out

    def block(self, t: int, positions: IntArray) -> float:
        """What the whole schedule costs in all with these sets in rounds t, t + 1, ... instead."""
        sets, spread = positions_of(positions), self._spreads[t].copy()
        block = self._spreading.play_spread(
            sets, self._discount, *self._shrinking, spread, np.empty(sets.size)
        )
        rest = self._spreading.rest_of(self._adjoint, spread)
        added = self._weights[t] * block + self._weights[t + sets.size] * rest
        return float(super().block(t, positions) + self._added[t] + added)

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """What the laid schedule costs in all with each of these tails instead of its own."""
        rest = np.empty(len(tails))
        words, lengths = packed_words(tails)
        if words.size:
            check_endless(self._discount)
        self._spreading.spread_tails(
            words, lengths, self._discount, *self._maps, self._states[-1], self._spreads[-1], rest
        )
        total: FloatArray = self._paid[-1] + self._added[-1] + self._weights[-1] * rest
        return total
