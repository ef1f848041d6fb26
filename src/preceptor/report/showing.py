"""What a plan shows when, for words and pictures: where it settles, and what is drawn of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.policies import Policy, runs
from preceptor.report.palette import TESTS
from preceptor.report.svg import shortened

if TYPE_CHECKING:
    from preceptor.plan import Plan

# Rounds drawn: exploration and some more, never beyond the first; of a fixed set the second.
_MOST_ROUNDS, ROUNDS_IF_FIXED = 600, 60
# Rows of a picture or of a table; of more, those that matter most are shown, or shown at first.
MOST_ROWS = 20
# Tests of a set, and sets of a repeated word, that are named above a picture.
_MOST_NAMES, _MOST_SETS = 4, 3


def settles_after(policy: Policy) -> int | None:
    """Rounds before a plan has settled; None if it never does.

    >>> from preceptor.policies import ExploreThenRepeat
    >>> settles_after(ExploreThenRepeat([(1,)], word=[(0,), (2,)]))
    1
    """
    if policy.exploration_length is not None:
        return policy.exploration_length
    found = policy.settles() if repeated_word(policy) else None
    return None if found is None else len(found[0])


def repeated_word(policy: Policy) -> tuple[TestSet, ...]:
    """The sets that are repeated from then on, if there are several; else empty."""
    found = policy.settles() if policy.commit is None else None
    return () if found is None else tuple(found[1])


def shares(word: tuple[TestSet, ...]) -> list[tuple[TestSet, int]]:
    """How often each set comes in a word, the most frequent first."""
    return sorted(Counter(word).items(), key=lambda item: (-item[1], item[0]))


def rounds_shown(plan: Plan) -> int:
    """Exploration and a third more, within the horizon and what the eye can take in."""
    length = settles_after(plan.policy)
    more = len(repeated_word(plan.policy))
    wanted = length + max(15, length // 3, more) if length else max(ROUNDS_IF_FIXED, more)
    return min(wanted, _MOST_ROUNDS, plan.problem.horizon or _MOST_ROUNDS)


def commits_in_sight(plan: Plan) -> bool:
    """Whether cases after exploration are still drawn; they are shaded."""
    length = settles_after(plan.policy)
    return length is not None and 0 < length < rounds_shown(plan)


def rows_of(plan: Plan, schedule: Sequence[TestSet], most: int) -> list[int]:
    """The first column of every test, or of those that are shown if there are more than `most`."""
    first = [block[0] for block in plan.problem.world.blocks]
    if len(first) <= most:
        return first
    shown = {test for tests in schedule for test in tests}
    return [test for test in first if test in shown]


def bars_of(test: int, schedule: Sequence[TestSet]) -> list[tuple[float, float]]:
    """From where to where a test is shown without a break; a case is one wide."""
    bars, at = [], 0.5
    for has, length in runs([(test,) if test in tests else () for tests in schedule]):
        if has:
            bars.append((at, at + length))
        at += length
    return bars


def commit_note(plan: Plan) -> str:
    """What is shown after exploration and from when on, in a line."""
    commit, length = plan.policy.commit, plan.exploration_length
    horizon = plan.problem.horizon
    if horizon is not None and (length is None or length >= horizon):
        # Whatever a policy would do later, nobody will see it.
        return f"changes sets until the last case, {horizon:,}"
    if commit is None or length is None:
        return _repeated_note(plan) or "never commits to one set"
    always = f"always {_names_of(plan, commit)}"
    if length == 0:
        return always
    if length >= rounds_shown(plan):
        return f"changes sets until case {length:,}, then {always}"
    return f"from case {length + 1:,}: {always}"


def _repeated_note(plan: Plan) -> str:
    """What is repeated after exploration; empty if nothing is, or only one set."""
    word, first = repeated_word(plan.policy), settles_after(plan.policy)
    if not word or plan.problem.horizon is not None:
        return ""
    parts = [
        f"{_names_of(plan, shown)} in {often:,}" + (f" of {len(word):,} cases" if i == 0 else "")
        for i, (shown, often) in enumerate(shares(word)[:_MOST_SETS])
    ]
    rest = len(set(word)) - _MOST_SETS
    parts += [f"{rest} more"] if rest > 0 else []
    begin = f"from case {first + 1:,} over and over" if first else "over and over"
    return f"{begin}: {', '.join(parts)}"


def _names_of(plan: Plan, shown: TestSet) -> str:
    """E.g. "bmi + bp"."""
    names = plan.problem.world.name_of(shown)
    labels = [shortened(name) for name in names[:_MOST_NAMES]]
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return " + ".join(labels + more) or "nothing"


def places_of(world: World, schedule: Sequence[TestSet]) -> dict[int, int]:
    """Which colour each test that is shown has: a place in `TESTS`, counted on beyond its end.

    Those that weigh most come first, so that the tests that matter never share a colour. The dict
    is by test, in the order of the world.
    """
    weights = np.abs(world.coefficients) * np.sqrt(np.diag(world.covariance))
    shown = {test for tests in schedule for test in tests}
    blocks = [block for block in world.blocks if shown & set(block)]
    blocks.sort(key=lambda block: -max(float(weights[test]) for test in block))
    # Columns of one test have one colour: they are shown together.
    found = {test: place for place, block in enumerate(blocks) for test in block}
    return {test: found[test] for test in sorted(found)}


def colours_of(world: World, schedule: Sequence[TestSet]) -> dict[int, str]:
    """The colour of each test that is shown, the same in every picture of that schedule."""
    return {
        test: TESTS[place % len(TESTS)].light for test, place in places_of(world, schedule).items()
    }
