"""People one by one, each drawn toward the others as far as their own rows are few.

Empirical Bayes. Every person has their own bias, initial coefficients and learning rate, and these
vary around a common mean with a between-person covariance; floor and κ are common. Mean and
covariance are estimated from everybody (by expectation-maximisation on the linearised model), then
each person's numbers are the most probable given both their rows and the population. Somebody with
many rows gets nearly their own least-squares fit; somebody with few gets nearly the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.estimation.learner_fit import FamilyFit
from preceptor.estimation.learner_model import Model

_RELINEARISATIONS = 5
_MOST_STEPS = 200
# With fewer people for each number that varies, correlations between numbers are taken to be 0.
_PEOPLE_FOR_CORRELATIONS = 3


@dataclass(frozen=True, eq=False)
class Person:
    """What one person's rows and the population say together."""

    bias: float
    initial: FloatArray
    point: FloatArray
    standard_deviations: FloatArray


@dataclass(frozen=True, eq=False)
class Population:
    """How people differ: `names` (varying,) with a mean, a covariance, and everybody's values."""

    names: tuple[str, ...]
    mean: FloatArray
    covariance: FloatArray
    noise_sd: float
    people: tuple[Person, ...]


@dataclass(frozen=True, eq=False)
class _Varying:
    """Which columns of the Jacobian differ between people, and how to put values in."""

    model: Model
    columns: npt.NDArray[np.int64]
    pooled: FloatArray
    point: FloatArray

    @classmethod
    def of(cls, fit: FamilyFit, identified: npt.NDArray[np.bool_]) -> _Varying:
        model = fit.model
        initial = fit.initial[model.free]
        linear = np.append(fit.bias, initial) if model.biased else initial
        pooled = np.concatenate([linear, fit.point])
        varies = np.arange(pooled.size) < linear.size + min(len(model.family.parameters), 1)
        return cls(model, np.flatnonzero(varies & identified), pooled, fit.point)

    def place(self, values: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Bias, initial coefficients (n,) and searched point for one person's values."""
        whole = self.pooled.copy()
        whole[self.columns] = values
        biased = int(self.model.biased)
        linear = whole.size - self.point.size
        initial = self.model.default.copy()
        initial[self.model.free] = whole[biased:linear]
        return float(whole[0]) if biased else 0.0, initial, whole[linear:]

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        linear = self.pooled.size - self.point.size
        every = [(-np.inf, np.inf)] * linear + self.model.bounds
        lower, upper = np.array(every)[self.columns].T
        return lower, upper


def fit_people(fit: FamilyFit, identified: npt.NDArray[np.bool_]) -> Population:
    """Everybody's own numbers, with the population that they were drawn toward."""
    varying = _Varying.of(fit, identified)
    answers = fit.model.answers
    people = int(answers.person.max()) + 1
    own = [fit.model.on(answers.rows(answers.person == p)) for p in range(people)]
    mean = varying.pooled[varying.columns]
    values = np.tile(mean, (people, 1))
    # To begin with, people differ as much as one person's rows can tell.
    gram = fit.jacobian[:, varying.columns]
    each = np.linalg.pinv(gram.T @ gram) * fit.noise_sd**2 * people
    # Answers without noise would leave no spread to begin with, and nothing to divide by.
    noise = max(fit.noise_sd**2, 1e-12 * float(np.mean(answers.answers**2)))
    covariance = np.diag(np.maximum(np.diag(each), 1e-8 * (1.0 + mean**2)))
    spread = np.zeros((people, mean.size, mean.size))
    for _ in range(_RELINEARISATIONS):
        before = values
        values = np.array(
            [
                _most_probable(varying, model, start, mean, covariance, noise)
                for model, start in zip(own, values, strict=True)
            ]
        )
        sums = [_linearised(varying, m, v) for m, v in zip(own, values, strict=True)]
        mean, covariance, noise, spread = _maximise(sums, mean, covariance, noise, len(answers))
        deviations = np.sqrt(np.diag(covariance))
        if np.all(np.abs(values - before) <= 1e-3 * deviations):
            break
    found = tuple(
        Person(*varying.place(value), np.sqrt(np.diag(variance)))
        for value, variance in zip(values, spread, strict=True)
    )
    names = tuple(fit.model.names[i] for i in varying.columns)
    return Population(names, mean, covariance, float(np.sqrt(noise)), found)


def _most_probable(
    varying: _Varying,
    model: Model,
    start: FloatArray,
    mean: FloatArray,
    covariance: FloatArray,
    noise: float,
) -> FloatArray:
    """Least squares with the population as further rows."""
    from scipy.optimize import least_squares

    pull = np.linalg.inv(np.linalg.cholesky(covariance))
    scale = np.sqrt(noise)

    def residuals(values: FloatArray) -> FloatArray:
        own = model.answers.answers - model.mean(*varying.place(values))
        return np.concatenate([own / scale, pull @ (mean - values)])

    def slope(values: FloatArray) -> FloatArray:
        _, initial, point = varying.place(values)
        own = model.jacobian(initial, point)[:, varying.columns]
        return np.vstack([-own / scale, -pull])

    lower, upper = varying.bounds
    inside = np.clip(start, lower, upper)
    size = np.sqrt(np.diag(covariance))
    found = least_squares(
        residuals, inside, slope, (lower, upper), x_scale=size, ftol=1e-8, xtol=1e-6
    )
    return np.asarray(found.x, dtype=np.float64)


def _linearised(
    varying: _Varying, model: Model, values: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Sums that hold all a person's rows say near their values: JᵀJ, Jᵀy, yᵀy."""
    bias, initial, point = varying.place(values)
    jacobian = model.jacobian(initial, point)[:, varying.columns]
    response = model.answers.answers - model.mean(bias, initial, point) + jacobian @ values
    return jacobian.T @ jacobian, jacobian.T @ response, float(response @ response)


def _maximise(
    sums: list[tuple[FloatArray, FloatArray, float]],
    mean: FloatArray,
    covariance: FloatArray,
    noise: float,
    rows: int,
) -> tuple[FloatArray, FloatArray, float, FloatArray]:
    """Expectation-maximisation of a linear model whose coefficients vary between people."""
    gram = np.array([s[0] for s in sums])
    moment = np.array([s[1] for s in sums])
    square = sum(s[2] for s in sums)
    correlated = len(sums) >= _PEOPLE_FOR_CORRELATIONS * mean.size
    least = 1e-10 * np.diag(covariance) + 1e-14
    spread = np.zeros_like(gram)
    for _ in range(_MOST_STEPS):
        precision = np.linalg.inv(covariance)
        spread = np.linalg.inv(precision + gram / noise)
        values = np.einsum("pij,pj->pi", spread, precision @ mean + moment / noise)
        before = np.diag(covariance)
        mean = values.mean(axis=0)
        away = values - mean
        covariance = spread.mean(axis=0) + away.T @ away / len(sums)
        if not correlated:
            covariance = np.diag(np.diag(covariance))
        covariance = covariance + np.diag(least)
        fitted = np.einsum("pi,pij,pj->", values, gram, values)
        unsure = np.einsum("pij,pji->", gram, spread)
        noise = (square - 2.0 * float(np.sum(values * moment)) + float(fitted + unsure)) / rows
        noise = max(noise, 1e-12 * square / rows)
        if np.all(np.abs(np.diag(covariance) - before) <= 1e-3 * before):
            break
    return mean, covariance, noise, spread
