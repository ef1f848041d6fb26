"""What `fit_world` gives: a world, how it was estimated, and what is doubtful about it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidInput
from preceptor.estimation.binary_ridge import BinaryRidge
from preceptor.estimation.cross_products import Steps, by_sums, predicted_share
from preceptor.estimation.encoding import Design
from preceptor.estimation.findings import Said, Topic
from preceptor.estimation.held_out import HeldOut
from preceptor.estimation.moments import Moments, Recipe, complete, estimate, fill_in
from preceptor.estimation.weights import (
    SignDisagreement,
    correlations_with_outcome,
    signs_that_disagree,
)
from preceptor.estimation.world_doubts import doubts_about
from preceptor.estimation.yes_no_words import in_words
from preceptor.model.links import Link
from preceptor.model.outcomes import Binary
from preceptor.model.world import World

if TYPE_CHECKING:
    from preceptor.estimation.bootstrap import WorldBootstrap

_FOLDS = 10
_WIDTH = 88


@dataclass(frozen=True, eq=False)
class WorldEstimate:
    """What `fit_world` gives: a world, how it was estimated, and what is doubtful about it.

    Attributes
    ----------
    world
        Standardised tests, the outcome in its own units.
    design
        The table as it was encoded.
    recipe
        The estimators that were used.
    moments
        What they found.
    """

    world: World
    design: Design = field(repr=False)
    recipe: Recipe = field(repr=False)
    moments: Moments = field(repr=False)

    @property
    def rows(self) -> int:
        """Cases that were used."""
        return int(self.design.outcome.size)

    @property
    def dropped(self) -> tuple[tuple[str, str], ...]:
        """Columns that were left out, each with the reason."""
        return self.design.dropped

    @property
    def missing(self) -> dict[str, int]:
        """How many values are missing, by test; only tests that miss any."""
        gaps = [int(self._gaps[block[0]]) for block in self.world.blocks]
        return {test: gap for test, gap in zip(self.world.tests, gaps, strict=True) if gap}

    @property
    def shrinkage(self) -> float | None:
        """How far the covariance was shrunk toward uncorrelated tests, if its estimator says."""
        value = getattr(self.moments.fitted_covariance, "shrinkage_", None)
        return None if value is None else float(value)

    @property
    def alpha(self) -> float | None:
        """Strength of the regression's penalty, if it has one."""
        fitted = self.moments.fitted_regression
        value = getattr(fitted, "alpha_", getattr(fitted, "alpha", None))
        return None if value is None or np.ndim(value) else float(value)

    @property
    def correlation(self) -> FloatArray:
        """Correlations (n, n) of the columns, as estimated."""
        scale = np.sqrt(np.diag(self.world.covariance))
        found: FloatArray = self.world.covariance / np.outer(scale, scale)
        return found

    @property
    def explained(self) -> float:
        """Share of the outcome's variance that all tests together explain in this world."""
        return 1.0 - self.world.noise_variance / self.world.outcome_variance

    @cached_property
    def r_squared(self) -> float:
        """Share of variance predicted in cases that were kept from the estimate (ten folds).

        Gaps of those cases are filled in by the estimated covariance. Where the outcome is yes or
        no, predictions are probabilities.
        """
        if self.world.is_binary:
            return self.held_out.r_squared
        with one_blas_thread():
            return self._predicted_share()

    @property
    def is_linear_reading(self) -> bool:
        """Whether an outcome of two values was read as a number: only linear readers are judged."""
        return self.design.outcome_levels is not None and not self.world.is_binary

    @cached_property
    def held_out(self) -> HeldOut:
        """How well yes and no are foretold in cases kept from the estimate (ten folds).

        What is judged is the world's own reading: its base score, which follows from the
        prevalence, plus all tests by their weights.

        Raises
        ------
        InvalidInput
            The outcome is a number.
        """
        if self.world.outcome is None:
            raise InvalidInput(
                "held_out: the outcome of this world is a number; see `r_squared`, or estimate it "
                "without as_number"
            )
        with one_blas_thread():
            return self._foretold(self.world.outcome.from_score)

    def _foretold(self, link: Link) -> HeldOut:
        values, outcome = complete(self.design.values, self.recipe), self.design.outcome
        scores = np.empty(self.rows)
        if by_sums(values, self.recipe):
            return HeldOut(link, self._foretold_by_steps(link, scores), outcome)
        for fold, others in self._folds():
            if np.ptp(outcome[others]) == 0.0:  # of the rarer outcome there is only one case
                scores[fold] = float(link.score((outcome[others].sum() + 0.5) / (others.size + 1)))
                continue
            mean = np.nanmean(values[others], axis=0)
            standard = (values - mean) / self._scales
            known = estimate(standard[others], outcome[others], self.recipe)
            filled, _ = fill_in(standard[fold], np.zeros(self.world.size), known.covariance)
            weights = known.coefficients
            spread = float(weights @ known.covariance @ weights)
            base = Binary(float(outcome[others].mean()), link.name).base_score(spread)
            scores[fold] = base + filled @ weights
        return HeldOut(link, scores, outcome)

    def _foretold_by_steps(self, link: Link, scores: FloatArray) -> FloatArray:
        """The same for large tables: one step of Newton's method leaves a fold out."""
        cases, outcome = self.filled()
        folds, regression = list(self._folds()), self.moments.fitted_regression
        start = np.append(regression.intercept_, regression.coef_)
        members = [away for away, _ in folds]
        steps = Steps.of(link, cases, outcome, start, regression.alpha_, members)
        for i, (away, others) in enumerate(folds):
            weights = steps.weights((np.arange(len(folds)) != i).astype(np.float64))[1:]
            spread = float(weights @ self.world.covariance @ weights)
            base = Binary(float(outcome[others].mean()), link.name).base_score(spread)
            scores[away] = base + cases[away] @ weights
        return scores

    def _folds(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Rows that are left out and the others; each part of a rare outcome in most folds."""
        rng = np.random.default_rng(self.recipe.seed)
        order = rng.permutation(self.rows)
        # Sorted by outcome, every tenth case has about the share of yes that all of them have.
        order = order[np.argsort(self.design.outcome[order], kind="stable")]
        for fold in range(min(_FOLDS, self.rows)):
            away = order[fold::_FOLDS]
            yield away, np.setdiff1d(order, away)

    def _predicted_share(self) -> float:
        values, outcome = complete(self.design.values, self.recipe), self.design.outcome
        order = np.random.default_rng(self.recipe.seed).permutation(self.rows)
        folds = np.array_split(order, min(_FOLDS, self.rows))
        if by_sums(values, self.recipe):
            return predicted_share(*self.filled(), folds)
        missed, guessed = 0.0, 0.0
        for fold in folds:
            others = np.setdiff1d(order, fold)
            mean, outcome_mean = np.nanmean(values[others], axis=0), outcome[others].mean()
            standard = (values - mean) / self._scales
            known = estimate(standard[others], outcome[others] - outcome_mean, self.recipe)
            filled, _ = fill_in(standard[fold], np.zeros(self.world.size), known.covariance)
            errors = outcome[fold] - outcome_mean - filled @ known.coefficients
            missed += float(errors @ errors)
            guessed += float(np.sum((outcome[fold] - outcome_mean) ** 2))
        return 1.0 - missed / guessed

    def filled(self) -> tuple[FloatArray, FloatArray]:
        """Standardised cases (rows, n), gaps filled in, and centred outcomes (rows,).

        Returns
        -------
        tuple of two arrays
            What the regression is made of.
        """
        units = self.world.units
        assert units is not None
        standard = units.standardise(complete(self.design.values, self.recipe))
        cases, _ = fill_in(standard, np.nanmean(standard, axis=0), self.world.covariance)
        return cases, units.centre(self.design.outcome)

    @cached_property
    def outcome_correlations(self) -> FloatArray:
        """Plain correlation of each column with the outcome, shape (n,)."""
        units = self.world.units
        assert units is not None
        return correlations_with_outcome(self.design, units.means, units.scales)

    @cached_property
    def signs_that_disagree(self) -> tuple[SignDisagreement, ...]:
        """Columns whose weight has the other sign than their correlation with the outcome."""
        return signs_that_disagree(
            self.world.labels,
            self.world.coefficients,
            self.outcome_correlations,
            self.rows,
            self._spread,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the table, a sentence each; none names a single case."""
        said = [note.text for note in self.design.notes] + self._about_missing()
        spread = np.sqrt(np.diag(self.world.covariance))
        if np.abs(spread - 1.0).max() > 0.01:
            said.append(
                "The covariance estimator sees other variances than the sample: tests have "
                f"standard deviations of {spread.min():.2f} to {spread.max():.2f} in this world."
            )
        return tuple(said)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What a careful reader should know before relying on this world; none names a case."""
        return tuple(doubt.text for doubt in self._doubts)

    @property
    def rows_in_doubt(self) -> tuple[str, ...]:
        """The doubts that are about a single case, with its row and what stands there."""
        return tuple(doubt.placed for doubt in self._doubts if doubt.placed)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What somebody who looks at nothing but the world must still be told.

        How the table was read, what was left out, filled in and merged, and all doubts. For those
        who have the table: rows are named.
        """
        return (
            *self._said("reading"),
            *self._said("left out"),
            *self._about_missing(),
            *self._said("merged"),
            *(doubt.in_full for doubt in self._doubts),
        )

    def _said(self, topic: Topic) -> list[str]:
        return [note.in_full for note in self.design.notes if note.topic == topic]

    @cached_property
    def _doubts(self) -> tuple[Said, ...]:
        return (*self.design.doubts, *doubts_about(self))

    @property
    def covariance_method(self) -> str:
        """How the covariance was estimated, in words."""
        how = _estimator_words(self.recipe.covariance)
        return how if self.shrinkage is None else f"{how}, shrinkage {self.shrinkage:.3g}"

    @property
    def regression_method(self) -> str:
        """How the coefficients were estimated, in words."""
        how = _estimator_words(self.recipe.regression)
        return how if self.alpha is None else f"{how}, strength {self.alpha:.3g}"

    def summary(self) -> str:
        """All of it as text.

        Returns
        -------
        str
            The tests with their units and weights, then methods and doubts.
        """
        world, units = self.world, self.world.units
        assert units is not None
        width = max(len(name) for name in (*world.labels, "test"))
        lines = [
            f"A world of {_count(len(world.tests), 'test')} for {units.outcome}, from "
            f"{_count(self.rows, 'case')}",
            "",
            f"{'test':<{width}}  {'average':>10}  {'sd':>10}  {'missing':>7}  "
            "estimated weight of 1 sd",
        ]
        for i, name in enumerate(world.labels):
            gaps = int(self._gaps[i])
            lines.append(
                f"{name:<{width}}  {units.means[i]:>10.4g}  {units.scales[i]:>10.4g}  {gaps:>7,}  "
                f"{world.coefficients[i]:>24.4g}"
            )
        lines += ["", *(in_words(self) if world.is_binary else self._about_number())]
        lines.append(
            f"Covariance: {self.covariance_method}. Coefficients: {self.regression_method}."
        )
        if self.notes:
            lines += ["", "What was done", *(f"- {note}" for note in self.notes)]
        if self.doubts:
            lines += ["", "What is doubtful", *(f"- {doubt}" for doubt in self.doubts)]
        return "\n".join(_wrapped(line) for line in lines)

    def _about_number(self) -> list[str]:
        """What the tests say about an outcome that is a number."""
        units = self.world.units
        assert units is not None
        who = "whoever weighs all tests rightly"
        if self.is_linear_reading:
            who = f"among linear readers, {who}"
        return [
            f"{units.outcome}: average {units.outcome_mean:.4g}, standard deviation "
            f"{self.design.outcome.std():.4g}; {who} is typically off by "
            f"{np.sqrt(self.world.noise_variance):.4g}.",
            f"Explained: {self.explained:.0%} of the variance, {self.r_squared:.0%} in cases kept "
            "from the estimate.",
        ]

    def bootstrap(self, replicates: int = 200, *, seed: int = 0) -> WorldBootstrap:
        """Estimate again from cases drawn with replacement.

        Parameters
        ----------
        replicates
            How many times, at least 2.
        seed
            Seed of the draws.

        Returns
        -------
        WorldBootstrap
            Draws of what was estimated.

        Raises
        ------
        InvalidInput
            There are too few cases for a bootstrap.
        """
        from preceptor.estimation.bootstrap import bootstrap_world

        return bootstrap_world(self, replicates, seed)

    @cached_property
    def _gaps(self) -> IntArray:
        """How many values each column misses, (n,)."""
        return np.asarray(np.isnan(self.design.values).sum(axis=0))

    @property
    def _spread(self) -> float:
        """Standard deviation of the outcome, or of the score behind yes and no."""
        if self.world.is_binary:
            return float(np.sqrt(self.world.outcome_variance))
        return float(self.design.outcome.std())

    @property
    def _scales(self) -> FloatArray:
        assert self.world.units is not None
        return self.world.units.scales

    def _about_missing(self) -> list[str]:
        if not self.missing:
            return []
        total = sum(self.missing.values())
        listed = ", ".join(f"{name} {gaps:,}" for name, gaps in self.missing.items())
        said = f"{_count(total, 'value')} missing ({listed}): "
        if not isinstance(self.recipe.missing, str):
            return [said + f"imputed by {self.recipe.missing!r}."]
        return [
            said + "correlations are over the cases that know both tests, worth "
            f"{self.moments.information:,} complete cases; for the regression gaps were filled in "
            "with what the rest of the case leads to expect."
        ]


def _estimator_words(estimator: Any) -> str:
    ours = {"LedoitWolf": "Ledoit-Wolf", "Ridge": "ridge, chosen by leaving one case out"}
    if isinstance(estimator, BinaryRidge):
        return f"{estimator.link} regression with a ridge, chosen by leaving one case out"
    if type(estimator).__module__.startswith("preceptor."):
        return ours[type(estimator).__name__]
    return repr(estimator)


def _wrapped(line: str) -> str:
    if len(line) <= _WIDTH or "  " in line.strip():
        return line
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(line, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
