"""Courses: blocks as arrays in the world's units, and the candidates among which one is chosen.

The decisive design shows a weak test A alone, while a strong test B that goes with it stays hidden,
for three quarters of the rounds. Whoever learns from outcomes comes to read A as if it were B;
whoever learns by showings does not. Probes of A and B without feedback, before and after, measure
it. Variants also teach B, which tells learners from those who do not learn, and who fills in
hidden tests from those who do not.

How well it works depends on A: best if its own weight is 0 or of the other sign than what it is
credited with, because then the two kinds move it apart; the larger it is in the same direction, the
more they agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.diagnosis.blocks import Block, BlockRound
from preceptor.evidence.folding import folded
from preceptor.evidence.lockstep import Rounds
from preceptor.model.sets import TestSet
from preceptor.model.world import World

# How far probes are from the average, in standard deviations.
PROBED_AT = 2.0
# So many pairs of tests are tried, those that fold most.
_PAIRS = 6


class Step(NamedTuple):
    """One round: columns shown, whether the outcome is told, results in sd (None: any case)."""

    shown: TestSet
    told: bool
    at: tuple[float, ...] | None = None


class Course(NamedTuple):
    """Rounds as arrays: `shown` (T, n), `told` (T,) and `values` (T, n), NaN for any case."""

    shown: npt.NDArray[np.bool_]
    told: npt.NDArray[np.bool_]
    values: FloatArray


def course_of(world: World, steps: Sequence[Step]) -> Course:
    """Steps as arrays."""
    n, deviations = world.size, np.sqrt(np.diag(world.covariance))
    shown, values = np.zeros((len(steps), n), dtype=np.bool_), np.full((len(steps), n), np.nan)
    for t, step in enumerate(steps):
        columns = list(step.shown)
        shown[t, columns] = True
        if step.at is not None:
            values[t, columns] = np.asarray(step.at) * deviations[columns]
    return Course(shown, np.array([step.told for step in steps], dtype=np.bool_), values)


def block_of(world: World, steps: Sequence[Step]) -> Block:
    """Steps as a block, in the units that people read."""
    course = course_of(world, steps)
    values = course.values if world.units is None else world.units.restore(course.values)
    rounds = []
    for t, step in enumerate(steps):
        at = None if step.at is None else tuple(values[t, list(step.shown)].tolist())
        rounds.append(BlockRound(tuple(world.labels[i] for i in step.shown), step.told, at))
    return Block(world.labels, tuple(rounds))


def course_from(world: World, block: Block) -> Course:
    """A block as arrays in the world's units."""
    shown = np.zeros((len(block), world.size), dtype=np.bool_)
    values = np.full(shown.shape, np.nan)
    for t, each in enumerate(block.rounds):
        columns = list(world.columns_of(each.show))
        shown[t, columns] = True
        if each.values is not None:
            by_name = dict(zip(each.show, each.values, strict=True))
            values[t, columns] = [by_name[world.labels[i]] for i in columns]
    if world.units is not None:
        values = world.units.standardise(values)
    return Course(shown, np.array([each.feedback for each in block.rounds]), values)


def drawn(
    world: World, course: Course, people: int, rng: np.random.Generator | int | None
) -> Rounds:
    """Cases for so many people; nobody has answered yet."""
    length, n = course.shown.shape
    cases = world.sample(people * length, rng)
    features = cases.features.reshape(people, length, n)
    features = np.where(np.isnan(course.values), features, course.values)
    outcomes = np.where(course.told, cases.outcomes.reshape(people, length), np.nan)
    values = np.where(course.shown, features, 0.0)
    return Rounds(course.shown, course.told, values, np.zeros(outcomes.shape), outcomes)


def pairs(
    world: World, budget_allows: Iterable[TestSet], most: int = _PAIRS
) -> list[tuple[TestSet, TestSet]]:
    """Sets that may be shown, each with the hidden test that it would be credited for most."""
    found = []
    for weak in budget_allows:
        folding = folded(world, weak)
        blocks = [block for block in world.blocks if not set(block) & set(weak)]
        if not weak or not blocks or folding.variance <= 0.0:
            continue
        share = [sum(folding.shares.get(i, 0.0) for i in block) for block in blocks]
        best = int(np.argmax(share))
        found.append((folding.variance, weak, blocks[best]))
    found.sort(key=lambda each: -each[0])
    return [(weak, strong) for _, weak, strong in found[:most]]


def probes(weak: TestSet, strong: TestSet) -> list[Step]:
    """Probes of A alone, then of A and B apart and together, high and low, without feedback.

    Both at once tell their weights apart; A alone tells in addition whether B is filled in.
    """
    both = tuple(sorted((*weak, *strong)))
    steps = [Step(weak, False, (sign,) * len(weak)) for sign in (PROBED_AT, -PROBED_AT)]
    for with_strong in (-1.0, 1.0):
        for sign in (PROBED_AT, -PROBED_AT):
            at = tuple(sign if i in weak else with_strong * sign for i in both)
            steps.append(Step(both, False, at))
    return steps


def decisive(
    weak: TestSet, strong: TestSet, rounds: int, *, strong_share: float = 0.0, taught: float = 0.75
) -> list[Step]:
    """The decisive design: probes, A alone with feedback, probes.

    `taught` is the share of rounds with feedback; `strong_share` that of these which show B alone,
    after A. Two fifths of the probes come first: without them nobody knows what A's weight was.
    """
    teaching = round(taught * rounds)
    asked = rounds - teaching
    first = min(max(round(0.4 * asked), 2), asked // 2)
    of_strong = round(strong_share * teaching)
    every = probes(weak, strong)
    # with few probes left, those of both tests tell more at the end than those of A alone
    last = every[2:] + every[:2]
    return (
        [every[i % len(every)] for i in range(first)]
        + [Step(weak, True)] * (teaching - of_strong)
        + [Step(strong, True)] * of_strong
        + [last[i % len(last)] for i in range(asked - first)]
    )


def ordinary(shown: TestSet, rounds: int) -> list[Step]:
    """The same set in every round, with feedback: what practice looks like."""
    return [Step(shown, True)] * rounds
