"""Potentials of the counts, whatever certificate they come from, as tables that one can scan.

A dual certificate says: going on from counts m in round t costs at least Σ_i p_ti(m_i) + C_t. The
two kinds of certificate differ only in how they write p. Counts are showings since the problem's
start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.certificate import COUNT_UNIT, SMALLEST_ERROR, Certificate, PotentialCertificate
from preceptor.verification.own_losses import OwnLosses

# Counts that the last round, which repeats forever, is scanned up to at most.
_LONGEST = 50_000
# There the scan of relative errors ends: smaller ones are an interval.
_SMALL = 1e-9


@dataclass(frozen=True, eq=False)
class Points:
    """Every place at which a test can stand in a round: its error and two changes of potential.

    `error` (n, places); `hidden` and `shown` (n, places) are δ p_{t+1} - p_t if the test is hidden
    or shown, infinite where a test has fewer places. Where errors may lie in an interval its ends
    are places: what is added to them is linear in the error.
    """

    error: FloatArray
    hidden: FloatArray
    shown: FloatArray


class Potentials(Protocol):
    """What the checkers ask of a certificate."""

    @property
    def length(self) -> int:
        """T: rounds 0 to T - 1 have potentials of their own, round T repeats or is the end."""

    def faults(self) -> str:
        """Why the certificate cannot be about this problem, in words; empty if it can."""

    def at(self, t: int, counts: IntArray) -> FloatArray:
        """p_t (n, counts) for the counts of each test, shape (n, counts)."""

    def points(self, t: int) -> Points:
        """The places of round t."""

    def largest(self, t: int) -> float:
        """No counts that are possible in round t have a larger potential."""


@dataclass(frozen=True, eq=False)
class _Shared:
    """What both kinds need: the problem's own numbers."""

    losses: OwnLosses

    @property
    def _discount(self) -> float:
        return self.losses.problem.discount

    @property
    def _endless(self) -> bool:
        return self.losses.problem.horizon is None

    def _retention(self, counts: IntArray) -> FloatArray:
        """Signed share of the first error (n, counts) after counts (n, counts) since the start."""
        problem = self.losses.problem
        table = np.empty(counts.shape)
        curves = problem.by_showings.curve_of
        for i, (curve, start) in enumerate(zip(curves, problem.start_counts, strict=True)):
            seen = (start + counts[i]).astype(np.float64)
            table[i] = curve.sign(seen) * np.sqrt(curve.phi(seen))
        return table


@dataclass(frozen=True, eq=False)
class TablePotentials(_Shared):
    """Those of a `PotentialCertificate`: θ · (m/50, 1 - r, 1 - r²), constant beyond caps."""

    certificate: PotentialCertificate

    @property
    def length(self) -> int:
        """T."""
        return len(self.certificate.potentials) - 1

    def faults(self) -> str:
        """Shapes, numbers, and what is owed after the end."""
        theta, caps = self.certificate.potentials, self.certificate.caps
        n, horizon = self.losses.problem.size, self.losses.problem.horizon
        if theta.ndim != 3 or theta.shape[1:] != (n, 3) or len(theta) < 2:
            return f"potentials have shape {theta.shape}, must be (rounds + 1, {n}, 3)"
        if caps.shape != (n,) or caps.min() < 1 or (self._endless and caps.max() > _LONGEST):
            return f"caps are {caps.tolist()}, must be {n} counts from 1 to {_LONGEST:,}"
        if not np.isfinite(theta).all() or not np.isfinite(self.certificate.value):
            return "some numbers are not finite"
        if horizon is not None and horizon != self.length:
            return f"it is about {self.length} rounds, the problem has {horizon}"
        if horizon is not None and theta[-1].any():
            return "something is owed after the last round"
        return ""

    def at(self, t: int, counts: IntArray) -> FloatArray:
        """Read off the certificate."""
        within = np.minimum(counts, self.certificate.caps[:, None])
        left = self._retention(within)
        theta = self.certificate.potentials[t]
        table: FloatArray = (
            theta[:, :1] * (within / COUNT_UNIT)
            + theta[:, 1:2] * (1.0 - left)
            + theta[:, 2:] * (1.0 - left * left)
        )
        return table

    def points(self, t: int) -> Points:
        """Every count that is possible, and the ends of what lies beyond."""
        n, caps = self.losses.problem.size, self.certificate.caps
        repeats = self._endless and t == self.length
        following = t if repeats else t + 1
        last = caps if repeats else np.minimum(caps, t)  # (n,) the largest count scanned
        counts = np.broadcast_to(np.arange(int(last.max()) + 1), (n, int(last.max()) + 1))
        possible = counts <= last[:, None]
        error = self._retention(np.minimum(counts, last[:, None]))
        now = self.at(t, counts)
        hidden = np.where(possible, self._discount * self.at(following, counts) - now, np.inf)
        shown = np.where(possible, self._discount * self.at(following, counts + 1) - now, np.inf)
        # Beyond a cap errors lie between that at the cap, scanned already, and their limits.
        beyond = np.ones(n, dtype=np.bool_) if repeats else t > caps
        same = self._discount * self.at(following, caps[:, None]) - self.at(t, caps[:, None])
        more = np.where(beyond[:, None], np.repeat(same, 2, axis=1), np.inf)
        return Points(
            np.concatenate(
                [error * self.losses.first_errors[:, None], self.losses.limits_after(caps)], axis=1
            ),
            np.concatenate([hidden, more], axis=1),
            np.concatenate([shown, more], axis=1),
        )

    def largest(self, t: int) -> float:
        """Test by test."""
        top = self.certificate.caps
        if not (self._endless and t == self.length):
            top = np.minimum(top, t)
        counts = np.minimum(np.arange(int(top.max()) + 1), top[:, None])
        return float(self.at(t, counts).max(axis=1).sum())


