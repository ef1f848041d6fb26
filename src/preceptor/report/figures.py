"""The pictures of the report, each one idea: what of a plan each chart shows, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.words import listed
from preceptor.evaluation.value import losses_along, running_counts
from preceptor.model.sets import TestSet
from preceptor.plan import Plan
from preceptor.report.axes import Axis
from preceptor.report.charts import (
    DASHES,
    Bar,
    Dots,
    Line,
    Row,
    bar_chart,
    dot_chart,
    line_chart,
    timeline_chart,
)
from preceptor.report.heat_map import heat_map
from preceptor.report.phases import runs
from preceptor.report.plots import (
    BLACK,
    BLUE,
    GREY,
    MAX_ROWS,
    OKABE_ITO,
    VERMILION,
    repeated_note,
    rounds_shown,
    rows_of,
)
from preceptor.report.scale import scale_of
from preceptor.report.settling import settles_after
from preceptor.report.words import least_loss

if TYPE_CHECKING:
    from preceptor.advice import Alternative, Change

_STYLES = {
    "fixed": (VERMILION, DASHES[1]),
    "predictive": (OKABE_ITO[1], DASHES[3]),
    "random": (OKABE_ITO[4], DASHES[5]),
}
# The first policies of `Regrets`, in its order, and how they are marked.
_POLICIES = (
    ("This plan", BLACK, "circle"),
    ("Most predictive tests", OKABE_ITO[1], "diamond"),
    ("Best fixed set", VERMILION, "square"),
)
# Regrets beyond this, in percent, need a logarithmic axis; it begins at the other number.
_LOG_FROM, _LEAST_ON_LOG = 300.0, 0.1
# Names of a set that are spelled out above the timeline.
_MOST_NAMES = 4


def timeline(plan: Plan) -> str:
    """What is shown when: one row per test, a bar while it is shown."""
    rounds = rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    world = plan.problem.world
    names = {block[0]: name for name, block in zip(world.tests, world.blocks, strict=True)}
    colours = colours_of(schedule)
    rows = [
        Row(names[test], bars_of(test, schedule), colours.get(test, GREY))
        for test in rows_of(plan, schedule, 2 * MAX_ROWS)
    ]
    return timeline_chart(
        "timeline",
        "Which tests are shown in which case",
        rows,
        x_axis=_cases(rounds),
        x_label="case",
        note=_commit_note(plan, rounds),
        shaded_from=(settles_after(plan.policy) or 0) + 0.5 if commits_in_sight(plan) else None,
    )


def commits_in_sight(plan: Plan) -> bool:
    """Whether the timeline has a shaded part: cases after exploration that are still drawn."""
    length = settles_after(plan.policy)
    return length is not None and 0 < length < rounds_shown(plan)


def losses(plan: Plan, rivals: Sequence[Alternative]) -> str:
    """Each case of the plan beside its rivals, and the best achievable."""
    problem, scale = plan.problem, scale_of(plan.problem)
    rounds = min([rounds_shown(plan), *(rival.losses.size for rival in rivals)])
    cases = range(1, rounds + 1)
    own = scale.of(losses_along(problem, plan.policy.schedule(rounds))).tolist()
    # First and wider, so that a rival that does the same can still be seen on top of it.
    lines = [Line("This plan", cases, own, BLACK, width=2.2, is_stepped=True)]
    for title, rival in _distinct(rivals):
        colour, dash = _STYLES[rival.name]
        values = scale.of(rival.losses[:rounds]).tolist()
        lines.append(Line(title, cases, values, colour, dash, width=1.6))
    floor = least_loss(plan)
    if floor is not None:
        level = [float(scale.of(floor))] * 2
        ends = [0.5, rounds + 0.5]
        lines.append(Line("Best achievable", ends, level, GREY, DASHES[2]))
    names = listed([rival.title.lower() for rival in rivals]) if rivals else "nothing"
    return line_chart(
        "losses",
        f"{scale.axis} of each case: this plan beside {names}, and the best achievable",
        lines,
        x_axis=_cases(rounds),
        x_label="case",
        y_label=scale.axis,
    )


def learning(plan: Plan) -> str:
    """The person's weights on their way to the true ones, of the tests that are shown."""
    problem = plan.problem
    rounds = rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    counts = running_counts(problem, schedule)[:-1]
    deviations = np.sqrt(np.diag(problem.world.covariance))
    beliefs = problem.by_showings.beliefs(problem.world, counts) * deviations
    truth = problem.world.coefficients * deviations
    lines = [
        Line(
            problem.world.labels[test],
            range(1, rounds + 1),
            beliefs[:, test].tolist(),
            colour,
            # One further along in each round of colours, so that no two lines look the same.
            DASHES[(position + position // len(OKABE_ITO)) % len(DASHES)],
            is_stepped=True,
            target=float(truth[test]),
        )
        for position, (test, colour) in enumerate(colours_of(schedule).items())
    ]
    unit = f" of {scale_of(problem).unit}" if scale_of(problem).unit else ""
    return line_chart(
        "learning",
        "The person's weight of each shown test, case by case, moving to the true weight",
        lines,
        x_axis=_cases(rounds),
        x_label="case",
        y_label=f"weight: change{unit} for one standard deviation of the test",
    )


def correlations(plan: Plan) -> str:
    """How tests go together; the set that the plan commits to has frames and bold names."""
    world = plan.problem.world
    deviations = np.sqrt(np.diag(world.covariance))
    return heat_map(
        "correlations",
        "Correlations of all pairs of tests; the tests that the plan commits to are framed",
        (world.covariance / np.outer(deviations, deviations)).tolist(),
        world.labels,
        framed=plan.policy.commit or (),
        key="correlation",
    )


def sensitivities(changes: Sequence[Change]) -> str:
    """Saving missed under each changed assumption: found (solid), and the most there can be."""
    bars = []
    for change in changes:
        found, most = 100.0 * change.saving, 100.0 * change.saving_at_most
        words = f"{found:.2g}%" if found >= 0.005 else "0%"
        direction = change.direction[0].upper() + change.direction[1:]
        bars.append(Bar(direction, found, words, most))
    return bar_chart(
        "sensitivities",
        "Loss saved by planning again under each changed assumption",
        bars,
        x_label="expected loss that a plan made for the change saves, %",
        value_name="found by planning again",
        most_name="at most (proven)",
        colour=BLUE,
    )


def people(plan: Plan) -> str:
    """Who would lose how much, by this plan and by its rivals."""
    assert plan.regrets is not None, "only a crowd has people to compare"
    regrets = plan.regrets
    shares = 100.0 * np.maximum(regrets.table[: len(_POLICIES)], 0.0)
    shown = shares[np.isfinite(shares)]
    is_log = bool(shown.max(initial=0.0) > _LOG_FROM)
    if is_log:
        shares = np.maximum(shares, _LEAST_ON_LOG)
        shown = np.append(shown[shown > _LEAST_ON_LOG], _LEAST_ON_LOG)
    axis = Axis.covering([*shown.tolist(), *([] if is_log else [0.0])], is_log=is_log)
    least = f" ({_LEAST_ON_LOG:g} or less at the left edge)" if is_log else ""
    rows = [
        f"{name} ({weight:.0%})"
        for name, weight in zip(regrets.people, regrets.weights, strict=True)
    ]
    worst = regrets.people[int(np.argmax(shares[0]))]
    return dot_chart(
        "people",
        "What each person loses beyond the best plan found for them, by this plan, by the most "
        f"predictive tests and by the best fixed set; by this plan at most {shares[0].max():.1f}%, "
        f"by {worst}",
        rows,
        [
            Dots(title, shares[i].tolist(), colour, shape)
            for i, (title, colour, shape) in enumerate(_POLICIES)
        ],
        x_axis=axis,
        x_label=f"loss beyond the best plan found for that person, %{least}",
    )


def _cases(rounds: int) -> Axis:
    return Axis.counting(0.5, rounds + 0.5)


def colours_of(schedule: Sequence[TestSet]) -> dict[int, str]:
    """A colour for each test that is shown, in their order, so that few tests never share one."""
    shown = sorted({test for tests in schedule for test in tests})
    return {test: OKABE_ITO[i % len(OKABE_ITO)] for i, test in enumerate(shown)}


def bars_of(test: int, schedule: Sequence[TestSet]) -> list[tuple[float, float]]:
    """From where to where a test is shown without a break."""
    bars, at = [], 0.5
    for has, length in runs([(test,) if test in tests else () for tests in schedule]):
        if has:
            bars.append((at, at + length))
        at += length
    return bars


def _commit_note(plan: Plan, rounds: int) -> str:
    """What is shown after exploration, and from when on."""
    commit, length = plan.policy.commit, plan.exploration_length
    if commit is None or length is None:
        return repeated_note(plan) or "never commits to one set"
    names = plan.problem.world.name_of(commit)
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    always = f"always {' + '.join([*names[:_MOST_NAMES], *more]) or 'nothing'}"
    if length == 0:
        return always
    if length >= rounds:
        return f"changes sets until case {length:,}, then {always}"
    return f"from case {length + 1:,}: {always}"


def _distinct(rivals: Sequence[Alternative]) -> list[tuple[str, Alternative]]:
    """Rivals that show the same are drawn once, under both titles."""
    found: list[tuple[str, Alternative]] = []
    for rival in rivals:
        for position, (title, other) in enumerate(found):
            if rival.policy is not None and rival.policy == other.policy:
                found[position] = (f"{title}; also: {rival.title.lower()}", other)
                break
        else:
            found.append((rival.title, rival))
    return found
