"""Building blocks of text: lists of tests, counts of cases, tables, losses as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from preceptor._base.numerics import total_weight
from preceptor._base.values import FloatArray
from preceptor._base.words import NO_BREAK_SPACE, WIDTH, aligned, counted, listed, wrap
from preceptor.model.problem import Problem
from preceptor.model.risks import SquaredError
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import Decision

if TYPE_CHECKING:
    from preceptor.model.plan import Plan

Row = tuple[str, str]  # of a table: label and text


def section(title: str, body: Sequence[str | Row]) -> str:
    """Wrapped paragraphs and table rows under a title."""
    indent = "  " if title else ""
    lines = [title] if title else []
    width = max((len(part[0]) for part in body if isinstance(part, tuple)), default=0)
    for part in body:
        if isinstance(part, tuple):
            label, text = part
            lines += wrap(text, f"    {label:<{width}}  ", " " * (width + 6))
        else:
            lines += wrap(part, indent, indent)
    return "\n".join(lines)


def joined(plan: Plan, shown: TestSet) -> str:
    """For sentences: "bmi and bp"."""
    return listed(plan.problem.world.name_of(shown)) if shown else "nothing"


def plus(plan: Plan, shown: TestSet) -> str:
    """For lists of sets: "bmi + bp"; short ones are kept on one line."""
    text = " + ".join(plan.problem.world.name_of(shown)) if shown else "nothing"
    return text.replace(" ", NO_BREAK_SPACE) if len(text) <= WIDTH // 2 else text


def cases(number: int) -> str:
    """E.g. "1 case" and "2 cases"."""
    return counted(number, "case")


def table(rows: list[tuple[str, ...]]) -> list[str]:
    """Align columns, the first to the left, numbers to the right; a rule under the head."""
    head, *lines = aligned(rows)
    rule = "-" * max(map(len, (head, *lines)))
    return ["  " + line for line in (head, rule, *lines)]


# Gaps up to this are rounding; savings below this share are shown as none.
ROUNDING, NOTHING_SAVED = 1e-9, 5e-5


@dataclass(frozen=True)
class LossScale:
    """What losses are converted to.

    Attributes
    ----------
    label
        Name of the measure.
    unit
        The outcome, or empty.
    is_squared
        Whether the root is taken.
    per
        Number of cases it refers to.
    what
        What a relative saving is a share of.
    """

    label: str
    unit: str = ""
    is_squared: bool = False
    per: int = 1
    what: str = "loss"

    def of(self, losses: npt.ArrayLike) -> FloatArray:
        """Convert losses of single rounds to this scale."""
        array = self.per * np.asarray(losses, dtype=np.float64)
        return np.sqrt(array) if self.is_squared else array

    @property
    def axis(self) -> str:
        """Label of an axis or a table column."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


def scale_of(problem: Problem) -> LossScale:
    """Root-mean-square error, wrong decisions per 100 cases, or what else the risk suggests.

    Prices are in units of the loss, so losses that include them are not converted to errors.
    """
    risk, world = problem.risk, problem.world
    priced = ", prices included" if np.any(problem.budget.prices(problem.size)) else ""
    if isinstance(risk, Decision):
        if not priced and risk.miss == risk.false_alarm == 1.0:
            wrong = "wrong decisions"
            return LossScale(f"{wrong} per 100 cases", per=100, what=wrong)
        return LossScale(f"cost per 100 cases{priced}", per=100, what="cost")
    if priced or not risk.error_name:
        return LossScale(f"expected loss{priced}")
    if problem.is_binary:
        return LossScale(risk.error_name, what=risk.error_name)
    unit = world.units.outcome if world.units is not None else ""
    return LossScale(risk.error_name, unit, is_squared=isinstance(risk, SquaredError))


def per_case(problem: Problem, value: float) -> float:
    """Convert a discounted total to the average per case, on the problem's scale.

    >>> import preceptor as pr
    >>> world = pr.World([2.0], [[1.0]], noise_variance=0.0)
    >>> problem = pr.Problem(world, pr.Learner([0.0], pr.Geometric(1.0)), discount=0.5)
    >>> per_case(problem, 8.0)   # 4 in each of the two rounds that count: off by 2
    2.0
    """
    weight = total_weight(problem.discount, problem.horizon)
    return float(scale_of(problem).of(max(value, 0.0) / weight))
