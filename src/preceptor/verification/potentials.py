"""Potentials of the counts, as a certificate has them, as tables that one can scan.

A dual certificate says: going on from counts m in round t costs at least Σ_i p_ti(m_i) + C_t.
Counts are showings since the problem's start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.certificate import COUNT_UNIT, LONGEST, Certificate
from preceptor.verification.own_losses import OwnLosses


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


@dataclass(frozen=True, eq=False)
class Potentials:
    """p = θ · (m/50, 1 - r, 1 - r²), constant beyond caps, in a problem with these losses."""

    losses: OwnLosses
    certificate: Certificate

    @property
    def length(self) -> int:
        """T: rounds 0 to T - 1 have potentials of their own, round T repeats or is the end."""
        return len(self.certificate.potentials) - 1

    @property
    def _discount(self) -> float:
        return self.losses.problem.discount

    @property
    def _endless(self) -> bool:
        return self.losses.problem.horizon is None

    def _left(self, counts: IntArray) -> FloatArray:
        """r (n, counts): share of the start's error after counts (n, counts) since the start."""
        problem = self.losses.problem
        table = np.empty(counts.shape)
        curves = problem.by_showings.curve_of
        for i, (curve, start) in enumerate(zip(curves, problem.start_counts, strict=True)):
            seen = start + np.append(0, counts[i]).astype(np.float64)
            left = curve.sign(seen) * np.sqrt(curve.phi(seen))
            table[i] = left[1:] / (left[0] or 1.0)  # nothing is left of 0, however it is read
        return table

    def faults(self) -> str:
        """Why the certificate cannot be about this problem, in words; empty if it can."""
        theta, caps = self.certificate.potentials, self.certificate.caps
        minima = self.certificate.round_minima
        n, horizon = self.losses.problem.size, self.losses.problem.horizon
        if theta.ndim != 3 or theta.shape[1:] != (n, 3) or len(theta) < 2:
            return f"potentials have shape {theta.shape}, must be (rounds + 1, {n}, 3)"
        if caps.shape != (n,) or caps.min() < 1 or (self._endless and caps.max() > LONGEST):
            return f"caps are {caps.tolist()}, must be {n} counts from 1 to {LONGEST:,}"
        if minima.shape != (self.length + self._endless,):
            return f"{minima.shape} round minima for {self.length} rounds"
        claims = (theta, minima, np.array(self.certificate.dual_bound))
        if not all(np.isfinite(claim).all() for claim in claims):
            return "some numbers are not finite"
        if horizon is not None and horizon != self.length:
            return f"it is about {self.length} rounds, the problem has {horizon}"
        if horizon is not None and theta[-1].any():
            return "something is owed after the last round"
        return ""

    def at(self, t: int, counts: IntArray) -> FloatArray:
        """p_t (n, counts) for the counts of each test, shape (n, counts)."""
        within = np.minimum(counts, self.certificate.caps[:, None])
        left = self._left(within)
        theta = self.certificate.potentials[t]
        table: FloatArray = (
            theta[:, :1] * (within / COUNT_UNIT)
            + theta[:, 1:2] * (1.0 - left)
            + theta[:, 2:] * (1.0 - left * left)
        )
        return table

    def points(self, t: int) -> Points:
        """The places of round t: every count that is possible, and the ends of what lies beyond."""
        n, caps = self.losses.problem.size, self.certificate.caps
        repeats = self._endless and t == self.length
        following = t if repeats else t + 1
        last = caps if repeats else np.minimum(caps, t)  # (n,) the largest count scanned
        counts = np.broadcast_to(np.arange(int(last.max()) + 1), (n, int(last.max()) + 1))
        possible = counts <= last[:, None]
        error = self.losses.errors_after(range(int(last.max()) + 1))
        now = self.at(t, counts)
        hidden = np.where(possible, self._discount * self.at(following, counts) - now, np.inf)
        shown = np.where(possible, self._discount * self.at(following, counts + 1) - now, np.inf)
        # Beyond a cap errors lie between that at the cap, scanned already, and their limits.
        beyond = np.ones(n, dtype=np.bool_) if repeats else t > caps
        same = self._discount * self.at(following, caps[:, None]) - self.at(t, caps[:, None])
        more = np.where(beyond[:, None], np.repeat(same, 2, axis=1), np.inf)
        return Points(
            np.concatenate([error, self.losses.limits_after(caps)], axis=1),
            np.concatenate([hidden, more], axis=1),
            np.concatenate([shown, more], axis=1),
        )

    def largest(self, t: int) -> float:
        """No counts that are possible in round t have a larger potential."""
        top = self.certificate.caps
        if not (self._endless and t == self.length):
            top = np.minimum(top, t)
        counts = np.minimum(np.arange(int(top.max()) + 1), top[:, None])
        return float(self.at(t, counts).max(axis=1).sum())
