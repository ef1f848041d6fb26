"""The pictures of the report, each one idea: what of a plan each chart shows, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from preceptor.evaluation.value import losses_along, running_counts
from preceptor.model.sets import TestSet
from preceptor.plan import Plan
from preceptor.report import palette
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
from preceptor.report.colours import colours_of, places_of
from preceptor.report.heard import (
    correlations_heard,
    learning_heard,
    lines_heard,
    some,
    spoken,
    timeline_heard,
)
from preceptor.report.heat_map import heat_map
from preceptor.report.names import isolated
from preceptor.report.phases import runs
from preceptor.report.plots import MAX_ROWS, repeated_note, rounds_shown, rows_of
from preceptor.report.scale import scale_of
from preceptor.report.settling import settles_after
from preceptor.report.words import least_loss

if TYPE_CHECKING:
    from preceptor.advice import Alternative, Change

GREY = palette.GREY.light
_PLAN, _FIXED = palette.PLAN.light, palette.FIXED.light
_PREDICTIVE, _RANDOM = palette.PREDICTIVE.light, palette.RANDOM.light
STYLES = {
    "fixed": (_FIXED, DASHES[1]),
    "predictive": (_PREDICTIVE, DASHES[3]),
    "random": (_RANDOM, DASHES[5]),
    # The same answer for everybody, which needs no tests.
    "yes": (GREY, DASHES[4]),
    "no": (GREY, DASHES[6]),
    "prevalence": (GREY, DASHES[4]),
}
# The first policies of `Regrets`, in its order, and how they are marked.
_POLICIES = (
    ("This plan", _PLAN, "circle"),
    ("Most predictive tests", _PREDICTIVE, "diamond"),
    ("Best fixed set", _FIXED, "square"),
)
# Regrets beyond this, in percent, need a logarithmic axis; it begins at the other number.
_LOG_FROM, _LEAST_ON_LOG = 300.0, 0.1
# Names of a set that are spelled out above the timeline.
_MOST_NAMES = 4
# Rows of the timeline, lines of the learning, columns of the correlations: beyond these a picture
# has only what matters most.
_MOST_ROWS, _MOST_LINES, MOST_CORRELATED = 2 * MAX_ROWS, len(palette.TESTS), 20


def timeline(plan: Plan) -> str:
    """What is shown when: one row per test, a bar while it is shown."""
    rounds = rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    note = _commit_note(plan, rounds)
    return timeline_chart(
        "timeline",
        timeline_heard(plan, schedule, note),
        _rows(plan, schedule),
        x_axis=cases_axis(rounds),
        x_label="case",
        note=note,
        shaded_from=(settles_after(plan.policy) or 0) + 0.5 if commits_in_sight(plan) else None,
    )


def _rows(plan: Plan, schedule: list[TestSet]) -> list[Row]:
    """A row per test; of very many, those that are shown most, and one for all the others."""
    world = plan.problem.world
    names = {block[0]: name for name, block in zip(world.tests, world.blocks, strict=True)}
    colours = colours_of(world, schedule)
    tests = rows_of(plan, schedule, _MOST_ROWS)
    often = {test: sum(test in shown for shown in schedule) for test in tests}
    most = sorted(tests, key=lambda test: -often[test])
    kept = set(most if len(tests) <= _MOST_ROWS else most[: _MOST_ROWS - 1])
    rows = [
        Row(names[test], bars_of(test, schedule), colours.get(test, GREY))
        for test in tests
        if test in kept
    ]
    others = set(tests) - kept
    if others:
        any_of_them = [(-1,) if others & set(shown) else () for shown in schedule]
        rows.append(Row(f"{len(others)} more tests", bars_of(-1, any_of_them), GREY))
    return rows


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
    lines = [Line("This plan", cases, own, _PLAN, width=2.2, is_stepped=True)]
    for title, rival in distinct(rivals):
        colour, dash = STYLES[rival.name]
        values = scale.of(rival.losses[:rounds]).tolist()
        lines.append(Line(title, cases, values, colour, dash, width=1.6))
    floor = least_loss(plan)
    if floor is not None:
        level = [float(scale.of(floor))] * 2
        ends = [0.5, rounds + 0.5]
        lines.append(Line("Best achievable", ends, level, GREY, DASHES[2]))
    said = [(line.name[0].lower() + line.name[1:], line.y) for line in lines]
    return line_chart(
        "losses",
        lines_heard(f"{scale.axis[0].upper()}{scale.axis[1:]} of each case", said, rounds),
        lines,
        x_axis=cases_axis(rounds),
        x_label="case",
        y_label=scale.axis,
    )


def learned(plan: Plan) -> tuple[list[int], int]:
    """Columns whose weights are drawn, those that weigh most, and how many are shown in all."""
    schedule = plan.policy.schedule(rounds_shown(plan))
    places = places_of(plan.problem.world, schedule)
    kept = sorted(sorted(places, key=lambda test: places[test])[:_MOST_LINES])
    return kept, len(places)


def learning(plan: Plan) -> str:
    """The person's weights on their way to the true ones, of the tests that are shown."""
    problem = plan.problem
    rounds = rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    counts = running_counts(problem, schedule)[:-1]
    deviations = np.sqrt(np.diag(problem.world.covariance))
    beliefs = problem.by_showings.beliefs(problem.world, counts) * deviations
    truth = problem.world.coefficients * deviations
    colours = colours_of(problem.world, schedule)
    kept, _ = learned(plan)
    lines = [
        Line(
            problem.world.labels[test],
            range(1, rounds + 1),
            beliefs[:, test].tolist(),
            colours[test],
            # Columns of one test share its colour; no two lines share their dashes.
            DASHES[position % len(DASHES)],
            is_stepped=True,
            target=float(truth[test]),
        )
        for position, test in enumerate(kept)
    ]
    unit = f" of {spoken(scale_of(problem).unit)}" if scale_of(problem).unit else ""
    if problem.is_binary:
        unit = " of the score"
    return line_chart(
        "learning",
        learning_heard(plan, schedule, kept),
        lines,
        x_axis=cases_axis(rounds),
        x_label="case",
        y_label=f"weight: change{unit} for one standard deviation of the test",
    )


