"""Cases for a crowd: every person has streams of chance of their own, all from one seed.

Person p's cases depend on the seed and p alone. So more people change nothing for those before
them, more rounds nothing in the rounds before, and two policies or two kinds of humans played
with one seed meet the very same cases: differences between them carry little noise.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.model.world import Cases, World
from preceptor.people.human import ROUNDS_DRAWN, Seed


class Stream(IntEnum):
    """What a stream of chance is for."""

    CASES = 0
    ANSWERS = 1
    CHOICES = 2


def seed_of(rng: Seed) -> int:
    """One number that stands for all that is random; a generator gives its next one."""
    if rng is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if is_count(rng, least=0):
        return int(rng)
    raise InvalidInput(f"rng: {rng!r}, must be a whole number of at least 0 or a NumPy generator")


def stream(seed: int, person: int, purpose: Stream) -> np.random.Generator:
    """The generator of one person for one purpose."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(person, purpose)))


def draw_cases(world: World, rounds: int, people: int, seed: int) -> Cases:
    """Features (people, rounds, n) and outcomes (people, rounds)."""
    features: FloatArray = np.empty((people, rounds, world.size))
    outcomes: FloatArray = np.empty((people, rounds))
    for person in range(people):
        features[person], outcomes[person] = cases_of(world, rounds, person, seed)
    return Cases(features, outcomes)


def cases_of(world: World, rounds: int, person: int, seed: int) -> Cases:
    """What one person meets: features (rounds, n) and outcomes (rounds,)."""
    features: FloatArray = np.empty((rounds, world.size))
    outcomes: FloatArray = np.empty(rounds)
    rng = stream(seed, person, Stream.CASES)
    for begin in range(0, rounds, ROUNDS_DRAWN):
        drawn = world.sample(ROUNDS_DRAWN, rng)
        end = min(begin + ROUNDS_DRAWN, rounds)
        features[begin:end] = drawn.features[: end - begin]
        outcomes[begin:end] = drawn.outcomes[: end - begin]
    return Cases(features, outcomes)
