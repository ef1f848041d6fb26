"""Pictures of the report, as SVG text: schedule, losses, learning, sensitivities, people.

The alt text of each says what it shows, in a sentence or two with numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray
from preceptor._base.words import counted, listed, sentence
from preceptor.advice.alternatives import Alternative
from preceptor.advice.sensitivity import Change
from preceptor.model.evaluation import losses_along, running_counts
from preceptor.model.matrices import correlations_of
from preceptor.model.mistakes import Mistakes
from preceptor.model.plan import Plan
from preceptor.model.world import World
from preceptor.report import charts, palette, schedule_view
from preceptor.report.mistakes_and_people import best_by, mistakes_in_first
from preceptor.report.phrases import joined, scale_of
from preceptor.report.schedule_view import abridged
from preceptor.report.words import least_loss


def lines_alt_text(what: str, lines: Iterable[tuple[str, Sequence[float]]], last: int) -> str:
    """Where each line begins and ends; lines without finite values are left out."""
    parts = []
    for name, values in lines:
        known = [float(value) for value in values if np.isfinite(value)]
        if known and max(known) - min(known) < 1e-9 * max(map(abs, known)):
            parts.append(f"{name} {known[0]:.3g} throughout")
        elif known:
            parts.append(f"{name} from {known[0]:.3g} to {known[-1]:.3g}")
    return f"{what}, from the first to number {last:,}: {listed(parts) if parts else 'nothing'}."


def learning_alt_text(
    world: World, weights: FloatArray, truth: FloatArray, tests: list[int]
) -> str:
    """First and last weights (cases + 1, n) of some tests, and the true ones."""
    parts = [
        f"{charts.shortened(world.labels[test])} from {weights[0, test]:.2g} to "
        f"{weights[-1, test]:.2g} (right would be {truth[test]:.2g})"
        for test in tests
    ]
    return (
        f"The person's weights over {counted(len(weights) - 1, 'case')}: {abridged(parts, 'test')}."
    )


def correlations_alt_text(
    values: Sequence[Sequence[float]], labels: Sequence[str], committed: Sequence[int]
) -> str:
    """The strongest correlations either way, and those within the set that the plan commits to."""
    pairs = [
        (float(values[i][j]), f"{charts.shortened(labels[i])} with {charts.shortened(labels[j])}")
        for i in range(len(labels))
        for j in range(i)
    ]
    text = f"Correlations of {counted(len(labels), 'column')}"
    if pairs:
        (low, least), (high, most) = min(pairs), max(pairs)
        text += f", from {low:.2f} ({least}) to {high:.2f} ({most})"
    within = [float(values[i][j]) for i in committed for j in committed if j < i]
    if within:
        text += f"; among those that the plan commits to {min(within):.2f} to {max(within):.2f}"
    elif committed:
        text += f"; the plan commits to {charts.shortened(labels[committed[0]])}"
    return f"{text}."


GREY = palette.GREY.light
_PLAN, _FIXED = palette.PLAN.light, palette.FIXED.light
_PREDICTIVE, _RANDOM = palette.PREDICTIVE.light, palette.RANDOM.light
_STYLES = {
    "fixed": (_FIXED, charts.DASHES[1]),
    "predictive": (_PREDICTIVE, charts.DASHES[3]),
    "random": (_RANDOM, charts.DASHES[5]),
    # One answer for all cases, which needs no tests.
    "yes": (GREY, charts.DASHES[4]),
    "no": (GREY, charts.DASHES[6]),
    "prevalence": (GREY, charts.DASHES[4]),
}
# The first policies of `Regrets`, in its order, and how they are marked.
_POLICIES = (
    ("This plan", _PLAN, "circle"),
    ("Most predictive tests", _PREDICTIVE, "diamond"),
    ("Best fixed set", _FIXED, "square"),
)
# Regrets beyond this, in percent, are drawn at the edge of the picture.
_MOST_REGRET = 300.0
# Cells of correlations: blue, nearly white, vermilion, safe for colour-blind readers; and inks.
_LEAST, _MIDDLE, _MOST = (0, 100, 165), (247, 247, 247), (190, 74, 0)
_INKS = ("#000000", "#fefefe")


def losses(plan: Plan, rivals: Sequence[Alternative]) -> str:
    """Losses of each case by the plan and its rivals, and the best achievable."""
    scale = scale_of(plan.problem)
    own = losses_along(plan.problem, plan.policy.schedule(schedule_view.rounds_shown(plan)))
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
        per_100(mistakes_in_first(plan, schedule_view.rounds_shown(plan))),
        [
            (title, rival, per_100(rival.mistakes_along))
            for title, rival in _distinct(rivals)
            # One answer for all cases is mostly far above all others, and is in the table.
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
    """Lines of the plan and its rivals, and the least possible value."""
    rounds = min([own.size, *(values.size for _, _, values in rivals)])
    cases = range(1, rounds + 1)
    # First and wider, so that a rival with the same values is still visible on top of it.
    lines = [
        charts.Line("This plan", cases, own[:rounds].tolist(), _PLAN, width=2.2, is_stepped=True)
    ]
    for title, rival, values in rivals:
        colour, dash = _STYLES[rival.name]
        lines.append(charts.Line(title, cases, values[:rounds].tolist(), colour, dash, width=1.6))
    if floor is not None:
        lines.append(
            charts.Line(floor[0], [0.5, rounds + 0.5], [floor[1]] * 2, GREY, charts.DASHES[2])
        )
    said = [(line.name[0].lower() + line.name[1:], line.y) for line in lines]
    return charts.line_chart(
        name,
        lines_alt_text(f"{what[0].upper()}{what[1:]} of each case", said, rounds),
        lines,
        x_axis=cases_axis(rounds),
        x_label="case",
        y_label=what,
    )


def learned(plan: Plan) -> tuple[list[int], int]:
    """Columns whose weights are drawn (the largest ones), and the number of columns shown."""
    schedule = plan.policy.schedule(schedule_view.rounds_shown(plan))
    places = schedule_view.places_of(plan.problem.world, schedule)
    kept = sorted(sorted(places, key=lambda test: places[test])[: len(palette.TESTS)])
    return kept, len(places)


def learning(plan: Plan) -> str:
    """The person's weights over time and the true ones, of the tests that are shown."""
    problem = plan.problem
    rounds = schedule_view.rounds_shown(plan)
    schedule = plan.policy.schedule(rounds)
    counts = running_counts(problem, schedule)
    deviations = np.sqrt(np.diag(problem.world.covariance))
    beliefs = problem.by_showings.beliefs(problem.world, counts) * deviations
    truth = problem.world.coefficients * deviations
    colours = schedule_view.colours_of(problem.world, schedule)
    kept, _ = learned(plan)
    lines = [
        charts.Line(
            problem.world.labels[test],
            range(1, rounds + 1),
            beliefs[:-1, test].tolist(),
            colours[test],
            # Columns of one test share its colour; no two lines share their dashes.
            charts.DASHES[position % len(charts.DASHES)],
            is_stepped=True,
            target=float(truth[test]),
        )
        for position, test in enumerate(kept)
    ]
    unit = f" of {charts.shortened(scale_of(problem).unit)}" if scale_of(problem).unit else ""
    if problem.is_binary:
        unit = " of the score"
    return charts.line_chart(
        "learning",
        learning_alt_text(problem.world, beliefs, truth, kept),
        lines,
        x_axis=cases_axis(rounds),
        x_label="case",
        y_label=f"weight: change{unit} for one standard deviation of the test",
    )


