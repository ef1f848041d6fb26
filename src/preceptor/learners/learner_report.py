"""What a fit says: text, plain data, doubts, and why some logs are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.values import FloatArray, IntArray, plain
from preceptor._base.words import counted, listed, wrap
from preceptor.data.log import Log, in_world_units, require_tests
from preceptor.data.log_cells import SUREST
from preceptor.learners.evidence_cells import Estimate
from preceptor.learners.records import best_reading
from preceptor.learners.verdict import kinds_data, kinds_in_words, shares_data

if TYPE_CHECKING:
    from preceptor.data.world_estimate import WorldEstimate
    from preceptor.learners.learner_estimator import LearnerEstimator

# Answers farther from the median than this multiple of the median distance are doubted.
_FAR_OFF = 50.0


def summary_of(fitted: LearnerEstimator) -> str:
    """Kinds of person, first weights and scatter, and the doubts."""
    lines = [f"{fitted.rows_} answers of {counted(len(fitted.participants_), 'participant')}.", ""]
    about_kinds = kinds_in_words(fitted.kinds_, fitted.verdict_)
    lines += _folded([*about_kinds, f"  {fitted.push_.in_words()}"])
    lines += ["", *_coefficients(fitted), *_folded([_nuisances(fitted)])]
    doubts = (*fitted.doubts_, *fitted.cannot_tell_)
    if doubts:
        lines += ["", "What the log does not identify, and other doubts:"]
        lines += _folded([f"  - {doubt}" for doubt in doubts])
    return "\n".join(lines)


def _folded(sentences: list[str]) -> list[str]:
    """Wrap long sentences with a hanging indent."""
    lines = []
    for sentence in sentences:
        indent = " " * (len(sentence) - len(sentence.lstrip()))
        lines += wrap(sentence.lstrip(), indent, f"{indent}  ")
    return lines


def _coefficients(fitted: LearnerEstimator) -> list[str]:
    labels = fitted.world.labels
    width = max(len("test"), *map(len, labels))
    lines = [f"{'test':<{width}}  {'initial':>9}  {'95% interval':>21}  {'truth':>9}"]
    rows = zip(labels, fitted.initial_, fitted.world.coefficients.tolist(), strict=True)
    for name, (mean, low, high), truth in rows:
        interval = f"{low:.3g} to {high:.3g}"
        lines.append(f"{name:<{width}}  {mean:>9.3g}  {interval:>21}  {truth:>9.3g}")
    return lines


def _nuisances(fitted: LearnerEstimator) -> str:
    what = "Scores" if fitted.world.is_binary else "Answers"
    return (
        f"{what} scatter by {_with_interval(fitted.scatter_)} around the weighted sum; bias "
        f"{_with_interval(fitted.bias_)}."
    )


def _with_interval(found: Estimate) -> str:
    return f"{found.mean:.3g} ({found.low:.3g} to {found.high:.3g})"


def data_of(fitted: LearnerEstimator) -> dict[str, Any]:
    """Results, without options, as plain numbers, text, lists and dicts."""
    verdicts = fitted.verdicts_
    return {
        "rows": fitted.rows_,
        "participants": list(fitted.participants_),
        "person": None if fitted.person_ is None else plain(fitted.person_),
        "people": {n: plain(v.person) for n, v in verdicts.items() if v.person is not None},
        "shares": {
            "everybody": shares_data(fitted.verdict_),
            "people": {name: shares_data(each) for name, each in verdicts.items()},
        },
        "refusal": fitted.refusal_,
        "kinds": kinds_data(fitted.kinds_, fitted.verdict_),
        "push": fitted.push_.in_words(),
        "cannot_tell": list(fitted.cannot_tell_),
        "initial": {
            name: list(each)
            for name, each in zip(fitted.world.labels, fitted.initial_, strict=True)
        },
        "scatter": list(fitted.scatter_),
        "bias": list(fitted.bias_),
        "doubts": list(fitted.doubts_),
    }


# --- Doubts: silence would be taken for certainty ---------------------------------------------


def doubts_of(fitted: LearnerEstimator) -> tuple[str, ...]:
    """All reasons to distrust a fit."""
    return (
        *_about_answers(fitted),
        *_about_yes_or_no(fitted),
        *_about_tests(fitted),
        *_about_size(fitted),
    )


def _about_answers(fitted: LearnerEstimator) -> Iterator[str]:
    """Implausible answers; a single one can determine the fit."""
    log = fitted.log_
    if fitted.world.is_binary:
        return
    middle = float(np.median(log.prediction))
    away = np.abs(log.prediction - middle)
    usual = float(np.median(away)) or float(np.mean(away))
    far = np.flatnonzero(away > _FAR_OFF * usual) if usual > 0.0 else np.zeros(0, dtype=int)
    if far.size:
        row = int(far[np.argmax(away[far])])
        more = f" and {far.size - 1} more" if far.size > 1 else ""
        yield (
            f"{log.participant[row]}, round {log.rounds[row]}{more}: the answer "
            f"{log.prediction[row]:g} is far from all others (median {middle:g}); if it is a slip, "
            "leave the row out, or allow for slips (`answers` t)."
        )


def _about_yes_or_no(fitted: LearnerEstimator) -> Iterator[str]:
    """What answers to yes-or-no outcomes do not identify."""
    if not fitted.world.is_binary:
        return
    answers = fitted.log_.prediction
    if fitted.decided_:
        yield (
            "Answers are decisions: they identify weights relative to the scatter, and the size of "
            "both only through the prior and how people approach the true weights."
        )
        return
    sure = int(np.sum((answers == 0.0) | (answers == 1.0)))
    if sure:
        yield (
            f"{sure:,} of {answers.size:,} answers are 0% or 100%, which have no finite score; "
            f"they are taken for {SUREST:.1%} and {1.0 - SUREST:.1%} (or for the surest of the "
            "other answers). If they are many, weights look too small."
        )


def _about_tests(fitted: LearnerEstimator) -> Iterator[str]:
    labels = fitted.world.labels
    never = [labels[i] for i in np.flatnonzero(~fitted.log_.shown.any(axis=0))]
    if never:
        yield (
            f"{listed(never)}: never shown, so beliefs about {'it' if len(never) == 1 else 'them'} "
            "are not identified; the prior is kept."
        )
    if fitted.imputation is None and fitted.log_.shown.all():
        yield "How people impute hidden tests is not identified: none was ever hidden."
    mean, low, high = fitted.bias_
    if low > 0.0 or high < 0.0:
        off = (
            f"{'Scores' if fitted.world.is_binary else 'Answers'} are off by {mean:+.3g} on average"
        )
        why = (
            f": people take yes to be {'more' if mean > 0 else 'less'} common than it is, or have "
            "another threshold"
        )
        yield f"{off}{why if fitted.world.is_binary else ''}; plans ignore this."


def _about_size(fitted: LearnerEstimator) -> Iterator[str]:
    if len(fitted.participants_) == 1:
        yield "One participant: intervals are about this person, not about people in general."


# --- Logs that are refused: other units, another outcome --------------------------------------
#
# A learner file shows no doubts once it is written, so these are refused instead of doubted.

# Values farther from the mean than this many standard deviations are not believed.
_FARTHEST = 8.0
# Fewer values than this do not locate their median.
_SOME = 5
# Rounds from which on outcomes are compared with predictions. Also the number of distinct values in
# a column of two from which on they are simulated and not another coding, which has few.
_MANY = 20
# Slope (ideally 1) below which outcomes are unrelated to predictions, and standard errors by which
# slopes and medians must differ.
_NO_SLOPE, _SURE = 0.25, 4.0


def log_refusals(estimate: WorldEstimate, log: Log) -> list[str]:
    """Reasons why a log cannot be about this table, as sentences; empty if it can.

    Parameters
    ----------
    estimate
        The world and the table that it was estimated from.
    log
        Tests shown and outcomes, in the units that participants read.

    Returns
    -------
    list of str
        Tests and outcomes out of range, in another unit, or of another column.
    """
    require_tests(estimate.world, log)
    design, found = estimate.design, []
    for i, name in enumerate(design.names):
        rows = np.flatnonzero(log.shown[:, i])
        found += _range_faults(name, design.values[:, i], log.values[rows, i], rows, log)
    rows = np.flatnonzero(~np.isnan(log.outcome))
    name = design.outcome_name
    outcome = _range_faults(f"outcome, {name}", design.outcome, log.outcome[rows], rows, log)
    # Tests in another unit predict nothing, so the relation is checked only after ranges.
    return [*found, *outcome] or _unrelated(estimate, log, name)


def _range_faults(
    name: str, table: FloatArray, given: FloatArray, rows: IntArray, log: Log
) -> list[str]:
    """Faults of values of a log that cannot come from a column of the table."""
    known = table[~np.isnan(table)]
    if not given.size:
        return []
    low, high = float(known.min()), float(known.max())
    levels = np.unique(known)
    width = high - low
    away = np.maximum(low - given, given - high)
    worst = int(np.argmax(away))

    def place(at: int) -> str:
        return f"{log.participant[rows[at]]}, round {log.rounds[rows[at]]}"

    if levels.size == 2 and not _is_simulated(given):
        odd = np.flatnonzero(~np.isin(given, levels))
        if not odd.size:
            return []
        return [
            f"{name}: {given[odd[0]]:g} in {place(odd[0])}, but the table has only {levels[0]:g} "
            f"and {levels[1]:g}; use the coding of the table"
        ]
    middle = float(np.median(given))
    # The median of few values is uncertain: simulated for a rare yes, it may be below no.
    unsure = _SURE * 1.25 * float(np.std(known)) / np.sqrt(given.size)
    elsewhere = given.size >= _SOME and not low - unsure <= middle <= high + unsure
    # With few levels even the extremes are near the mean, and simulated values go beyond them.
    believed = _FARTHEST * float(np.std(known))
    far = away[worst] > width and abs(given[worst] - float(np.mean(known))) > believed
    if not (far or elsewhere):
        return []
    return [
        f"{name}: {int(np.sum(away > 0.0))} of {counted(given.size, 'value')} lie outside the "
        f"table's range of {low:g} to {high:g}, the farthest {given[worst]:g} by "
        f"{away[worst]:.3g} ({place(worst)}); correct or leave out these rows, use the units of "
        "the table, or give the table that they are from"
    ]


def _is_simulated(given: FloatArray) -> bool:
    """Whether values were simulated in a Gaussian world, which has no levels."""
    broken = given[given != np.round(given)]
    differing = np.unique(broken).size
    return 2 * broken.size > given.size and (differing >= _MANY or 2 * differing > given.size)


def _unrelated(estimate: WorldEstimate, log: Log, name: str) -> list[str]:
    """A fault if, over many rounds, outcomes are unrelated to predictions from the shown tests."""
    world = estimate.world
    rows = np.flatnonzero(~np.isnan(log.outcome))
    if rows.size < _MANY:
        return []
    values, _, outcomes = in_world_units(world, log)
    predicted = np.sum(best_reading(world, log.shown) * values, axis=1)[rows]
    if world.outcome is not None:
        # Attenuated by hidden tests, which does not matter for a slope near 0.
        predicted = world.outcome.from_score.probability(world.base_score + predicted)
    true = outcomes[rows]
    if np.ptp(predicted) == 0.0 or np.ptp(true) == 0.0:
        return []
    away = predicted - predicted.mean()
    slope = float(away @ true / (away @ away))
    left = true - true.mean() - slope * away
    error = float(np.sqrt(np.mean(left**2) / (away @ away)))
    if slope >= _NO_SLOPE or (1.0 - slope) < _SURE * error:
        return []
    found = float(np.corrcoef(predicted, true)[0, 1])
    explained = float(np.var(predicted))
    variance = float(np.var(true)) if world.is_binary else world.outcome_variance
    usual = np.sqrt(min(explained / variance, 1.0))
    return [
        f"outcome, {name}: the outcomes in the log do not look like it. Over {rows.size:,} rounds "
        f"their correlation with predictions from the shown tests is {found:.2f}, where about "
        f"{usual:.2f} is expected; check whether they are from another column or in other rows"
    ]
