"""Losses averaged over one fixed sample: any marginals, any risk, imputation learned from it.

This is the oracle of the paper's variant experiments. The sample is drawn once and reused for
every state and set, so comparisons between them carry no sampling noise.

Imputation is learned from it too: hidden tests as a polynomial of the shown ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import numpy as np

from preceptor._base.schema import Limits, OneOf, faults_as_made
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidProblem, TooLarge
from preceptor.model.budgets import MAX_LISTED_SETS
from preceptor.model.gaussian_loss import form_sensitivity
from preceptor.model.loss import DeviationForms, LossModel, SetForm
from preceptor.model.risks import CompiledRisk, NumberRisk, SquaredError
from preceptor.model.sets import BLOCK_NUMBERS, MOST_NUMBERS, SetFamily

if TYPE_CHECKING:
    from preceptor.model.problem import Problem

DEGREES = {"linear": 1, "cubic": 3}


def impute(features: FloatArray, shown: tuple[int, ...], degree: int) -> FloatArray:
    """Impute hidden columns (cases, n) by least squares; shown columns stay as they are.

    The regressors are 1 and all products of up to `degree` shown tests.
    """
    design = polynomial(features[:, list(shown)], degree)
    hidden = [i for i in range(features.shape[1]) if i not in shown]
    filled = features.copy()
    if hidden:
        weights, *_ = np.linalg.lstsq(design, features[:, hidden], rcond=None)
        filled[:, hidden] = design @ weights
    return filled


def polynomial(columns: FloatArray, degree: int) -> FloatArray:
    """Columns 1, x_i, x_i x_j, ... up to total `degree`."""
    cases, width = columns.shape
    terms = [np.ones(cases)]
    for order in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(width), order):
            terms.append(np.prod(columns[:, list(chosen)], axis=1))
    return np.stack(terms, axis=1)


# More cases would add digits that no decision needs.
_MOST_SAMPLES = 1_000_000


@dataclass(frozen=True, eq=False)
class Empirical(LossModel):
    """Losses averaged over one fixed sample: any marginals, any risk.

    The sample is drawn once and used for every state and set, so comparisons between them carry no
    sampling noise. The person's imputation of hidden tests is learned from it.

    Parameters
    ----------
    samples
        How many cases are drawn, at least 2.
    imputation
        How hidden tests are imputed from shown ones: "linear" or "cubic".
    seed
        Seed of the sample.

    Raises
    ------
    InvalidProblem
        Invalid values, all in one message.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.beta_copula([1.0, 0.8], 0.5)
    >>> learner = pr.Learner([0.2, 1.3], pr.Geometric(1.1))
    >>> problem = pr.Problem(world, learner, risk=pr.AbsoluteError(), loss=Empirical(200, "cubic"))
    >>> problem.oracle.losses(problem.initial_errors).shape
    (1, 3)
    """

    kind: ClassVar[str] = "empirical"

    samples: Annotated[int, Limits(at_least=2, at_most=_MOST_SAMPLES), "Cases in the sample."] = (
        1024
    )
    imputation: Annotated[
        str, OneOf(*DEGREES), "How hidden tests are imputed from the shown ones."
    ] = "linear"
    seed: Annotated[int, Limits(at_least=0), "Seed of the random numbers."] = 0

    def __post_init__(self) -> None:
        InvalidProblem.raise_if(faults_as_made(self))

    def faults(self, problem: Problem) -> list[str]:
        """The sample fits its own imputation, so the learner's would be ignored."""
        if problem.world.is_binary:
            return [
                "loss: samples are for outcomes that are numbers; yes or no has exact losses "
                "(in Python: loss=ClosedForm())"
            ]
        dial = problem.learner.imputation
        if isinstance(dial, np.ndarray) or dial != 0.0:
            return [
                "loss: Empirical learns the imputation from its sample, so the learner's own "
                "imputation must stay 0; plan for it with the loss in closed form "
                "(in Python: loss=ClosedForm())"
            ]
        return []

    def in_words(self) -> str:
        """Sample size and imputation."""
        return f"averaged over {self.samples:,} drawn cases, {self.imputation} imputation"

    def bind(self, problem: Problem) -> EmpiricalOracle:
        """Draw the sample for one problem."""
        return EmpiricalOracle(problem, self)


class _SetSample(NamedTuple):
    """For one set: `base` = y - x̂·a (cases,) and x̂ (cases, n); the residual is base + x̂·e."""

    base: FloatArray
    filled: FloatArray


