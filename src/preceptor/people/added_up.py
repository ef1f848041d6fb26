"""Costs that are sums of what several people would cost, each of whom can be planned for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.people.expected import Expected, Tail, TakesStretches, Walk


class AddedUp:
    """`Expected` whose costs are the sum over its parts; as exact as all of them."""

    def __init__(self, parts: Sequence[Expected]) -> None:
        self.parts = tuple(parts)
        self.exact = all(part.exact for part in parts)
        self.exact_prices = all(part.exact_prices for part in parts)
        self.accuracy = next((part.accuracy for part in parts if part.accuracy), "")

    def losses(self, schedule: Sequence[int] | IntArray) -> FloatArray:
        """Of each round."""
        return np.asarray(np.sum([part.losses(schedule) for part in self.parts], axis=0))

    def total(self, schedule: Sequence[int] | IntArray, discount: float, tail: Tail) -> float:
        """Of a schedule and its tail."""
        return sum(part.total(schedule, discount, tail) for part in self.parts)

    def walk(self, rounds: int, discount: float) -> Walk:
        """Room for schedules of so many rounds."""
        return WalkTogether([part.walk(rounds, discount) for part in self.parts])

    def floors(self) -> FloatArray:
        """What nobody among them can go below, taken together."""
        return np.asarray(np.sum([part.floors() for part in self.parts], axis=0))


class WalkTogether:
    """One schedule that several walk; prices are sums."""

    def __init__(self, walks: Sequence[Walk]) -> None:
        self._walks = tuple(walks)

    def lay(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Walk a schedule forward."""
        return sum(walk.lay(schedule, tail, since) for walk in self._walks)

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """What the whole schedule costs with each of these sets in round t instead."""
        return np.asarray(np.sum([walk.prices(t, positions) for walk in self._walks], axis=0))

    def back(self, t: int, position: int) -> None:
        """Take in what is shown in round t."""
        for walk in self._walks:
            walk.back(t, position)

    def back_over(self, t: int, positions: IntArray) -> None:
        """Take in several rounds, at once where a walk can."""
        for walk in self._walks:
            if isinstance(walk, TakesStretches):
                walk.back_over(t, positions)
            else:
                for later in range(positions.size - 1, -1, -1):
                    walk.back(t + later, int(positions[later]))

    def block(self, t: int, positions: IntArray) -> float:
        """What the whole schedule costs with these sets from round t on instead."""
        return sum(walk.block(t, positions) for walk in self._walks)

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """What the laid schedule costs with each of these tails."""
        return np.asarray(np.sum([walk.tails(tails) for walk in self._walks], axis=0))
