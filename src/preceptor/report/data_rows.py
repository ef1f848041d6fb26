"""What the table was like and what was made of it: tests, their estimated weights, how sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from preceptor.advice import Advice

# Rows of a long table that are open at once; the others are a click away.
MOST_OPEN = 20
# What a page says of a weight whose sign is not that of the plain correlation.
DISAGREES = "sign disagrees"


class ColumnRow(NamedTuple):
    """A column of the table as estimated: what it is like, what it weighs, and how surely.

    `interval` is empty where nothing was estimated again, `disagrees` where the sign of the weight
    is that of the plain correlation with the outcome.
    """

    name: str
    average: str
    deviation: str
    missing: str
    weight: str
    interval: str
    disagrees: str


def column_rows(advice: Advice) -> list[ColumnRow]:
    """One row per column, the largest weight first; none without a table.

    Parameters
    ----------
    advice
        With an estimate, and weights estimated again from cases drawn with replacement, if there
        was time for that.

    Returns
    -------
    list of ColumnRow
        Weights are for one standard deviation of the test.
    """
    estimate, resampled = advice.estimate, advice.resampled
    if estimate is None:
        return []
    world, units = estimate.world, estimate.world.units
    assert units is not None, "whatever was estimated from a table has its units"
    weights = world.coefficients * np.sqrt(np.diag(world.covariance))
    found = {} if resampled is None else {each.name: each for each in resampled.weights}
    wrong = {each.name: each.correlation for each in estimate.signs_that_disagree}
    rows = []
    for i in map(int, np.argsort(-np.abs(weights), kind="stable")):
        name = world.labels[i]
        gaps = int(np.isnan(estimate.design.values[:, i]).sum())
        ends = found.get(name)
        rows.append(
            ColumnRow(
                name,
                f"{units.means[i]:.4g}",
                f"{units.scales[i]:.3g}",
                f"{gaps:,}" if gaps else "",
                signed(weights[i]),
                "" if ends is None else f"{signed(ends.low)} to {signed(ends.high)}",
                f"{DISAGREES} with its correlation, {signed(wrong[name])}" if name in wrong else "",
            )
        )
    return rows


def about_rows(advice: Advice, *, rows: bool) -> list[str]:
    """Sentences that name single rows of the table; without leave, only how many there are."""
    found = [] if advice.estimate is None else list(advice.estimate.rows_in_doubt)
    if rows or not found:
        return found
    one = len(found) == 1
    remarks = "A remark" if one else f"{len(found):,} remarks"
    left_out = f"{remarks} about single rows of the table {'is' if one else 'are'} left out here"
    return [f"{left_out}; preceptor plan --rows tells them."]


def what_was_done(advice: Advice) -> list[str]:
    """What was left out, filled in or merged, a sentence each, nothing twice."""
    if advice.estimate is None:
        return []
    left_out = [f"{name} was left out: {reason}." for name, reason in advice.estimate.dropped]
    return list(dict.fromkeys([*left_out, *advice.estimate.notes]))


def signed(value: float) -> str:
    """A number with its sign, in three digits.

    >>> signed(-0.12345), signed(2.0), signed(0.0)
    ('−0.123', '+2', '0')
    """
    return "0" if value == 0.0 else f"{value:+.3g}".replace("-", "\N{MINUS SIGN}")


def in_parts(rows: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """What is open at once, and the rest."""
    return (rows, ()) if len(rows) <= MOST_OPEN + 3 else (rows[:MOST_OPEN], rows[MOST_OPEN:])


def chips(places: Mapping[int, int], labels: Sequence[str], colours: int) -> dict[str, int]:
    """By name of column: the number of the chip in the colour of its test."""
    return {labels[test]: place % colours + 1 for test, place in places.items()}
