"""A lower bound for linear people: no schedule costs less, by semidefinite programming.

The head of `linear_certificate.py` says what is proven. One program chooses all matrices at once,
at a few rounds (knots) between which they are interpolated, so that the value at the first errors
is as high as it can be. The solver's answer is not trusted: everything is made a little stricter
than needed, every inequality is then checked by its eigenvalues, and only what passes is a bound.

Three things make it tight. Means and spreads are priced apart, since the mean of a schedule is one
vector. Limits (`reachable.py`) say which means cannot be. And a set that a schedule does not show
can carry none of its spread.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem
from preceptor.linear_certificate import LinearCertificate, steps
from preceptor.people.expected import Expected
from preceptor.people.quadratic import QuadraticRounds, quadratic_rounds
from preceptor.planning.anytime import check_time_limit
from preceptor.planning.conic import Program, Symmetric
from preceptor.planning.reachable import Limits, growth_of, limits_of

# Beyond this the program has too many blocks for its worth.
MOST_TESTS, MOST_SETS = 8, 60
# How much stricter than needed inequalities are made, in scaled units: at first, and at most.
_STRICTER, _STRICTEST = 1e-8, 1e-3
# More knots are tried if the last ones gained this share, and the time left is enough for a
# program that takes so much longer for each knot.
_GAIN, _LONGER = 1e-4, 2.0
# Up to this many rounds each has a knot.
_SHORT = 8
# Knots grow by this factor; the last is where this many times the mean lifetime has passed.
_GROWTH, _LIFETIMES = 1.6, 2.0


@dataclass(frozen=True)
class SemidefiniteBound:
    """A proven bound.

    Attributes
    ----------
    bound
        No schedule costs less.
    adaptive
        Whether that also holds for whoever chooses sets by looking at the person's weights.
    certificate
        What proves it; see `verification.semidefinite_check`.
    status
        How the solver ended; the bound holds however that was.
    seconds
        It took.
    """

    bound: float
    adaptive: bool
    certificate: LinearCertificate
    status: str
    seconds: float


def semidefinite_bound(
    expected: Expected,
    discount: float,
    horizon: int | None = None,
    *,
    time_limit: float = 60.0,
    adaptive: bool = False,
    knots: tuple[int, ...] | None = None,
) -> SemidefiniteBound | str:
    """A lower bound on what any schedule costs somebody whose rounds are linear.

    Parameters
    ----------
    expected
        What is expected of the person, in a world and with the sets that may be shown.
    discount
        What a round weighs against the one before.
    horizon
        How many rounds there are; infinitely many if left out, which needs a discount below 1.
    time_limit
        Seconds after which no better bound is looked for.
    adaptive
        Whether to prove it also for policies that see the person's weights. Such a bound is lower.
        Where weights move by what is shown alone, every bound is of this kind.
    knots
        Rounds at which matrices are chosen, from 0 to the horizon; chosen here if left out. More of
        them make a better bound and take longer.

    Returns
    -------
    SemidefiniteBound or str
        Or a sentence that says why there is none.

    Raises
    ------
    MissingExtra
        Clarabel is not installed.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.people.delta_rule import DeltaRule
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.5)
    >>> person = DeltaRule([0.2, 1.3], rate=0.1)
    >>> expected = person.expected(world, pr.Exactly(1).sets(2))
    >>> found = semidefinite_bound(expected, 0.9)
    >>> best = min(expected.total([], 0.9, (s,)) for s in range(2))
    >>> 0.98 * best < found.bound <= best
    True
    """
    check_time_limit(time_limit)
    if discount == 0.0:
        return "Nothing after the first case counts."
    InvalidProblem.raise_if(_faults(discount, horizon, knots))
    began = time.perf_counter()
    rounds = quadratic_rounds(expected)
    if isinstance(rounds, str):
        return rounds
    if rounds.tests > MOST_TESTS or len(rounds) > MOST_SETS:
        return (
            f"{rounds.tests} tests and {len(rounds)} sets are too many for a semidefinite bound, "
            f"which takes up to {MOST_TESTS} and {MOST_SETS}."
        )
    units, unit = _units(rounds)
    scaled = rounds.scaled(units, unit)
    deadline = began + time_limit
    free = adaptive and not scaled.is_certain
    limits = None if free else limits_of(scaled, time_limit)
    growth = None
    if limits is None and horizon is None:
        growth = growth_of(scaled, discount, time_limit)
        if growth is None:
            return "Errors may grow faster than the discount shrinks what they cost."
    ways = _ladder(discount, horizon) if knots is None else [knots]
    best, status, took = None, "no time", 0.0
    for place, way in enumerate(ways):
        left = deadline - time.perf_counter()
        larger = _LONGER * len(way) / len(ways[place - 1]) if place else 0.0
        if left <= took * larger:
            break
        at = time.perf_counter()
        found, status = _proven(scaled, discount, horizon, way, limits, free, deadline)
        took = time.perf_counter() - at
        if found is None:
            continue
        enough = best is not None and found.bound < (1.0 + _GAIN) * best.bound
        if best is None or found.bound > best.bound:
            best = found
        if enough:
            break
    if best is None:
        return f"The solver found no matrices that pass the check (it ended with: {status})."
    if growth is not None:
        best = replace(best, growth=growth)
    certificate = _in_units(best, rounds, units, unit)
    seconds = time.perf_counter() - began
    return SemidefiniteBound(
        certificate.bound, free or scaled.is_certain, certificate, status, seconds
    )


def _proven(
    rounds: QuadraticRounds,
    discount: float,
    horizon: int | None,
    knots: tuple[int, ...],
    limits: Limits | None,
    free: bool,
    deadline: float,
) -> tuple[LinearCertificate | None, str]:
    """A certificate in scaled units that passes the check, made as strict as that takes."""
    stricter, status = _STRICTER, "no time"
    while stricter <= _STRICTEST and (left := deadline - time.perf_counter()) > 0.0:
        found, status = _solved(rounds, discount, horizon, knots, limits, free, stricter, left)
        if found is None:
            break
        slack = _slack(rounds, found)
        if slack >= 0.0:
            return found, status
        stricter = max(10.0 * stricter, -4.0 * slack)
    return None, status


def _ladder(discount: float, horizon: int | None) -> list[tuple[int, ...]]:
    """Knots from few to many. Few are often enough, and sure to end in time."""
    finest = default_knots(discount, horizon)
    if horizon is not None and horizon <= _SHORT:
        return [finest]
    end, last = () if horizon is None else (horizon,), finest[-1]
    coarse = {(0, *end), (0, max(last // 5, 1), *end)}
    middle = (0, max(last // 40, 1), max(last // 10, 2), max(last // 3, 3), *end)
    return [*sorted(coarse, key=len), middle, finest]


def default_knots(discount: float, horizon: int | None) -> tuple[int, ...]:
    """Rounds at which matrices are chosen: dense at first, where most is decided.

    >>> default_knots(0.99, None)
    (0, 1, 2, 4, 7, 11, 18, 28, 45, 72, 115, 200)
    >>> default_knots(0.99, 6)
    (0, 1, 2, 3, 4, 5, 6)
    """
    last = horizon if horizon is not None else max(round(_LIFETIMES / (1.0 - discount)), 1)
    if last <= _SHORT:
        return tuple(range(last + 1))
    knots, length = [0, 1, 2], 1.0
    while knots[-1] < last:
        length *= _GROWTH
        knots.append(min(knots[-1] + max(round(length), 1), last))
    if knots[-1] - knots[-2] < (knots[-2] - knots[-3]) / 2:
        del knots[-2]
    return tuple(knots)


def _faults(discount: float, horizon: int | None, knots: tuple[int, ...] | None) -> list[str]:
    faults = []
    if not 0.0 < discount <= 1.0 or (horizon is None and discount == 1.0):
        faults.append(
            f"discount: {discount!r}, must be above 0 and below 1, or 1 with a finite horizon"
        )
    if horizon is not None and horizon < 1:
        faults.append(f"horizon: {horizon!r}, must be a positive number of rounds, or None")
    if knots is not None:
        rises = all(late > early for early, late in pairwise(knots))
        ends = horizon is None or knots[-1:] == (horizon,)
        if not (knots[:1] == (0,) and rises and ends and (horizon is None or len(knots) > 1)):
            faults.append(f"knots: {knots!r}, must rise from 0, up to the horizon if there is one")
    return faults


def _units(rounds: QuadraticRounds) -> tuple[FloatArray, float]:
    """Units of errors (n,) and of losses in which everything is about 1."""
    unit = max(float(np.einsum("sij,i,j->s", rounds.charge, rounds.start, rounds.start).max()), 0.0)
    unit = unit or 1.0
    largest = np.einsum("sii->si", rounds.charge).max(axis=0)[:-1]
    return np.sqrt(unit / np.where(largest > 0.0, largest, unit)), unit


def _solved(
    rounds: QuadraticRounds,
    discount: float,
    horizon: int | None,
    knots: tuple[int, ...],
    limits: Limits | None,
    free: bool,
    stricter: float,
    time_limit: float,
) -> tuple[LinearCertificate | None, str]:
    """One program, and what it found as a certificate in scaled units that is yet to be checked."""
    n, sets = rounds.tests, len(rounds)
    small, whole = Symmetric(n), Symmetric(n + 1)
    now, later = steps(knots, horizon)
    noisy = not rounds.is_certain
    apart = noisy and not free  # spread has prices of its own
    open_knots = len(knots) if horizon is None else len(knots) - 1  # at the horizon all is 0
    program = Program()
    mean = [program.add_unknowns(whole.length) for _ in range(open_knots)]
    spread = [program.add_unknowns(small.length) for _ in range(open_knots if apart else 0)]
    turned = _Turned(small, whole, limits)
    ys, zs = [], []
    strict, strict_small = (stricter * space.vector(np.eye(space.size)) for space in (whole, small))
    for s in range(sets):
        carried = discount * whole.operator(lambda Q, s=s: rounds.carried(s, Q), whole)  # type: ignore[misc]
        scattered = discount * small.operator(lambda R, s=s: rounds.scattered(s, R), whole)  # type: ignore[misc]
        kept = discount * small.operator(lambda R, s=s: rounds.spread(s, R), small)  # type: ignore[misc]
        if free:
            carried = carried + scattered @ turned.errors_only
        charge = whole.vector(rounds.charge[s]) - strict
        charge_spread = small.vector(rounds.charge[s, :n, :n]) - strict_small
        for before, after in zip(now, later, strict=True):
            terms: list[tuple[int, FloatArray]] = []
            terms_spread: list[tuple[int, FloatArray]] = []
            for k in range(open_knots):
                if before[k] == 0.0 and after[k] == 0.0:
                    continue
                terms.append((mean[k], after[k] * carried - before[k] * np.eye(whole.length)))
                if apart:
                    change = after[k] * kept - before[k] * np.eye(small.length)
                    terms.append((spread[k], after[k] * scattered))
                    terms_spread.append((spread[k], change))
            if limits is not None:
                ys.append(_multiplier(program, small, limits.is_box))
                terms.append((ys[-1], turned.mean))
                if apart:
                    zs.append(_multiplier(program, small, False))
                    terms.append((zs[-1], turned.spread))
                    terms_spread.append((zs[-1], np.eye(small.length)))
            program.require_semidefinite(charge, terms, whole)
            if apart:
                program.require_semidefinite(charge_spread, terms_spread, small)
    objective = np.zeros(program.unknowns)
    objective[: whole.length] = -whole.vector(np.outer(rounds.start, rounds.start))
    solution = program.minimise(objective, time_limit)
    values = solution.values
    if not np.all(np.isfinite(values)):
        return None, solution.status

    def read(firsts: list[int], space: Symmetric) -> FloatArray:
        return space.matrix(np.array([values[at : at + space.length] for at in firsts]))

    Q = np.zeros((len(knots), n + 1, n + 1))
    Q[:open_knots] = read(mean, whole)
    R = np.zeros((len(knots), n, n))
    if apart:
        R[:open_knots] = read(spread, small)
    elif free:
        R = Q[:, :n, :n].copy()
    shape = (sets, len(now), n, n)
    Y, Z = np.zeros(shape), np.zeros(shape)
    if limits is not None:
        length = n if limits.is_box else small.length
        if limits.is_box:
            diagonals = np.array([np.maximum(values[at : at + length], 0.0) for at in ys])
            Y = (diagonals[:, :, None] * np.eye(n)).reshape(shape)
        else:
            Y = _semidefinite(read(ys, small)).reshape(shape)
        if apart:
            Z = _semidefinite(read(zs, small)).reshape(shape)
    nothing = np.zeros((n, n))
    certificate = LinearCertificate(
        knots=knots,
        horizon=horizon,
        discount=discount,
        mean=Q,
        spread=R,
        centre=np.zeros(n) if limits is None else limits.centre,
        reach=nothing if limits is None else limits.reach,
        is_box=limits is not None and limits.is_box,
        limit=nothing if limits is None else limits.spread,
        mean_multipliers=np.swapaxes(Y, 0, 1),
        spread_multipliers=np.swapaxes(Z, 0, 1),
        growth=np.zeros((n + 1, n + 1)),
        bound=float(rounds.start @ Q[0] @ rounds.start),
    )
    return certificate, solution.status


class _Turned:
    """How multipliers enter the inequality of the mean, as matrices on vectors."""

    def __init__(self, small: Symmetric, whole: Symmetric, limits: Limits | None) -> None:
        n = small.size

        def padded(matrices: FloatArray) -> FloatArray:
            wide = np.zeros((*matrices.shape[:-2], n + 1, n + 1))
            wide[..., :n, :n] = matrices
            return wide

        self.errors_only = whole.operator(lambda Q: Q[..., :n, :n], small)
        if limits is None:
            return
        basis = np.eye(n)[:, :, None] * np.eye(n)[:, None, :] if limits.is_box else small.basis
        forms = np.array([limited(Y, limits.centre, limits.reach) for Y in basis])
        self.mean = whole.vector(forms).T
        corner = whole.vector(padded(np.zeros((n, n))) + np.diag(np.append(np.zeros(n), 1.0)))
        self.spread = -np.outer(corner, small.vector(limits.spread))


def limited(multiplier: FloatArray, centre: FloatArray, reach: FloatArray) -> FloatArray:
    """<Y, (e - centre)(e - centre)' - reach> as a form in g = (e, 1): at most 0 within limits."""
    away = np.column_stack([np.eye(centre.size), -centre])
    form: FloatArray = away.T @ multiplier @ away
    form[-1, -1] -= float(np.sum(multiplier * reach))
    return form


