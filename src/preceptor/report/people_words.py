"""A plan for a crowd, person by person: who would lose by it, and what is proven about that."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from preceptor._base.words import listed, percent, wrap
from preceptor.evaluation.expectations import people_of
from preceptor.plan.reading import FIXED_SCHEDULES
from preceptor.regrets import Regrets
from preceptor.report.phrases import table
from preceptor.report.scale import per_case, scale_of

if TYPE_CHECKING:
    from preceptor.plan import Plan

# Regrets up to this are not worth finding out who somebody is.
WORTH_KNOWING = 0.03
# Gaps up to this are rounding, or what proofs by numbers leave open.
_ROUNDING = 1e-6
# Gaps beyond this say little about a plan, if the bound is the one that holds for everybody.
_SAYS_LITTLE, _FLOOR = 0.2, "floor of every case"
# Regrets below this are shown as none.
_NOTHING = 5e-4

WHO = "Who would lose by this plan"


class PersonRow(NamedTuple):
    """A person: regrets of three policies, and what a plan of their own costs per case."""

    name: str
    how: str
    weight: str
    plan: str
    predictive: str
    fixed: str
    own: str
    is_worst: bool


def person_rows(plan: Plan) -> list[PersonRow]:
    """One row per person of the crowd; none for a plan for one person."""
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
            share(ours[i]),
            share(predictive[i]),
            share(fixed[i]),
            f"{per_case(plan.problem, float(regrets.best[i])):#.3g}".rstrip("."),
            i == worst,
        )
        for i, name in enumerate(regrets.people)
    ]


def average_row(plan: Plan) -> PersonRow:
    """Regrets averaged by weight, which is what happens to somebody drawn from the crowd."""
    assert plan.regrets is not None, "only a crowd has an average"
    regrets = plan.regrets
    plans, predictive, fixed = (share(mean) for mean in regrets.table[:3] @ regrets.weights)
    return PersonRow("on average", "", "", plans, predictive, fixed, "", False)


def worst_off(regrets: Regrets) -> int | None:
    """Who loses most by the plan; None if nobody loses anything."""
    worst = int(np.argmax(regrets.table[0]))
    return worst if regrets.table[0, worst] > _ROUNDING else None


def share(regret: float) -> str:
    """A regret as people read it: rounded up, so that "at most" holds; next to nothing is 0."""
    if not math.isfinite(regret):
        return "no end"
    return "0.0%" if regret < _NOTHING else percent(regret)


def worth_of_knowing(regrets: Regrets) -> list[str]:
    """What it would be worth to know who the person is, and what to do about it."""
    worst = worst_off(regrets)
    if worst is None:
        return [
            "Not knowing how the person learns costs nothing: as far as search can tell, nobody "
            "would do better with a plan of their own. Take this plan."
        ]
    costs = (
        f"Not knowing how the person learns costs at most {percent(regrets.worst)} "
        f"({regrets.people[worst]}), and {percent(regrets.mean)} on average."
    )
    if regrets.worst <= WORTH_KNOWING:
        return [costs, "Take this plan: finding out who it is would hardly pay."]
    return [
        costs,
        "Finding out may pay: vary what is shown and keep a log of the answers (`preceptor fit` "
        "tells learning from none, and fast from slow), or choose what to show by their answers.",
    ]


def proven(plan: Plan) -> list[str]:
    """What is proven about a plan for a crowd, person by person, and what is found by search."""
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
        said.append(f"Proven: above the best possible plan, this one is {listed(parts)}.")
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
        "The plan, everybody's own plan and so the regrets are found by search, not proven.",
    ]


def who_would_lose(plan: Plan) -> str:
    """A table of people, and what to make of it."""
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
        "this plan, by the most predictive tests, and by the set that suits everybody best if it "
        f"is never changed. Own plan: its {scale.label}{unit}."
    )
    lines = [WHO, *table([head, *cells]), *wrap(legend, "  ", "  "), ""]
    return "\n".join([*lines, *wrap(" ".join(worth_of_knowing(plan.regrets)), "  ", "  ")])
