"""Tomorrow morning: what to show, case by case, as rows that can be printed and ticked off."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from preceptor._base.words import safe_cell
from preceptor.model.sets import TestSet
from preceptor.plan import Plan

if TYPE_CHECKING:
    from preceptor.advice.advice import Advice

# Rows of a file; what comes later is summed up in the last of them.
_MOST_WRITTEN = 10_000
# Cases of a plan that neither ends nor settles.
_ENDLESS = 200


@dataclass(frozen=True)
class ScheduleRow:
    """A case, or all cases from one on.

    Attributes
    ----------
    case
        The case in words: "7", or "from 41 on".
    shown
        Names of the tests to show, in the order of the table; empty for none.
    text
        The same in words, with what is repeated where a plan goes round in circles.
    """

    case: str
    shown: tuple[str, ...]
    text: str


def schedule_rows(advice: Advice | Plan, most: int = 200) -> list[ScheduleRow]:
    """What to show case by case.

    Parameters
    ----------
    advice
        Advice, or a bare plan.
    most
        Rows at most; what comes later is summed up in the last of them.

    Returns
    -------
    list of ScheduleRow
        Every case up to the last, or up to where nothing changes any more, and one row for the
        rest.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"])
    >>> plan = pr.solve(pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=2))
    >>> [row.case + ": " + row.text for row in schedule_rows(plan)]
    ['1: bmi', '2: bmi']
    """
    plan = advice if isinstance(advice, Plan) else advice.plan
    horizon = plan.problem.horizon
    if horizon is not None:
        listed = _rows(plan, plan.policy.schedule(min(horizon, most)), 1)
        if horizon > most:
            left = f"goes on until case {horizon:,}; write it with --schedule"
            listed[-1] = ScheduleRow(f"from {most} on", (), left)
        return listed
    settled = plan.policy.settles()
    if settled is None:
        listed = _rows(plan, plan.policy.schedule(min(_ENDLESS, most)), 1)
        return [*listed[:-1], ScheduleRow(f"from {len(listed)} on", (), "goes on changing")]
    first, word = settled
    begin = len(first) + 1
    if len(set(word)) > 1:
        listed = _rows(plan, [*first, *word], 1)
        again = f"repeat cases {begin} to {len(listed)}"
        last = ScheduleRow(f"from {len(listed) + 1} on", (), again)
    else:
        listed = _rows(plan, first, 1)
        (row,) = _rows(plan, [word[0]], begin)
        last = replace(row, case=f"from {begin} on" if first else "every case")
    if len(listed) + 1 > most:
        cut = ScheduleRow(f"{most - 1} to {len(listed)}", (), "left out here for want of room")
        listed = [*listed[: max(most - 2, 0)], cut]
    return [*listed, last]


def schedule_csv(advice: Advice | Plan) -> str:
    """The rows as a table for spreadsheets: case, show, then one column for each test shown.

    Names that a spreadsheet would take for a formula are marked as text.
    """
    rows = schedule_rows(advice, most=_MOST_WRITTEN)
    widest = max((len(row.shown) for row in rows), default=0)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["case", "show", *(f"test {i + 1}" for i in range(widest))])
    for row in rows:
        cells = [*row.shown, *[""] * (widest - len(row.shown))]
        writer.writerow([row.case, *(safe_cell(cell) for cell in (row.text, *cells))])
    return text.getvalue()


def _rows(plan: Plan, schedule: list[TestSet], first: int) -> list[ScheduleRow]:
    names = [plan.problem.world.name_of(shown) for shown in schedule]
    return [
        ScheduleRow(f"{first + i}", tuple(each), " + ".join(each) or "nothing")
        for i, each in enumerate(names)
    ]
