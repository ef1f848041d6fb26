"""A lower bound for people with linear rounds, by semidefinite programming.

`certificate.LinearCertificate` says what is proven. One program chooses all matrices at once, at a
few rounds (knots) between which they are interpolated, so that the value at the first errors is as
high as it can be. The solver's answer is not trusted: everything is made a little stricter than
needed, every inequality is then checked by its eigenvalues, and only what passes is a bound.

Three things make it tight. Means and spreads are priced apart, since the mean of a schedule is one
vector. Limits (`reachable.py`) say which means cannot be. And a set that a schedule does not show
can carry none of its spread.

The unknowns are the matrices at the knots and the multipliers of the limits; there is an inequality
for each set and each step between knots. The solver returns a certificate that is not checked yet:
`slack_of` says by how much its tightest inequality holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from preceptor._base.progress import check_time_limit, counted_seconds
from preceptor._base.values import FloatArray
from preceptor.model.certificate import LinearCertificate, steps
from preceptor.model.expected import Expected
from preceptor.people.moments import QuadraticRounds, quadratic_rounds
from preceptor.planning.candidate_sets import SET_LIMITS
from preceptor.planning.conic import Program, Symmetric
from preceptor.planning.reachable import ErrorLimits, growth_of, limits_of


def solve_program(
    rounds: QuadraticRounds,
    discount: float,
    horizon: int | None,
    knots: tuple[int, ...],
    limits: ErrorLimits | None,
    free: bool,
    stricter: float,
    deadline: float,
) -> tuple[LinearCertificate | None, str]:
    """Solve one program; the result is an unchecked certificate in scaled units."""
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
        carried = discount * whole.operator(partial(rounds.carried, s), whole)
        scattered = discount * small.operator(partial(rounds.scattered, s), whole)
        kept = discount * small.operator(partial(rounds.spread, s), small)
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
    solution = program.minimise(objective, deadline - counted_seconds())
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

    def __init__(self, small: Symmetric, whole: Symmetric, limits: ErrorLimits | None) -> None:
        n = small.size

        self.errors_only = whole.operator(lambda Q: Q[..., :n, :n], small)
        if limits is None:
            return
        basis = np.eye(n)[:, :, None] * np.eye(n)[:, None, :] if limits.is_box else small.basis
        forms = np.array([limited(Y, limits.centre, limits.reach) for Y in basis])
        self.mean = whole.vector(forms).T
        corner = whole.vector(np.diag(np.append(np.zeros(n), 1.0)))
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


def slack_of(rounds: QuadraticRounds, found: LinearCertificate) -> float:
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


# With more the program has too many blocks to be worth its time.
MOST_TESTS, MOST_SETS = 8, SET_LIMITS.few
# Up to this many rounds each has a knot.
_SHORT = 8


@dataclass(frozen=True)
class SemidefiniteBound:
    """A proven bound.

    Attributes
    ----------
    bound
        The lower bound.
    adaptive
        Whether it also holds for policies that observe the person's weights.
    certificate
        What proves it; see `proofs.semidefinite`.
    """

    bound: float
    adaptive: bool
    certificate: LinearCertificate


def semidefinite_bound(
    expected: Expected,
    discount: float,
    horizon: int | None = None,
    *,
    time_limit: float = 60.0,
    adaptive: bool = False,
    knots: tuple[int, ...] | None = None,
) -> SemidefiniteBound | str:
    """A lower bound on the cost of every schedule for a person whose rounds are linear.

    Parameters
    ----------
    expected
        The person's expectation for a world and the allowed sets.
    discount
        Discount factor.
    horizon
        Number of rounds; infinite if left out, which needs a discount below 1.
    time_limit
        Seconds after which no better bound is sought.
    adaptive
        Whether the bound must also hold for policies that observe the person's weights; such a
        bound is lower. Where weights depend only on what is shown, every bound is of this kind.
    knots
        Rounds at which matrices are chosen, from 0 to the horizon; chosen here if left out. More of
        them make a better bound and take longer.

    Returns
    -------
    SemidefiniteBound or str
        The bound, or a sentence that says why there is none.

    Raises
    ------
    MissingExtra
        Clarabel is not installed.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.people.outcome_learners import DeltaRule
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
    began = counted_seconds()
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
    # Each method of limiting means gets a fifth of the time.
    limits = None if free else limits_of(scaled, 0.2 * time_limit)
    growth = None
    if limits is None and horizon is None:
        growth = growth_of(scaled, discount, deadline - counted_seconds())
        if growth is None:
            return "Errors may grow faster than the discount shrinks what they cost."
    ways = _ladder(discount, horizon) if knots is None else [knots]
    best, status, took = None, "no time", 0.0
    for place, way in enumerate(ways):
        left = deadline - counted_seconds()
        # A program takes about twice as long per knot.
        larger = 2.0 * len(way) / len(ways[place - 1]) if place else 0.0
        if left <= took * larger:
            break
        at = counted_seconds()
        found, status = _proven(scaled, discount, horizon, way, limits, free, deadline)
        took = counted_seconds() - at
        if found is None:
            continue
        # More knots are tried if the last ones gained enough.
        enough = best is not None and found.bound < (1.0 + 1e-4) * best.bound
        if best is None or found.bound > best.bound:
            best = found
        if enough:
            break
    if best is None:
        return f"The solver found no matrices that pass the check (it ended with: {status})."
    if growth is not None:
        best = replace(best, growth=growth)
    certificate = _in_units(best, rounds, units, unit)
    return SemidefiniteBound(certificate.bound, free or scaled.is_certain, certificate)


