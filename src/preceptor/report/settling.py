"""Where a plan settles: on one set, or on a word of sets that is repeated from then on."""

from __future__ import annotations

from collections import Counter

from preceptor.model.sets import TestSet
from preceptor.policies import Policy


def settles_after(policy: Policy) -> int | None:
    """Rounds before a plan has settled; None if it never does.

    >>> from preceptor.policies import ExploreThenRepeat
    >>> settles_after(ExploreThenRepeat([(1,)], word=[(0,), (2,)]))
    1
    """
    if policy.exploration_length is not None:
        return policy.exploration_length
    word = repeated_word(policy)
    if not word:
        return None
    found = policy.settles()
    return None if found is None else len(found[0])


def repeated_word(policy: Policy) -> tuple[TestSet, ...]:
    """The sets that are repeated from then on, if there are several; else empty."""
    found = policy.settles() if policy.commit is None else None
    return () if found is None else tuple(found[1])


def shares(word: tuple[TestSet, ...]) -> list[tuple[TestSet, int]]:
    """How often each set comes in a word, the most frequent first."""
    return sorted(Counter(word).items(), key=lambda item: (-item[1], item[0]))
