"""Sets and counts as policies take them: checked once, added up round by round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.values import IntArray
from preceptor.errors import InvalidPolicy
from preceptor.model.sets import TestSet
from preceptor.problem import MOST_SHOWINGS


def runs(schedule: Iterable[TestSet]) -> list[tuple[TestSet, int]]:
    """Equal neighbours counted: [(set, rounds), ...].

    >>> runs([(0,), (0,), (1,)])
    [((0,), 2), ((1,), 1)]
    """
    return [(shown, sum(1 for _ in same)) for shown, same in groupby(schedule)]


def as_set(shown: Sequence[int]) -> TestSet:
    """Indices in rising order, each once."""
    try:
        indices = tuple(sorted(int(i) for i in shown))
    except (TypeError, ValueError, OverflowError):
        raise InvalidPolicy(f"set {shown!r}: must be a list of test indices") from None
    if len(set(indices)) != len(indices):
        raise InvalidPolicy(f"set {shown!r}: a test can be shown only once per round")
    return indices


def as_sets(sets: Iterable[Sequence[int]]) -> list[TestSet]:
    """Many sets; each distinct one is looked at once, since schedules repeat a few sets often."""
    known: dict[tuple[int, ...], TestSet] = {}
    checked = []
    for shown in sets:
        key = shown if isinstance(shown, tuple) else as_set(shown)
        if key not in known:
            known[key] = as_set(key)
        checked.append(known[key])
    return checked


def running_counts(sets: Sequence[TestSet], tests: int) -> IntArray:
    """Row t: how often each test was shown in the first t sets; shape (len + 1, tests)."""
    counts = np.zeros((len(sets) + 1, tests), dtype=np.int64)
    for t, shown in enumerate(sets):
        counts[t + 1] = counts[t]
        counts[t + 1, list(shown)] += 1
    return counts


def start_counts(start: Sequence[int] | None) -> tuple[int, ...] | None:
    """Counts before round 0; all zeros is the same as none given."""
    try:
        counts = None if start is None else tuple(int(c) for c in start)
    except (TypeError, ValueError, OverflowError):
        raise InvalidPolicy(f"start: {start!r}, must be one whole number per test") from None
    if counts and not 0 <= min(counts) <= max(counts) <= MOST_SHOWINGS:
        raise InvalidPolicy(f"start: {start!r}, must be from 0 to {MOST_SHOWINGS:,} showings")
    return counts if counts and any(counts) else None


def checked_rounds(rounds: int) -> int:
    """So many rounds, if they can be."""
    if not is_count(rounds, least=0):
        raise InvalidPolicy(f"rounds: {rounds!r}, must be a whole number of at least 0")
    return int(rounds)


def showings_since(counts: Sequence[int], start: tuple[int, ...] | None) -> IntArray:
    """Showings since round 0, never negative."""
    try:
        given = np.asarray(counts)
        seen = given.astype(np.int64)
        right = given.ndim == 1 and bool(np.all(seen == given)) and seen.min(initial=0) >= 0
        right = right and seen.max(initial=0) <= MOST_SHOWINGS
    except (TypeError, ValueError, OverflowError):
        right = False
    if not right:
        raise InvalidPolicy(
            f"counts: {counts!r}, must be one whole number for each test, from 0 to "
            f"{MOST_SHOWINGS:,}"
        )
    return np.maximum(seen - np.asarray(start), 0) if start is not None else seen