def _proven(
    rounds: QuadraticRounds,
    discount: float,
    horizon: int | None,
    knots: tuple[int, ...],
    limits: ErrorLimits | None,
    free: bool,
    deadline: float,
) -> tuple[LinearCertificate | None, str]:
    """A certificate in scaled units that passes the check, with the margin that this takes."""
    stricter, status = 1e-8, "no time"
    while stricter <= 1e-3 and counted_seconds() < deadline:
        found, status = solve_program(
            rounds, discount, horizon, knots, limits, free, stricter, deadline
        )
        if found is None:
            break
        slack = slack_of(rounds, found)
        if slack >= 0.0:
            return found, status
        stricter = max(10.0 * stricter, -4.0 * slack)
    return None, status


def _ladder(discount: float, horizon: int | None) -> list[tuple[int, ...]]:
    """Lists of knots from few to many: few are often enough, and finish in time."""
    finest = default_knots(discount, horizon)
    if horizon is not None and horizon <= _SHORT:
        return [finest]
    end, last = () if horizon is None else (horizon,), finest[-1]
    coarse = {(0, *end), (0, max(last // 5, 1), *end)}
    middle = (0, max(last // 40, 1), max(last // 10, 2), max(last // 3, 3), *end)
    return [*sorted(coarse, key=len), middle, finest]


def default_knots(discount: float, horizon: int | None) -> tuple[int, ...]:
    """Rounds at which matrices are chosen: dense at first, where they matter most.

    >>> default_knots(0.99, None)
    (0, 1, 2, 4, 7, 11, 18, 28, 45, 72, 115, 200)
    >>> default_knots(0.99, 6)
    (0, 1, 2, 3, 4, 5, 6)
    """
    last = horizon if horizon is not None else max(round(2.0 / (1.0 - discount)), 1)
    if last <= _SHORT:
        return tuple(range(last + 1))
    knots, length = [0, 1, 2], 1.0
    while knots[-1] < last:
        length *= 1.6
        knots.append(min(knots[-1] + max(round(length), 1), last))
    if knots[-1] - knots[-2] < (knots[-2] - knots[-3]) / 2:
        del knots[-2]
    return tuple(knots)


def _units(rounds: QuadraticRounds) -> tuple[FloatArray, float]:
    """Units of errors (n,) and of losses in which everything is about 1."""
    unit = max(float(np.einsum("sij,i,j->s", rounds.charge, rounds.start, rounds.start).max()), 0.0)
    unit = unit or 1.0
    largest = np.einsum("sii->si", rounds.charge).max(axis=0)[:-1]
    return np.sqrt(unit / np.where(largest > 0.0, largest, unit)), unit


def _in_units(
    found: LinearCertificate, rounds: QuadraticRounds, units: FloatArray, unit: float
) -> LinearCertificate:
    """The same certificate in the world's units."""
    sizes = np.append(units, 1.0)
    dearer, wide = np.outer(units, units), np.outer(sizes, sizes)
    mean = found.mean / wide * unit
    return replace(
        found,
        mean=mean,
        spread=found.spread / dearer * unit,
        centre=found.centre * units,
        reach=found.reach * dearer,
        limit=found.limit * dearer,
        mean_multipliers=found.mean_multipliers / dearer * unit,
        spread_multipliers=found.spread_multipliers / dearer * unit,
        growth=found.growth / wide,
        bound=float(rounds.start @ mean[0] @ rounds.start),
    )
