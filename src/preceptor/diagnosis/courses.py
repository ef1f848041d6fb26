"""Candidates for a diagnostic block, and cases drawn for one.

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

import numpy as np

from preceptor.diagnosis.blocks import BlockRound
from preceptor.evidence.folding import folded
from preceptor.evidence.lockstep import Rounds
from preceptor.model.sets import TestSet
from preceptor.model.world import World

# How far probes are from the average, in standard deviations.
PROBED_AT = 2.0
# So many pairs of tests are tried, those that fold most.
_PAIRS = 6


def taught(world: World, shown: TestSet) -> BlockRound:
    """A round that shows these columns of any case, and tells the outcome."""
    return BlockRound(tuple(world.labels[i] for i in shown))


def probe(world: World, shown: TestSet, at: Sequence[float]) -> BlockRound:
    """A round that shows a case with results so many standard deviations off, and tells nothing."""
    columns, values = list(shown), np.zeros(world.size)
    values[columns] = np.asarray(at) * np.sqrt(np.diag(world.covariance))[columns]
    read = values if world.units is None else world.units.restore(values)
    return BlockRound(
        tuple(world.labels[i] for i in shown), feedback=False, values=tuple(read[columns].tolist())
    )


def drawn(
    world: World,
    rounds: Sequence[BlockRound],
    people: int,
    rng: np.random.Generator | int | None,
) -> Rounds:
    """Cases for so many people, in the world's units; nobody has answered yet."""
    length, n = len(rounds), world.size
    shown, asked = np.zeros((length, n), dtype=np.bool_), np.full((length, n), np.nan)
    for t, each in enumerate(rounds):
        columns = [world.labels.index(name) for name in each.show]
        shown[t, columns] = True
        if each.values is not None:
            asked[t, columns] = each.values
    if world.units is not None:
        asked = world.units.standardise(asked)
    told = np.array([each.feedback for each in rounds])
    cases = world.sample(people * length, rng)
    features = cases.features.reshape(people, length, n)
    features = np.where(np.isnan(asked), features, asked)
    outcomes = np.where(told, cases.outcomes.reshape(people, length), np.nan)
    values = np.where(shown, features, 0.0)
    return Rounds(shown, told, values, np.zeros(outcomes.shape), outcomes)


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


def probes(world: World, weak: TestSet, strong: TestSet) -> list[BlockRound]:
    """Probes of A alone, then of A and B apart and together, high and low, without feedback.

    Both at once tell their weights apart; A alone tells in addition whether B is filled in.
    """
    both = tuple(sorted((*weak, *strong)))
    found = [probe(world, weak, (sign,) * len(weak)) for sign in (PROBED_AT, -PROBED_AT)]
    for with_strong in (-1.0, 1.0):
        for sign in (PROBED_AT, -PROBED_AT):
            at = tuple(sign if i in weak else with_strong * sign for i in both)
            found.append(probe(world, both, at))
    return found


def decisive(
    world: World,
    weak: TestSet,
    strong: TestSet,
    rounds: int,
    *,
    strong_share: float = 0.0,
    share: float = 0.75,
) -> list[BlockRound]:
    """The decisive design: probes, A alone with feedback, probes.

    `share` is that of rounds with feedback; `strong_share` that of these which show B alone, after
    A. Two fifths of the probes come first: without them nobody knows what A's weight was.
    """
    teaching = round(share * rounds)
    asked = rounds - teaching
    first = min(max(round(0.4 * asked), 2), asked // 2)
    of_strong = round(strong_share * teaching)
    every = probes(world, weak, strong)
    # with few probes left, those of both tests tell more at the end than those of A alone
    last = every[2:] + every[:2]
    return (
        [every[i % len(every)] for i in range(first)]
        + [taught(world, weak)] * (teaching - of_strong)
        + [taught(world, strong)] * of_strong
        + [last[i % len(last)] for i in range(asked - first)]
    )
