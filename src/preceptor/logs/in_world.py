"""A log in the units of a world, whose tests it must be about."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.logs.log import Log
from preceptor.logs.yes_no import score_of
from preceptor.model.world import World


class WorldRows(NamedTuple):
    """Rows of a log in the world's units.

    `values` (rows, n) are 0 where a test was hidden; `answers` (rows,) and `outcomes` (rows,),
    NaN where nobody knows, are deviations from the average outcome. Where outcomes are yes or no,
    they are 1 and 0; probabilities are scores without the base score, decisions 1 and 0.
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


def yes_no_faults(log: Log) -> list[str]:
    """Answers that are no probabilities, and outcomes that are neither yes nor no."""

    def who(row: int) -> str:
        return f"log: {log.participant[row]}, round {log.rounds[row]}"

    wrong = np.flatnonzero((log.prediction < 0.0) | (log.prediction > 1.0))
    faults = [
        f"{who(row)}: answer {log.prediction[row]:g}, must be a probability from 0 to 1, or a "
        "decision, 0 or 1, since the outcome is yes or no"
        for row in wrong[:1]
    ]
    wrong = np.flatnonzero(~np.isnan(log.outcome) & ~np.isin(log.outcome, (0.0, 1.0)))
    return faults + [
        f"{who(row)}: outcome {log.outcome[row]:g}, must be 1 (yes) or 0 (no)" for row in wrong[:1]
    ]


def in_world_units(world: World, log: Log, *, choices: bool = False) -> WorldRows:
    """Results, answers and outcomes in the world's units; choices, 0 or 1, have none.

    Raises
    ------
    InvalidInput
        A log about other tests, or one that is not about yes and no where the world is.
    """
    require_tests(world, log)
    values, answers, outcomes = log.values, log.prediction, log.outcome
    if world.is_binary:
        InvalidInput.raise_if(yes_no_faults(log))
        if world.units is not None:
            values = world.units.standardise(values)
        answers = answers if log.decided else score_of(world, answers)
    elif world.units is not None:
        values, outcomes = world.units.standardise(values), world.units.centre(outcomes)
        answers = answers if choices else world.units.centre(answers)
    return WorldRows(np.where(log.shown, values, 0.0), answers, outcomes)
