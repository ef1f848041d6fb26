"""The best of the sets that can be shown now, where the plan's own cannot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb

import numpy as np

from preceptor._base.words import listed
from preceptor.errors import NotApplicable
from preceptor.evaluation.value import evaluate, losses_along
from preceptor.model.sets import TestSet
from preceptor.planning.candidate_sets import MANY_SETS
from preceptor.policies import ExploreThenRepeat, Policy
from preceptor.problem import Problem

# Sets that are listed for people whose losses take long, and those of all that are weighed over all
# cases to come.
_MOST_PLAYED, _MOST_WEIGHED = 150, 40


def best_at_hand(
    now: Problem, available: Sequence[int], wanted: TestSet, rest: Policy | None
) -> TestSet:
    """The set within what is available that costs least, this case and all after it.

    Parameters
    ----------
    now
        The problem from where the person is.
    available
        Columns that can be shown.
    wanted
        What would be shown if it could be.
    rest
        What comes after this case: the plan as it was, beginning with `wanted`. None compares
        this case alone.

    Returns
    -------
    tuple of int
        Never empty where something else is allowed.

    Raises
    ------
    NotApplicable
        The budget allows no set of these tests.
    """
    sets = [shown for shown in _within(now, available, wanted) if now.budget.allows(shown)]
    sets = [shown for shown in sets if shown] or sets
    if not sets:
        names = now.world.name_of(sorted(available))
        raise NotApplicable(
            f"available: {listed(names) if names else 'nothing'}; {now.budget_in_words()} may be "
            "shown, and no set of these fits; make more of them available"
        )
    first = np.array([losses_along(now, [shown])[0] for shown in sets])
    shared = np.array([len(set(shown) & set(wanted)) for shown in sets])
    order = np.lexsort((first, -shared))[:_MOST_WEIGHED]
    order = np.unique(np.concatenate([order, np.argsort(first, kind="stable")[:_MOST_WEIGHED]]))
    if rest is None:
        return sets[int(np.argmin(first))]
    found = rest.settles()
    assert found is not None, "a schedule repeats something in the end"
    prefix, word = found
    costs = [
        evaluate(now, ExploreThenRepeat((sets[i], *prefix), tuple(word))) for i in order.tolist()
    ]
    return sets[int(order[int(np.argmin(costs))])]


def _within(now: Problem, available: Sequence[int], wanted: TestSet) -> Iterator[TestSet]:
    """Unions of whole tests that are available, tests that matter most first if there are many."""
    at_hand = set(available)
    blocks = [block for block in now.world.blocks if at_hand.issuperset(block)]
    weight = np.abs(now.world.coefficients) * np.sqrt(np.diag(now.world.covariance))
    blocks.sort(key=lambda block: (not set(block) & set(wanted), -float(weight[list(block)].sum())))
    most = len(now.budget.maximise(np.ones(now.size)))
    limit = MANY_SETS if now.learns_by_showings else _MOST_PLAYED
    few = list(blocks)
    while sum(comb(len(few), k) for k in range(most + 1)) > limit:
        few.pop()
    for size in range(min(most, len(few)) + 1):
        for chosen in combinations(few, size):
            yield _joined(chosen)
    if len(few) < len(blocks):
        yield _joined(blocks)


def _joined(blocks: Sequence[TestSet]) -> TestSet:
    return tuple(sorted(i for block in blocks for i in block))
