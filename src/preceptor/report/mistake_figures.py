"""Pictures of a diagnosis: misses and false alarms case by case, the two rates, and ROC curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.evaluation.mistakes import Mistakes, best_reader, decides, readers_after
from preceptor.model.score_pairs import FAR, ScorePair
from preceptor.model.sets import TestSet
from preceptor.model.yes_no_risks import Decision, YesNoRisk
from preceptor.plan import Plan
from preceptor.report import palette
from preceptor.report.axes import Axis
from preceptor.report.charts import DASHES, Line, Mark, line_chart
from preceptor.report.figures import GREY, STYLES, cases_axis, distinct
from preceptor.report.heard import lines_heard, roc_heard
from preceptor.report.mistake_words import best_by, mistakes_in_first
from preceptor.report.phrases import joined
from preceptor.report.showing import rounds_shown

if TYPE_CHECKING:
    from preceptor.advice import Alternative

_PLAN, _ACCENT = palette.PLAN.light, palette.ACCENT.light
# Limits at which a curve is looked at, for each person.
_LIMITS = 321
# Scores that vary less than this never move.
_STILL = 1e-18
_TALL = 300.0

_Part = Callable[[Mistakes], FloatArray]


def misses(plan: Plan, rivals: Sequence[Alternative]) -> str:
    """Misses per 100 cases, case by case, of the plan and its rivals."""
    return _per_100(plan, rivals, "misses", lambda mistakes: mistakes.misses)


def false_alarms(plan: Plan, rivals: Sequence[Alternative]) -> str:
    """False alarms per 100 cases, case by case, of the plan and its rivals."""
    return _per_100(plan, rivals, "false alarms", lambda mistakes: mistakes.false_alarms)


def _per_100(plan: Plan, rivals: Sequence[Alternative], what: str, of: _Part) -> str:
    known = [(title, r, r.mistakes_along) for title, r in distinct(rivals)]
    told = [(title, r, along) for title, r, along in known if along is not None]
    rounds = min([rounds_shown(plan), *(along.misses.size for _, _, along in told)])
    cases = range(1, rounds + 1)

    def values(along: Mistakes) -> list[float]:
        return [100.0 * float(share) for share in of(along)[:rounds]]

    own = values(mistakes_in_first(plan, rounds_shown(plan)))
    lines = [Line("This plan", cases, own, _PLAN, width=2.2, is_stepped=True)]
    for title, rival, along in told:
        # The same answer for everybody is mostly far above all others, and stands in the table.
        if rival.needs_tests:
            colour, dash = STYLES[rival.name]
            lines.append(Line(title, cases, values(along), colour, dash, width=1.6))
    best = best_by(plan)
    if best is not None:
        level = [100.0 * float(of(best[1]))] * 2
        name = f"Best reader of {joined(plan, best[0])}"
        lines.append(Line(name, [0.5, rounds + 0.5], level, GREY, DASHES[2]))
    said = [(line.name[0].lower() + line.name[1:], line.y) for line in lines]
    return line_chart(
        what.replace(" ", "-"),
        lines_heard(f"{what.capitalize()} per 100 cases", said, rounds),
        lines,
        x_axis=cases_axis(rounds),
        x_label="case",
        y_label=f"{what} per 100 cases",
    )


@dataclass(frozen=True, eq=False)
class Curve:
    """A receiver operating curve: both rates from 0 to 1, the area, and where decisions lie."""

    false_alarm_rate: FloatArray
    sensitivity: FloatArray
    area: float
    at: tuple[float, float] | None


def curve_of(risk: YesNoRisk, prevalence: float, readers: list[tuple[float, ScorePair]]) -> Curve:
    """The curve of readers who say yes above the same probability, whichever that is."""
    total = sum(share for share, _ in readers)
    q = np.linspace(FAR, -FAR, _LIMITS)
    moving = [pair for _, pair in readers if float(pair.own[0]) > _STILL]
    limits = [float(np.ravel(pair.believed)[0]) + pair.deviation[0] * q for pair in moving]
    above = np.sort(np.concatenate([np.array([np.inf, -np.inf]), *limits]))[::-1]
    missed, alarmed, at = np.zeros(above.size), np.zeros(above.size), np.zeros(2)
    for share, pair in readers:
        ends = np.where(np.isinf(above), np.copysign(1e9, above), above)
        found = pair.mistakes(ends)
        missed += share / total * found[0]
        alarmed += share / total * found[1]
        if isinstance(risk, Decision):
            at += share / total * np.array([float(each[0]) for each in risk.mistakes(pair)])
    rate = np.clip(alarmed / (1.0 - prevalence), 0.0, 1.0)
    found_share = np.clip(1.0 - missed / prevalence, 0.0, 1.0)
    area = float(np.trapezoid(found_share, rate))
    if len(readers) == 1:
        area = float(readers[0][1].area()[0])
    place = (float(at[1]) / (1.0 - prevalence), 1.0 - float(at[0]) / prevalence)
    return Curve(rate, found_share, area, place if isinstance(risk, Decision) else None)


def curves(plan: Plan) -> tuple[TestSet, dict[str, Curve]]:
    """What is shown in the last case that is drawn, and how its readers tell yes from no."""
    problem, rounds = plan.problem, rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    *before, shown = schedule
    risk, outcome = problem.risk, problem.world.outcome
    assert isinstance(risk, YesNoRisk)
    assert outcome is not None
    found = {}
    for name, readers in (
        (f"This plan, in case {rounds:,}", readers_after(problem, before, shown)),
        ("At first, with the same tests", readers_after(problem, [], shown)),
    ):
        if readers:
            found[name] = curve_of(risk, outcome.prevalence, readers)
    best = best_reader(problem, shown)
    name = f"Best reader of {joined(plan, shown)}"
    found[name] = curve_of(_as_best(risk, best), outcome.prevalence, [(1.0, best)])
    return shown, found


def _as_best(risk: YesNoRisk, best: ScorePair) -> YesNoRisk:
    """The best reader decides by what mistakes cost, and knows how much is hidden."""
    if not isinstance(risk, Decision):
        return risk
    limit = float(best.score_at(risk.right_threshold)[0])
    chance = float(best.link.probability(np.asarray(limit)))
    return Decision(risk.miss, risk.false_alarm, min(max(chance, 1e-12), 1.0 - 1e-12))


def roc(plan: Plan) -> str:
    """Receiver operating curves: the plan's reader at the end and at first, and the best one."""
    _, found = curves(plan)
    of_person = [(_PLAN, "", 2.2, "circle"), (palette.FIXED.light, DASHES[1], 1.6, "square")]
    looks = [*of_person[: len(found) - 1], (_ACCENT, DASHES[3], 1.6, "diamond")]
    lines, marks = [], []
    for (name, curve), (colour, dash, width, shape) in zip(found.items(), looks, strict=True):
        x, y = 100.0 * curve.false_alarm_rate, 100.0 * curve.sensitivity
        title = f"{name}: area {curve.area:.3f}"
        lines.append(Line(title, x.tolist(), y.tolist(), colour, dash, width))
        if curve.at is not None:
            marks.append(Mark(100.0 * curve.at[0], 100.0 * curve.at[1], colour, shape))
    told = [(name, curve.area, curve.at) for name, curve in found.items()]
    note = "; marks are where decisions lie" if decides(plan.problem) else ""
    return line_chart(
        "roc",
        roc_heard(told),
        [*lines, Line("No better than chance", [0, 100], [0, 100], GREY, DASHES[2], 1.2)],
        x_axis=Axis.covering([0.0, 100.0]),
        x_label="false alarms, % of no-cases (100 - specificity)",
        y_label=f"sensitivity, % of yes-cases found{note}",
        marks=marks,
        height=_TALL,
    )
