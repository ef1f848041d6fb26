"""Check a semidefinite certificate, from what people do with a case.

Nothing is taken from the code that found it. How errors move follows from what people do with a
case (`case_maps.py`), averaged with three points per dimension; five must give the same. Then every
inequality of `certificate.LinearCertificate` is checked by its smallest eigenvalue, for every set
and step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.certificate import SLOWER, LinearCertificate, steps
from preceptor.model.person import Person
from preceptor.model.sets import SetFamily
from preceptor.model.world import World
from preceptor.proofs.case_maps import CaseMaps, case_maps, same_moments


@dataclass(frozen=True)
class SemidefiniteReport:
    """Result of checking a semidefinite certificate.

    Attributes
    ----------
    ok
        Whether everything holds.
    why
        The first failure, as a sentence; empty if there is none.
    bound
        The proven bound; minus infinity if there is none.
    adaptive
        Whether it also holds for policies that see the person's weights.
    worst
        The smallest eigenvalue of all inequalities, in units of the largest loss at the start.
    """

    ok: bool
    why: str
    bound: float
    adaptive: bool
    worst: float


def check_semidefinite(
    certificate: LinearCertificate,
    person: Person,
    world: World,
    sets: SetFamily,
    start: Sequence[int] | None = None,
    *,
    slack: float = 1e-9,
) -> SemidefiniteReport:
    """Prove a semidefinite bound again.

    Parameters
    ----------
    certificate
        The certificate to check.
    person, world, sets, start
        The person, the world, the sets that may be shown, and earlier showings.
    slack
        How far below 0 eigenvalues may be, in units of the largest loss at the start and relative
        to the largest entry of the matrices.

    Returns
    -------
    SemidefiniteReport
        Whether it holds, and what it proves.
    """
    faults = _shape_faults(certificate, world.size, len(sets))
    if faults:
        return _failed(faults)
    fresh = person.fresh(world, (), start)
    g = np.append(world.coefficients - person.weights_of(world, fresh), 1.0)
    rounds = []
    for shown, price in zip(sets, sets.prices.tolist(), strict=True):
        maps = partial(case_maps, person, world, shown, price, start)
        one = maps(points=3, played=0)
        checks = [] if len(shown) > 3 else [maps(points=5, played=0), maps(points=3, played=4)]
        if not all(same_moments(one, other) for other in checks):
            return _failed(
                f"The maps of set {shown} are not quadratic in the case, or change with the round."
            )
        rounds.append(one)
    unit = max(float(g @ one.charge @ g) for one in rounds)
    largest = np.max([np.diag(one.charge) for one in rounds], axis=0)
    sizes = np.sqrt(unit / np.where(largest > 0.0, largest, unit))
    sizes[-1] = 1.0
    claim = _Claim(certificate, rounds, g, sizes, unit, slack)
    why = claim.limits_fault() or claim.growth_fault() or claim.multipliers_fault()
    if why:
        return _failed(why)
    worst, why = claim.worst_step()
    bound = float(g @ certificate.mean[0] @ g)
    if not why and certificate.bound > bound + slack * max(abs(bound), unit):
        why = f"The certificate claims {certificate.bound:.9g}, but proves {bound:.9g}."
    adaptive = claim.is_adaptive
    proven = -math.inf if why else min(bound, certificate.bound)
    return SemidefiniteReport(not why, why, proven, adaptive, worst)


@dataclass(frozen=True, eq=False)
class _Claim:
    """A certificate with the maps of its sets; eigenvalues are computed in scaled units."""

    certificate: LinearCertificate
    rounds: list[CaseMaps]
    g: FloatArray
    sizes: FloatArray
    unit: float
    slack: float

    @property
    def n(self) -> int:
        return self.g.size - 1

    @property
    def is_certain(self) -> bool:
        """Whether all cases lead to the same weights."""
        return all(np.allclose(one.maps, one.mean, rtol=0.0, atol=1e-12) for one in self.rounds)

    @property
    def has_limits(self) -> bool:
        return bool(np.any(self.certificate.reach))

    @property
    def is_adaptive(self) -> bool:
        given = self.certificate
        tied = np.array_equal(given.mean[:, : self.n, : self.n], given.spread)
        loose = not (np.any(given.mean_multipliers) or np.any(given.spread_multipliers))
        return self.is_certain or (tied and loose)

    def priced(self, matrix: FloatArray) -> float:
        """Smallest eigenvalue of a form in g (or in the errors), in scaled units."""
        size = self.sizes[: matrix.shape[0]]
        return float(np.linalg.eigvalsh(matrix * np.outer(size, size) / self.unit)[0])

    def placed(self, matrix: FloatArray) -> float:
        """Smallest eigenvalue of a second moment, in scaled units and relative to `reach`."""
        size = self.sizes[: matrix.shape[0]]
        return float(np.linalg.eigvalsh(matrix / np.outer(size, size))[0]) / self.width

    @property
    def width(self) -> float:
        size = np.outer(self.sizes[:-1], self.sizes[:-1])
        widest = max(np.abs(self.certificate.reach / size).max(), 1.0)
        return float(max(widest, np.abs(self.certificate.limit / size).max()))

    def limits_fault(self) -> str:
        """Say whether means or spreads can leave the limits that the certificate uses."""
        given, n = self.certificate, self.n
        if not self.has_limits:
            used = np.any(given.mean_multipliers) or np.any(given.spread_multipliers)
            return "Limits are used, but there are none." if used else ""
        off = self.g[:n] - given.centre
        half = np.sqrt(np.maximum(np.diag(given.reach), 0.0))
        if given.is_box:
            if np.any(given.reach != np.diag(np.diag(given.reach))):
                return "A box must have a diagonal reach."
            inside = bool(np.all(np.abs(off) <= half))
        else:
            inside = not np.any(given.centre) and self.placed(given.reach - np.outer(off, off)) >= 0
        if not inside:
            return "The first errors are outside of the limits."
        cover = self._cover()
        spread = np.zeros((n + 1, n + 1))
        spread[:n, :n] = given.limit
        for s, one in enumerate(self.rounds):
            turn, push = one.mean[:n, :n], one.mean[:n, n]
            if given.is_box:
                moved = np.abs(turn @ given.centre + push - given.centre) + np.abs(turn) @ half
                stays = bool(np.all(moved <= half + self.slack * self.sizes[:n] * self.width))
            else:
                still = np.abs(push / self.sizes[:n]).max() <= 1e-12
                left = given.reach - turn @ given.reach @ turn.T
                stays = bool(still and self.placed(left) >= -self.slack)
            if not stays:
                return f"Set {s} leads mean errors out of the limits."
            scatter = one.forth(cover) - one.mean @ cover @ one.mean.T
            left = given.limit - (one.forth(spread) + scatter)[:n, :n]
            if self.placed(left) < -self.slack:
                return f"Set {s} leads the spread out of its limit."
        return ""

    def _cover(self) -> FloatArray:
        """A matrix that bounds gg' within the limits, as far as scatter is concerned."""
        given, n = self.certificate, self.n
        mixed = np.zeros((n + 1, n + 1))
        mixed[:n, n] = mixed[n, :n] = self.sizes[:n]
        straight = not np.any(given.centre) and all(
            np.abs(one.forth(mixed) - one.mean @ mixed @ one.mean.T).max()
            <= 1e-12 * np.abs(self.sizes).max() ** 2
            for one in self.rounds
        )
        cover = np.zeros((n + 1, n + 1))
        if straight:
            cover[:n, :n], cover[n, n] = given.reach, 1.0
            return cover
        middle = np.append(given.centre, 1.0)
        cover[:n, :n] = 2.0 * n * given.reach
        return np.asarray(cover + 2.0 * np.outer(middle, middle))

    def growth_fault(self) -> str:
        """Say whether the remaining cost may fail to vanish."""
        given = self.certificate
        if given.horizon is not None or self.has_limits:
            return ""
        size = np.outer(self.sizes, self.sizes)
        if np.linalg.eigvalsh(given.growth * size)[0] <= 0.0:
            return "Nothing shows that errors grow more slowly than discounts shrink."
        for s, one in enumerate(self.rounds):
            left = given.growth - given.discount**SLOWER * one.back(given.growth)
            if np.linalg.eigvalsh(left * size)[0] < 0.0:
                return f"Under set {s} errors may grow faster than discounts shrink."
        return ""

    def multipliers_fault(self) -> str:
        """Say whether a multiplier has the wrong sign."""
        given = self.certificate
        size = np.outer(self.sizes[:-1], self.sizes[:-1]) / self.unit
        for name, many in (("mean", given.mean_multipliers), ("spread", given.spread_multipliers)):
            least = float(np.linalg.eigvalsh(many * size).min(initial=0.0))
            if least < -1e-13 * max(float(np.abs(many * size).max(initial=0.0)), 1.0):
                return f"A multiplier of the {name} is negative: it has the eigenvalue {least:.3g}."
        diagonal = np.eye(self.n, dtype=bool)
        if given.is_box and np.any(given.mean_multipliers[..., ~diagonal]):
            return "Multipliers of a box must be diagonal."
        return ""

    def worst_step(self) -> tuple[float, str]:
        """The smallest eigenvalue of all inequalities, and a sentence if it is too small."""
        given, n = self.certificate, self.n
        now, later = steps(given.knots, given.horizon)
        largest = float(np.abs(given.mean * np.outer(self.sizes, self.sizes)).max()) / self.unit
        allowed = self.slack * max(1.0, largest)
        away = np.column_stack([np.eye(n), -given.centre])
        certain = self.is_certain
        worst, where = np.inf, ""
        for step in range(len(now)):
            Q, Q_after = (np.tensordot(share[step], given.mean, axes=1) for share in (now, later))
            R, R_after = (np.tensordot(share[step], given.spread, axes=1) for share in (now, later))
            padded = np.zeros((n + 1, n + 1))
            padded[:n, :n] = R_after
            for s, one in enumerate(self.rounds):
                Y, Z = given.mean_multipliers[step, s], given.spread_multipliers[step, s]
                mean, back = one.mean, one.back(padded)
                scattered = back - mean.T @ padded @ mean
                left = one.charge + given.discount * (mean.T @ Q_after @ mean + scattered) - Q
                left = left + away.T @ Y @ away
                left[n, n] -= float(np.sum(Y * given.reach) + np.sum(Z * given.limit))
                least = self.priced(left)
                if not certain:  # otherwise there is no spread
                    spread = one.charge[:n, :n] + given.discount * back[:n, :n] - R + Z
                    least = min(least, self.priced(spread))
                if least < worst:
                    worst, where = least, f"set {s} in step {step}"
        wrong = f"The inequality of {where} fails by {-worst:.3g}." if worst < -allowed else ""
        return worst, wrong


