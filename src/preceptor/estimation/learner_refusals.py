"""Logs that make no learner: other units, another outcome, curves that predict nothing.

A learner file looks as certain as any other once it is written, so these are refused, not doubted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import counted
from preceptor.estimation.learner_families import FAMILIES
from preceptor.logs import Log
from preceptor.logs.in_world import in_world_units, require_tests
from preceptor.people.acting import Imputer

if TYPE_CHECKING:
    from preceptor.estimation.learner import LearnerEstimator
    from preceptor.estimation.world_estimate import WorldEstimate

# Farther from the average than so many standard deviations is not believed.
_FARTHEST = 8.0
# Fewer numbers than this say nothing about where their middle is, or how far they spread.
_SOME, _ENOUGH = 5, 10
# Numbers that spread so many times as far as the table's, or as little, may be in another unit.
_OTHER_SCALE = 5.0
# Numbers of a column of two values are drawn, not typed, if so many of them or more differ: another
# coding has few. Simulated people see such numbers.
_DRAWN = 20
# Rounds from which on outcomes are compared with what the tests predict, ...
_MANY_ROUNDS = 20
# ... the slope (1 is right) below which they have nothing to do with it, and how sure that, and
# where the middle of some numbers is, must be (in standard errors).
_NO_SLOPE, _SURE = 0.25, 4.0

_UNITS = {
    2.54: "inches where the table has centimetres",
    1 / 2.54: "centimetres where the table has inches",
    0.4536: "pounds where the table has kilograms",
    1 / 0.4536: "kilograms where the table has pounds",
    **{10.0**k: "in another unit than the table's" for k in (1, 2, 3, -1, -2, -3)},
}


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
    beyond = int(np.sum(away > 0.0))
    middle = float(np.median(given))
    # Of few numbers the middle is not known well: drawn for a rare yes, it may well be below no.
    unsure = _SURE * 1.25 * float(np.std(known)) / np.sqrt(given.size)
    elsewhere = given.size >= _SOME and not low - unsure <= middle <= high + unsure
    factor = _factor(known, given)
    # Of few levels even the ends are near to the average: drawn numbers go far beyond them.
    believed = _FARTHEST * float(np.std(known))
    far = away[worst] > width and abs(given[worst] - float(np.mean(known))) > believed
    if not (far or elsewhere or (factor is not None and _other_scale(known, given))):
        return []
    if beyond:
        said = (
            f"{name}: {beyond} of {counted(given.size, 'value')} lie outside the table's range of "
            f"{low:g} to {high:g}, the farthest {given[worst]:g} by {away[worst]:.3g} ({place})"
        )
    else:
        said = (
            f"{name}: values of {given.min():g} to {given.max():g} are on another scale than the "
            f"table's {low:g} to {high:g}"
        )
    if factor is not None:
        return [
            f"{said}; times {factor:.4g} they would fit, so they may be {_UNITS[factor]}: bring "
            "both to one unit"
        ]
    return [f"{said}; correct these rows or leave them out, or give the table that they are from"]


def _is_drawn(given: FloatArray) -> bool:
    """Whether numbers come from a Gaussian world, which knows nothing of levels."""
    broken = given[given != np.round(given)]
    differing = np.unique(broken).size
    return 2 * broken.size > given.size and (differing >= _DRAWN or 2 * differing > given.size)


def _other_scale(known: FloatArray, given: FloatArray) -> bool:
    if given.size < _ENOUGH:
        return False
    ratio = float(np.std(given) / np.std(known))
    return not 1.0 / _OTHER_SCALE < ratio < _OTHER_SCALE


def _factor(known: FloatArray, given: FloatArray) -> float | None:
    """What the numbers would have to be multiplied by to be in the table's unit."""
    low, high = np.quantile(known, [0.02, 0.98])
    spread, middle = float(np.std(known)), float(np.median(given))
    fits = []
    for factor in _UNITS:
        same = given.size < _ENOUGH or 0.4 < factor * float(np.std(given)) / spread < 2.5
        if same and low <= factor * middle <= high:
            fits.append(factor)
    return min(fits, key=lambda f: abs(f * middle - float(np.median(known))), default=None)


def _unrelated(estimate: WorldEstimate, log: Log, name: str) -> list[str]:
    """Whether outcomes follow from the shown tests as this world has it, over many rounds."""
    world = estimate.world
    rows = np.flatnonzero(~np.isnan(log.outcome))
    if rows.size < _MANY_ROUNDS:
        return []
    values, _, outcomes = in_world_units(world, log)
    reader, predicted = Imputer(world.covariance), np.zeros(rows.size)
    for position, row in enumerate(rows.tolist()):
        seen = tuple(np.flatnonzero(log.shown[row]).tolist())
        predicted[position] = reader.one(seen, values[row, list(seen)]) @ world.coefficients
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