def correlated(plan: Plan) -> list[int]:
    """Columns whose correlations are drawn: all, or of many those that matter most.

    These are the set that the plan commits to, what it shows besides, and whatever goes with the
    first most closely.
    """
    world = plan.problem.world
    if world.size <= MOST_CORRELATED:
        return list(range(world.size))
    committed = list(plan.policy.commit or ())
    shown = {test for tests in plan.policy.schedule(rounds_shown(plan)) for test in tests}
    others = [test for test in range(world.size) if test not in committed]
    strength = np.abs(_correlation(plan))[:, committed or list(range(world.size))].max(axis=1)
    others.sort(key=lambda test: (test not in shown, -strength[test]))
    return sorted([*committed, *others][:MOST_CORRELATED])


def correlations(plan: Plan) -> str:
    """How tests go together; the set that the plan commits to has frames and bold names."""
    world, kept = plan.problem.world, correlated(plan)
    values = _correlation(plan)[np.ix_(kept, kept)].tolist()
    labels = [world.labels[test] for test in kept]
    framed = [i for i, test in enumerate(kept) if test in (plan.policy.commit or ())]
    return heat_map(
        "correlations",
        correlations_heard(values, labels, framed),
        values,
        labels,
        framed=framed,
        key="correlation",
    )


def _correlation(plan: Plan) -> np.ndarray:
    covariance = plan.problem.world.covariance
    deviations = np.sqrt(np.diag(covariance))
    found: np.ndarray = covariance / np.outer(deviations, deviations)
    return found


def sensitivities(changes: Sequence[Change]) -> str:
    """Saving missed under each changed assumption: found (solid), and the most there can be."""
    bars = []
    for change in changes:
        found, most = 100.0 * change.saving, 100.0 * change.saving_at_most
        words = f"{found:.2g}%" if found >= 0.005 else "0%"
        direction = change.direction[0].upper() + change.direction[1:]
        bars.append(Bar(direction, found, words, most))
    said = [
        f"if {change.direction}, {bar.words}" for change, bar in zip(changes, bars, strict=True)
    ]
    return bar_chart(
        "sensitivities",
        f"Expected loss that a plan made for a changed assumption saves: {some(said, 'change')}.",
        bars,
        x_label="expected loss that a plan made for the change saves, %",
        value_name="found by planning again",
        most_name="at most (proven)",
        colour=palette.ACCENT.light,
    )


def people(plan: Plan) -> str:
    """Who would lose how much, by this plan and by its rivals."""
    assert plan.regrets is not None, "only a crowd has people to compare"
    regrets = plan.regrets
    shares = 100.0 * np.maximum(regrets.table[: len(_POLICIES)], 0.0)
    shown = shares[np.isfinite(shares)]
    is_log = bool(shown.max(initial=0.0) > _LOG_FROM)
    told = sorted(zip(shares[0], regrets.people, strict=True), key=lambda pair: -pair[0])
    own = [f"{share:.1f}% for {spoken(name)}" for share, name in told]
    worst = [
        f"{values.max():.3g}% by the {title.lower()}"
        for (title, _, _), values in zip(_POLICIES[1:], shares[1:], strict=True)
    ]
    if is_log:
        shares = np.maximum(shares, _LEAST_ON_LOG)
        shown = np.append(shown[shown > _LEAST_ON_LOG], _LEAST_ON_LOG)
    axis = Axis.covering([*shown.tolist(), *([] if is_log else [0.0])], is_log=is_log)
    least = f" ({_LEAST_ON_LOG:g} or less at the left edge)" if is_log else ""
    rows = [
        f"{isolated(name)} ({weight:.0%})"
        for name, weight in zip(regrets.people, regrets.weights, strict=True)
    ]
    return dot_chart(
        "people",
        "What each person loses beyond the best plan found for them, by this plan: "
        f"{some(own, 'person')}. At worst it would be {' and '.join(worst)}.",
        rows,
        [
            Dots(title, shares[i].tolist(), colour, shape)
            for i, (title, colour, shape) in enumerate(_POLICIES)
        ],
        x_axis=axis,
        x_label=f"loss beyond the best plan found for that person, %{least}",
    )


def cases_axis(rounds: int) -> Axis:
    """Cases from the first on."""
    return Axis.counting(0.5, rounds + 0.5)


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
    horizon = plan.problem.horizon
    if horizon is not None and (length is None or length >= horizon):
        # Whatever a policy would do later, nobody will see it.
        return f"changes sets until the last case, {horizon:,}"
    if commit is None or length is None:
        return repeated_note(plan) or "never commits to one set"
    names = [spoken(name) for name in plan.problem.world.name_of(commit)]
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    always = f"always {' + '.join([*names[:_MOST_NAMES], *more]) or 'nothing'}"
    if length == 0:
        return always
    if length >= rounds:
        return f"changes sets until case {length:,}, then {always}"
    return f"from case {length + 1:,}: {always}"


def distinct(rivals: Sequence[Alternative]) -> list[tuple[str, Alternative]]:
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
