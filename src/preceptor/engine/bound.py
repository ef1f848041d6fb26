"""What potentials of the counts prove: the bound in which every dual ends.

phi_t(m) = sum_i theta[t, i] . basis[i, m_i]. If g_t bounds every round's cost plus delta phi_{t+1}
afterwards less phi_t before, then going on from counts m in round t costs at least phi_t(m) + C_t
with C_t = min(g_t + delta C_{t+1}, stopping - max phi_t). A `Timeline` lets potentials stand still
over blocks of rounds; then all inner rounds of a block are one piece, over the counts that its last
round can have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.counted import CountInstance

# More showings than anybody counts.
FOREVER = 2**40
# What adding up in floating point may have lost, as a share.
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

    @property
    def length(self) -> int:
        """Rounds before the tail or the end, T."""
        return int(self.row.size) - 1

    @property
    def has_tail(self) -> bool:
        """Whether the last row repeats forever."""
        return bool(self.row_reach[-1] == FOREVER)

    @property
    def rounds(self) -> int:
        """Rounds that are bounded, the tail being one of them."""
        return self.length + int(self.has_tail)


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
class DualBound:
    """Potentials theta (T+1, n, 3) and constants (T+1,) that prove `value`.

    minima (T or T+1,) are the certified g_t. Counts are read as no more than `caps` (n,).
    """

    instance: CountInstance
    theta: FloatArray
    caps: IntArray
    constants: FloatArray
    minima: FloatArray
    status: str = "converged"
    iterations: int = 0

    @property
    def length(self) -> int:
        """Rounds with potentials of their own, T."""
        return len(self.constants) - 1

    @property
    def value(self) -> float:
        """What no plan costs less than."""
        return float(self.constants[0] + (self.theta[0] * self.instance.basis[:, 0]).sum())

    def potential(self, t: int) -> FloatArray:
        """(n, counts) contribution of test i after m showings to phi_t."""
        terms: FloatArray = np.einsum("imc,ic->im", self.instance.basis, self.theta[t])
        return terms


def constants(
    length: int, discount: float, minima: FloatArray, stop: FloatArray | None
) -> FloatArray:
    """C_t (T+1,) of the telescoping sum, from certified minima (rounds,).

    stop (T+1,) is the slack of stopping in each round, where that is allowed.
    """
    C = np.zeros(length + 1)
    for t in range(minima.size - 1, -1, -1):
        C[t] = minima[t] / (1.0 - discount) if t == length else minima[t] + discount * C[t + 1]
        if stop is not None:
            C[t] = min(C[t], stop[t])
    return C
