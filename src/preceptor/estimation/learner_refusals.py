"""Logs that make no learner: other units, another outcome, curves that predict nothing.

A learner file looks as certain as any other once it is written, so these are refused, not doubted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import counted
from preceptor.estimation.learner_model import FAMILIES
from preceptor.evidence.lockstep import best_reading
from preceptor.logs import Log
from preceptor.logs.in_world import in_world_units, require_tests

if TYPE_CHECKING:
    from preceptor.estimation.learner import LearnerEstimator
    from preceptor.estimation.world_estimate import WorldEstimate

# Farther from the average than so many standard deviations is not believed.
_FARTHEST = 8.0
# Fewer numbers than this say nothing about where their middle is.
_SOME = 5
# From so many rounds on outcomes are compared with what the tests predict; and if so many numbers
# in a column of two values differ, they are drawn, not typed: another coding has few. Simulated
# people see such numbers.
_MANY = 20
# The slope (1 is right) below which outcomes have nothing to do with what the tests predict, and
# how sure that, and where the middle of some numbers is, must be (in standard errors).
_NO_SLOPE, _SURE = 0.25, 4.0


def log_refusals(estimate: WorldEstimate, log: Log) -> list[str]:
    """Why a log cannot be about this table, a sentence each; empty if it can.

    Parameters
    ----------
    estimate
        The world, and the table that it was estimated from.
    log
        What people were shown and told, in the units that they read.

    Returns
    -------
    list of str
        Tests and outcomes that are out of range, in another unit, or another column.
    """
    require_tests(estimate.world, log)
    design, found = estimate.design, []
    for i, name in enumerate(design.names):
        rows = np.flatnonzero(log.shown[:, i])
        found += _numbers(name, design.values[:, i], log.values[rows, i], rows, log)
    rows = np.flatnonzero(~np.isnan(log.outcome))
    name = design.outcome_name
    outcome = _numbers(f"outcome, {name}", design.outcome, log.outcome[rows], rows, log)
    # Tests in another unit predict nothing, whatever the outcome is.
    return [*found, *outcome] or _unrelated(estimate, log, name)


def curve_refusal(fitted: LearnerEstimator) -> str:
    """Why the chosen curve should not be planned with; empty if it predicts something."""
    chosen = next(score for score in fitted.comparison_ if score.family == fitted.family_)
    words = FAMILIES[chosen.family].words
    if not np.isfinite(chosen.held_out):
        return (
            f"{counted(fitted.rows_, 'row')} for {counted(chosen.parameters, 'number')} are too "
            f"few to leave some out, so nobody knows whether the chosen curve ({words}) predicts "
            "anything; gather more rounds"
        )
    if fitted.fit_.is_exact:
        return ""
    rivals = {
        "default": "somebody with the default beliefs who never learns",
        "constant": "always saying the average answer",
    }
    for name, error in fitted.baselines_.items():
        if chosen.held_out > error:
            return (
                f"on rows left out the chosen curve ({words}) errs by {chosen.held_out:.3g}, more "
                f"than {rivals[name]} ({error:.3g}); gather more rounds"
            )
    return ""


def _numbers(
    name: str, table: FloatArray, given: FloatArray, rows: IntArray, log: Log
) -> list[str]:
    """Whether numbers of a log can be of a column of the table."""
    known = table[~np.isnan(table)]
    if not given.size:
        return []
    low, high = float(known.min()), float(known.max())
    levels = np.unique(known)
    width = high - low
    away = np.maximum(low - given, given - high)
    worst = int(np.argmax(away))
    place = f"{log.participant[rows[worst]]}, round {log.rounds[rows[worst]]}"
    if levels.size == 2 and not _is_drawn(given):
        odd = np.flatnonzero(~np.isin(given, levels))
        if not odd.size:
            return []
        row = rows[odd[0]]
        return [
            f"{name}: {given[odd[0]]:g} in {log.participant[row]}, round {log.rounds[row]}, but "
            f"the table has only {levels[0]:g} and {levels[1]:g}; write the log as the table is"
        ]
    middle = float(np.median(given))
    # Of few numbers the middle is not known well: drawn for a rare yes, it may well be below no.
    unsure = _SURE * 1.25 * float(np.std(known)) / np.sqrt(given.size)
    elsewhere = given.size >= _SOME and not low - unsure <= middle <= high + unsure
    # Of few levels even the ends are near to the average: drawn numbers go far beyond them.
    believed = _FARTHEST * float(np.std(known))
    far = away[worst] > width and abs(given[worst] - float(np.mean(known))) > believed
    if not (far or elsewhere):
        return []
    return [
        f"{name}: {int(np.sum(away > 0.0))} of {counted(given.size, 'value')} lie outside the "
        f"table's range of {low:g} to {high:g}, the farthest {given[worst]:g} by "
        f"{away[worst]:.3g} ({place}); correct these rows or leave them out, bring both to one "
        "unit, or give the table that they are from"
    ]


def _is_drawn(given: FloatArray) -> bool:
    """Whether numbers come from a Gaussian world, which knows nothing of levels."""
    broken = given[given != np.round(given)]
    differing = np.unique(broken).size
    return 2 * broken.size > given.size and (differing >= _MANY or 2 * differing > given.size)


def _unrelated(estimate: WorldEstimate, log: Log, name: str) -> list[str]:
    """Whether outcomes follow from the shown tests as this world has it, over many rounds."""
    world = estimate.world
    rows = np.flatnonzero(~np.isnan(log.outcome))
    if rows.size < _MANY:
        return []
    values, _, outcomes = in_world_units(world, log)
    predicted = np.sum(best_reading(world, log.shown) * values, axis=1)[rows]
    if world.outcome is not None:
        # Attenuated by what was hidden, which does not matter for a slope that is nearly none.
        predicted = world.outcome.from_score.probability(world.base_score + predicted)
    true = outcomes[rows]
    if np.ptp(predicted) == 0.0 or np.ptp(true) == 0.0:
        return []
    away = predicted - predicted.mean()
    slope = float(away @ true / (away @ away))
    left = true - true.mean() - slope * away
    error = float(np.sqrt(np.mean(left**2) / (away @ away)))
    if slope >= _NO_SLOPE or (1.0 - slope) < _SURE * error:
        return []
    found = float(np.corrcoef(predicted, true)[0, 1])
    explained = float(np.var(predicted))
    variance = float(np.var(true)) if world.is_binary else world.outcome_variance
    usual = np.sqrt(min(explained / variance, 1.0))
    return [
        f"outcome, {name}: the outcomes in the log do not look like it. Over {rows.size:,} rounds "
        f"their correlation with what the shown tests predict is {found:.2f}, where about "
        f"{usual:.2f} is to be expected; look whether they are of another column, or stand in "
        "other rows than they should"
    ]
