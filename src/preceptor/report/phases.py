"""A long schedule cut into phases that are brief to describe.

Long or interleaved schedules are cut into phases, each with a few sets and how often each is
shown: of all ways to cut, the one that takes the fewest bits to write down (sets and counts of
each phase, then the order within it).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from preceptor.model.sets import TestSet
from preceptor.policies import runs as runs

_MAX_PHASES = 8
# Phases may begin at so many places; longer schedules are looked at more coarsely.
_MAX_CUTS = 400


@dataclass(frozen=True)
class Phase:
    """A stretch of rounds: where it begins (from 0), how often each set comes, longest run."""

    begin: int
    counts: dict[TestSet, int]
    longest_run: int

    @property
    def length(self) -> int:
        """Rounds in this phase."""
        return sum(self.counts.values())


def phases(schedule: Sequence[TestSet]) -> list[Phase]:
    """At most eight phases that describe a schedule briefly; together they cover it."""
    pieces = runs(schedule)
    if not pieces:
        return []
    step = math.ceil(len(pieces) / _MAX_CUTS)
    chunks = [pieces[i : i + step] for i in range(0, len(pieces), step)]
    bits_for_a_set = math.log2(len(schedule) + 1)
    while True:
        bounds = _cheapest_cuts(chunks, bits_for_a_set)
        if len(bounds) - 1 <= _MAX_PHASES:
            break
        bits_for_a_set *= 1.5
    found, begin = [], 0
    for first, last in pairwise(bounds):
        inside = [piece for chunk in chunks[first:last] for piece in chunk]
        phase = Phase(begin, tally(inside), max(length for _, length in inside))
        found.append(phase)
        begin += phase.length
    return found


def _cheapest_cuts(chunks: list[list[tuple[TestSet, int]]], bits_for_a_set: float) -> list[int]:
    """Boundaries of the phases, by dynamic programming over where the last phase begins.

    The order within a phase is charged by how hard it is to guess each set from the one before
    it, so strict alternation costs as little as repetition.
    """
    best, came_from = [0.0], [0]
    for end in range(1, len(chunks) + 1):
        follows: dict[TestSet, Counter[TestSet]] = {}
        following: TestSet | None = None
        options = []
        for begin in range(end - 1, -1, -1):
            for shown, length in reversed(chunks[begin]):
                after = follows.setdefault(shown, Counter())
                after[shown] += length - 1
                if following is not None:
                    after[following] += 1
                following = shown
            order = sum(_bits(after) for after in follows.values())
            options.append((best[begin] + order + bits_for_a_set * len(follows), begin))
        cost, begin = min(options)
        best.append(cost)
        came_from.append(begin)
    bounds = [len(chunks)]
    while bounds[-1]:
        bounds.append(came_from[bounds[-1]])
    return bounds[::-1]


def _bits(counts: Counter[TestSet]) -> float:
    total = counts.total()
    return sum(c * math.log2(total / c) for c in counts.values() if c)


def tally(pieces: Iterable[tuple[TestSet, int]]) -> dict[TestSet, int]:
    """Rounds of each set in a list of runs, most frequent first."""
    counts: Counter[TestSet] = Counter()
    for shown, length in pieces:
        counts[shown] += length
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
