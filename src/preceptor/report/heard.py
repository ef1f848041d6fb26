"""What a picture shows, in a sentence or two with numbers, for those who do not see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from preceptor._base.words import counted, listed
from preceptor.evaluation.value import running_counts
from preceptor.model.sets import TestSet
from preceptor.plan import Plan
from preceptor.report.names import isolated, shortened

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


def spoken(name: str) -> str:
    """A name that does not take half a minute to hear."""
    return isolated(shortened(name))


def timeline_heard(plan: Plan, schedule: Sequence[TestSet], note: str) -> str:
    """How often each test is shown, the most frequent first, and how it ends."""
    world = plan.problem.world
    often = {
        name: sum(block[0] in shown for shown in schedule)
        for name, block in zip(world.tests, world.blocks, strict=True)
    }
    seen = sorted((name for name in often if often[name]), key=lambda name: -often[name])
    parts = [f"{spoken(name)} in {often[name]:,}" for name in seen]
    return f"What is shown in the first {counted(len(schedule), 'case')}: {_all(parts)}; {note}."


def shown_heard(names: Mapping[str, int], rounds: int) -> str:
    """How often each test was shown."""
    seen = sorted((name for name in names if names[name]), key=lambda name: -names[name])
    parts = [f"{spoken(name)} in {names[name]:,}" for name in seen]
    return f"What was shown in {counted(rounds, 'round')}: {_all(parts)}."


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


def roc_heard(curves: Sequence[tuple[str, float, tuple[float, float] | None]]) -> str:
    """The area under each curve, and the rates at which decisions are made.

    >>> roc_heard([("Best reader of bmi", 0.8123, (0.125, 0.75))])
    'Receiver operating curves, area under each: best reader of bmi 0.812 (decides with \
sensitivity 75%, specificity 88%).'
    """
    parts = []
    for name, area, at in curves:
        words = f"{name[0].lower()}{name[1:]} {area:.3f}"
        if at is not None:
            rate, found = at
            words += f" (decides with sensitivity {found:.0%}, specificity {1.0 - rate:.0%})"
        parts.append(words)
    return f"Receiver operating curves, area under each: {listed(parts)}."


def learning_heard(plan: Plan, schedule: Sequence[TestSet], tests: Sequence[int]) -> str:
    """Where the weight of each test begins and ends, and what would be right."""
    problem = plan.problem
    deviations = np.sqrt(np.diag(problem.world.covariance))
    counts = running_counts(problem, list(schedule))
    first, last = (
        problem.by_showings.beliefs(problem.world, counts[i]) * deviations for i in (0, -1)
    )
    truth = problem.world.coefficients * deviations
    parts = [
        f"{spoken(problem.world.labels[test])} from {first[test]:.2g} to {last[test]:.2g} "
        f"(right would be {truth[test]:.2g})"
        for test in tests
    ]
    return f"The person's weights over {counted(len(schedule), 'case')}: {some(parts, 'test')}."


def correlations_heard(
    values: Sequence[Sequence[float]], labels: Sequence[str], framed: Sequence[int]
) -> str:
    """The strongest correlations either way, and those within the set that is framed."""
    pairs = [
        (float(values[i][j]), f"{spoken(labels[i])} with {spoken(labels[j])}")
        for i in range(len(labels))
        for j in range(i)
    ]
    text = f"Correlations of {counted(len(labels), 'column')}"
    if pairs:
        (low, least), (high, most) = min(pairs), max(pairs)
        text += f", from {low:.2f} ({least}) to {high:.2f} ({most})"
    within = [float(values[i][j]) for i in framed for j in framed if j < i]
    if within:
        text += f"; among those that the plan commits to {min(within):.2f} to {max(within):.2f}"
    elif framed:
        text += f"; the plan commits to {spoken(labels[framed[0]])}"
    return f"{text}."


def _all(parts: Sequence[str]) -> str:
    return some(parts, "test")
