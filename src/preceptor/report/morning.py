"""Tomorrow morning: cases to tick off, those that show the same beside each other."""

from __future__ import annotations

from typing import NamedTuple

from preceptor.model.sets import TestSet
from preceptor.plan import Plan
from preceptor.policies import runs

# Cases to tick off, more than which nobody carries around; and where one set is shown for good.
_MOST_TICKED, _AND_SO_ON = 200, 20


class Stretch(NamedTuple):
    """What is shown, in which cases, and how these are called; each has a box to be ticked off.

    `goes_on` where these are only the first of all cases that show the same. A remark on other
    cases has no boxes.
    """

    label: str
    text: str
    cases: range = range(0)
    goes_on: bool = False


def stretches(plan: Plan) -> list[Stretch]:
    """Cases of a plan, those in a row that show the same taken together.

    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"])
    >>> plan = pr.solve(pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=2))
    >>> [(each.label, each.text) for each in stretches(plan)]
    [('cases 1 to 2', 'bmi')]
    """
    horizon, settled = plan.problem.horizon, plan.policy.settles()
    if horizon is not None or settled is None:
        found = _in_a_row(plan, plan.policy.schedule(min(horizon or _MOST_TICKED, _MOST_TICKED)))
        if horizon is None or horizon > _MOST_TICKED:
            left = "goes on changing" if horizon is None else f"goes on until case {horizon:,}"
            found.append(Stretch(f"from case {_MOST_TICKED + 1} on", left))
        return found
    first, word = settled
    begin = len(first) + 1
    several = [*first, *(word if len(set(word)) > 1 else ())]
    found = _in_a_row(plan, several[:_MOST_TICKED])
    if len(several) > _MOST_TICKED:
        label = f"cases {_MOST_TICKED + 1:,} to {len(several):,}"
        found.append(Stretch(label, "left out here for want of room"))
    if len(set(word)) > 1:
        again = f"repeat cases {begin:,} to {len(several):,}"
        return [*found, Stretch(f"from case {len(several) + 1:,} on", again)]
    label = f"from case {begin:,} on" if first else "every case"
    cases = range(begin, begin + _AND_SO_ON)
    return [*found, Stretch(label, _named(plan, word[0]), cases, goes_on=True)]


def _in_a_row(plan: Plan, schedule: list[TestSet]) -> list[Stretch]:
    found, at = [], 1
    for shown, length in runs(schedule):
        cases = range(at, at + length)
        label = f"case {at:,}" if length == 1 else f"cases {at:,} to {cases[-1]:,}"
        found.append(Stretch(label, _named(plan, shown), cases))
        at += length
    return found


def _named(plan: Plan, shown: TestSet) -> str:
    return " + ".join(plan.problem.world.name_of(shown)) or "nothing"
