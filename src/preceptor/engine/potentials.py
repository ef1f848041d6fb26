"""Potentials of the counts and what they prove: the bound of the general dual.

phi_t(m) = sum_i theta[t, i] . basis[i, m_i]. If g_t bounds every round's cost plus delta phi_{t+1}
afterwards less phi_t before, then going on from counts m in round t costs at least phi_t(m) + C_t
with C_t = min(g_t + delta C_{t+1}, stopping - max phi_t). A `Timeline` lets potentials stand still
over blocks of rounds; then all inner rounds of a block are one piece, over the counts that its last
round can have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.counted import CountInstance

# Pieces that one thread takes at a time.
PIECES_A_THREAD = 8
# More showings than anybody counts.
FOREVER = 2**40
# Taken off every bound for what adding up in floating point may have lost, as a share of the loss.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Timeline:
    """Which row of potentials each round has, and the pieces into which rounds fall.

    row (T+1,) of each round, piece (T+1,) of each round but the end of a finite horizon;
    now, later, reach (pieces,): rows before and after, and how often a test can have been shown;
    row_reach (rows,) the same for rows.
    """

    row: IntArray
    piece: IntArray
    now: IntArray
    later: IntArray
    reach: IntArray
    row_reach: IntArray

    @property
    def rows(self) -> int:
        """Rows of potentials, the last of them the tail or the end."""
        return int(self.row_reach.size)


def timeline(length: int, has_tail: bool, coarseness: int = 0) -> Timeline:
    """Every round by itself, or blocks of about t / coarseness rounds."""
    starts, t = [0], 0
    while t < length:
        t = min(t + max(1, t // coarseness if coarseness else 1), length)
        starts.append(t)
    row = np.zeros(length + 1, dtype=np.int64)
    piece = np.zeros(length + 1, dtype=np.int64)
    pieces: list[tuple[int, int, int]] = []
    for b, start in enumerate(starts[:-1]):
        last = starts[b + 1] - 1
        row[start : last + 1] = b
        if last > start:
            piece[start:last] = len(pieces)
            pieces.append((b, b, last - 1))
        piece[last] = len(pieces)
        pieces.append((b, b + 1, last))
    end = len(starts) - 1
    row[length] = end
    if has_tail:
        piece[length] = len(pieces)
        pieces.append((end, end, FOREVER))
    row_reach = [starts[b + 1] - 1 for b in range(end)] + [FOREVER if has_tail else length]
    now, later, reach = np.array(pieces, dtype=np.int64).T.copy()
    return Timeline(row, piece, now, later, reach, np.array(row_reach, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class PotentialBound:
    """Potentials theta (T+1, n, 3) and constants (T+1,) that prove `value`.

    minima (T or T+1,) are the certified g_t, and `exact` has where tangents were taken for them.
    """

    instance: CountInstance
    theta: FloatArray
    constants: FloatArray
    minima: FloatArray
    exact: Exact
    value: float
    status: str = "converged"
    iterations: int = 0

    @property
    def length(self) -> int:
        """Rounds with potentials of their own, T."""
        return len(self.constants) - 1

    def tangents(self, most: int) -> FloatArray:
        """Where tangents were taken (T or T+1, sets, rows); nothing if that is over `most` numbers.

        Points of large families take hundreds of megabytes, and seconds to be laid out.
        """
        instance, points = self.instance, self.exact.y0
        shape = (self.minima.size, instance.floor.size, points.shape[2])
        if np.prod(shape) > most:
            return np.zeros((0, 0, 0))
        tangents = np.zeros(shape)
        tangents[:, instance.actions] = points[self.exact.times.piece[: self.minima.size]]
        return tangents

    def potential(self, t: int) -> FloatArray:
        """(n, counts) contribution of test i after m showings to phi_t, counts up to the caps."""
        terms: FloatArray = np.einsum("imc,ic->im", self.instance.basis, self.theta[t])
        return terms


@dataclass(eq=False)
class Exact:
    """Tangent points that are kept from one exact pass to the next."""

    instance: CountInstance
    times: Timeline
    y0: FloatArray  # (pieces, actions, rows)

    @classmethod
    def start(cls, instance: CountInstance, times: Timeline) -> Exact:
        """Every set read with the errors of the start."""
        first = instance.shift + instance.reading @ instance.errors[:, 0]
        shape = (times.now.size, *first[instance.actions].shape)
        return cls(instance, times, np.broadcast_to(first[instance.actions], shape).copy())

    def minima(
        self,
        theta: FloatArray,
        cool: FloatArray,
        most: int | None = None,
        counts: IntArray | None = None,
        halt: IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Certified minima (pieces,) and bounds of single sets (pieces, actions).

        Tangents are improved for `most` sets a piece, or until the least cannot be raised. With
        `counts` only those are looked at, and nothing is certified. Minima are -inf for pieces
        that were not done when `halt` was set.
        """
        from preceptor.engine._count_dual_kernels import exact_pieces

        instance, times = self.instance, self.times
        pieces = times.now.size
        values, least = np.empty((pieces, instance.actions.size)), np.empty(pieces)
        winner = np.zeros(pieces, dtype=np.int64)
        every = np.arange(int(instance.caps.max()) + 1) if counts is None else counts
        arguments = (
            times.now, times.later, times.reach, theta, *instance.count_arrays, every,
            instance.discount, *instance.loss_arrays, instance.actions, cool,
            instance.actions.size if most is None else most, self.y0, values, least, winner,
            np.zeros(1, dtype=np.int64) if halt is None else halt,
        )  # fmt: skip
        in_threads(
            lambda part: exact_pieces(part.start, part.stop, *arguments), pieces, PIECES_A_THREAD
        )
        return least, values


