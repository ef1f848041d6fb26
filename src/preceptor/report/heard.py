"""What a picture shows, in a sentence or two with numbers, for those who do not see it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from preceptor._base.values import FloatArray
from preceptor._base.words import counted, listed
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.report.svg import shortened

# Things that are told one by one; of more, only the first are.
_MOST = 8


def some(parts: Sequence[str], noun: str) -> str:
    """A few things one by one, and how many more there are.

    >>> some([f"t{i}" for i in range(10)], "test")
    't0, t1, t2, t3, t4, t5, t6, t7 and 2 more tests'
    """
    if not parts:
        return "nothing"
    rest = len(parts) - _MOST
    return listed([*parts[:_MOST], f"{rest} more {noun}{'s' * (rest > 1)}"] if rest > 1 else parts)


def often_heard(world: World, schedule: Sequence[TestSet]) -> str:
    """How often each test is shown, the most frequent first."""
    often = {
        name: sum(block[0] in shown for shown in schedule)
        for name, block in zip(world.tests, world.blocks, strict=True)
    }
    seen = sorted((name for name in often if often[name]), key=lambda name: -often[name])
    return some([f"{shortened(name)} in {often[name]:,}" for name in seen], "test")


def lines_heard(what: str, lines: Iterable[tuple[str, Sequence[float]]], last: int) -> str:
    """Where each line begins and ends; what is nowhere known is left out."""
    parts = []
    for name, values in lines:
        known = [float(value) for value in values if np.isfinite(value)]
        if known and max(known) - min(known) < 1e-9 * max(map(abs, known)):
            parts.append(f"{name} {known[0]:.3g} throughout")
        elif known:
            parts.append(f"{name} from {known[0]:.3g} to {known[-1]:.3g}")
    return f"{what}, from the first to number {last:,}: {listed(parts) if parts else 'nothing'}."


def learning_heard(world: World, weights: FloatArray, truth: FloatArray, tests: list[int]) -> str:
    """Where the weights (cases + 1, n) of some tests begin and end, and what would be right."""
    parts = [
        f"{shortened(world.labels[test])} from {weights[0, test]:.2g} to {weights[-1, test]:.2g} "
        f"(right would be {truth[test]:.2g})"
        for test in tests
    ]
    return f"The person's weights over {counted(len(weights) - 1, 'case')}: {some(parts, 'test')}."


def correlations_heard(
    values: Sequence[Sequence[float]], labels: Sequence[str], committed: Sequence[int]
) -> str:
    """The strongest correlations either way, and those within the set that the plan commits to."""
    pairs = [
        (float(values[i][j]), f"{shortened(labels[i])} with {shortened(labels[j])}")
        for i in range(len(labels))
        for j in range(i)
    ]
    text = f"Correlations of {counted(len(labels), 'column')}"
    if pairs:
        (low, least), (high, most) = min(pairs), max(pairs)
        text += f", from {low:.2f} ({least}) to {high:.2f} ({most})"
    within = [float(values[i][j]) for i in committed for j in committed if j < i]
    if within:
        text += f"; among those that the plan commits to {min(within):.2f} to {max(within):.2f}"
    elif committed:
        text += f"; the plan commits to {shortened(labels[committed[0]])}"
    return f"{text}."
