"""A page about one person's run, round by round: probabilities of kinds, tests shown, errors.

One HTML file without network or other files, like the report of a plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from preceptor._base.files import write_text
from preceptor._base.values import FloatArray
from preceptor._base.version import VERSION
from preceptor._base.words import counted
from preceptor.errors import InvalidInput
from preceptor.learners.tutor import Tutor
from preceptor.learners.tutor_record import round_by_round
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Decision
from preceptor.report import charts, palette
from preceptor.report.figures import lines_alt_text
from preceptor.report.html import template
from preceptor.report.palette import styles
from preceptor.report.schedule_view import MOST_ROWS, abridged, bars_of, colours_of, shown_alt_text
from preceptor.report.tables import in_parts, signed

if TYPE_CHECKING:
    from preceptor.data.log import Log


@dataclass(frozen=True, eq=False)
class Run:
    """Probabilities of kinds and errors in each round of a record.

    Attributes
    ----------
    kinds
        Probability of each kind before the first round and after each, (rounds + 1, kinds + 1); the
        last column is that none of them is right.
    errors
        Answer minus outcome, (rounds,), NaN where one of them is missing.
    expected
        Root-mean-square error expected of the answer when the case was shown, (rounds,); NaN where
        the outcome is yes or no.
    least
        The same for a person with the right weights who sees the same results, (rounds,).
    """

    kinds: FloatArray
    errors: FloatArray
    expected: FloatArray
    least: FloatArray

    @classmethod
    def of(cls, tutor: Tutor) -> Run:
        """Follow the record of a tutor once more from its first round."""
        world = tutor.problem.world
        bank = dataclasses.replace(tutor, record=()).bank
        kinds = [bank.kinds]
        errors, expected, least = (np.full(tutor.rounds, np.nan) for _ in range(3))
        banks = round_by_round(bank, tutor.record)
        for i, (entry, after) in enumerate(zip(tutor.record, banks, strict=True)):
            values = entry.results(world)
            best, left = outcome_given(world, entry.shown, values)
            if world.is_binary:
                least[i] = np.sqrt(least_square(tutor.problem, best, left))
            else:
                means, variances = bank.predicted_answer(entry.shown, values)
                # Given the results shown, answers are independent of the rest of the outcome.
                expected[i] = np.sqrt(kinds[-1] @ (variances + (means - best) ** 2) + left)
                least[i] = np.sqrt(left)
            if entry.answer is not None and entry.outcome is not None:
                errors[i] = entry.answer - entry.outcome
            bank = after
            kinds.append(bank.kinds)
        return cls(np.array(kinds), errors, expected, least)

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return int(self.errors.size)


def outcome_given(world: World, shown: TestSet, values: FloatArray) -> tuple[float, float]:
    """Mean and variance of the outcome, as a deviation from its average, given some results.

    Parameters
    ----------
    world
        Joint distribution of tests and outcome; taken to be Gaussian.
    shown
        Tests by index.
    values
        Their results in the world's units.

    Returns
    -------
    tuple of two floats
        In the world's units.
    """
    weights, left = world.best_reading(shown)
    return float(weights @ values), left


def chance_given(world: World, score: float, left: float) -> float:
    """Probability of yes; mean and variance of the score are those of `outcome_given`."""
    assert world.outcome is not None
    hidden = np.asarray(max(left - world.noise_variance, 0.0))
    mean = np.asarray(world.base_score + score)
    return float(world.outcome.from_score.mean_probability(mean, hidden))


def least_square(problem: Problem, score: float, left: float) -> float:
    """Mean squared error of the best answer where the outcome is yes or no.

    For decisions that is the error rate, for probabilities the Brier score.
    """
    chance = chance_given(problem.world, score, left)
    if isinstance(problem.risk, Decision):
        return 1.0 - chance if chance > problem.risk.right_threshold else chance
    return chance * (1.0 - chance)


def running(errors: FloatArray, over: int) -> FloatArray:
    """Root mean square of the last `over` errors, round by round; NaN where there is none.

    >>> running(np.array([3.0, np.nan, 4.0]), 2)
    array([3., 3., 4.])
    """
    means = np.full(errors.size, np.nan)
    for i in range(errors.size):
        last = errors[max(0, i + 1 - over) : i + 1]
        known = last[np.isfinite(last)]
        if known.size:
            means[i] = np.sqrt(np.mean(known**2))
    return means


# Rounds over which errors are averaged.
OVER = 10
# Grey is for none of the kinds.
_COLOURS = tuple(colour.light for colour in palette.KINDS)
_GREY = palette.GREY.light


def draw_kinds(tutor: Tutor, past: Run) -> str:
    """Probability of each kind after each round."""
    names = list(tutor.kinds)
    lines = []
    for i, name in enumerate(names):
        colour = _GREY if i == len(names) - 1 else _COLOURS[i % len(_COLOURS)]
        likely = past.kinds[:, i].tolist()
        lines.append(
            charts.Line(
                name, range(past.rounds + 1), likely, colour, charts.DASHES[i % len(charts.DASHES)]
            )
        )
    first, last = past.kinds[0], past.kinds[-1]
    said = [
        f"{charts.shortened(names[i])} from {first[i]:.0%} to {last[i]:.0%}"
        for i in np.argsort(-last, kind="stable")
    ]
    return charts.line_chart(
        "kinds",
        f"How likely each kind of person is, from before the first round to round {past.rounds:,}: "
        f"{abridged(said, 'kind')}.",
        lines,
        x_axis=charts.Axis.counting(0.0, float(past.rounds)),
        x_label="after round",
        y_label="probability",
    )


def draw_shown(tutor: Tutor) -> str:
    """Which tests were shown in which round: a row for each test that was shown."""
    world = tutor.problem.world
    schedule: list[TestSet] = [entry.shown for entry in tutor.record]
    colours = colours_of(world, schedule)
    rows = [
        charts.Row(name, bars_of(block[0], schedule), colours[block[0]])
        for name, block in zip(world.tests, world.blocks, strict=True)
        if block[0] in colours
    ]
    untold = [i for i, entry in enumerate(tutor.record) if entry.outcome is None]
    bars = [(i + 0.5, i + 1.5) for i in untold]
    if untold:
        rows.append(charts.Row("truth not told", bars, _GREY))
    return charts.timeline_chart(
        "shown",
        f"What was shown in {counted(len(schedule), 'round')}: {shown_alt_text(world, schedule)}.",
        rows,
        x_axis=charts.Axis.counting(0.5, len(schedule) + 0.5),
        x_label="round",
    )


def draw_errors(tutor: Tutor, past: Run) -> str:
    """Errors of the person, compared with the expected and the least possible errors.

    For yes-or-no outcomes: error rate or Brier score, and the least possible.
    """
    problem, units = tutor.problem, tutor.problem.world.units
    unit = f" ({charts.shortened(units.outcome)})" if units is not None else ""
    # Averages of the same rounds, or they could not be compared.
    own, expected, least = (
        running(np.where(np.isfinite(past.errors), values, np.nan), OVER)
        for values in (past.errors, past.expected, past.least)
    )
    what, called = f"Root-mean-square error{unit}", "off by"
    if problem.is_binary:
        what, called, own, least = "Brier score", "this person", own**2, least**2
    if isinstance(problem.risk, Decision):
        what, own, least = "Wrong decisions, %,", 100.0 * own, 100.0 * least
    rounds = range(1, past.rounds + 1)
    lines = [
        charts.Line(called, rounds, own.tolist(), charts.INK, width=2.2),
        charts.Line("with the right weights", rounds, least.tolist(), _GREY, charts.DASHES[2]),
    ]
    if not problem.is_binary:
        look = (palette.ACCENT.light, charts.DASHES[1])
        lines.insert(1, charts.Line("expected beforehand", rounds, expected.tolist(), *look))
    told = f"{what} of the last {OVER} answers, round by round"
    return charts.line_chart(
        "errors",
        lines_alt_text(told, [(line.name, line.y) for line in lines], past.rounds),
        lines,
        x_axis=charts.Axis.counting(0.5, past.rounds + 0.5),
        x_label="round",
        y_label=f"{what[0].lower()}{what[1:]} of the last {OVER} rounds",
    )


class Belief(NamedTuple):
    """Estimate and interval of a person's weight, and the true weight."""

    name: str
    value: float
    low: float
    high: float
    target: float