@dataclass(frozen=True, eq=False)
class LogPotentials(_Shared):
    """Those of a `Certificate`: κ log u + r u - N u² in relative errors u.

    The logarithm reads errors that are smaller than after T showings as that.
    """

    certificate: Certificate

    @property
    def length(self) -> int:
        """T."""
        return len(self.certificate.log_weight) - 1

    def faults(self) -> str:
        """Shapes, numbers, and what is owed after the end."""
        certificate, T = self.certificate, self.length
        n, horizon = self.losses.problem.size, self.losses.problem.horizon
        rows = (certificate.log_weight, certificate.linear_weight, certificate.square_weight)
        if T < 1 or any(row.shape != (T + 1, n) for row in rows):
            return (
                f"multipliers have shapes {[row.shape for row in rows]}, must be (rounds + 1, {n})"
            )
        if certificate.constants.shape != (T + 1,):
            return f"{certificate.constants.shape} constants for {T} rounds"
        if certificate.round_minima.shape != (T + self._endless,):
            return f"{certificate.round_minima.shape} round minima for {T} rounds"
        claims = (*rows, certificate.constants, certificate.round_minima)
        if not all(np.isfinite(claim).all() for claim in claims):
            return "some numbers are not finite"
        if horizon is not None and horizon != T:
            return f"it is about {T} rounds, the problem has {horizon}"
        if horizon is not None and any(row[T].any() for row in rows):
            return "something is owed after the last round"
        if not all(curve.keeps_sign for curve in self.losses.problem.by_showings.curve_of):
            return "it is about errors that keep their sign, which these do not"
        return ""

    def _relative(self, counts: IntArray) -> FloatArray:
        """u (n, counts): errors as a share of those at the problem's start."""
        start = self._retention(np.zeros((len(counts), 1), dtype=np.int64))
        return np.asarray(self._retention(counts) / _safe(start[:, 0])[:, None])

    def at(self, t: int, counts: IntArray) -> FloatArray:
        """Read off the certificate."""
        return self._of(t, self._relative(counts))

    def _of(self, t: int, u: FloatArray) -> FloatArray:
        certificate = self.certificate
        at_end = self._relative(np.full((len(u), 1), self.length))
        read = np.log(np.maximum(u, np.maximum(at_end, SMALLEST_ERROR)))
        table: FloatArray = (
            certificate.log_weight[t][:, None] * read
            + certificate.linear_weight[t][:, None] * u
            - certificate.square_weight[t][:, None] * u * u
        )
        return table

    def _scanned(self, t: int) -> IntArray:
        """Counts (n, places); in the last round on to where hardly anything is left."""
        n = self.losses.problem.size
        top = t
        if self._endless and t == self.length:
            top = max(t, 1)
            least = self._least_relative()
            while top < _LONGEST:
                if np.all(self._relative(np.full((n, 1), top))[:, 0] - least <= _SMALL):
                    break
                top = min(2 * top, _LONGEST)
        return np.broadcast_to(np.arange(top + 1), (n, top + 1))

    def _least_relative(self) -> FloatArray:
        """What u never goes below (n,)."""
        problem = self.losses.problem
        curves, starts = problem.by_showings.curve_of, problem.start_counts
        at_start = np.array([float(c.phi(m)) for c, m in zip(curves, starts, strict=True)])
        limit = np.array([curve.limit for curve in curves])
        return np.asarray(np.sqrt(limit / _safe(at_start)))

    def points(self, t: int) -> Points:
        """Every count that is possible, and the ends of what lies beyond."""
        repeats = self._endless and t == self.length
        following = t if repeats else t + 1
        counts = self._scanned(t)
        u = self._relative(counts)
        now = self.at(t, counts)
        hidden = self._discount * self.at(following, counts) - now
        shown = self._discount * self.at(following, counts + 1) - now
        start = self._retention(np.zeros((len(u), 1), dtype=np.int64))
        error = u * start * self.losses.first_errors[:, None]
        if not repeats:
            return Points(error, hidden, shown)
        # Below the last count lie u in [0, end] that end up at u' in [0, u]; logarithms read both
        # the same. The rest is linear in the error but for squares, whose least is taken off.
        end = u[:, -1:]
        square = self.certificate.square_weight[t][:, None] * end * end
        linear = self.certificate.linear_weight[t][:, None] * end
        log = self._of(t, np.zeros_like(end))
        ended = (end <= self._least_relative()[:, None]) | (start == 0.0)
        nothing = (self._discount - 1.0) * log + np.minimum(square, 0.0)
        nothing = np.where(ended, np.inf, nothing)
        edge_hidden = nothing + (self._discount - 1.0) * linear
        edge_shown = np.minimum(edge_hidden, nothing - linear)
        return Points(
            np.concatenate([error, np.zeros_like(end), error[:, -1:]], axis=1),
            np.concatenate([hidden, nothing, edge_hidden], axis=1),
            np.concatenate([shown, nothing, edge_shown], axis=1),
        )

    def largest(self, t: int) -> float:
        """Test by test."""
        counts = self._scanned(t)
        top = self.at(t, counts).max(axis=1)
        if self._endless and t == self.length:
            end = self._relative(counts[:, -1:])[:, 0]
            below = self._of(t, np.zeros((len(end), 1)))[:, 0]
            below = below + np.maximum(self.certificate.linear_weight[t] * end, 0.0)
            below = below + np.maximum(-self.certificate.square_weight[t] * end**2, 0.0)
            top = np.maximum(top, below)
        return float(top.sum())


def _safe(values: FloatArray) -> FloatArray:
    """To divide by: nothing is left of an error of 0, however it is read."""
    return np.where(values == 0.0, 1.0, values)
