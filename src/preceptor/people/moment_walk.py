"""Prices of changes for linear people: states forward, one adjoint backward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from preceptor._base.discounting import weights
from preceptor._base.values import FloatArray, IntArray
from preceptor.people.expected import Tail
from preceptor.people.moments import Moments


@dataclass(eq=False)
class MomentWalk:
    """A schedule with the states before all rounds, and one adjoint that goes backward."""

    person: Moments
    rounds: int
    discount: float
    schedule: IntArray = field(init=False)
    tail: Tail = field(init=False, default=())

    def __post_init__(self) -> None:
        size = self.person.start.shape[0]
        self.schedule = np.zeros(self.rounds, dtype=np.int64)
        self._states = np.empty((self.rounds + 1, size, size))
        self._states[0] = self.person.start
        self._losses = np.zeros(self.rounds)
        self._before = np.zeros(self.rounds + 1)  # cost of the rounds before each
        self._weights = weights(self.discount, self.rounds + 1)
        self._rates = self.person.rates(0, self.rounds)
        self._adjoints = np.zeros((self.rounds + 1, size, size))  # one at each round taken in
        self._adjoint = self._adjoints[-1]
        self._room = np.zeros((size, size))
        self._total = np.inf
        self._prices = self.person.sets.prices

    def lay(self, schedule: IntArray, tail: Tail, since: int = 0) -> float:
        """Forward from `since`; the adjoint stands behind the last round."""
        from preceptor.people._moment_kernels import lay

        self.schedule[:] = schedule
        self.tail = tail
        lay(
            self.schedule, since, self._rates, self._prices, self._weights,
            self._states, self._losses, self._before, *self.person.arrays,
        )  # fmt: skip
        self._total = float(self._before[-1]) + self._end_cost(tail)
        self._adjoint = self._adjoints[-1]
        self._adjoint[:] = self._end_adjoint(tail)
        return self._total if np.isfinite(self._total) else np.inf

    def _end_cost(self, tail: Tail) -> float:
        if not tail:
            return 0.0
        weight = float(self._weights[-1])
        cost = self.person.tail_cost(self._states[-1], self.rounds, self.discount, tail)
        return weight * cost

    def _end_adjoint(self, tail: Tail) -> FloatArray:
        person = self.person
        size = person.start.shape[0]
        if not tail:
            return np.zeros((size, size))
        if person.has_closed_tails:
            adjoint = person.tail_adjoint(tail, self.discount)
            return np.full((size, size), np.inf) if adjoint is None else adjoint
        path = person.long_tail(tail, self.discount)
        return person.adjoint_along(self._states[-1], path, self.rounds, self.discount)

    def prices(self, t: int, positions: IntArray) -> FloatArray:
        """One product with the adjoint for each set."""
        from preceptor.people._moment_kernels import prices

        out = np.empty(positions.size)
        prices(
            self._states[t], self._adjoint, self._rates[t], self.discount, positions,
            self._prices, out, *self.person.arrays,
        )  # fmt: skip
        costs = self._before[t] + self._weights[t] * out
        if self.person.exact_prices:
            return np.asarray(costs)
        # A gradient prices differences only: count them from the set that is shown now.
        mine = self.schedule[t : t + 1]
        base = np.empty(1)
        prices(
            self._states[t], self._adjoint, self._rates[t], self.discount, mine, self._prices,
            base, *self.person.arrays,
        )  # fmt: skip
        return np.asarray(self._total + self._weights[t] * (out - base[0]))

    def back(self, t: int, position: int) -> None:
        """One step of the adjoint."""
        from preceptor.people._moment_kernels import back

        self.schedule[t] = position
        before = self._adjoints[t]
        back(
            self._adjoint, self._states[t], position, self._rates[t], self.discount,
            self._prices[position], before, *self.person.arrays,
        )  # fmt: skip
        self._adjoint = before

    def back_over(self, t: int, positions: IntArray) -> None:
        """Several steps of the adjoint."""
        from preceptor.people._moment_kernels import back_over

        self.schedule[t : t + positions.size] = positions
        back_over(
            t, positions, self._states, self._rates, self.discount, self._prices,
            self._adjoints, *self.person.arrays,
        )  # fmt: skip
        self._adjoint = self._adjoints[t]

    def resume(self, t: int) -> None:
        """The adjoint that was left at this round; says nothing new if surprises are capped."""
        self._adjoint = self._adjoints[t]

    def block(self, t: int, positions: IntArray) -> float:
        """Exact where the adjoint is; otherwise the rest is played."""
        person = self.person
        if not person.exact_prices:
            changed = self.schedule.copy()
            changed[t : t + positions.size] = positions
            return person.total(changed, self.discount, self.tail)
        from preceptor.people._moment_kernels import play

        last = t + positions.size
        losses, end = np.empty(positions.size), self._room
        play(self._states[t], positions, self._rates[t:last], losses, end, *person.arrays)
        here = float((losses + self._prices[positions]) @ self._weights[t:last])
        later = float(np.sum(self._adjoint * end))
        return float(self._before[t]) + here + float(self._weights[last]) * later

    def tails(self, tails: Sequence[Tail]) -> FloatArray:
        """The laid rounds, then each of the tails."""
        head = float(self._before[-1])
        return np.array([head + self._end_cost(tail) for tail in tails])