def belief_rows(tutor: Tutor) -> list[Belief]:
    """Weights now, with 95% intervals, and the true ones; for one standard deviation."""
    world = tutor.problem.world
    deviations = np.sqrt(np.diag(world.covariance))
    now, truth = tutor.coefficients * deviations, world.coefficients * deviations
    ends = tutor.intervals() * deviations[:, None]
    return [
        Belief(label, float(now[i]), float(ends[i, 0]), float(ends[i, 1]), float(truth[i]))
        for i, label in enumerate(world.labels)
    ]


def draw_beliefs(tutor: Tutor) -> str:
    """Estimated weights of the person now."""
    units = tutor.problem.world.units
    unit = f" of {charts.shortened(units.outcome)}" if units is not None else ""
    rows = belief_rows(tutor)
    if len(rows) > MOST_ROWS:
        heavy = sorted(rows, key=lambda row: -abs(row.target))[:MOST_ROWS]
        rows = [row for row in rows if row in heavy]
    said = [
        f"{charts.shortened(row.name)} {row.value:.2g} ({row.low:.2g} to {row.high:.2g}; right "
        f"would be {row.target:.2g})"
        for row in sorted(rows, key=lambda row: -abs(row.target))
    ]
    return charts.row_chart(
        "beliefs",
        "The weight that the person seems to give to each test now, with its 95% interval: "
        f"{abridged(said, 'test')}.",
        [row.name for row in rows],
        [
            charts.Dots("estimate", [row.value for row in rows], palette.ACCENT.light, "circle"),
            charts.Dots("true weight", [row.target for row in rows], palette.PLAN.light, "diamond"),
        ],
        spans=charts.Spans(
            "95% interval", [(row.low, row.high) for row in rows], palette.ACCENT.light
        ),
        x_axis=charts.Axis.covering([0.0, *(end for row in rows for end in row[1:])]),
        x_label=f"weight: change{unit} for one standard deviation of the test",
    )


