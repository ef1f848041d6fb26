"""The problem as arrays over counts: any curves, any imputation, any convex risk.

The state is how often each test was shown. Test i has error `errors[i, m]` after m showings, and
showing set S costs G(sqrt(floor[S] + |shift[S] + reading[S] e|²)) + prices[S] with G convex and
never falling, so that a round is convex in the errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from preceptor._base.discounting import total_weight
from preceptor._base.values import FloatArray, IntArray
from preceptor.certificate import COUNT_UNIT


def basis_of(left: FloatArray) -> FloatArray:
    """Functions of a count that potentials mix (n, counts, 3), from shares of errors."""
    counts = np.broadcast_to(np.arange(left.shape[1]) / COUNT_UNIT, left.shape)
    return np.stack([counts, 1.0 - left, 1.0 - left**2], axis=2)


@dataclass(frozen=True, eq=False)
class CountInstance:
    """Arrays that define one problem.

    floor (sets,), shift (sets, rows), reading (sets, rows, n), prices (sets,), shown (sets, n);
    the charge G is a code with a number as in `loss/_loss_kernels.py`, or below 0 lines at `knots`.
    errors (n, M+1) by count up to `caps` (n,) <= M; from its cap on the error of a test stays
    between `low` and `high` (n,). basis (n, M+1, 3): functions of a count that potentials mix.
    """

    floor: FloatArray
    shift: FloatArray
    reading: FloatArray
    prices: FloatArray
    shown: NDArray[np.bool_]
    code: int
    tau: float
    knots: FloatArray
    errors: FloatArray
    basis: FloatArray
    caps: IntArray
    low: FloatArray
    high: FloatArray
    length: int
    discount: float
    horizon: int | None
    actions: IntArray = field(init=False, repr=False)
    empty_set: int = field(init=False)

    def __post_init__(self) -> None:
        shows = self.shown.any(axis=1)
        object.__setattr__(self, "actions", np.flatnonzero(shows).astype(np.int64))
        empty = np.flatnonzero(~shows)
        object.__setattr__(self, "empty_set", int(empty[0]) if empty.size else -1)

    @property
    def n_tests(self) -> int:
        """How many tests there are."""
        return int(self.caps.size)

    @property
    def moving(self) -> NDArray[np.bool_]:
        """(n,) tests whose error ever changes; the others need no potentials."""
        moves: NDArray[np.bool_] = (np.ptp(self.errors, axis=1) > 0.0) | (self.high > self.low)
        return moves & self.shown.any(axis=0)

    @property
    def every_count(self) -> IntArray:
        """All counts up to the largest cap."""
        return np.arange(int(self.caps.max()) + 1)

    @property
    def settled(self) -> NDArray[np.bool_]:
        """(n,) tests whose error never changes beyond their cap."""
        same: NDArray[np.bool_] = self.high == self.low
        return same

    @property
    def has_tail(self) -> bool:
        """Whether the last potentials repeat forever."""
        return self.horizon is None

    def rounds_value(self, first_round: int) -> float:
        """Discounted number of rounds from `first_round` on, as seen from it."""
        left = None if self.horizon is None else max(self.horizon - first_round, 0)
        return total_weight(self.discount, left)

    def stop_cost(self, first_round: int) -> float:
        """What showing nothing from that round on costs; infinite where something must be shown."""
        if self.empty_set < 0:
            return np.inf
        return float(self.charge(self.empty_set, self.floor[self.empty_set])) * self.rounds_value(
            first_round
        )

    def charge(self, number: int, variance: float) -> float:
        """What set `number` costs at that variance of the miss."""
        from preceptor.engine._count_round_kernels import tangent

        size = float(np.sqrt(max(variance, 0.0)))
        height, _, _ = tangent(self.code, self.tau, self.knots, size)
        return float(height + self.prices[number])

    @property
    def loss_arrays(
        self,
    ) -> tuple[
        FloatArray, FloatArray, FloatArray, FloatArray, int, float, FloatArray, NDArray[np.bool_]
    ]:
        """What a round costs, in the order in which kernels take it."""
        return (
            self.floor, self.shift, self.reading, self.prices, self.code, self.tau, self.knots,
            self.shown,
        )  # fmt: skip

    @property
    def count_arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, IntArray]:
        """Functions and errors by count, in the order in which kernels take them."""
        return self.basis, self.errors, self.low, self.high, self.caps
