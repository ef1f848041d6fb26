"""Mistakes, and people whose own plan would be better, in words.

Mistakes are misses and false alarms per 100 cases, sensitivity and specificity. A plan for a crowd
is described person by person: who loses by it, and what is proven about that.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from preceptor._base.checks import parse_yes_no
from preceptor._base.values import remembered
from preceptor._base.words import listed, percent, wrap
from preceptor.model.evaluation import people_of
from preceptor.model.mistakes import Mistakes, best_mistakes, decides, mistakes_along, mistakes_of
from preceptor.model.plan import FIXED_SCHEDULES, Plan, Regrets
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Decision
from preceptor.report.phrases import joined, per_case, scale_of, table

# The largest number of sets that is enumerated.
MAX_LISTED = 200_000


def mistakes_by(plan: Plan) -> Mistakes:
    """Mistakes of the plan, averaged over all cases; cached."""
    return remembered(plan, "mistakes", lambda: mistakes_of(plan.problem, plan.policy))


def mistakes_in_first(plan: Plan, rounds: int) -> Mistakes:
    """Mistakes in each of the plan's first cases; cached for each number of cases."""
    return remembered(
        plan,
        f"mistakes in {rounds}",
        lambda: mistakes_along(plan.problem, plan.policy.schedule(rounds)),
    )


def best_set(problem: Problem) -> TestSet | None:
    """The set with the least loss of its best reader; None if there are too many sets."""
    if problem.budget.count(problem.size) > MAX_LISTED:
        return None
    return problem.sets[int(np.argmin(problem.oracle.floors()))]


def best_by(plan: Plan) -> tuple[TestSet, Mistakes] | None:
    """The best set and the mistakes of its best reader, where answers are decisions."""
    if not decides(plan.problem):
        return None
    shown = best_set(plan.problem)
    return None if shown is None else (shown, best_mistakes(plan.problem, shown))


def yes_of(world: World) -> str:
    """Name of a positive outcome: "yes", or "yes (malignant)" where the table has a name for it.

    >>> import preceptor as pr
    >>> yes_of(pr.World([1.0], [[1.0]], outcome=pr.Binary(0.2)))
    'yes'
    """
    levels = None if world.units is None else world.units.outcome_levels
    word = "yes" if levels is None else levels[1]
    return "yes" if parse_yes_no(word) else f"yes ({word})"


def in_100(share: float) -> str:
    """A share as a number of 100 cases.

    >>> in_100(0.0812), in_100(0.00123), in_100(0.0)
    ('8.1', '0.12', '0.0')
    """
    number = 100.0 * share
    return f"{number:.2g}" if 0.0 < number < 0.95 else f"{number:.1f}"


def both(mistakes: Mistakes) -> tuple[str, str]:
    """Misses and false alarms per 100 cases."""
    return in_100(float(mistakes.misses)), in_100(float(mistakes.false_alarms))


def named(mistakes: Mistakes) -> str:
    """E.g. "8.1 misses and 6.2 false alarms"."""
    misses, alarms = both(mistakes)
    return f"{misses} misses and {alarms} false alarms"


def rates(mistakes: Mistakes) -> str:
    """E.g. "sensitivity 78%, specificity 90%"."""
    found, left = float(mistakes.sensitivity), float(mistakes.specificity)
    return f"sensitivity {found:.0%}, specificity {left:.0%}"


def costs(risk: Decision) -> str:
    """E.g. "a miss costs 5, a false alarm 1"."""
    return f"a miss costs {risk.miss:g}, a false alarm {risk.false_alarm:g}"


def has_costs(problem: Problem) -> bool:
    """Whether mistakes have costs other than 1."""
    risk = problem.risk
    return isinstance(risk, Decision) and not risk.miss == risk.false_alarm == 1.0


def still_wrong(plan: Plan) -> str:
    """The least possible mistakes, in a sentence; empty if not known."""
    best = best_by(plan)
    if best is None:
        return ""
    shown, mistakes = best
    reader = (
        f"The best reader of {joined(plan, shown)}" if shown else "The best guess without tests"
    )
    return f"{reader} would still make {named(mistakes)} per 100 cases."


def along_in_words(plan: Plan, marks: list[int]) -> list[tuple[str, str]]:
    """Rows of a table: misses, false alarms and rates in some cases (from 1)."""
    along = mistakes_in_first(plan, marks[-1])
    found = [(case, along.at(case - 1)) for case in marks]
    return [(f"case {case:,}", f"{named(m)} per 100; {rates(m)}") for case, m in found]


def against(plan: Plan, others: list[tuple[str, Mistakes]]) -> str:
    """E.g. "4.1 misses and 3.0 false alarms with this plan; 4.9 and 3.6 with ..."."""
    parts = [f"{named(mistakes_by(plan))} with this plan"]
    parts += [f"{_briefly(mistakes)} {words}" for words, mistakes in others]
    return "; ".join(parts)


def _briefly(mistakes: Mistakes) -> str:
    """Both numbers; or the only one that is not 0, by name."""
    misses, alarms = both(mistakes)
    if float(mistakes.misses) == 0.0:
        return f"{alarms} false alarms"
    return f"{misses} misses" if float(mistakes.false_alarms) == 0.0 else f"{misses} and {alarms}"


# Regrets up to this do not justify finding out how the person learns.
WORTH_KNOWING = 0.03
# Gaps up to this are rounding, or the tolerance of numerical proofs.
_ROUNDING = 1e-6
# Gaps beyond this say little about a plan, if the bound is the floor of every case.
_SAYS_LITTLE, _FLOOR = 0.2, "floor of every case"
# Regrets below this are shown as none.
_NOTHING = 5e-4