def write_session(
    run: Tutor | tuple[Problem, Log],
    path: str | Path,
    *,
    name: str = "",
    reasons: Sequence[str] = (),
) -> None:
    """Write a page about one person's run as one HTML file (atomically).

    Parameters
    ----------
    run
        A tutor after some rounds; or a problem and the log of one participant, which a tutor then
        follows.
    path
        File to write.
    name
        Name of the person; the log's participant by default.
    reasons
        Why the tests were shown, one reason for each round, if they were kept.

    Raises
    ------
    InvalidInput
        Several participants, other tests, or more or fewer reasons than rounds.
    MissingExtra
        jinja2 is not installed.
    """
    write_text(path, render_session(run, name=name, reasons=reasons), private=True)


def render_session(
    run: Tutor | tuple[Problem, Log], *, name: str = "", reasons: Sequence[str] = ()
) -> str:
    """Return the page as HTML text.

    Parameters
    ----------
    run
        As for `write_session`.
    name
        Name of the person; the log's participant by default.
    reasons
        Why the tests were shown, one reason for each round, if they were kept.

    Returns
    -------
    str
        One page that needs no network and no other files.

    Raises
    ------
    InvalidInput
        Several participants, other tests, or more or fewer reasons than rounds.
    MissingExtra
        jinja2 is not installed.
    """
    page = template("session.html.j2")
    if not isinstance(run, Tutor):
        problem, log = run
        name = name or ", ".join(log.participants)
        run = Tutor(problem).through(log)
    if reasons and len(reasons) != run.rounds:
        raise InvalidInput(
            f"reasons: {len(reasons)} for {counted(run.rounds, 'round')}; give one for each"
        )
    past = Run.of(run)
    units = run.problem.world.units
    rendered = page.render(
        name=name,
        outcome="" if units is None else units.outcome,
        styles=styles(),
        version=VERSION,
        rounds=run.rounds,
        cards=_cards(run, past),
        advice=run.recommendation(),
        kinds=_kind_rows(run, past),
        doubts=run.doubts(),
        beliefs=in_parts(belief_rows(run)),
        record=_record_rows(run, past, reasons),
        with_reasons=bool(reasons),
        figures=_figures(run, past),
        over=OVER,
        is_binary=run.problem.is_binary,
    )
    return charts.writable(rendered)


