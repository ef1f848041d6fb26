"""What a plan shows when: where it settles, what pictures draw of it, and its phases in short.

Long or interleaved schedules are cut into phases, each with a few sets and how often each is shown:
of all possible cuts, the one with the shortest description in bits (sets and counts of each phase,
then the order within it).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.words import LISTED, counted, first_few, listed, times
from preceptor.model.policies import Policy, runs
from preceptor.model.sets import MOST_LISTED, TestSet
from preceptor.model.world import World
from preceptor.report import charts
from preceptor.report.charts import shortened
from preceptor.report.palette import GREY, TESTS

if TYPE_CHECKING:
    from preceptor.model.plan import Plan

_MAX_PHASES = 8
# The most places where a phase may begin; longer schedules are cut more coarsely.
_MAX_CUTS = 400


@dataclass(frozen=True)
class Phase:
    """A stretch of rounds: its first round (from 0), showings of each set, and longest run."""

    begin: int
    counts: dict[TestSet, int]
    longest_run: int

    @property
    def length(self) -> int:
        """Rounds in this phase."""
        return sum(self.counts.values())


def phases(schedule: Sequence[TestSet]) -> list[Phase]:
    """Return at most eight phases that cover a schedule and describe it briefly."""
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

    The order within a phase costs as many bits as it takes to predict each set from the one before
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


# The most rounds drawn, and the rounds drawn of a fixed set.
_MOST_ROUNDS, ROUNDS_IF_FIXED = 600, 60
# The most rows of a picture, or of a table before it is expanded.
MOST_ROWS = 20
# The most tests of a set, and sets of a repeated word, that are named above a picture.
_MOST_NAMES = 4
# The most sets of a schedule that are named in a line.
_MOST_SETS = 3


def settles_after(policy: Policy) -> int | None:
    """Rounds before a plan has settled; None if it never does.

    >>> from preceptor.model.policies import ExploreThenRepeat
    >>> settles_after(ExploreThenRepeat([(1,)], word=[(0,), (2,)]))
    1
    """
    if policy.exploration_length is not None:
        return policy.exploration_length
    found = policy.settles() if repeated_word(policy) else None
    return None if found is None else len(found[0])


def repeated_word(policy: Policy) -> tuple[TestSet, ...]:
    """The sets repeated once the policy has settled, if there are several; else empty."""
    found = policy.settles() if policy.commit is None else None
    return () if found is None else tuple(found[1])


def shares(word: tuple[TestSet, ...]) -> list[tuple[TestSet, int]]:
    """Showings of each set in a word, the most frequent first."""
    return sorted(Counter(word).items(), key=lambda item: (-item[1], item[0]))


def rounds_shown(plan: Plan) -> int:
    """Number of rounds to draw: exploration and a third more, within limits."""
    length = settles_after(plan.policy)
    more = len(repeated_word(plan.policy))
    wanted = length + max(15, length // 3, more) if length else max(ROUNDS_IF_FIXED, more)
    return min(wanted, _MOST_ROUNDS, plan.problem.horizon or _MOST_ROUNDS)


def commits_in_sight(plan: Plan) -> bool:
    """Whether cases after exploration are drawn (and shaded)."""
    length = settles_after(plan.policy)
    return length is not None and 0 < length < rounds_shown(plan)


def rows_of(plan: Plan, schedule: Sequence[TestSet], most: int) -> list[int]:
    """First column of every test, or only of those shown if there are more than `most`."""
    first = [block[0] for block in plan.problem.world.blocks]
    if len(first) <= most:
        return first
    shown = {test for tests in schedule for test in tests}
    return [test for test in first if test in shown]


def bars_of(test: int, schedule: Sequence[TestSet]) -> list[tuple[float, float]]:
    """Begin and end of each run in which a test is shown; a case is one wide."""
    bars, at = [], 0.5
    for has, length in runs([(test,) if test in tests else () for tests in schedule]):
        if has:
            bars.append((at, at + length))
        at += length
    return bars


def shown_in_words(plan: Plan) -> list[tuple[str, str]]:
    """What is shown first and what from then on; each part with its label."""
    length, horizon = settles_after(plan.policy), plan.problem.horizon
    if horizon is not None and (plan.policy.commit is None or length is None or length >= horizon):
        return [("show", _most_shown(plan, horizon))]
    if length == 0:
        return [("show", commit_note(plan))]
    return [("first", _most_shown(plan, length or _MOST_ROUNDS)), ("then", commit_note(plan))]


def _most_shown(plan: Plan, rounds: int) -> str:
    """The first rounds: set by set if there are few, else how often the most frequent are shown."""
    looked_at = min(rounds, MOST_LISTED)
    schedule = plan.policy.schedule(looked_at)
    pieces = runs(schedule)
    if len(pieces) <= _MOST_SETS and looked_at == rounds:
        return ", then ".join(f"{_names_of(plan, s)} for {counted(k, 'case')}" for s, k in pieces)
    often = list(tally(pieces).items())
    parts = [f"{_names_of(plan, shown)} ({times(k)})" for shown, k in often[:_MOST_SETS]]
    rest = len(often) - _MOST_SETS
    parts += [counted(rest, "other set")] if rest > 0 else []
    return f"{listed(parts)} in {counted(looked_at, 'case')}"


def commit_note(plan: Plan) -> str:
    """What is shown after exploration, and from when on, in a line."""
    commit, length = plan.policy.commit, plan.exploration_length
    horizon = plan.problem.horizon
    if horizon is not None and (length is None or length >= horizon):
        # The policy does not settle within the horizon.
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
        for i, (shown, often) in enumerate(shares(word)[:_MOST_NAMES])
    ]
    rest = len(set(word)) - _MOST_NAMES
    parts += [f"{rest} more"] if rest > 0 else []
    begin = f"from case {first + 1:,} over and over" if first else "over and over"
    return f"{begin}: {listed(parts)}"


def _names_of(plan: Plan, shown: TestSet) -> str:
    """E.g. "bmi + bp"."""
    names = plan.problem.world.name_of(shown)
    labels = [shortened(name) for name in names[:_MOST_NAMES]]
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return " + ".join(labels + more) or "nothing"


def places_of(world: World, schedule: Sequence[TestSet]) -> dict[int, int]:
    """Colour index of each column that is shown, by column; indices may exceed `len(TESTS)`.

    Tests with the largest weights come first, so that the tests that matter never share a colour.
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


