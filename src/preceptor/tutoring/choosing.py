"""What a tutor advises for the next round: the best set, or the best that is available."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import NotApplicable
from preceptor.model.sets import TestSet
from preceptor.tutoring.lookout import planning_shares, relative_costs
from preceptor.tutoring.reasons import Recommendation, reason_for

if TYPE_CHECKING:
    from preceptor.tutoring.tutor import Tutor


def choose(tutor: Tutor, available: set[int] | None) -> Recommendation:
    """The next tests and why."""
    problem, outlook = tutor.problem, tutor.outlook
    shares = planning_shares(tutor.bank)[list(outlook.kinds)]
    sets = outlook.basis.sets
    costs = relative_costs(problem, outlook, tutor.bank, tutor.rounds)
    best = _least(tutor, sets, shares @ costs)
    wanted = shown = sets[best]
    if available is not None and not available.issuperset(wanted):
        allowed = [each for each in problem.sets if available.issuperset(each)]
        if not allowed:
            names = ", ".join(problem.world.labels[i] for i in sorted(available)) or "nothing"
            raise NotApplicable(
                f"available: {names}; the budget allows no set of these tests, show at least one "
                "that it allows"
            )
        others = relative_costs(problem, outlook, tutor.bank, tutor.rounds, allowed)
        shown = allowed[_least(tutor, allowed, shares @ others)]
    suited = costs[:, best] <= costs.min(axis=1) * (1.0 + 1e-9)
    friends = [kind for kind, suits in zip(outlook.kinds, suited, strict=True) if suits]
    reason = reason_for(tutor, shown, wanted=wanted, friends=friends)
    return Recommendation(shown, tuple(problem.world.name_of(shown)), reason, tutor.kinds)


def _least(tutor: Tutor, sets: Sequence[TestSet], costs: FloatArray) -> int:
    """The position of the set that costs least, of those that show something if any does.

    Showing nothing can be best for somebody who reads every test wrongly and never learns; but
    then no answer would ever tell that they are somebody else. Where tests have prices, showing
    nothing saves them.
    """
    problem = tutor.problem
    some = [i for i, shown in enumerate(sets) if shown]
    if not some or np.any(problem.budget.prices(problem.size) > 0.0):
        some = list(range(len(sets)))
    return some[int(np.argmin(costs[some]))]
