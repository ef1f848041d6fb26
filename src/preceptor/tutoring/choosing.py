"""What a tutor advises for the next round: the plan's set, or the best that is available."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray
from preceptor.errors import NotApplicable
from preceptor.evaluation.expectations import family_of
from preceptor.model.sets import TestSet
from preceptor.tutoring.lookout import Outlook, expected_from, planning_shares
from preceptor.tutoring.reasons import Recommendation, reason_for

if TYPE_CHECKING:
    from preceptor.tutoring.tutor import Tutor


def choose(tutor: Tutor, available: set[int] | None) -> Recommendation:
    """The next tests and why."""
    outlook = tutor.outlook
    shown = outlook.shown(tutor.rounds)
    if not shown:
        shown = _something(tutor)
    wanted = shown
    probe = outlook.is_probe(tutor.rounds)
    if available is not None and not available.issuperset(shown):
        shown = _best_available(tutor, available)
    world = tutor.problem.world
    reason = reason_for(tutor, outlook, shown, wanted=wanted, probe=probe)
    return Recommendation(shown, tuple(world.name_of(shown)), reason, tutor.kinds, probe)


def _something(tutor: Tutor) -> TestSet:
    """The best set that is not empty.

    Showing nothing can be best for somebody who reads every test wrongly and never learns; but
    then no answer would ever tell that they are somebody else.
    """
    problem = tutor.problem
    some = [shown for shown in problem.sets if shown]
    if not some or np.any(problem.budget.prices(problem.size) > 0.0):
        return ()
    return some[int(np.argmin(first_values(tutor, tutor.outlook, some)))]


def _best_available(tutor: Tutor, available: set[int]) -> TestSet:
    """The set that costs least in this round if everybody goes their own way after it."""
    problem = tutor.problem
    allowed = [shown for shown in problem.sets if available.issuperset(shown)]
    allowed = [shown for shown in allowed if shown] or allowed
    if not allowed:
        labels = problem.world.labels
        names = ", ".join(labels[i] for i in sorted(available)) or "nothing"
        raise NotApplicable(
            f"available: {names}; the budget allows no set of these tests, show at least one that "
            "it allows"
        )
    values = first_values(tutor, tutor.outlook, allowed)
    return allowed[int(np.argmin(values))]


def first_values(tutor: Tutor, outlook: Outlook, sets: list[TestSet]) -> FloatArray:
    """Mean relative cost with each of these sets in the next round and own ways after it (sets,).

    Costs are relative to each kind's own way from here on.
    """
    problem, later = tutor.problem, tutor.rounds - outlook.made
    kinds = outlook.planned
    shares = planning_shares(tutor.bank)[list(kinds)]
    family = family_of(problem, [*outlook.basis.sets, *sets])
    first = len(outlook.basis.sets) + np.arange(len(sets))
    total = np.zeros(len(sets))
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        everybody = expected_from(tutor.bank, kinds, family)
        for each, way, share in zip(everybody, outlook.ways, shares, strict=True):
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
            total += share / shares.sum() * costs / max(best, np.finfo(np.float64).tiny)
    return np.where(np.isnan(total), np.inf, total)
