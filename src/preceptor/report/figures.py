"""The pictures of the report, each one idea: what of a plan each chart shows, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor._base.words import counted, sentence
from preceptor.evaluation.mistakes import Mistakes
from preceptor.evaluation.value import losses_along, running_counts
from preceptor.model.matrices import correlations_of
from preceptor.model.sets import TestSet
from preceptor.plan import Plan
from preceptor.report import palette
from preceptor.report.axes import Axis
from preceptor.report.charts import (
    DASHES,
    Dots,
    Line,
    Row,
    line_chart,
    row_chart,
    timeline_chart,
)
from preceptor.report.heard import (
    correlations_heard,
    learning_heard,
    lines_heard,
    often_heard,
    some,
)
from preceptor.report.mistake_words import best_by, mistakes_in_first
from preceptor.report.phrases import joined
from preceptor.report.scale import scale_of
from preceptor.report.showing import (
    MOST_ROWS,
    bars_of,
    colours_of,
    commit_note,
    commits_in_sight,
    places_of,
    rounds_shown,
    rows_of,
    settles_after,
)
from preceptor.report.svg import shortened
from preceptor.report.words import least_loss

if TYPE_CHECKING:
    from preceptor.advice import Alternative, Change

GREY = palette.GREY.light
_PLAN, _FIXED = palette.PLAN.light, palette.FIXED.light
_PREDICTIVE, _RANDOM = palette.PREDICTIVE.light, palette.RANDOM.light
_STYLES = {
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
# Regrets beyond this, in percent, lie at the edge of the picture.
_MOST_REGRET = 300.0
# Of cells with correlations: blue, nearly white, vermilion, told apart by everybody; and inks.
_LEAST, _MIDDLE, _MOST = (0, 100, 165), (247, 247, 247), (190, 74, 0)
_INKS = ("#000000", "#fefefe")


def timeline(plan: Plan) -> str:
    """What is shown when: one row per test, a bar while it is shown."""
    rounds = rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    note = commit_note(plan)
    return timeline_chart(
        "timeline",
        f"What is shown in the first {counted(rounds, 'case')}: "
        f"{often_heard(plan.problem.world, schedule)}; {note}.",
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
    tests = rows_of(plan, schedule, MOST_ROWS)
    often = {test: sum(test in shown for shown in schedule) for test in tests}
    most = sorted(tests, key=lambda test: -often[test])
    kept = set(most if len(tests) <= MOST_ROWS else most[: MOST_ROWS - 1])
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


def losses(plan: Plan, rivals: Sequence[Alternative]) -> str:
    """Each case of the plan beside its rivals, and the best achievable."""
    scale = scale_of(plan.problem)
    own = losses_along(plan.problem, plan.policy.schedule(rounds_shown(plan)))
    floor = least_loss(plan)
    return _case_by_case(
        "losses",
        scale.axis,
        scale.of(own),
        [(title, rival, scale.of(rival.losses)) for title, rival in _distinct(rivals)],
        None if floor is None else ("Best achievable", float(scale.of(floor))),
    )


def mistakes(plan: Plan, rivals: Sequence[Alternative], what: str) -> str:
    """Misses or false alarms per 100 cases, case by case; `what` says which."""

    def per_100(found: Mistakes) -> FloatArray:
        return 100.0 * (found.misses if what == "misses" else found.false_alarms)

    best = best_by(plan)
    return _case_by_case(
        what.replace(" ", "-"),
        f"{what} per 100 cases",
        per_100(mistakes_in_first(plan, rounds_shown(plan))),
        [
            (title, rival, per_100(rival.mistakes_along))
            for title, rival in _distinct(rivals)
            # The same answer for everybody is mostly far above all others, and is in the table.
            if rival.mistakes_along is not None and rival.needs_tests
        ],
        best and (f"Best reader of {joined(plan, best[0])}", float(per_100(best[1]))),
    )


def _case_by_case(
    name: str,
    what: str,
    own: FloatArray,
    rivals: list[tuple[str, Alternative, FloatArray]],
    floor: tuple[str, float] | None,
) -> str:
    """The plan's own numbers beside those of its rivals, and what nobody can go below."""
    rounds = min([own.size, *(values.size for _, _, values in rivals)])
    cases = range(1, rounds + 1)
    # First and wider, so that a rival that does the same can still be seen on top of it.
    lines = [Line("This plan", cases, own[:rounds].tolist(), _PLAN, width=2.2, is_stepped=True)]
    for title, rival, values in rivals:
        colour, dash = _STYLES[rival.name]
        lines.append(Line(title, cases, values[:rounds].tolist(), colour, dash, width=1.6))
    if floor is not None:
        lines.append(Line(floor[0], [0.5, rounds + 0.5], [floor[1]] * 2, GREY, DASHES[2]))
    said = [(line.name[0].lower() + line.name[1:], line.y) for line in lines]
    return line_chart(
        name,
        lines_heard(f"{what[0].upper()}{what[1:]} of each case", said, rounds),
        lines,
        x_axis=cases_axis(rounds),
        x_label="case",
        y_label=what,
    )


def learned(plan: Plan) -> tuple[list[int], int]:
    """Columns whose weights are drawn, those that weigh most, and how many are shown in all."""
    schedule = plan.policy.schedule(rounds_shown(plan))
    places = places_of(plan.problem.world, schedule)
    kept = sorted(sorted(places, key=lambda test: places[test])[: len(palette.TESTS)])
    return kept, len(places)