def _figures(tutor: Tutor, past: Run) -> dict[str, str]:
    drawn = {"beliefs": draw_beliefs(tutor)}
    if past.rounds:
        drawn["kinds"] = draw_kinds(tutor, past)
        drawn["shown"] = draw_shown(tutor)
    if np.isfinite(past.errors).any():
        drawn["errors"] = draw_errors(tutor, past)
    return drawn


def _cards(tutor: Tutor, past: Run) -> list[tuple[str, str, str]]:
    units = tutor.problem.world.units
    unit = "" if units is None else units.outcome
    likeliest, share = max(tutor.kinds.items(), key=lambda item: item[1])
    known = past.errors[np.isfinite(past.errors)]
    cards = [("Likeliest kind", f"{share:.0%}", likeliest)]
    if known.size:
        few = max(1, min(OVER, known.size // 2))
        begin, end = (float(np.sqrt(np.mean(part**2))) for part in (known[:few], known[-few:]))
        what = "Typically off"
        if isinstance(tutor.problem.risk, Decision):
            what, unit, begin, end = "Wrong decisions, %", "", 100.0 * begin**2, 100.0 * end**2
        elif tutor.problem.is_binary:
            what, unit, begin, end = "Brier score", "", begin**2, end**2
        cards.append((f"{what}, first {counted(few, 'round')}", f"{begin:.3g}", unit))
        if known.size > 1:
            cards.append((f"{what}, last {counted(few, 'round')}", f"{end:.3g}", unit))
    cards.append(("Scatter of answers", f"{tutor.scatter:.3g}", "around what the weights predict"))
    return cards


def _kind_rows(tutor: Tutor, past: Run) -> list[dict[str, Any]]:
    """Kinds, likeliest first."""
    rows = [
        {"name": name, "first": f"{first:.1%}", "now": f"{now:.1%}", "share": now}
        for name, first, now in zip(tutor.kinds, past.kinds[0], past.kinds[-1], strict=True)
    ]
    return sorted(rows, key=lambda row: -row["share"])


def _record_rows(tutor: Tutor, past: Run, reasons: Sequence[str]) -> list[dict[str, str]]:
    world = tutor.problem.world
    names = list(tutor.kinds)
    rows = []
    for i, entry in enumerate(tutor.record):
        results = zip(entry.shown, entry.values, strict=True)
        likeliest = int(np.argmax(past.kinds[i + 1]))
        rows.append(
            {
                "round": f"{i + 1:,}",
                "shown": ", ".join(f"{world.labels[test]} {value:g}" for test, value in results)
                or "nothing",
                "answer": "" if entry.answer is None else f"{entry.answer:.6g}",
                "outcome": "not told" if entry.outcome is None else f"{entry.outcome:.6g}",
                "off": signed(past.errors[i]) if np.isfinite(past.errors[i]) else "",
                "likeliest": f"{names[likeliest]} ({past.kinds[i + 1, likeliest]:.0%})",
                "reason": reasons[i] if reasons else "",
            }
        )
    return rows
