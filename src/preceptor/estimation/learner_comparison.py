"""Which family of curves describes a log best: by Akaike's criterion, and on people left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.estimation.learner_answers import Answers
from preceptor.estimation.learner_fit import FamilyFit
from preceptor.estimation.learner_limits import LimitedFit, chance_of_yes
from preceptor.estimation.learner_model import Model

Rows = npt.NDArray[np.bool_]
# Of one person, this share of the rounds (the last ones) is predicted from the earlier ones.
_SHARE_OF_ROUNDS = 0.25


@dataclass(frozen=True)
class FamilyScore:
    """How well a family does: `held_out` is the root mean squared error on rows left out."""

    family: str
    parameters: int
    log_likelihood: float
    aic: float
    held_out: float


def folds_of(answers: Answers, folds: int, rng: np.random.Generator) -> list[Rows]:
    """Rows to leave out, one set of them at a time: whole people, or the last rounds of one."""
    people = np.unique(answers.person)
    if people.size == 1:
        away = max(1, int(_SHARE_OF_ROUNDS * len(answers)))
        return [np.arange(len(answers)) >= len(answers) - away]
    parts = np.array_split(rng.permutation(people), min(folds, people.size))
    return [np.isin(answers.person, part) for part in parts]


def held_out_error(fit: FamilyFit | LimitedFit, folds: list[Rows]) -> float:
    """Root mean squared error of predicting rows from a fit to the others.

    Decisions, 0 or 1, are predicted with the probability of yes.
    """
    squares: list[FloatArray] = []
    for away in folds:
        training = fit.model.on(fit.model.answers.rows(~away))
        if len(training.answers) <= len(training.names):
            return float("nan")
        left_out = fit.model.on(fit.model.answers.rows(away))
        predicted = fit.refitted(training).expected(left_out)
        squares.append((left_out.answers.answers - predicted) ** 2)
    return float(np.sqrt(np.mean(np.concatenate(squares))))


def compare(fits: Sequence[FamilyFit | LimitedFit], folds: list[Rows]) -> list[FamilyScore]:
    """One score for each family, in the order given."""
    return [
        FamilyScore(
            fit.model.family.name,
            fit.parameters,
            fit.log_likelihood,
            fit.aic,
            held_out_error(fit, folds),
        )
        for fit in fits
    ]


def baselines(model: Model, folds: list[Rows]) -> dict[str, float]:
    """Held-out errors of two fits that nobody needs a log for.

    "default": somebody with the default beliefs who never learns. "constant": always the average
    of the answers in the other rows.
    """
    answers = model.answers
    dial = 0.0 if model.imputation is None else model.imputation
    default = answers.imputed(dial)[0] @ model.default
    if answers.decided:
        default = chance_of_yes(answers.world, default, 1.0)
    residuals: dict[str, list[FloatArray]] = {"default": [], "constant": []}
    for away in folds:
        residuals["default"].append(answers.answers[away] - default[away])
        residuals["constant"].append(answers.answers[away] - answers.answers[~away].mean())
    return {
        name: float(np.sqrt(np.mean(np.concatenate(parts) ** 2)))
        for name, parts in residuals.items()
    }
