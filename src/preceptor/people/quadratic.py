"""How a round moves somebody linear, and what it costs, as dense matrices.

Errors of the weights are e, g = (e, 1) and P = E[gg']. A round with set S turns g into Φg, where
Φ depends on the case that came up; A = E[Φ]. So the mean m of g becomes Am, and the spread of e
around its mean is moved by the scatter of Φ too. Everything a proof about such a person needs are
three linear maps of symmetric matrices for each set:

    carried(Q)   = A'QA                       the mean, as it is moved
    scattered(R) = E[Φ'RΦ] - A'RA             what the mean adds to the spread; R is n by n
    spread(R)    = E[Φ'RΦ], errors only       the spread, as it is moved

They are written down for few tests only: as matrices on the n(n+1)/2 numbers of a symmetric one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.values import FloatArray, IntArray

if TYPE_CHECKING:
    from preceptor.people.coordinates import Coordinates
    from preceptor.people.expected import Expected
    from preceptor.people.moments import Moments


@dataclass(frozen=True, eq=False)
class QuadraticRounds:
    """Rounds with each of the sets, for n tests; a round costs g'(charge)g, averaged.

    Attributes
    ----------
    start
        g before the first round, shape (n + 1,).
    charge
        What a round costs, price included, shape (sets, n + 1, n + 1).
    turn
        A, shape (sets, n + 1, n + 1).
    weights
        n by k for each set: which weights a surprise moves, padded to shape (sets, n, k).
    reads
        U, shape (sets, k, n + 1): the surprise is (Ug)'x + r for shown results x.
    fourth
        How surprises scatter: E[Φ(gg')Φ'] - A(gg')A' is weights (fourth[W] + second) weights' with
        W = Ugg'U', shape (sets, k, k, k, k).
    second
        What they scatter whatever the weights, shape (sets, k, k).
    """

    start: FloatArray
    charge: FloatArray
    turn: FloatArray
    weights: FloatArray
    reads: FloatArray
    fourth: FloatArray
    second: FloatArray

    def __len__(self) -> int:
        return int(self.charge.shape[0])

    @property
    def tests(self) -> int:
        """n."""
        return int(self.start.size) - 1

    def scaled(self, units: FloatArray, unit: float) -> QuadraticRounds:
        """The same with errors counted in other units (n,), and losses in units of `unit`."""
        sizes = np.append(units, 1.0)
        return QuadraticRounds(
            self.start / sizes,
            self.charge * np.outer(sizes, sizes) / unit,
            self.turn * sizes / sizes[:, None],
            self.weights / units[:, None],
            self.reads * sizes,
            self.fourth,
            self.second,
        )

    @property
    def is_certain(self) -> bool:
        """Whether weights move by what is shown alone, the same for everybody."""
        return not (np.any(self.fourth) or np.any(self.second))

    def carried(self, s: int, later: FloatArray) -> FloatArray:
        """A'QA for matrices Q, shape (..., n + 1, n + 1)."""
        turn = self.turn[s]
        moved: FloatArray = turn.T @ later @ turn
        return moved

    def scattered(self, s: int, later: FloatArray) -> FloatArray:
        """What scatter the mean causes, priced by R (..., n, n): shape (..., n + 1, n + 1)."""
        weights, reads = self.weights[s], self.reads[s]
        seen = weights.T @ later @ weights
        pulled = np.einsum("ijab,...ij->...ab", self.fourth[s], seen)
        priced: FloatArray = reads.T @ pulled @ reads
        priced[..., -1, -1] += np.einsum("ij,...ij->...", self.second[s], seen)
        return priced

    def spread(self, s: int, later: FloatArray) -> FloatArray:
        """The price of spread before the round if R (..., n, n) is its price after it."""
        turn = self.turn[s, :-1, :-1]
        moved: FloatArray = turn.T @ later @ turn
        return moved + self.scattered(s, later)[..., :-1, :-1]


def quadratic_rounds(expected: Expected) -> QuadraticRounds | str:
    """The matrices of somebody linear.

    Parameters
    ----------
    expected
        What is expected of a person.

    Returns
    -------
    QuadraticRounds or str
        Or a sentence that says why there are none.
    """
    from preceptor.people.coordinates import Coordinates
    from preceptor.people.moments import Moments

    if isinstance(expected, Moments):
        if not expected.has_closed_tails:
            return "Steps change with the round, or surprises are capped: rounds are not linear."
        return _of_moments(expected)
    if isinstance(expected, Coordinates):
        return _of_coordinates(expected)
    return f"Rounds of {type(expected).__name__} are not linear in the errors."


def _of_moments(expected: Moments) -> QuadraticRounds:
    (
        members, sizes, omega, variance, solved, offset, residual, own, pull, gain2, all_weights,
        _, keep, push,
    ) = expected.arrays  # fmt: skip
    count, widest = variance.shape[:2]
    n = omega.shape[0]
    reads, weights = np.zeros((count, widest, n + 1)), np.zeros((count, n, widest))
    charge = np.zeros((count, n + 1, n + 1))
    turn = np.tile(np.eye(n + 1), (count, 1, 1))
    scatter = np.zeros((count, widest, widest, widest, widest))
    noise = np.zeros((count, widest, widest))
    for s in range(count):
        k = int(sizes[s])
        shown, at = members[s, :k], np.arange(k)
        reads[s, :k, :n] = solved[s, :k, :k] @ omega[shown]
        reads[s, :k, n] = offset[s, :k]
        charge[s] = reads[s].T @ variance[s] @ reads[s]
        charge[s, n, n] += residual[s] + expected.sets.prices[s]
        if all_weights:
            weights[s] = reads[s, :, :n].T
        else:
            weights[s, shown, at] = 1.0
        gain = pull[s] @ reads[s]
        gain[at, shown] += own[s, :k]
        turn[s, :n] -= weights[s] @ gain
        if keep.size:
            # Whatever the round has made of errors leaks back, and so does its scatter.
            turn[s, :n] *= keep[:, None]
            turn[s, :n, n] += push
            weights[s] *= keep[:, None]
        V = variance[s]
        both = np.einsum("ia,bj->ijab", V, V) + np.einsum("ij,ab->ijab", V, V)
        scatter[s], noise[s] = gain2[s] * both, gain2[s] * residual[s] * V
    return QuadraticRounds(expected.start[:, -1], charge, turn, weights, reads, scatter, noise)


def _of_coordinates(expected: Coordinates) -> QuadraticRounds:
    known = expected.deviations
    count, n = expected.keep.shape
    charge = np.zeros((count, n + 1, n + 1))
    turn = np.zeros_like(charge)
    turn[:, n, n] = 1.0
    for s in range(count):
        k = int(known.sizes[s])
        shown: IntArray = known.members[s, :k]
        off = np.column_stack([known.factor[s, :k, :k] @ known.omega[shown], known.bend[s, :k]])
        charge[s] = off.T @ off
        charge[s, n, n] += known.least[s]
        turn[s, :n, :n] = np.diag(expected.keep[s])
        turn[s, :n, n] = expected.push[s]
    nobody, no_one = np.zeros((count, n, 1)), np.zeros((count, 1, n + 1))
    fourth, second = np.zeros((count, 1, 1, 1, 1)), np.zeros((count, 1, 1))
    return QuadraticRounds(expected.start[:, -1], charge, turn, nobody, no_one, fourth, second)
