"""Tomorrow morning: what to show, case by case, to be printed, ticked off and kept in a file."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from preceptor._base.words import safe_cell
from preceptor.model.sets import TestSet
from preceptor.plan import Plan
from preceptor.policies import runs

if TYPE_CHECKING:
    from preceptor.advice.advice import Advice

# Cases of a file; and those that get a box where one set is shown for good.
_MOST_WRITTEN, _AND_SO_ON = 10_000, 20


class Stretch(NamedTuple):
    """Cases in a row that show the same, what these are called, and the names of their tests.

    `goes_on` where these are only the first of all cases that show the same. A remark on other
    cases has no cases of its own.
    """

    label: str
    text: str
    shown: tuple[str, ...] = ()
    cases: range = range(0)
    goes_on: bool = False


@dataclass(frozen=True)
class ScheduleRow:
    """A case, or all cases from one on.

    Attributes
    ----------
    case
        The case in words: "7", or "from case 41 on".
    shown
        Names of the tests to show, in the order of the table; empty for none.
    text
        The same in words, with what is repeated where a plan goes round in circles.
    """

    case: str
    shown: tuple[str, ...]
    text: str


def stretches(plan: Plan, most: int = 200) -> list[Stretch]:
    """Cases of a plan, those in a row that show the same taken together.

    Parameters
    ----------
    plan
        What to show.
    most
        Cases at most that are listed one by one; what comes later is summed up.

    Returns
    -------
    list of Stretch
        Up to the last case, or up to where nothing changes any more, and one for the rest.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"])
    >>> plan = pr.solve(pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=2))
    >>> [(each.label, each.text) for each in stretches(plan)]
    [('cases 1 to 2', 'bmi')]
    """
    horizon, settled = plan.problem.horizon, plan.policy.settles()
    if horizon is not None or settled is None:
        found = _in_a_row(plan, plan.policy.schedule(min(horizon or most, most)), 1)
        if horizon is None or horizon > most:
            rest = "goes on changing" if horizon is None else f"goes on until case {horizon:,}"
            found.append(Stretch(f"from case {most + 1:,} on", rest))
        return found
    first, word = settled
    changes = len(set(word)) > 1
    before = [*first, *word] if changes else list(first)
    found = _in_a_row(plan, before[:most], 1)
    if len(before) > most:
        label = f"cases {most + 1:,} to {len(before):,}"
        found.append(Stretch(label, "left out here for want of room"))
    if changes:
        again = f"repeat cases {len(first) + 1:,} to {len(before):,}"
        return [*found, Stretch(f"from case {len(before) + 1:,} on", again)]
    (last,) = _in_a_row(plan, [word[0]] * _AND_SO_ON, len(first) + 1)
    label = f"from case {len(first) + 1:,} on" if first else "every case"
    return [*found, last._replace(label=label, goes_on=True)]


def schedule_rows(plan: Plan, most: int = 200) -> list[ScheduleRow]:
    """The same with a row for each case; arguments are those of `stretches`."""
    rows = []
    for each in stretches(plan, most):
        if each.goes_on or not each.cases:
            rows.append(ScheduleRow(each.label, each.shown, each.text))
        else:
            rows += [ScheduleRow(str(case), each.shown, each.text) for case in each.cases]
    return rows


def schedule_csv(advice: Advice | Plan) -> str:
    """The rows as a table for spreadsheets: case, show, then one column for each test shown.

    Names that a spreadsheet would take for a formula are marked as text.
    """
    plan = advice if isinstance(advice, Plan) else advice.plan
    rows = schedule_rows(plan, most=_MOST_WRITTEN)
    widest = max((len(row.shown) for row in rows), default=0)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["case", "show", *(f"test {i + 1}" for i in range(widest))])
    for row in rows:
        cells = [*row.shown, *[""] * (widest - len(row.shown))]
        writer.writerow([row.case, *(safe_cell(cell) for cell in (row.text, *cells))])
    return text.getvalue()


def _in_a_row(plan: Plan, schedule: list[TestSet], first: int) -> list[Stretch]:
    found, at = [], first
    for shown, length in runs(schedule):
        cases = range(at, at + length)
        label = f"case {at:,}" if length == 1 else f"cases {at:,} to {cases[-1]:,}"
        names = tuple(plan.problem.world.name_of(shown))
        found.append(Stretch(label, " + ".join(names) or "nothing", names, cases))
        at += length
    return found