def _shape_faults(certificate: LinearCertificate, n: int, sets: int) -> str:
    knots, horizon = certificate.knots, certificate.horizon
    if knots[:1] != (0,) or not all(late > early for early, late in pairwise(knots)):
        return f"Knots are {knots}; they must rise from 0."
    if not 0.0 < certificate.discount <= 1.0 or (horizon is None and certificate.discount == 1.0):
        return f"The discount is {certificate.discount}."
    if horizon is not None and (
        knots[-1] != horizon or np.any(certificate.mean[-1]) or np.any(certificate.spread[-1])
    ):
        return "The last knot must be the horizon, with values of 0 there."
    count = len(steps(knots, horizon)[0])
    wanted = {
        "mean": (len(knots), n + 1, n + 1),
        "spread": (len(knots), n, n),
        "centre": (n,),
        "reach": (n, n),
        "limit": (n, n),
        "mean_multipliers": (count, sets, n, n),
        "spread_multipliers": (count, sets, n, n),
        "growth": (n + 1, n + 1),
    }
    for name, shape in wanted.items():
        array = getattr(certificate, name)
        if array.shape != shape or not np.all(np.isfinite(array)):
            return f"{name} has shape {array.shape}, must be finite numbers of shape {shape}."
    return ""


def _failed(why: str) -> SemidefiniteReport:
    return SemidefiniteReport(False, why, -math.inf, False, -math.inf)