def learning(plan: Plan) -> str:
    """The person's weights on their way to the true ones, of the tests that are shown."""
    problem = plan.problem
    rounds = rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    counts = running_counts(problem, schedule)
    deviations = np.sqrt(np.diag(problem.world.covariance))
    beliefs = problem.by_showings.beliefs(problem.world, counts) * deviations
    truth = problem.world.coefficients * deviations
    colours = colours_of(problem.world, schedule)
    kept, _ = learned(plan)
    lines = [
        Line(
            problem.world.labels[test],
            range(1, rounds + 1),
            beliefs[:-1, test].tolist(),
            colours[test],
            # Columns of one test share its colour; no two lines share their dashes.
            DASHES[position % len(DASHES)],
            is_stepped=True,
            target=float(truth[test]),
        )
        for position, test in enumerate(kept)
    ]
    unit = f" of {shortened(scale_of(problem).unit)}" if scale_of(problem).unit else ""
    if problem.is_binary:
        unit = " of the score"
    return line_chart(
        "learning",
        learning_heard(problem.world, beliefs, truth, kept),
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
    if world.size <= MOST_ROWS:
        return list(range(world.size))
    committed = list(plan.policy.commit or ())
    shown = {test for tests in plan.policy.schedule(rounds_shown(plan)) for test in tests}
    others = [test for test in range(world.size) if test not in committed]
    strength = np.abs(_correlation(plan))[:, committed or list(range(world.size))].max(axis=1)
    others.sort(key=lambda test: (test not in shown, -strength[test]))
    return sorted([*committed, *others][:MOST_ROWS])


class CorrelationRow(NamedTuple):
    """A column of the table: its name, whether the plan commits to it, and a cell for each other.

    A cell is the correlation in words and its colours, ink and ground.
    """

    name: str
    is_committed: bool
    cells: list[tuple[str, str, str]]


def correlation_rows(plan: Plan) -> tuple[str, list[CorrelationRow]]:
    """How tests go together, in words for those who listen and as rows of a table."""
    world, kept = plan.problem.world, correlated(plan)
    values = _correlation(plan)[np.ix_(kept, kept)].tolist()
    labels = [world.labels[test] for test in kept]
    committed = [i for i, test in enumerate(kept) if test in (plan.policy.commit or ())]
    rows = [
        CorrelationRow(
            label, i in committed, [(f"{r:.1f}".replace("-", "−"), *colours_at(r)) for r in row]
        )
        for i, (label, row) in enumerate(zip(labels, values, strict=True))
    ]
    return correlations_heard(values, labels, committed), rows


def colours_at(correlation: float) -> tuple[str, str]:
    """Ink and ground of a cell: blue for -1, nearly white for 0, vermilion for 1.

    They are the same on a dark screen.
    """
    share, end = min(abs(correlation), 1.0), _MOST if correlation > 0 else _LEAST
    mixed = (round(m + share * (far - m)) for m, far in zip(_MIDDLE, end, strict=True))
    ground = "#{:02x}{:02x}{:02x}".format(*mixed)
    return max(_INKS, key=lambda ink: palette.contrast(ink, ground)), ground


def _correlation(plan: Plan) -> FloatArray:
    return correlations_of(plan.problem.world.covariance)


def sensitivities(changes: Sequence[Change]) -> str:
    """Saving missed under each changed assumption: found, and the most there can be."""
    found = [100.0 * change.saving for change in changes]
    most = [100.0 * max(change.saving_at_most, change.saving) for change in changes]
    named = {
        change.direction: f"{each:.2g}%" if each >= 0.005 else "0%"
        for change, each in zip(changes, found, strict=True)
    }
    said = [f"if {direction}, {saved}" for direction, saved in named.items()]
    return row_chart(
        "sensitivities",
        f"Expected loss that a plan made for a changed assumption saves: {some(said, 'change')}.",
        [f"{sentence(direction)[:-1]}: {saved}" for direction, saved in named.items()],
        [
            Dots("found by planning again", found, palette.ACCENT.light, "circle"),
            Dots("at most (proven)", most, GREY, "square"),
        ],
        x_axis=Axis.covering([0.0, *found, *most]),
        x_label="expected loss that a plan made for the change saves, %",
    )


def people(plan: Plan) -> str:
    """Who would lose how much, by this plan and by its rivals."""
    assert plan.regrets is not None, "only a crowd has people to compare"
    regrets = plan.regrets
    shares = 100.0 * np.maximum(regrets.table[: len(_POLICIES)], 0.0)
    told = sorted(zip(shares[0], regrets.people, strict=True), key=lambda pair: -pair[0])
    own = [f"{share:.1f}% for {shortened(name)}" for share, name in told]
    worst = [
        f"{values.max():.3g}% by the {title.lower()}"
        for (title, _, _), values in zip(_POLICIES[1:], shares[1:], strict=True)
    ]
    beyond = f" ({_MOST_REGRET:g} or more at the right edge)" if shares.max() > _MOST_REGRET else ""
    rows = [
        f"{name} ({weight:.0%})"
        for name, weight in zip(regrets.people, regrets.weights, strict=True)
    ]
    return row_chart(
        "people",
        "What each person loses beyond the best plan found for them, by this plan: "
        f"{some(own, 'person')}. At worst it would be {' and '.join(worst)}.",
        rows,
        [
            Dots(title, shares[i].tolist(), colour, shape)
            for i, (title, colour, shape) in enumerate(_POLICIES)
        ],
        x_axis=Axis.covering([0.0, min(float(shares.max()), _MOST_REGRET)]),
        x_label=f"loss beyond the best plan found for that person, %{beyond}",
    )


def cases_axis(rounds: int) -> Axis:
    """Cases from the first on."""
    return Axis.counting(0.5, rounds + 0.5)


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
