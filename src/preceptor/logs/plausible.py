"""Numbers that cannot be of this world: slips of the keyboard, other units, other codings.

Whoever records a case can still look at the sheet in front of them; weeks later nobody can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from preceptor.logs.levels import categories_of
from preceptor.model.world import World

# Farther from the average than so many standard deviations is not believed.
FARTHEST = 8.0
# How nearly the variance must be that of two neighbouring whole numbers: a column's own, which is
# exact, and that of the outcome, which is estimated.
_EXACT, _ESTIMATED = 1e-6, 0.2


class _Usual(NamedTuple):
    """Average and standard deviation, and the two values of whatever takes no others.

    Where it is not certain that there are no others, only whole numbers are held against them.
    """

    mean: float
    spread: float
    both: tuple[float, float] | None
    certain: bool = True

    def fault(self, number: float) -> str | None:
        """What is wrong with a number, as the rest of a sentence."""
        if self.both is not None and (self.certain or number.is_integer()):
            low, high = self.both
            return None if number in self.both else f"{low:g} or {high:g} is to be expected"
        if abs(number - self.mean) <= FARTHEST * self.spread:
            return None
        low, high = (self.mean + sign * FARTHEST * self.spread for sign in (-1.0, 1.0))
        return (
            f"{low:.4g} to {high:.4g} is plausible (average {self.mean:.4g}, standard deviation "
            f"{self.spread:.3g})"
        )


def implausible(
    world: World,
    shown: Sequence[int],
    values: Sequence[float],
    answer: float,
    outcome: float | None,
) -> list[str]:
    """What cannot be true of a round, given the cases that the world was estimated from.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    shown
        Columns that were shown, by index.
    values
        Their results in the same order, in the units that people read.
    answer
        What the person said.
    outcome
        What was true; None if nobody knows.

    Returns
    -------
    list of str
        A fault for each number that is farther from the average than 8 standard deviations, or
        that is not one of the two values that there are.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.model.units import Units
    >>> units = Units([0.25, 60.0], [0.25**0.5 * 0.75**0.5, 20.0], outcome_mean=120.0)
    >>> world = pr.World([9.0, 9.0], [[1.0, 0.0], [0.0, 1.0]], 400.0, ["chf", "score"], units=units)
    >>> implausible(world, (0, 1), (25.0, 60.0), 110.0, 130.0)
    ['values: chf 25, but by the table 0 or 1 is to be expected']
    """
    levels = {column for each in categories_of(world) for column in each.columns}
    faults = []
    for column, value in zip(shown, values, strict=True):
        wrong = None if column in levels else _of_column(world, column).fault(value)
        if wrong:
            faults.append(f"values: {world.labels[column]} {value:.10g}, but by the table {wrong}")
    if world.is_binary:
        if not 0.0 <= answer <= 1.0:
            faults.append(f"answer: {answer:.10g}, must be a probability from 0 to 1, or 0 or 1")
        if outcome is not None and outcome not in (0.0, 1.0):
            faults.append(f"outcome: {outcome:.10g}, must be 1 (yes) or 0 (no)")
        return faults
    usual = _of_outcome(world)
    # People may answer with a probability where the outcome is yes or no.
    wrong = _Usual(usual.mean, usual.spread, None).fault(answer)
    if wrong:
        faults.append(f"answer: {answer:.10g}, but by the table {wrong}")
    wrong = None if outcome is None else usual.fault(outcome)
    if wrong:
        faults.append(f"outcome: {outcome:.10g}, but by the table {wrong}")
    return faults


def _of_column(world: World, column: int) -> _Usual:
    spread = math.sqrt(float(world.covariance[column, column]))
    if world.units is None:
        return _Usual(0.0, spread, None)
    mean = float(world.units.means[column])
    # The world's own variance may be shrunken; that of the table is what values are made of.
    both = _two_values(mean, float(world.units.scales[column]), _EXACT)
    return _Usual(mean, spread * float(world.units.scales[column]), both)


def _of_outcome(world: World) -> _Usual:
    mean = 0.0 if world.units is None else world.units.outcome_mean
    spread = float(np.sqrt(world.outcome_variance))
    both = _two_values(mean, spread, _ESTIMATED)
    return _Usual(mean, spread, both if both == (0.0, 1.0) else None, certain=False)


def _two_values(mean: float, spread: float, tolerance: float) -> tuple[float, float] | None:
    """Two neighbouring whole numbers, if a column with nothing else has this spread.

    Of all columns of whole numbers with this average, that one has the smallest spread.
    """
    low = math.floor(mean)
    least = (mean - low) * (low + 1.0 - mean)
    if least <= 0.0 or abs(spread**2 - least) > tolerance * least:
        return None
    return float(low), low + 1.0
