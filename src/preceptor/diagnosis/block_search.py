"""The search for the block that tells most: ready-made candidates, then exchanges of rounds.

All kinds play the same drawn cases and answer exactly. Two kinds whose expected answers differ by d
are apart by

    D² = d' (s² + C C')⁻¹ d,

where s is the scatter and C holds what first weights and a constant, which are not known, could
explain as well. Two normal distributions at that distance overlap by exp(-D²/8) (Bhattacharyya),
and a person of kind k is taken for kind l in proportion to it: that prices a block in bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.diagnosis.blocks import BlockRound
from preceptor.diagnosis.courses import decisive, drawn, pairs, probes, taught
from preceptor.diagnosis.kind_posterior import Prior, labels_of, usual_prior
from preceptor.diagnosis.suspects import OUTCOMES, shares
from preceptor.errors import InvalidInput
from preceptor.evidence.folding import allowed_sets
from preceptor.evidence.lockstep import affine_in_first_weights
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
# Members of the crowd that candidates are judged by, at most, and cases drawn for it; all blocks
# are judged by the same ones.
_JUDGES, _DRAWS = 14, 6
# What everything but learning from outcomes counts: it changes plans less, but is often easier to
# find out, and would otherwise take up most of the rounds.
_ALL_ELSE = 0.25


class Screen(NamedTuple):
    """Whom blocks are to tell apart: a crowd, who of them learns from outcomes, and all labels.

    `follows` says of each member whether they learn from outcomes; `labels` are group and way to
    fill in.
    """

    world: World
    people: Crowd
    follows: tuple[bool, ...]
    labels: tuple[str, ...]
    prior: Prior
    scatter: float
    seed: int = 0

    def bits(self, rounds: Sequence[BlockRound]) -> float:
        """Information that a block gives, approximately: about learning from outcomes above all."""
        overlap = np.exp(-distances(self, rounds) / 8.0) * self.people.weights
        question, all_of_it = self._bits(overlap, self.follows), self._bits(overlap, self.labels)
        return question + _ALL_ELSE * (all_of_it - question)

    def _bits(self, overlap: FloatArray, names: Sequence[object]) -> float:
        same = np.array([[a == b for b in names] for a in names])
        right = np.sum(overlap * same, axis=-1) / np.sum(overlap, axis=-1)
        before = same @ self.people.weights
        return float(np.mean(np.log2(right / before) @ self.people.weights))


def distances(screen: Screen, rounds: Sequence[BlockRound]) -> FloatArray:
    """D² of every two members (draws, members, members), seen from the first."""
    world, prior = screen.world, screen.prior
    cases = drawn(world, rounds, _DRAWS, screen.seed)
    designs, means = [], []
    for member in screen.people.members:
        design, offset = affine_in_first_weights(world, member.person, cases)
        first = member.person.weights_of(world, member.person.fresh(world, (), None))
        designs.append(design * prior.spread)
        means.append(design @ first + offset)
    mean = np.stack(means, axis=1)  # (draws, members, T)
    apart = np.empty((_DRAWS, len(designs), len(designs)))
    constant = np.full((*mean.shape[:1], mean.shape[-1], 1), prior.constant)
    for k, design in enumerate(designs):
        nuisance = np.concatenate([design, constant], axis=-1)  # (draws, T, c)
        inner = np.swapaxes(nuisance, -1, -2) @ nuisance
        inner[..., range(inner.shape[-1]), range(inner.shape[-1])] += screen.scatter**2
        d = mean - mean[:, [k]]
        along = d @ nuisance
        explained = np.sum(along * np.swapaxes(np.linalg.solve(inner, np.swapaxes(along, -1, -2)),
                                               -1, -2), axis=-1)  # fmt: skip
        apart[:, k] = (np.sum(d * d, axis=-1) - explained) / screen.scatter**2
    return np.maximum(apart, 0.0)


def best_rounds(
    world: World,
    people: Crowd,
    rounds: int,
    budget: Budget | int | None,
    scatter: float,
    *,
    search: bool = True,
    seed: int = 0,
) -> list[BlockRound]:
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
        (weak, strong, decisive(world, weak, strong, rounds, strong_share=part, share=share))
        for weak, strong in found
        for share in _TAUGHT
        for part in (_STRONG if _allowed(world, budget, strong) else _STRONG[:1])
    ]
    scores = [screen.bits(block) for _, _, block in candidates]
    best = int(np.argmax(scores))
    weak, strong, block = candidates[best]
    if not search:
        return block
    both = tuple(sorted((*weak, *strong)))
    shown = [each for each in (weak, strong, both) if _allowed(world, budget, each)]
    teaching = [taught(world, each) for each in shown]
    return _exchanged(screen, block, scores[best], teaching, probes(world, weak, strong))


def _exchanged(
    screen: Screen,
    block: list[BlockRound],
    score: float,
    teaching: list[BlockRound],
    asked: list[BlockRound],
) -> list[BlockRound]:
    """A better block, by replacing one stretch of rounds after the other while that helps."""
    edges = np.linspace(0, len(block), min(_STRETCHES, len(block)) + 1).astype(int)
    for _ in range(_SWEEPS):
        before = score
        for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            length = end - begin
            others = [[each] * length for each in teaching]
            others.append([asked[i % len(asked)] for i in range(length)])
            for other in others:
                changed = block[:begin] + other + block[end:]
                if changed != block and (bits := screen.bits(changed)) > score + 1e-9:
                    block, score = changed, bits
        if score == before:
            break
    return block


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