def correlated(plan: Plan) -> list[int]:
    """Columns whose correlations are drawn: all, or if there are many, the most important.

    These are the final set, the other tests shown, and those most correlated with the final set.
    """
    world = plan.problem.world
    if world.size <= schedule_view.MOST_ROWS:
        return list(range(world.size))
    committed = list(plan.policy.commit or ())
    shown = {
        test for tests in plan.policy.schedule(schedule_view.rounds_shown(plan)) for test in tests
    }
    others = [test for test in range(world.size) if test not in committed]
    strength = np.abs(_correlation(plan))[:, committed or list(range(world.size))].max(axis=1)
    others.sort(key=lambda test: (test not in shown, -strength[test]))
    return sorted([*committed, *others][: schedule_view.MOST_ROWS])


class CorrelationRow(NamedTuple):
    """A row of the table: its name, whether the plan commits to it, and a cell per column.

    A cell is the correlation as text, and its text and background colours.
    """

    name: str
    is_committed: bool
    cells: list[tuple[str, str, str]]


def correlation_rows(plan: Plan) -> tuple[str, list[CorrelationRow]]:
    """Correlations of tests, as alt text and as rows of a table."""
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
    return correlations_alt_text(values, labels, committed), rows


def colours_at(correlation: float) -> tuple[str, str]:
    """Text and background colour of a cell: blue for -1, nearly white for 0, vermilion for 1.

    They are the same on dark screens.
    """
    share, end = min(abs(correlation), 1.0), _MOST if correlation > 0 else _LEAST
    mixed = (round(m + share * (far - m)) for m, far in zip(_MIDDLE, end, strict=True))
    ground = "#{:02x}{:02x}{:02x}".format(*mixed)
    return max(_INKS, key=lambda ink: palette.contrast(ink, ground)), ground


