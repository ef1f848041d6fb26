"""What a log cannot tell, in sentences. Silence would be taken for certainty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.words import listed
from preceptor.estimation.learner_intervals import FEWEST_CLUSTERS
from preceptor.estimation.learner_limits import LimitedFit
from preceptor.estimation.learner_model import FAMILIES
from preceptor.logs.yes_no import SUREST

if TYPE_CHECKING:
    from preceptor.estimation.learner import LearnerEstimator

# Answers further from the middle than so many times the usual distance are doubted.
_FAR_OFF = 50.0
# Differences in Akaike's criterion below this do not tell models apart.
INDISTINGUISHABLE = 2.0


def doubts_of(fitted: LearnerEstimator) -> tuple[str, ...]:
    """Everything that a reader of this fit should know before believing it."""
    return (
        *_about_answers(fitted),
        *_about_yes_or_no(fitted),
        *_about_tests(fitted),
        *_about_imputation(fitted),
        *_about_learning(fitted),
        *_about_families(fitted),
        *_about_shape(fitted),
        *_about_rows(fitted),
        *_about_people(fitted),
    )


def _about_answers(fitted: LearnerEstimator) -> Iterator[str]:
    """Answers that nobody can have meant; one of them decides everything."""
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
            f"{log.prediction[row]:g} is far from all others ({middle:g} in the middle); if it is "
            "a slip, leave the row out, or take slips into account (`answers` t)."
        )


def _about_yes_or_no(fitted: LearnerEstimator) -> Iterator[str]:
    """What answers to yes-or-no outcomes leave open."""
    if not fitted.world.is_binary:
        return
    answers = fitted.log_.prediction
    if isinstance(fitted.fit_, LimitedFit) and fitted.decided_:
        if fitted.fit_.scale_known:
            yield (
                "Answers are decisions: how large weights and scatter are follows only from how "
                "people approach the true weights; weights over scatter are what decisions tell."
            )
        else:
            yield (
                "Answers are decisions and nobody is taken to learn: only weights over scatter can "
                "be told, so weights are those of somebody whose scores scatter by 1."
            )
        return
    sure = int(np.sum((answers == 0.0) | (answers == 1.0)))
    if sure:
        yield (
            f"{sure:,} of {answers.size:,} answers are 0% or 100%; certainty has no score, so the "
            f"curve takes them to be beyond {SUREST:.1%} and {1.0 - SUREST:.1%} (or beyond the "
            "surest of the other answers). Where kinds are weighed they are taken for these, and "
            "if they are many, weights look smaller there than they are."
        )


def _about_tests(fitted: LearnerEstimator) -> Iterator[str]:
    model = fitted.fit_.model
    labels = fitted.world.labels
    never = [labels[i] for i in np.flatnonzero(~model.free)]
    if never:
        yield (
            f"{listed(never)}: never shown, so the log says nothing about what people believe "
            f"of {'it' if len(never) == 1 else 'them'}; the default is kept."
        )
    linear = len(model.names) - len(model.searched)
    unknown = fitted.uncertainty_.identified[:linear]
    names = [name for name, known in zip(model.names, unknown, strict=False) if not known]
    if names:
        yield (
            f"{listed(names)}: not determined by these rows, because results or sets of tests "
            "hardly vary; as near the default as the rows allow."
        )
    away = fitted.intervals_.get("bias")
    if away is not None and (away[0] > 0.0 or away[1] < 0.0):
        if fitted.world.is_binary:
            yield (
                f"Scores are off by {fitted.bias_:+.3g} on average whatever is shown: people take "
                f"yes to be {'more' if fitted.bias_ > 0 else 'less'} common than it is, or have "
                "another threshold; plans do not know of it."
            )
            return
        yield (
            f"Answers are off by {fitted.bias_:+.3g} on average whatever is shown; plans do not "
            "know of it."
        )


def _about_imputation(fitted: LearnerEstimator) -> Iterator[str]:
    if fitted.imputation is not None:
        return
    if not fitted.fit_.model.answers.depends_on_imputation:
        yield (
            "How people fill in hidden tests cannot be told: nothing was ever hidden from which "
            f"it would show. Imputation {fitted.imputation_:g} is assumed."
        )
        return
    low, high = fitted.intervals_["imputation"]
    if low <= 0.0 and high >= 1.0:
        yield (
            "How people fill in hidden tests cannot be told: everything from knowing the "
            "correlations (0) to ignoring them (1) fits."
        )


def _about_learning(fitted: LearnerEstimator) -> Iterator[str]:
    if not np.any(fitted.fit_.model.answers.counts):
        yield (
            "Whether people learn cannot be told: nobody was told an outcome and then asked again."
        )
        return
    scores = {score.family: score for score in fitted.comparison_}
    learning = [score for name, score in scores.items() if name != "none"]
    if not learning:
        return
    best = min(learning, key=lambda score: score.aic)
    gain = scores["none"].aic - best.aic
    if gain < INDISTINGUISHABLE:
        yield (
            f"Learning cannot be told from none: the best curve ({FAMILIES[best.family].words}) "
            f"changes Akaike's criterion by {-gain:+.1f}, and only a fall of more than "
            f"{INDISTINGUISHABLE:g} would say something."
        )
    if fitted.family_ != "none":
        low, high = fitted.intervals_["rate"]
        lower, upper = fitted.fit_.model.family.bounds[0]
        if low <= lower or high >= upper:
            ends = [fitted.fit_.model.family.natural("rate", end) for end in (low, high)]
            yield (
                f"How fast people learn is hardly known: {ends[0][0]} may be anything from "
                f"{ends[0][1]:.3g} to {ends[1][1]:.3g}."
            )


def _about_families(fitted: LearnerEstimator) -> Iterator[str]:
    scores = sorted(fitted.comparison_, key=lambda score: score.aic)
    chosen = next(score for score in scores if score.family == fitted.family_)
    close = [
        FAMILIES[score.family].words
        for score in scores
        if score is not chosen
        and score.family != "none"
        and score.aic < chosen.aic + INDISTINGUISHABLE
    ]
    if close and fitted.family_ != "none":
        yield (
            f"The shape of the curve is open: {listed(close)} fits as well as "
            f"{FAMILIES[fitted.family_].words}."
        )
    measured = [score for score in scores if np.isfinite(score.held_out)]
    if not measured:
        yield "Too few rows to leave some out, so no family was tried on rows it had not seen."
        return
    best = min(measured, key=lambda score: score.held_out)
    if best.held_out < 0.99 * chosen.held_out and not fitted.fit_.is_exact:
        yield (
            f"On rows left out, {FAMILIES[best.family].words} errs less ({best.held_out:.3g}) than "
            f"{FAMILIES[fitted.family_].words} ({chosen.held_out:.3g}), which Akaike's criterion "
            "chose."
        )


def _about_shape(fitted: LearnerEstimator) -> Iterator[str]:
    """Whether squares and products of tests explain what a weighted sum leaves."""
    from scipy.special import fdtrc

    if isinstance(fitted.fit_, LimitedFit):
        return
    model, residuals = fitted.fit_.model, fitted.fit_.residuals
    filled = model.answers.imputed(fitted.imputation_)[0]
    pairs = np.triu_indices(fitted.world.size)
    curved = filled[:, pairs[0]] * filled[:, pairs[1]]
    jacobian = fitted.fit_.jacobian
    everything = np.hstack([jacobian, curved])
    rank = int(np.linalg.matrix_rank(everything))
    more, freedom = rank - int(np.linalg.matrix_rank(jacobian)), len(residuals) - rank
    if more <= 0 or freedom < 3 * rank or fitted.fit_.is_exact:
        return
    weights = np.linalg.lstsq(everything, residuals, rcond=None)[0]
    left = float(np.sum((residuals - everything @ weights) ** 2))
    share = 1.0 - left / fitted.fit_.rss
    if share > 0.02 and fdtrc(more, freedom, share / (1 - share) * freedom / more) < 0.001:
        yield (
            f"Answers are not just a weighted sum: squares and products of tests explain "
            f"{share:.0%} of the scatter that the model leaves. A plan sees only the weighted sum."
        )


def _about_rows(fitted: LearnerEstimator) -> Iterator[str]:
    if fitted.fit_.freedom < 10:
        yield (
            f"Only {len(fitted.fit_.model.answers)} rows for {fitted.fit_.parameters} numbers: "
            "intervals are rough."
        )


def _about_people(fitted: LearnerEstimator) -> Iterator[str]:
    people = len(fitted.participants_)
    if people == 1:
        yield "One participant: intervals are about this person, not about people."
    elif not fitted.uncertainty_.clustered:
        fewest = max(FEWEST_CLUSTERS, 2 * len(fitted.fit_.model.names))
        yield (
            f"{people} participants are too few to say how people differ; intervals treat answers "
            f"as independent and are too narrow if people differ ({fewest} would be enough)."
        )