def abridged(parts: Sequence[str], noun: str) -> str:
    """List the first few items, and how many more there are.

    >>> abridged([f"t{i}" for i in range(10)], "test")
    't0, t1, t2, t3, t4, t5, t6, t7 and 2 more tests'
    """
    if len(parts) > LISTED + 1:
        return first_few(parts, noun=f"more {noun}s")
    return listed(parts) if parts else "nothing"


def shown_alt_text(world: World, schedule: Sequence[TestSet]) -> str:
    """How often each test is shown, the most frequent first."""
    often = {
        name: sum(block[0] in shown for shown in schedule)
        for name, block in zip(world.tests, world.blocks, strict=True)
    }
    seen = sorted((name for name in often if often[name]), key=lambda name: -often[name])
    return abridged([f"{shortened(name)} in {often[name]:,}" for name in seen], "test")


def timeline(plan: Plan) -> str:
    """When each test is shown: one row per test, a bar while it is shown."""
    rounds = rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    note = commit_note(plan)
    return charts.timeline_chart(
        "timeline",
        f"What is shown in the first {counted(rounds, 'case')}: "
        f"{shown_alt_text(plan.problem.world, schedule)}; {note}.",
        _rows(plan, schedule),
        x_axis=charts.Axis.counting(0.5, rounds + 0.5),
        x_label="case",
        note=note,
        shaded_from=(settles_after(plan.policy) or 0) + 0.5 if commits_in_sight(plan) else None,
    )


def _rows(plan: Plan, schedule: list[TestSet]) -> list[charts.Row]:
    """A row per test; if there are many, those shown most, and one row for the others."""
    world = plan.problem.world
    names = {block[0]: name for name, block in zip(world.tests, world.blocks, strict=True)}
    colours = colours_of(world, schedule)
    tests = rows_of(plan, schedule, MOST_ROWS)
    often = {test: sum(test in shown for shown in schedule) for test in tests}
    most = sorted(tests, key=lambda test: -often[test])
    kept = set(most if len(tests) <= MOST_ROWS else most[: MOST_ROWS - 1])
    rows = [
        charts.Row(names[test], bars_of(test, schedule), colours.get(test, GREY.light))
        for test in tests
        if test in kept
    ]
    others = set(tests) - kept
    if others:
        any_of_them = [(-1,) if others & set(shown) else () for shown in schedule]
        rows.append(charts.Row(f"{len(others)} more tests", bars_of(-1, any_of_them), GREY.light))
    return rows