def _correlation(plan: Plan) -> FloatArray:
    return correlations_of(plan.problem.world.covariance)


def sensitivities(changes: Sequence[Change]) -> str:
    """Saving missed under each changed assumption: found, and at most possible."""
    found = [100.0 * change.saving for change in changes]
    most = [100.0 * max(change.saving_at_most, change.saving) for change in changes]
    named = {
        change.direction: f"{each:.2g}%" if each >= 0.005 else "0%"
        for change, each in zip(changes, found, strict=True)
    }
    said = [f"if {direction}, {saved}" for direction, saved in named.items()]
    return charts.row_chart(
        "sensitivities",
        f"Expected loss saved by a plan made for a changed assumption: {abridged(said, 'change')}.",
        [f"{sentence(direction)[:-1]}: {saved}" for direction, saved in named.items()],
        [
            charts.Dots("found by planning again", found, palette.ACCENT.light, "circle"),
            charts.Dots("at most (proven)", most, GREY, "square"),
        ],
        x_axis=charts.Axis.covering([0.0, *found, *most]),
        x_label="expected loss that a plan made for the change saves, %",
    )


def people(plan: Plan) -> str:
    """Regret of each person, by this plan and by its rivals."""
    assert plan.regrets is not None, "only a crowd has people to compare"
    regrets = plan.regrets
    shares = 100.0 * np.maximum(regrets.table[: len(_POLICIES)], 0.0)
    told = sorted(zip(shares[0], regrets.people, strict=True), key=lambda pair: -pair[0])
    own = [f"{share:.1f}% for {charts.shortened(name)}" for share, name in told]
    worst = [
        f"{values.max():.3g}% by the {title.lower()}"
        for (title, _, _), values in zip(_POLICIES[1:], shares[1:], strict=True)
    ]
    beyond = f" ({_MOST_REGRET:g} or more at the right edge)" if shares.max() > _MOST_REGRET else ""
    rows = [
        f"{name} ({weight:.0%})"
        for name, weight in zip(regrets.people, regrets.weights, strict=True)
    ]
    return charts.row_chart(
        "people",
        "What each person loses beyond the best plan found for them, by this plan: "
        f"{abridged(own, 'person')}. At worst it would be {' and '.join(worst)}.",
        rows,
        [
            charts.Dots(title, shares[i].tolist(), colour, shape)
            for i, (title, colour, shape) in enumerate(_POLICIES)
        ],
        x_axis=charts.Axis.covering([0.0, min(float(shares.max()), _MOST_REGRET)]),
        x_label=f"loss beyond the best plan found for that person, %{beyond}",
    )


def cases_axis(rounds: int) -> charts.Axis:
    """Cases from the first on."""
    return charts.Axis.counting(0.5, rounds + 0.5)


def _distinct(rivals: Sequence[Alternative]) -> list[tuple[str, Alternative]]:
    """Merge rivals that show the same, under both titles."""
    found: list[tuple[str, Alternative]] = []
    for rival in rivals:
        for position, (title, other) in enumerate(found):
            if rival.policy is not None and rival.policy == other.policy:
                found[position] = (f"{title}; also: {rival.title.lower()}", other)
                break
        else:
            found.append((rival.title, rival))
    return found
