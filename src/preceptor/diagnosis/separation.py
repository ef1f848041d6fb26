"""How far apart a course drives kinds of people, without simulating their scatter.

All kinds play the same drawn cases and answer exactly. Two kinds whose expected answers differ by d
are apart by

    D² = d' (s² + C C')⁻¹ d,

where s is the scatter and C holds what first weights and a constant, which are not known, could
explain as well. Two normal distributions at that distance overlap by exp(-D²/8) (Bhattacharyya),
and a person of kind k is taken for kind l in proportion to it: that prices a course in bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.diagnosis.courses import Step, course_of, drawn
from preceptor.diagnosis.likelihoods import Prior
from preceptor.evidence.lockstep import affine_in_first_weights
from preceptor.model.world import World
from preceptor.people.crowd import Crowd

# Drawn cases that a course is judged by; all courses are judged by the same ones.
_DRAWS = 6
_ALL_ELSE = 0.25


class Screen(NamedTuple):
    """Whom courses are to tell apart: a crowd, who of them learns from outcomes, and all labels.

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

    def bits(self, steps: list[Step]) -> float:
        """Information that a course gives, approximately: about learning from outcomes above all.

        Everything else counts a quarter: it changes plans less, but is often easier to find out
        and would otherwise take up most of the rounds.
        """
        overlap = np.exp(-distances(self, steps) / 8.0) * self.people.weights
        question, all_of_it = self._bits(overlap, self.follows), self._bits(overlap, self.labels)
        return question + _ALL_ELSE * (all_of_it - question)

    def _bits(self, overlap: FloatArray, names: Sequence[object]) -> float:
        same = np.array([[a == b for b in names] for a in names])
        right = np.sum(overlap * same, axis=-1) / np.sum(overlap, axis=-1)
        before = same @ self.people.weights
        return float(np.mean(np.log2(right / before) @ self.people.weights))


def distances(screen: Screen, steps: list[Step]) -> FloatArray:
    """D² of every two members (draws, members, members), seen from the first."""
    world, prior = screen.world, screen.prior
    cases = drawn(world, course_of(world, steps), _DRAWS, screen.seed)
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
