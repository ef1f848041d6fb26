"""Which arm comes next: the least filled, ties broken by permuted blocks from the study's seed.

People who finished and people who are at it fill an arm; whoever dropped out does not, so the next
one takes their place and cases stay matched. Arms that are closed or full are left out.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


class Chance(enum.IntEnum):
    """Streams of chance under a study's seed, apart from those of a rollout and from each other."""

    OTHER_BLOCKS = 100
    ALLOCATION = 200
    TUTORED = 300
    SIMULATED = 400


@dataclass(frozen=True)
class Filled:
    """An arm as it stands.

    Attributes
    ----------
    name
        Of the arm.
    places
        Places of people who finished or are at it.
    cap
        How many it may have; None for any number.
    is_open
        Whether anybody may still come.
    """

    name: str
    places: frozenset[int]
    cap: int | None = None
    is_open: bool = True

    @property
    def has_room(self) -> bool:
        """Whether it takes one more."""
        return self.is_open and (self.cap is None or len(self.places) < self.cap)


@dataclass(frozen=True)
class Draw:
    """What was drawn, with all that it was drawn from: the log of an assignment."""

    arm: str
    place: int
    number: int
    order: tuple[str, ...]
    filled: dict[str, int]


def draw(arms: Sequence[Filled], number: int, seed: int) -> Draw | None:
    """The arm and the place for the next person.

    Parameters
    ----------
    arms
        As they stand, in the order of the study file.
    number
        How many were assigned before, dropped out or not.
    seed
        Of the study.

    Returns
    -------
    Draw or None
        None if no arm has room.

    Examples
    --------
    >>> arms = [Filled("plan", frozenset({0, 1})), Filled("fixed", frozenset({1}))]
    >>> found = draw(arms, 3, seed=1)
    >>> found.arm, found.place
    ('fixed', 0)
    """
    rng = np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(Chance.ALLOCATION, number // len(arms)))
    )
    order = tuple(arms[i].name for i in rng.permutation(len(arms)))
    rooms = {arm.name: arm for arm in arms if arm.has_room}
    if not rooms:
        return None
    fewest = min(len(arm.places) for arm in rooms.values())
    chosen = next(n for n in order if n in rooms and len(rooms[n].places) == fewest)
    taken = rooms[chosen].places
    place = next(i for i in range(len(taken) + 1) if i not in taken)
    return Draw(chosen, place, number, order, {arm.name: len(arm.places) for arm in arms})
