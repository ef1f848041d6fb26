"""A log in the units of a world, whose tests it must be about."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.logs.log import Log
from preceptor.model.world import World


class WorldRows(NamedTuple):
    """Rows of a log in the world's units.

    `values` (rows, n) are 0 where a test was hidden; `answers` (rows,) and `outcomes` (rows,),
    NaN where nobody knows, are deviations from the average outcome.
    """

    values: FloatArray
    answers: FloatArray
    outcomes: FloatArray


def require_tests(world: World, log: Log) -> None:
    """Refuse a log that is about other tests than the world is.

    Raises
    ------
    InvalidInput
        Tests that differ, or stand in another order.
    """
    if log.names != world.labels:
        raise InvalidInput(
            f"log: its tests are {', '.join(log.names)}, those of the world are "
            f"{', '.join(world.labels)}; read the log with Log.read(path, world)"
        )


def in_world_units(world: World, log: Log, *, choices: bool = False) -> WorldRows:
    """Results, answers and outcomes in the world's units; choices, 0 or 1, have none.

    Raises
    ------
    InvalidInput
        A log about other tests.
    """
    require_tests(world, log)
    values, answers, outcomes = log.values, log.prediction, log.outcome
    if world.units is not None:
        values, outcomes = world.units.standardise(values), world.units.centre(outcomes)
        answers = answers if choices else world.units.centre(answers)
    return WorldRows(np.where(log.shown, values, 0.0), answers, outcomes)