def largest_potentials(instance: CountInstance, times: Timeline, theta: FloatArray) -> FloatArray:
    """Maximum of phi over each row's counts (rows,)."""
    from preceptor.engine._count_dual_kernels import stop_rows

    every = np.arange(int(instance.caps.max()) + 1)
    value, unused = np.empty(times.rows), np.empty((0, 0, 0, 0))
    stop_rows(
        0, times.rows, times.row_reach, theta, *instance.count_arrays, every, 0.0, 1.0, value,
        np.empty((0, 0)), unused,
    )  # fmt: skip
    return value


def constants(
    instance: CountInstance, times: Timeline, theta: FloatArray, minima: FloatArray
) -> FloatArray:
    """C_t (T+1,) of the telescoping sum."""
    T = instance.length
    C = np.zeros(T + 1)
    largest = None
    if instance.empty_set >= 0:
        largest = largest_potentials(instance, times, theta)
    for t in range(T, -1, -1):
        if t == T and not instance.has_tail:
            continue
        g = minima[times.piece[t]]
        C[t] = g / (1.0 - instance.discount) if t == T else g + instance.discount * C[t + 1]
        if largest is not None:
            C[t] = min(C[t], instance.stop_cost(t) - largest[times.row[t]])
    return C


def start_value(instance: CountInstance, theta: FloatArray) -> float:
    """phi_0 where nothing has been shown."""
    return float((theta[0] * instance.basis[:, 0]).sum())


def certify(
    instance: CountInstance,
    theta: FloatArray,
    exact: Exact,
    scale: float,
    status: str = "converged",
    iterations: int = 0,
    known: FloatArray | None = None,
    halt: IntArray | None = None,
) -> PotentialBound:
    """The bound that potentials prove, over every set and every count.

    theta (T+1, n, 3) holds a row a round, equal rows where the timeline of `exact` has one for
    several. `known` (rounds,) are minima certified before, all that there is once `halt` is set.
    """
    times = exact.times
    rows = theta[np.searchsorted(times.row, np.arange(times.rows))]
    minima, _ = exact.minima(rows, scale * np.array([1e-4, 1e-5, 1e-6, 1e-8]), halt=halt)
    rounds = times.piece[: instance.length + int(instance.has_tail)]
    minima = minima[rounds]
    if known is not None:
        minima = np.maximum(minima, known)
    minima = minima - ROUNDING * scale
    C = constants(instance, timeline(instance.length, instance.has_tail), theta, minima)
    return PotentialBound(
        instance=instance,
        theta=theta,
        constants=C,
        minima=minima,
        exact=exact,
        value=float(C[0] + start_value(instance, theta)),
        status=status,
        iterations=iterations,
    )
