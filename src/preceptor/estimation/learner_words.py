"""A fitted learner in words, and as plain data."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.values import plain
from preceptor._base.words import wrap
from preceptor.estimation.learner_model import FAMILIES
from preceptor.evidence.words import kinds_data, kinds_in_words, shares_data

if TYPE_CHECKING:
    from preceptor.estimation.learner import LearnerEstimator


def summary_of(fitted: LearnerEstimator) -> str:
    """Who they are, what they would be like if they learned by showings, and the doubts."""
    people = len(fitted.participants_)
    who = "1 participant" if people == 1 else f"{people} participants"
    lines = [f"{fitted.rows_} answers of {who}.", ""]
    about_kinds = kinds_in_words(fitted.kinds_, fitted.verdict_)
    lines += _folded([*about_kinds, f"  {fitted.push_.in_words()}"])
    lines += ["", *_folded([_alternatively(fitted)]), *_folded(_opening(fitted))]
    lines += ["", *_coefficients(fitted)]
    lines += ["", *_comparison(fitted)]
    doubts = (*fitted.doubts_, *fitted.cannot_tell_)
    if doubts:
        lines += ["", "What the log cannot tell, or what is doubtful:"]
        lines += _folded([f"  - {doubt}" for doubt in doubts])
    return "\n".join(lines)


def _folded(sentences: list[str]) -> list[str]:
    """Long sentences over several lines, each further in than its first."""
    lines = []
    for sentence in sentences:
        indent = " " * (len(sentence) - len(sentence.lstrip()))
        lines += wrap(sentence.lstrip(), indent, f"{indent}  ")
    return lines


def data_of(fitted: LearnerEstimator) -> dict[str, Any]:
    """Results, not options: plain numbers, text, lists and tables."""
    verdicts = fitted.verdicts_
    return {
        "rows": fitted.rows_,
        "participants": list(fitted.participants_),
        "family": fitted.family_,
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
        "learner": plain(fitted.learner_),
        "bias": fitted.bias_,
        "noise_sd": fitted.noise_sd_,
        "intervals": {
            name: [end if np.isfinite(end) else None for end in ends]
            for name, ends in fitted.intervals_.items()
        },
        "comparison": [
            asdict(score) | {"held_out": score.held_out if np.isfinite(score.held_out) else None}
            for score in fitted.comparison_
        ],
        "baselines": dict(fitted.baselines_),
        "doubts": list(fitted.doubts_),
    }


def _alternatively(fitted: LearnerEstimator) -> str:
    """One curve for everybody is another model than the kinds above, and may say otherwise."""
    text = "If they learn by showings, all along one curve"
    if fitted.person_ is None:
        return f"{text}:"
    return f"{text} (one picture; the plan is for the kinds above, which may differ from it):"


def _opening(fitted: LearnerEstimator) -> list[str]:
    dial = f"{fitted.imputation_:.2f}"
    if "imputation" in fitted.intervals_:
        low, high = fitted.intervals_["imputation"]
        dial += f" ({low:.2f} to {high:.2f})"
    taken = ""
    if fitted.learner_.imputation == 0.0 < fitted.imputation_:
        taken = " The log does not tell it from 0, so the learner is taken to know them."
    return [
        f"Learning ({FAMILIES[fitted.family_].words}): {fitted.curve_.in_words()}.",
        *_speed(fitted),
        f"Imputation along this curve {dial}, where 0 knows the correlations and 1 ignores "
        f"them.{taken}",
        f"{'Scores' if fitted.world.is_binary else 'Answers'} scatter by {fitted.noise_sd_:.3g} "
        f"around the model; bias {fitted.bias_:+.3g}.",
    ]


def _speed(fitted: LearnerEstimator) -> list[str]:
    family = fitted.fit_.model.family
    found = []
    for i, name in enumerate(family.parameters):
        ends = [family.natural(name, end)[1] for end in fitted.intervals_[name]]
        known_as, value = family.natural(name, float(fitted.fit_.point[i]))
        found.append(f"{known_as} {value:.4g} (95%: {ends[0]:.4g} to {ends[1]:.4g})")
    return [f"  {', '.join(found)}"] if found else []


def _coefficients(fitted: LearnerEstimator) -> list[str]:
    labels = fitted.world.labels
    width = max(len("test"), *map(len, labels))
    lines = [f"{'test':<{width}}  {'at first':>9}  {'95% interval':>21}  {'truth':>9}"]
    for i, name in enumerate(labels):
        low, high = fitted.intervals_.get(f"initial {name}", (-np.inf, np.inf))
        interval = f"{low:.3g} to {high:.3g}" if np.isfinite(low) else "unknown"
        truth = fitted.world.coefficients[i]
        lines.append(f"{name:<{width}}  {fitted.initial_[i]:>9.3g}  {interval:>21}  {truth:>9.3g}")
    return lines


def _comparison(fitted: LearnerEstimator) -> list[str]:
    lines = [f"{'curve':<24}{'parameters':>10}{'AIC':>11}{'error on rows left out':>24}"]
    least = min(score.aic for score in fitted.comparison_)
    for score in fitted.comparison_:
        mark = "  chosen" if score.family == fitted.family_ else ""
        lines.append(
            f"{FAMILIES[score.family].words:<24}{score.parameters:>10}{score.aic - least:>+11.1f}"
            f"{score.held_out:>24.4g}{mark}"
        )
    words = {"default": "default beliefs", "constant": "average answer"}
    for name, error in fitted.baselines_.items():
        lines.append(f"{words[name]:<24}{'':>10}{'':>11}{error:>24.4g}")
    return lines
