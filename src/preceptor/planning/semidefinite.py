"""A lower bound for linear people: no schedule costs less, by semidefinite programming.

`certificate.LinearCertificate` says what is proven. One program (`semidefinite_program.py`) chooses
all matrices at once, at a few rounds (knots) between which they are interpolated, so that the value
at the first errors is as high as it can be. The solver's answer is not trusted: everything is made
a little stricter than needed, every inequality is then checked by its eigenvalues, and only what
passes is a bound.

Three things make it tight. Means and spreads are priced apart, since the mean of a schedule is one
vector. Limits (`reachable.py`) say which means cannot be. And a set that a schedule does not show
can carry none of its spread.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from preceptor._base.deadline import check_time_limit, counted_seconds
from preceptor._base.values import FloatArray
from preceptor.certificate import LinearCertificate
from preceptor.people.expected import Expected
from preceptor.people.quadratic import QuadraticRounds, quadratic_rounds
from preceptor.planning.reachable import Limits, growth_of, limits_of
from preceptor.planning.semidefinite_program import slack_of, solve_program

# Beyond this the program has too many blocks for its worth.
MOST_TESTS, MOST_SETS = 8, 60
# How much stricter than needed inequalities are made, in scaled units: at first, and at most.
_STRICTER, _STRICTEST = 1e-8, 1e-3
# More knots are tried if the last ones gained this share, and the time left is enough for a
# program that takes so much longer for each knot.
_GAIN, _LONGER = 1e-4, 2.0
# Share of the time that each way of limiting means may take.
_LIMITS_SHARE = 0.2
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
    limits = None if free else limits_of(scaled, _LIMITS_SHARE * time_limit)
    growth = None
    if limits is None and horizon is None:
        growth = growth_of(scaled, discount, deadline - counted_seconds())
        if growth is None:
            return "Errors may grow faster than the discount shrinks what they cost."
    ways = _ladder(discount, horizon) if knots is None else [knots]
    best, status, took = None, "no time", 0.0
    for place, way in enumerate(ways):
        left = deadline - counted_seconds()
        larger = _LONGER * len(way) / len(ways[place - 1]) if place else 0.0
        if left <= took * larger:
            break
        at = counted_seconds()
        found, status = _proven(scaled, discount, horizon, way, limits, free, deadline)
        took = counted_seconds() - at
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
    return SemidefiniteBound(certificate.bound, free or scaled.is_certain, certificate)


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
    while stricter <= _STRICTEST and counted_seconds() < deadline:
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
