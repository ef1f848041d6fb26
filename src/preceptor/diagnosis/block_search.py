"""The search for the block that tells most: ready-made candidates, then exchanges of rounds."""

from __future__ import annotations

from collections import Counter

import numpy as np

from preceptor.diagnosis.courses import Step, decisive, pairs, probes
from preceptor.diagnosis.kind_posterior import labels_of
from preceptor.diagnosis.likelihoods import usual_prior
from preceptor.diagnosis.separation import Screen
from preceptor.diagnosis.suspects import OUTCOMES, shares
from preceptor.errors import InvalidInput
from preceptor.evidence.folding import allowed_sets
from preceptor.model.budgets import Budget
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.crowd import Crowd

# Shares of teaching rounds, and of these the shares that show the strong test.
_TAUGHT = (0.75, 0.6)
_STRONG = (0.0, 0.3, 0.5)
# A search changes the rounds in so many stretches at a time, and stops after so many sweeps.
_STRETCHES = 8
_SWEEPS = 2
# Members of the crowd that candidates are judged by, at most.
_JUDGES = 14


def best_steps(
    world: World,
    people: Crowd,
    rounds: int,
    budget: Budget | int | None,
    scatter: float,
    *,
    search: bool = True,
    seed: int = 0,
) -> list[Step]:
    """The block that drives kinds furthest apart, of all that are tried.

    Raises
    ------
    InvalidInput
        No set that may be shown goes with a hidden test.
    """
    found = pairs(world, _singles(world, budget))
    if not found:
        raise InvalidInput(
            "world: no test that may be shown alone goes with a hidden one, so learning from "
            "outcomes and by showings come to the same; there is nothing to find out"
        )
    screen = screen_of(world, people, scatter, seed)
    candidates = [
        (weak, strong, decisive(weak, strong, rounds, strong_share=share, taught=taught))
        for weak, strong in found
        for taught in _TAUGHT
        for share in (_STRONG if _allowed(world, budget, strong) else _STRONG[:1])
    ]
    scores = [screen.bits(steps) for _, _, steps in candidates]
    best = int(np.argmax(scores))
    weak, strong, steps = candidates[best]
    if not search:
        return steps
    both = tuple(sorted((*weak, *strong)))
    taught = [shown for shown in (weak, strong, both) if _allowed(world, budget, shown)]
    return _exchanged(screen, steps, scores[best], taught, probes(weak, strong))


def _exchanged(
    screen: Screen, steps: list[Step], score: float, taught: list[TestSet], asked: list[Step]
) -> list[Step]:
    """Better steps, by replacing one stretch of rounds after the other while that helps."""
    edges = np.linspace(0, len(steps), min(_STRETCHES, len(steps)) + 1).astype(int)
    for _ in range(_SWEEPS):
        before = score
        for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            length = end - begin
            others = [[Step(shown, True)] * length for shown in taught]
            others.append([asked[i % len(asked)] for i in range(length)])
            for other in others:
                changed = steps[:begin] + other + steps[end:]
                if changed != steps and (bits := screen.bits(changed)) > score + 1e-9:
                    steps, score = changed, bits
        if score == before:
            break
    return steps


def _singles(world: World, budget: Budget | int | None) -> list[TestSet]:
    """Tests that may be shown alone."""
    return [block for block in world.blocks if _allowed(world, budget, block)]


def _allowed(world: World, budget: Budget | int | None, shown: TestSet) -> bool:
    return budget is None or allowed_sets(world, budget).allows(shown)


def screen_of(world: World, people: Crowd, scatter: float, seed: int = 0) -> Screen:
    """Whom candidates are judged by: the crowd, thinned out evenly within what they are called."""
    groups, fills = labels_of(world, people)
    labels = [f"{g}, {f}" for g, f in zip(groups, fills, strict=True)]
    kept: list[int] = []
    names = list(dict.fromkeys(labels))
    most = max(_JUDGES // len(names), 1)
    for name in names:
        those = [i for i, label in enumerate(labels) if label == name]
        if len(those) > most:
            those = [those[j] for j in np.linspace(0, len(those) - 1, most + 2)[1:-1].astype(int)]
        kept += those
    totals = {k: float(v) for k, v in shares(list(labels), people.weights).items()}
    counts = Counter(labels[i] for i in kept)
    thinned = Crowd(
        {
            people.names[i]: (people.members[i].person, totals[labels[i]] / counts[labels[i]])
            for i in kept
        }
    )
    return Screen(
        world,
        thinned,
        tuple(groups[i] == OUTCOMES for i in kept),
        tuple(labels[i] for i in kept),
        usual_prior(world, scatter),
        scatter,
        seed,
    )