def _multiplier(program: Program, space: Symmetric, diagonal: bool) -> int:
    if diagonal:
        first = program.add_unknowns(space.size)
        program.require_nonnegative(first, space.size)
        return first
    first = program.add_unknowns(space.length)
    nothing, identity = np.zeros(space.length), np.eye(space.length)
    program.require_semidefinite(nothing, [(first, identity)], space)
    return first


def _semidefinite(matrices: FloatArray) -> FloatArray:
    """The nearest matrices without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray(
        (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    )


def _slack(rounds: QuadraticRounds, found: LinearCertificate) -> float:
    """By how much the tightest inequality holds (negative: fails), with room for rounding."""
    n = rounds.tests
    now, later = steps(found.knots, found.horizon)
    before, after = (np.tensordot(share, found.mean, axes=1) for share in (now, later))
    before_spread, after_spread = (
        np.tensordot(share, found.spread, axes=1) for share in (now, later)
    )
    # What eigenvalues may be off by.
    rounding = 1e-14 * (n + 1) * max(1.0, float(np.abs(found.mean).max()))
    least = np.inf
    for s in range(len(rounds)):
        left = rounds.charge[s] - before
        left = left + found.discount * (
            rounds.carried(s, after) + rounds.scattered(s, after_spread)
        )
        for step in range(len(now)):
            Y, Z = found.mean_multipliers[step, s], found.spread_multipliers[step, s]
            left[step] += limited(Y, found.centre, found.reach)
            left[step, n, n] -= float(np.sum(Z * found.limit))
        least = min(least, float(np.linalg.eigvalsh(left).min()))
        if rounds.is_certain:
            continue
        spread = rounds.charge[s, :n, :n] - before_spread + found.spread_multipliers[:, s]
        spread = spread + found.discount * rounds.spread(s, after_spread)
        least = min(least, float(np.linalg.eigvalsh(spread).min()))
    return least - rounding


def _in_units(
    found: LinearCertificate, rounds: QuadraticRounds, units: FloatArray, unit: float
) -> LinearCertificate:
    """The same certificate in the world's units."""
    sizes = np.append(units, 1.0)
    dearer, wide = np.outer(units, units), np.outer(sizes, sizes)
    mean = found.mean / wide * unit
    return LinearCertificate(
        knots=found.knots,
        horizon=found.horizon,
        discount=found.discount,
        mean=mean,
        spread=found.spread / dearer * unit,
        centre=found.centre * units,
        reach=found.reach * dearer,
        is_box=found.is_box,
        limit=found.limit * dearer,
        mean_multipliers=found.mean_multipliers / dearer * unit,
        spread_multipliers=found.spread_multipliers / dearer * unit,
        growth=found.growth / wide,
        bound=float(rounds.start @ mean[0] @ rounds.start),
    )
