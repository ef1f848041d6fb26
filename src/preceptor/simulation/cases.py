"""Cases for a crowd: every person has separate random streams, all derived from one seed.

Person p's cases depend only on the seed and p. So adding people or rounds leaves the earlier ones
as they were, and two policies or two kinds of people played with one seed meet the same cases
(common random numbers): differences between them have little noise.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.model.world import SampledCases, World
from preceptor.people.human import ROUNDS_DRAWN, Seed


class Stream(IntEnum):
    """Purpose of a random stream."""

    CASES = 0
    ANSWERS = 1
    CHOICES = 2
    TESTS = 3


def seed_of(rng: Seed) -> int:
    """Return one integer seed; a generator draws its next one."""
    if rng is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if is_count(rng, least=0):
        return int(rng)
    raise InvalidInput(f"rng: {rng!r}, must be a whole number of at least 0 or a NumPy generator")


def stream(seed: int, person: int, purpose: Stream) -> np.random.Generator:
    """Return the generator of one person for one purpose."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(person, purpose)))


def draw_cases(world: World, rounds: int, people: int, seed: int) -> SampledCases:
    """Return features (people, rounds, n) and outcomes (people, rounds)."""
    features: FloatArray = np.empty((people, rounds, world.size))
    outcomes: FloatArray = np.empty((people, rounds))
    for person in range(people):
        features[person], outcomes[person] = cases_of(world, rounds, person, seed)
    return SampledCases(features, outcomes)


def cases_of(world: World, rounds: int, person: int, seed: int) -> SampledCases:
    """Return the features (rounds, n) and outcomes (rounds,) that one person meets."""
    features: FloatArray = np.empty((rounds, world.size))
    outcomes: FloatArray = np.empty(rounds)
    rng = stream(seed, person, Stream.CASES)
    for begin in range(0, rounds, ROUNDS_DRAWN):
        drawn = world.sample(ROUNDS_DRAWN, rng)
        end = min(begin + ROUNDS_DRAWN, rounds)
        features[begin:end] = drawn.features[: end - begin]
        outcomes[begin:end] = drawn.outcomes[: end - begin]
    return SampledCases(features, outcomes)
