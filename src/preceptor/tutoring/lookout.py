"""What each kind of person would be taught from here, and what every set costs if shown next.

One plan that is good for everybody gives away what answers will tell. So every kind that the person
may be of has a way of its own, and what is shown next is the set that costs least on average if
each kind goes its own way after it. Costs count relative to those of each kind's own way: otherwise
the kind that is costly anyway would decide alone.

Advice is a function of the problem and the record alone. Own ways of every kind before the first
round are found once for a problem; later ones begin with what is left of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preceptor._base.discounting import rounds_until
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray, remembered
from preceptor.evaluation.expectations import family_of, people_of, weights_of
from preceptor.model.sets import SetFamily, TestSet
from preceptor.people.expected import Expected, TakesSpread
from preceptor.people.exposures import Exposures
from preceptor.people.person import Person
from preceptor.problem import Problem
from preceptor.tutoring.bank import Bank
from preceptor.tutoring.own_way import TRIED, Way, find_way

# With more sets than this only promising ones are looked at: so many by each measure for each kind.
_MANY_SETS = 60
_PROMISING = 4
# Rounds that are planned, at most; what comes later is repeated.
_MOST_ROUNDS, _ENDLESS_ROUNDS, _NEGLIGIBLE = 800, 150, 1e-2
# Kinds less likely than this do not matter to plans.
UNLIKELY = 0.01
# Being unsure of weights is planned for if it adds this share to the least loss of a case.
_UNSURE_MATTERS = 0.02
# First beliefs are taken to be off by this share of the typical error at first.
UNSURE = 0.3


class Span(NamedTuple):
    """How many rounds are planned, and whether something is repeated forever after them."""

    rounds: int
    infinite: bool


@dataclass(frozen=True, eq=False)
class Basis:
    """What is worked out once for a problem: the sets to choose from, and first plans."""

    sets: tuple[TestSet, ...]
    family: SetFamily
    ways: tuple[Way, ...]


@dataclass(frozen=True, eq=False)
class Outlook:
    """The likely kinds after `made` rounds, by position, and how each would go on from there."""

    made: int
    kinds: tuple[int, ...]
    ways: tuple[Way, ...]
    basis: Basis


def basis_of(problem: Problem) -> Basis:
    """Sets and first plans, worked out once for a problem."""
    return remembered(problem, "tutoring basis", lambda: _basis(problem))


def _basis(problem: Problem) -> Basis:
    span = span_of(problem, 0)
    people = list(people_of(problem).values())
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        sets, family = tuple(problem.sets), problem.sets
        if len(sets) > _MANY_SETS:
            sets = _promising(problem, [_from_start(problem, p, family) for p in people])
            family = family_of(problem, list(sets))
        everybody = [_from_start(problem, person, family) for person in people]
        ways = [
            find_way(
                each, rounds=span.rounds, discount=problem.discount, infinite=span.infinite,
                sets=len(sets), from_scratch=True,
            )
            for each in everybody
        ]  # fmt: skip
    return Basis(sets, family, tuple(ways))


def _from_start(problem: Problem, person: Person, family: SetFamily) -> Expected:
    start = None if person.start_faults(problem.start) else problem.start
    return person.expectation(problem.world, family, start, problem.risk)


def _promising(problem: Problem, everybody: list[Expected]) -> tuple[TestSet, ...]:
    """Sets that would do well throughout, at once or late for somebody, or that tell most."""
    found = set(np.argsort(problem.oracle.floors(), kind="stable")[:_PROMISING].tolist())
    weights = problem.discount ** np.arange(float(TRIED))
    weights[-1] += problem.discount**TRIED / max(1.0 - problem.discount, 1e-2)
    for each in everybody:
        losses = np.array(
            [each.losses(np.full(TRIED, s, dtype=np.int64)) for s in range(len(problem.sets))]
        )
        losses = np.where(np.isnan(losses), np.inf, losses)
        for values in (losses @ weights, losses[:, 0], losses[:, TRIED // 4], losses[:, -1]):
            found.update(np.argsort(values, kind="stable")[:_PROMISING].tolist())
    return tuple(problem.sets[s] for s in sorted(found))


def span_of(problem: Problem, played: int) -> Span:
    """How many rounds are left to plan once so many have been played."""
    if problem.horizon is not None:
        left = max(problem.horizon - played, 1)
        # An end that is far away, and weighs little, is as good as none.
        far = left > _ENDLESS_ROUNDS and problem.discount**left < _NEGLIGIBLE
        if not far:
            return Span(min(left, _MOST_ROUNDS), infinite=False)
    if problem.discount == 0.0:
        return Span(1, infinite=False)
    rounds = min(max(rounds_until(problem.discount, _NEGLIGIBLE), 20), _ENDLESS_ROUNDS)
    return Span(rounds, infinite=True)


def people_now(bank: Bank, kinds: tuple[int, ...]) -> list[tuple[Person, FloatArray]]:
    """Somebody of each of these kinds from now on, and the covariance of their weights."""
    found = []
    for kind in kinds:
        mean, covariance = bank.believed(kind)
        found.append((bank.followers[kind].now(mean), covariance))
    return found


def planning_shares(bank: Bank) -> FloatArray:
    """How much each kind counts in planning, (kinds,).

    As far as none of the kinds is right, nothing is known, and everybody counts as at first.
    """
    shares, prior = bank.kinds, np.exp(bank.prior)
    first = prior[:-1] / prior[:-1].sum()
    mixed = shares[:-1] + shares[-1] * first
    counted: FloatArray = mixed / mixed.sum()
    return counted


def likely_kinds(shares: FloatArray) -> tuple[int, ...]:
    """Positions of the kinds that matter to plans; at least the likeliest."""
    return tuple(np.flatnonzero(shares >= min(UNLIKELY, float(shares.max()))).tolist())


def expected_from(bank: Bank, kinds: tuple[int, ...], family: SetFamily) -> list[Expected]:
    """What is expected of each of these kinds from now on."""
    everybody: list[Expected] = []
    world = bank.world
    for person, covariance in people_now(bank, kinds):
        expected = person.expectation(world, family, None, bank.risk)
        # What it adds to the loss of a case if everything is shown, beside what is lost anyway.
        unsure = float(np.sum(covariance * world.covariance))
        matters = unsure > _UNSURE_MATTERS * float(expected.floors().min())
        if matters and isinstance(expected, TakesSpread):
            if isinstance(expected, Exposures):
                covariance = thinned(covariance, world.covariance)
            expected = expected.with_spread(covariance)
        everybody.append(expected)
    return everybody


def thinned(covariance: FloatArray, metric: FloatArray) -> FloatArray:
    """A covariance of rank one that adds as much to the loss if everything is shown.

    For those whose costs take as many parts as there are directions in which weights are unsure.
    """
    root = np.linalg.cholesky(metric)
    values, vectors = np.linalg.eigh(root.T @ covariance @ root)
    along = np.linalg.solve(root.T, vectors[:, -1])
    low: FloatArray = max(float(values.sum()), 0.0) * np.outer(along, along)
    return low


def look_out(problem: Problem, bank: Bank, played: int) -> Outlook:
    """Own ways from what is known after so many rounds."""
    basis, span = basis_of(problem), span_of(problem, played)
    kinds = likely_kinds(planning_shares(bank))
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        starts = [basis.ways[kind].later(played, span.rounds) for kind in kinds]
        starts = [(s, t if span.infinite else ()) for s, t in starts]
        ways = [
            find_way(
                each, rounds=span.rounds, discount=problem.discount, infinite=span.infinite,
                sets=len(basis.sets), starts=starts,
            )
            for each in expected_from(bank, kinds, basis.family)
        ]  # fmt: skip
    return Outlook(played, kinds, tuple(ways), basis)


def relative_costs(
    problem: Problem,
    outlook: Outlook,
    bank: Bank,
    played: int,
    others: Sequence[TestSet] | None = None,
) -> FloatArray:
    """What each kind costs (kinds, sets) with each set shown next and its own way after it.

    Parameters
    ----------
    problem
        What is to be taught.
    outlook
        The likely kinds and their own ways.
    bank
        What is known by now.
    played
        Rounds so far.
    others
        Sets to price instead of those of the outlook's basis.

    Returns
    -------
    array of shape (kinds, sets)
        Over the cost of the kind's own way from here; infinite where it cannot be computed.
    """
    basis, later = outlook.basis, played - outlook.made
    family, first = basis.family, np.arange(len(basis.sets))
    if others is not None:
        family = family_of(problem, [*basis.sets, *others])
        first = len(basis.sets) + np.arange(len(others))
    found = np.empty((len(outlook.kinds), first.size))
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        everybody = expected_from(bank, outlook.kinds, family)
        for row, each, way in zip(found, everybody, outlook.ways, strict=True):
            length = max(way.schedule.size - later, 1)
            schedule, tail = way.later(later, length)
            walk = each.walk(length, problem.discount)
            best = walk.lay(np.asarray(schedule), tail if way.tail else (), 0)
            for t in range(length - 1, 0, -1):
                walk.back(t, int(schedule[t]))
            if each.exact_prices:
                costs = walk.prices(0, first)
            else:
                costs = np.array([walk.block(0, first[k : k + 1]) for k in range(first.size)])
            row[:] = costs / max(best, np.finfo(np.float64).tiny)
    return np.where(np.isnan(found), np.inf, found)


def first_bank(
    problem: Problem, spread: FloatArray | float | None, none_of_these: float, level: bool
) -> Bank:
    """What is known before the first answer."""
    people = list(people_of(problem).values())
    typical = spread
    if typical is None:
        errors = problem.world.coefficients - np.array([person.initial for person in people])
        size = float(np.sqrt(np.mean(errors**2)))
        typical = UNSURE * (size or float(np.sqrt(np.mean(problem.world.coefficients**2))))
    return Bank.begin(
        problem.world,
        people,
        weights_of(problem),
        start=problem.start,
        spread=typical,
        none_of_these=none_of_these,
        level=level,
        risk=problem.risk,
    )
