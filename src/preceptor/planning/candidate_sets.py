"""Which sets to look at, where a family is too large to be looked through set by set.

A hundred tests, five at a time, are 79 million sets. A few hundred candidates stand for them: those
that read best once everything is learned, those that read best now, and their neighbours by one
exchange. Everything that asks whether sets are too many asks here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.model.sets import TestSet
from preceptor.planning.anytime import Stop, never
from preceptor.planning.shape import shape_of
from preceptor.problem import Problem

# Families larger than this are not looked through set by set: pricing each for one person takes a
# second, and a search asks for prices again and again.
MANY_SETS = 3_000
# So many times as many where prices have a closed form: of 4,944 sets of 15 tests all were searched
# in 4 seconds, and candidates gave a plan that cost 8% more.
_MORE_PRICED = 7
# Sets that are kept for each criterion.
KEPT = 250
# Exchanges of one test for another that are looked at from one set: all of 100 tests with any
# number shown; with more than that, tests are added only, which takes seconds as it is.
_MOST_EXCHANGES = 2_500
# Numbers (sets x tests shown x tests) that candidates may have: every step of a search goes through
# them, and with 300 of 300 tests 500 candidates took five times the time limit.
_MOST_NUMBERS, _FEWEST = 5_000_000, 50
# Sets are judged so many at a time, so that little is done after the time is up.
_JUDGED = 256


def has_many_sets(problem: Problem) -> bool:
    """Whether promising sets stand for all of them."""
    most = MANY_SETS * (_MORE_PRICED if problem.learns_by_showings else 1)
    return problem.budget.count(problem.size) > most or shape_of(problem).too_many_sets


def with_sets(problem: Problem, sets: Iterable[TestSet]) -> Problem:
    """The same problem with these sets alone, at the same prices."""
    return problem.replace(budget=problem.budget.listing(sets))


def narrowed(problem: Problem, also: Iterable[TestSet] = (), stop: Stop = never) -> Problem:
    """The problem itself, or with promising sets and `also` where there are too many."""
    if not has_many_sets(problem):
        return problem
    return with_sets(problem, first_candidates(problem, stop) | set(also))


def first_candidates(problem: Problem, stop: Stop = never) -> set[TestSet]:
    """Sets that read best once all is learned, sets that read best now, and what is near them.

    Whatever is found when it is time to stop, and the fullest set, which is found at once.
    """
    found: set[TestSet] = set()
    for criterion in (_when_learned, _now):
        found |= _climb(problem, criterion, stop)
    fullest = {_fullest(problem)}
    return fullest | most_promising(problem, found, 2 * KEPT, stop) if found else fullest


def most_promising(
    problem: Problem, sets: set[TestSet], how_many: int, stop: Stop = never
) -> set[TestSet]:
    """The best by each criterion, of those that could be judged in time."""
    affordable = _MOST_NUMBERS // (shape_of(problem).most_shown * problem.size)
    how_many = min(how_many, max(affordable, _FEWEST))
    if len(sets) <= how_many // 2:
        return sets
    kept: set[TestSet] = set()
    for criterion in (_when_learned, _now):
        names, costs = _judged(problem, sets, criterion, stop)
        best = np.argsort(costs, kind="stable")[: how_many // 2]
        kept |= {names[int(i)] for i in best}
    return kept


def _judged(
    problem: Problem, sets: set[TestSet], criterion: Callable[[Problem], FloatArray], stop: Stop
) -> tuple[list[TestSet], FloatArray]:
    """Sets and what they cost by a criterion, as many as there is time for."""
    # By size, since a family of sets takes as much room for each as for its widest.
    ordered = sorted(sets, key=lambda shown: (len(shown), shown))
    names: list[TestSet] = []
    costs: list[FloatArray] = []
    for first in range(0, len(ordered), _JUDGED):
        if names and stop():
            break
        small = with_sets(problem, ordered[first : first + _JUDGED])
        names += list(small.sets)
        costs.append(criterion(small))
    return names, np.concatenate(costs)


def _fullest(problem: Problem) -> TestSet:
    """The tests that tell most about the outcome one by one, as many as may be shown."""
    world = problem.world
    told = np.abs(world.covariance @ world.coefficients) / np.sqrt(np.diag(world.covariance))
    return problem.budget.maximise(told + np.finfo(np.float64).tiny)


def neighbours(problem: Problem, sets: Iterable[TestSet]) -> set[TestSet]:
    """Everything one exchange, addition or removal away that the budget allows."""
    near: set[TestSet] = set()
    for shown in sets:
        for base in [shown, *_with_one_less(problem, shown)]:
            near.add(base)
            near |= _with_one_more(problem, base)
    return {shown for shown in near if problem.budget.allows(shown)}


def _climb(
    problem: Problem, criterion: Callable[[Problem], FloatArray], stop: Stop
) -> set[TestSet]:
    """Greedy additions, then exchanges, while the criterion falls; all that was best on the way."""
    shown: TestSet = ()
    seen: set[TestSet] = set()
    value = np.inf
    for _ in range(4 * shape_of(problem).most_shown + 4):
        # A budget of exactly k allows no smaller sets, but they are on the way to those of size k.
        names, costs = _judged(problem, _any_neighbours(problem, shown), criterion, stop)
        order = np.argsort(costs, kind="stable")
        seen |= {names[int(i)] for i in order[:KEPT]}
        best = int(order[0])
        if stop() or (costs[best] >= value and problem.budget.allows(shown)):
            break
        value, shown = float(costs[best]), names[best]
    return {s for s in seen if problem.budget.allows(s)}


def _any_neighbours(problem: Problem, shown: TestSet) -> set[TestSet]:
    limit = shape_of(problem).most_shown
    near = _with_one_more(problem, shown)
    if len(shown) * (problem.size - len(shown)) <= _MOST_EXCHANGES:
        for base in _with_one_less(problem, shown):
            near |= _with_one_more(problem, base)
    return {s for s in near if len(s) <= limit and s}


def _with_one_more(problem: Problem, shown: TestSet) -> set[TestSet]:
    blocks = problem.budget.shown_together(problem.size)
    return {tuple(sorted(shown + block)) for block in blocks if block[0] not in shown}


def _with_one_less(problem: Problem, shown: TestSet) -> set[TestSet]:
    blocks = problem.budget.shown_together(problem.size)
    return {tuple(i for i in shown if i not in out) for out in blocks if out[0] in shown}


def _when_learned(problem: Problem) -> FloatArray:
    return problem.oracle.floors()


def _now(problem: Problem) -> FloatArray:
    row: FloatArray = problem.oracle.losses(problem.initial_errors[None, :])[0]
    return row
