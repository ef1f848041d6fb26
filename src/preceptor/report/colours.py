"""Which colour a test has: the same in every picture of a plan, and beside its name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.report.palette import TESTS


def places_of(world: World, schedule: Sequence[TestSet]) -> dict[int, int]:
    """Which colour each test that is shown has: a place in `TESTS`, counted on beyond its end.

    Those that weigh most come first, so that the tests that matter never share a colour.

    Parameters
    ----------
    world
        What the tests weigh.
    schedule
        Sets of tests, case by case.

    Returns
    -------
    dict of int to int
        By test, in the order of the world.
    """
    weights = np.abs(world.coefficients) * np.sqrt(np.diag(world.covariance))
    shown = {test for tests in schedule for test in tests}
    blocks = [block for block in world.blocks if shown & set(block)]
    blocks.sort(key=lambda block: -max(float(weights[test]) for test in block))
    # Columns of one test have one colour: they are shown together.
    found = {test: place for place, block in enumerate(blocks) for test in block}
    return {test: found[test] for test in sorted(found)}


def colours_of(world: World, schedule: Sequence[TestSet]) -> dict[int, str]:
    """The colour of each test that is shown, the same in every picture of that schedule.

    Parameters
    ----------
    world
        What the tests weigh.
    schedule
        Sets of tests, case by case.

    Returns
    -------
    dict of int to str
        By test, in the order of the world.
    """
    return {
        test: TESTS[place % len(TESTS)].light for test, place in places_of(world, schedule).items()
    }