WHO = "Who would lose by this plan"


class PersonRow(NamedTuple):
    """A person: regrets of three policies, and the cost per case of their own plan."""

    name: str
    how: str
    weight: str
    plan: str
    predictive: str
    fixed: str
    own: str
    is_worst: bool


def person_rows(plan: Plan) -> list[PersonRow]:
    """One row per person of a crowd; none for a plan for one person."""
    regrets = plan.regrets
    if regrets is None:
        return []
    ours, predictive, fixed = regrets.table[:3]
    people = people_of(plan.problem)
    worst = worst_off(regrets)
    return [
        PersonRow(
            name,
            people[name].learning_in_words(),
            f"{regrets.weights[i]:.0%}",
            regret_in_words(ours[i]),
            regret_in_words(predictive[i]),
            regret_in_words(fixed[i]),
            f"{per_case(plan.problem, float(regrets.best[i])):#.3g}".rstrip("."),
            i == worst,
        )
        for i, name in enumerate(regrets.people)
    ]


def average_row(plan: Plan) -> PersonRow:
    """Regrets averaged by weight: the expectation for a person drawn from the crowd."""
    assert plan.regrets is not None, "only a crowd has an average"
    regrets = plan.regrets
    plans, predictive, fixed = (
        regret_in_words(mean) for mean in regrets.table[:3] @ regrets.weights
    )
    return PersonRow("on average", "", "", plans, predictive, fixed, "", False)


def worst_off(regrets: Regrets) -> int | None:
    """Index of the person with the largest regret; None if there is no regret."""
    worst = int(np.argmax(regrets.table[0]))
    return worst if regrets.table[0, worst] > _ROUNDING else None


def regret_in_words(regret: float) -> str:
    """Format a regret: rounded up, so that "at most" holds; negligible regrets are 0."""
    if not math.isfinite(regret):
        return "unbounded"
    return "0.0%" if regret < _NOTHING else percent(regret)


def worth_of_knowing(regrets: Regrets) -> list[str]:
    """What it would be worth to know how the person learns, and what to do about it."""
    worst = worst_off(regrets)
    if worst is None:
        return [
            "Not knowing how the person learns costs nothing: as far as search can tell, no kind "
            "of person would do better with their own plan. Take this plan."
        ]
    costs = (
        f"Not knowing how the person learns costs at most {percent(regrets.worst)} "
        f"({regrets.people[worst]}), and {percent(regrets.mean)} on average."
    )
    if regrets.worst <= WORTH_KNOWING:
        return [costs, "Take this plan: finding out how they learn would hardly pay."]
    return [
        costs,
        "Finding out may pay: vary what is shown and keep a log of the answers (`preceptor fit` "
        "tells learning from none, and fast from slow), or let their answers decide what to show.",
    ]


def proven(plan: Plan) -> list[str]:
    """What is proven about a plan for a crowd, person by person, and what search found."""
    regrets = plan.regrets
    assert regrets is not None, "only a crowd has people to compare"
    with np.errstate(divide="ignore"):  # a bound of 0 says nothing
        gaps = regrets.costs[0] / regrets.bounds - 1.0
    parts, little, fixed, nothing = [], [], [], []
    for i in np.argsort(gaps, kind="stable"):
        name, kind, gap = f'"{regrets.people[i]}"', regrets.bound_kinds[i], float(gaps[i])
        if not math.isfinite(gap):
            nothing.append(name)
            continue
        if kind == _FLOOR and gap > _SAYS_LITTLE:
            little.append(f"{name} ({percent(gap)})")
            continue
        above = "0%" if gap <= _ROUNDING else f"at most {percent(gap)}"
        parts.append(f"{above} for {name}")
        fixed += [name] if kind.endswith(FIXED_SCHEDULES) else []
    said = []
    if parts:
        said.append(f"Proven excess over the best possible plan: {listed(parts)}.")
    if fixed:
        said.append(f"For {listed(fixed)} that compares it with {FIXED_SCHEDULES} only.")
    if little:
        said.append(
            f"For {listed(little)} the only bound is what a person who knows every weight would "
            "cost, which says little."
        )
    if nothing:
        said.append(f"For {listed(nothing)} nothing is proven.")
    return [
        *said,
        "The plan, each person's own plan and so the regrets are found by search, not proven.",
    ]


def who_would_lose(plan: Plan) -> str:
    """A table of people, and the conclusion."""
    assert plan.regrets is not None
    rows, scale = person_rows(plan), scale_of(plan.problem)
    head = ("person", "weight", "this plan", "predictive", "fixed set", "own plan")
    cells = [
        (r.name, r.weight, r.plan + ("*" if r.is_worst else " "), r.predictive, r.fixed, r.own)
        for r in rows
    ]
    mean = average_row(plan)
    cells.append((mean.name, "", mean.plan + " ", mean.predictive, mean.fixed, ""))
    unit = f", in {scale.unit}" if scale.unit else ""
    legend = (
        "Loss beyond the best plan found for that person, as a share of it (* the largest): by "
        "this plan, by the most predictive tests, and by the best single set for all people. "
        f"Own plan: its {scale.label}{unit}."
    )
    lines = [WHO, *table([head, *cells]), *wrap(legend, "  ", "  "), ""]
    return "\n".join([*lines, *wrap(" ".join(worth_of_knowing(plan.regrets)), "  ", "  ")])
