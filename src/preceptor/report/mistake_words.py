"""Misses and false alarms per 100 cases, sensitivity and specificity: a diagnosis in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.typed import yes_no_in
from preceptor._base.values import remembered
from preceptor.evaluation.mistakes import (
    Mistakes,
    best_mistakes,
    decides,
    mistakes_along,
    mistakes_of,
)
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import Decision
from preceptor.report.phrases import joined

if TYPE_CHECKING:
    from preceptor.model.world import World
    from preceptor.plan import Plan
    from preceptor.problem import Problem

# Sets that can be listed in no time.
MAX_LISTED = 200_000


def mistakes_by(plan: Plan) -> Mistakes:
    """Those of the plan, averaged over all cases; worked out once."""
    return remembered(plan, "mistakes", lambda: mistakes_of(plan.problem, plan.policy))


def mistakes_in_first(plan: Plan, rounds: int) -> Mistakes:
    """Those of the plan's first cases, one by one; worked out once for each number of them."""
    return remembered(
        plan,
        f"mistakes in {rounds}",
        lambda: mistakes_along(plan.problem, plan.policy.schedule(rounds)),
    )


def best_set(problem: Problem) -> TestSet | None:
    """The set from which the best reader goes wrong least; None if there are too many to look."""
    if problem.budget.count(problem.size) > MAX_LISTED:
        return None
    return problem.sets[int(np.argmin(problem.oracle.floors()))]


def best_by(plan: Plan) -> tuple[TestSet, Mistakes] | None:
    """The best set and what its best reader still gets wrong, where answers are decisions."""
    if not decides(plan.problem):
        return None
    shown = best_set(plan.problem)
    return None if shown is None else (shown, best_mistakes(plan.problem, shown))


def yes_of(world: World) -> str:
    """What yes is called: "yes", or "yes (malignant)" where the table has a word for it.

    >>> import preceptor as pr
    >>> yes_of(pr.World([1.0], [[1.0]], outcome=pr.Binary(0.2)))
    'yes'
    """
    levels = None if world.units is None else world.units.outcome_levels
    word = "yes" if levels is None else levels[1]
    return "yes" if yes_no_in(word) else f"yes ({word})"


def in_100(share: float) -> str:
    """A share as a number of 100 cases.

    >>> in_100(0.0812), in_100(0.00123), in_100(0.0)
    ('8.1', '0.12', '0.0')
    """
    number = 100.0 * share
    return f"{number:.2g}" if 0.0 < number < 0.95 else f"{number:.1f}"


def both(mistakes: Mistakes) -> str:
    """E.g. "8.1 and 6.2"."""
    return f"{in_100(float(mistakes.misses))} and {in_100(float(mistakes.false_alarms))}"


def named(mistakes: Mistakes) -> str:
    """E.g. "8.1 misses and 6.2 false alarms"."""
    misses, alarms = in_100(float(mistakes.misses)), in_100(float(mistakes.false_alarms))
    return f"{misses} misses and {alarms} false alarms"


def rates(mistakes: Mistakes) -> str:
    """E.g. "sensitivity 78%, specificity 90%"."""
    found, left = float(mistakes.sensitivity), float(mistakes.specificity)
    return f"sensitivity {found:.0%}, specificity {left:.0%}"


def costs(risk: Decision) -> str:
    """E.g. "a miss costs 5, a false alarm 1"."""
    return f"a miss costs {risk.miss:g}, a false alarm {risk.false_alarm:g}"


def has_costs(problem: Problem) -> bool:
    """Whether mistakes cost something else than 1 each."""
    risk = problem.risk
    return isinstance(risk, Decision) and not risk.miss == risk.false_alarm == 1.0


def still_wrong(plan: Plan) -> str:
    """What nobody can go below, in a sentence; empty if it is not known."""
    best = best_by(plan)
    if best is None:
        return ""
    shown, mistakes = best
    reader = (
        f"The best reader of {joined(plan, shown)}" if shown else "The best guess without tests"
    )
    misses, alarms = in_100(float(mistakes.misses)), in_100(float(mistakes.false_alarms))
    return f"{reader} would still miss {misses} and falsely alarm {alarms} of 100."


def along_in_words(plan: Plan, marks: list[int]) -> list[tuple[str, str]]:
    """Rows of a table: misses, false alarms and rates in some cases (from 1)."""
    along = mistakes_in_first(plan, marks[-1])
    rows = []
    for case in marks:
        here = along.at(case - 1)
        rows.append((f"case {case:,}", f"{named(here)} per 100; {rates(here)}"))
    return rows


def against(plan: Plan, others: list[tuple[str, Mistakes]]) -> str:
    """E.g. "4.1 misses and 3.0 false alarms with this plan; 4.9 and 3.6 with ..."."""
    parts = [f"{named(mistakes_by(plan))} with this plan"]
    parts += [f"{_briefly(mistakes)} {words}" for words, mistakes in others]
    return "; ".join(parts)


def _briefly(mistakes: Mistakes) -> str:
    """Both numbers; or the only one there is, by its name."""
    if float(mistakes.misses) == 0.0:
        return f"{in_100(float(mistakes.false_alarms))} false alarms"
    if float(mistakes.false_alarms) == 0.0:
        return f"{in_100(float(mistakes.misses))} misses"
    return both(mistakes)
