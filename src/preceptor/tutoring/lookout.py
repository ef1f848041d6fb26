"""Where a tutor stands: what is known by now, what is expected from here, what to show next.

Advice is a function of the problem and the record alone. Own plans of every kind before the first
round are found once for a problem; later plans begin with what is left of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preceptor._base.discounting import rounds_until
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray, remembered
from preceptor.evaluation.expectations import family_of, people_of, weights_of
from preceptor.model.sets import SetFamily, TestSet
from preceptor.people.expected import Expected, TakesSpread
from preceptor.people.person import Person
from preceptor.problem import Problem
from preceptor.tutoring.bank import Bank
from preceptor.tutoring.hindsight import Ahead, look_ahead
from preceptor.tutoring.own_way import Way, find_way

# With more sets than this only those that somebody's own plan uses, or nearly, are looked at.
_MANY_SETS = 60
_NEARLY = 4
# Rounds that are planned, at most; what comes later is repeated.
_MOST_ROUNDS, _ENDLESS_ROUNDS, _NEGLIGIBLE = 400, 150, 1e-2
# Kinds less likely than this do not matter to what is shown next.
_UNLIKELY = 0.01
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
    """What to show in the rounds to come, as planned in round `made`.

    `kinds` are the shares of all kinds then, `planned` the positions of those that were planned
    for, `ways` their own ways, `ahead` the rounds in common, of which the first few may be probes.
    """

    made: int
    kinds: FloatArray
    planned: tuple[int, ...]
    ways: tuple[Way, ...]
    ahead: Ahead
    basis: Basis
    probes: int = 0

    def is_probe(self, rounds: int) -> bool:
        """Whether what is shown then is shown because the answers will tell who it is."""
        return rounds - self.made < self.probes

    def position(self, rounds: int) -> int:
        """Which set to show once so many rounds have been played."""
        later = rounds - self.made
        if later < self.ahead.common.size:
            return int(self.ahead.common[later])
        likeliest = int(np.argmax(self.kinds[list(self.planned)]))
        schedule, _ = self.ways[likeliest].later(later, 1)
        return int(schedule[0])

    def shown(self, rounds: int) -> TestSet:
        """The tests to show once so many rounds have been played."""
        return self.basis.sets[self.position(rounds)]

    def wants(self, rounds: int) -> list[tuple[int, TestSet]]:
        """What each planned kind's own way would show in that round."""
        later = rounds - self.made
        return [
            (kind, self.basis.sets[int(way.later(later, 1)[0][0])])
            for kind, way in zip(self.planned, self.ways, strict=True)
        ]


def basis_of(problem: Problem) -> Basis:
    """Sets and first plans, worked out once for a problem."""
    return remembered(problem, "tutoring basis", lambda: _basis(problem))


def _basis(problem: Problem) -> Basis:
    span = span_of(problem, 0)
    people = list(people_of(problem).values())
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        sets, family = tuple(problem.sets), problem.sets
        everybody = [_from_start(problem, person, family) for person in people]
        ways = _first_ways(problem, everybody, span, len(sets))
        if len(sets) > _MANY_SETS:
            promising = _promising(problem, everybody, ways)
            where = {old: new for new, old in enumerate(promising)}
            sets = tuple(sets[s] for s in promising)
            family = family_of(problem, list(sets))
            ways = [
                Way(np.array([where[int(s)] for s in way.schedule]),
                    tuple(where[s] for s in way.tail), way.cost)
                for way in ways
            ]  # fmt: skip
    return Basis(sets, family, tuple(ways))


def _from_start(problem: Problem, person: Person, family: SetFamily) -> Expected:
    start = None if person.start_faults(problem.start) else problem.start
    return person.expected(problem.world, family, start)


def _first_ways(problem: Problem, everybody: list[Expected], span: Span, sets: int) -> list[Way]:
    return [
        find_way(
            each, rounds=span.rounds, discount=problem.discount, infinite=span.infinite,
            sets=sets, from_scratch=True,
        )
        for each in everybody
    ]  # fmt: skip


def _promising(problem: Problem, everybody: list[Expected], ways: list[Way]) -> list[int]:
    """Positions of sets that own plans use, that would do well throughout, or that tell most."""
    found = {int(s) for way in ways for s in (*way.schedule, *way.tail)}
    found.update(np.argsort(problem.oracle.floors(), kind="stable")[:_NEARLY].tolist())
    weights = problem.discount ** np.arange(16.0)
    weights[-1] += problem.discount**16 / max(1.0 - problem.discount, 1e-2)
    for each in everybody:
        losses = np.array(
            [each.losses(np.full(16, s, dtype=np.int64)) for s in range(len(problem.sets))]
        )
        found.update(np.argsort(losses @ weights, kind="stable")[:_NEARLY].tolist())
        found.update(np.argsort(losses[:, 0], kind="stable")[:2].tolist())
    return sorted(found)


def span_of(problem: Problem, played: int) -> Span:
    """How many rounds are left to plan once so many have been played."""
    if problem.horizon is not None:
        left = max(problem.horizon - played, 1)
        if left <= _MOST_ROUNDS or problem.discount >= 1.0:
            return Span(min(left, 2 * _MOST_ROUNDS), infinite=False)
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


def expected_from(bank: Bank, kinds: tuple[int, ...], family: SetFamily) -> list[Expected]:
    """What is expected of each of these kinds from now on."""
    everybody: list[Expected] = []
    world = bank.world
    for person, covariance in people_now(bank, kinds):
        expected = person.expected(world, family)
        # What it adds to the loss of a case if everything is shown, beside what is lost anyway.
        unsure = float(np.sum(covariance * world.covariance))
        matters = unsure > _UNSURE_MATTERS * float(expected.floors().min())
        if matters and isinstance(expected, TakesSpread):
            expected = expected.with_spread(covariance)
        everybody.append(expected)
    return everybody


def look_out(
    problem: Problem, bank: Bank, played: int, common_rounds: int, *, probing: bool = False
) -> Outlook:
    """Plan from what is known after so many rounds."""
    basis, span = basis_of(problem), span_of(problem, played)
    shares = planning_shares(bank)
    likely = np.flatnonzero(shares >= min(_UNLIKELY, float(shares.max())))
    kinds = tuple(likely.tolist())
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        everybody = expected_from(bank, kinds, basis.family)
        starts = [basis.ways[kind].later(played, span.rounds) for kind in kinds]
        starts = [(s, t if span.infinite else ()) for s, t in starts]
        ways = [
            find_way(
                each, rounds=span.rounds, discount=problem.discount, infinite=span.infinite,
                sets=len(basis.sets), starts=starts,
            )
            for each in everybody
        ]  # fmt: skip
        ahead = look_ahead(
            everybody, shares[likely], ways,
            discount=problem.discount, sets=len(basis.sets), common_rounds=common_rounds,
        )  # fmt: skip
        outlook = Outlook(played, bank.kinds, kinds, tuple(ways), ahead, basis)
        if probing and len(kinds) > 1:
            from preceptor.tutoring.probing import with_probes

            return with_probes(outlook, bank, everybody, shares[likely], problem.discount)
    return outlook


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
    )