class EmpiricalOracle:
    """Sample averages of the risk for every set."""

    # Losses are defined by the sample, so they are exact.
    accuracy: float = 0.0

    def __init__(self, problem: Problem, model: Empirical) -> None:
        world = problem.world
        sets = min(problem.budget.count(world.size), MAX_LISTED_SETS)
        numbers = model.samples * world.size * sets
        if numbers > MOST_NUMBERS:
            raise TooLarge(
                f"samples: {model.samples:,} cases of {world.size} tests, imputed for each of "
                f"{sets:,} sets, are {numbers:.1e} numbers, more than {MOST_NUMBERS:.0e}; draw "
                "fewer, or allow fewer sets",
                bytes_needed=8 * numbers,
            )
        cases = world.sample(model.samples, np.random.default_rng(model.seed))
        features, outcomes = cases.features, cases.outcomes
        if not world.is_gaussian:
            # As the paper does: standardise the drawn Beta sample itself, then rebuild outcomes.
            noise = outcomes - features @ world.coefficients
            unit = (features - features.mean(axis=0)) / features.std(axis=0)
            features = unit * np.sqrt(np.diag(world.covariance))
            outcomes = features @ world.coefficients + noise
        self._features, self._outcomes = features, outcomes
        self._coefficients = world.coefficients
        self._degree = DEGREES[model.imputation]
        assert isinstance(problem.risk, NumberRisk)
        self._risk = problem.risk
        self._budget = problem.budget
        self._samples: dict[tuple[int, ...], _SetSample] = {}

    @cached_property
    def sets(self) -> SetFamily:
        """All sets the budget allows."""
        return self._budget.sets(self._coefficients.size)

    def _sample_of(self, shown: tuple[int, ...]) -> _SetSample:
        key = tuple(sorted(shown))
        if key not in self._samples:
            filled = impute(self._features, key, self._degree)
            self._samples[key] = _SetSample(self._outcomes - filled @ self._coefficients, filled)
        return self._samples[key]

    def losses(self, errors: FloatArray) -> FloatArray:
        """Losses set by set, all states at once."""
        errors = np.atleast_2d(np.asarray(errors, dtype=np.float64))
        return np.stack([self.loss_of(errors, shown) for shown in self.sets], axis=1)

    def loss_of(self, errors: FloatArray, shown: tuple[int, ...]) -> FloatArray:
        """Mean charge (states,) of the residuals y - ŷ."""
        errors = np.atleast_2d(np.asarray(errors, dtype=np.float64))
        sample = self._sample_of(shown)
        step = max(1, BLOCK_NUMBERS // sample.base.size)
        parts = []
        for start in range(0, errors.shape[0], step):
            residuals = sample.base[:, None] + sample.filled @ errors[start : start + step].T
            parts.append(self._risk.charge(residuals).mean(axis=0))
        return np.concatenate(parts) + self._price(shown)

    def ceiling_of(self, sizes: FloatArray, shown: tuple[int, ...]) -> float:
        """Mean charge with every residual as large as the errors could make it."""
        sample = self._sample_of(shown)
        reach = np.abs(sample.filled) @ sizes
        both = np.stack([sample.base - reach, sample.base + reach])
        return float(self._risk.charge(both).max(axis=0).mean()) + self._price(shown)

    def sensitivity_of(self, sizes: FloatArray, shown: tuple[int, ...]) -> FloatArray:
        """An error moves each residual by the case's imputed value of the test."""
        form = self.squared_form_of(shown)
        if form is not None:
            return form_sensitivity(form, sizes, self._risk)
        sample = self._sample_of(shown)
        largest = float(np.max(np.abs(sample.base) + np.abs(sample.filled) @ sizes))
        moved: FloatArray = np.abs(sample.filled).mean(axis=0)
        return moved * self._risk.charge_slope(largest)

    def floors(self) -> FloatArray:
        """Least squares for squared error, else 0, the least charge."""
        forms = self.forms()
        return self.sets.prices + (forms.floor if forms is not None else 0.0)

    def forms(self) -> DeviationForms | None:
        """Mean squares as squared lengths, by a QR factorisation of the imputed sample."""
        return self._squared_forms if isinstance(self._risk, SquaredError) else None

    def squared_form_of(self, shown: tuple[int, ...]) -> SetForm | None:
        """Mean square of one set, by a QR factorisation."""
        if not isinstance(self._risk, SquaredError):
            return None
        sample = self._sample_of(shown)
        scale = 1.0 / np.sqrt(sample.base.size)
        basis, reading = np.linalg.qr(sample.filled * scale)
        base = sample.base * scale
        shift = basis.T @ base
        floor = float(np.sum((base - basis @ shift) ** 2))
        return SetForm(floor, shift, reading, self._price(shown))

    @cached_property
    def _squared_forms(self) -> DeviationForms:
        forms = [form for shown in self.sets if (form := self.squared_form_of(shown)) is not None]
        return DeviationForms(
            floor=np.array([form.floor for form in forms]),
            shift=np.array([form.shift for form in forms]),
            reading=np.array([form.reading for form in forms]),
            prices=self.sets.prices,
            risk=CompiledRisk.of_number(self._risk),
        )

    def _price(self, shown: tuple[int, ...]) -> float:
        return float(self._budget.prices(self._coefficients.size)[list(shown)].sum())
