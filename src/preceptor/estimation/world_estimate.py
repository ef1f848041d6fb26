"""What `fit_world` gives: a world, how it was estimated, and what is doubtful about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import WIDTH, counted, wrap
from preceptor.errors import InvalidInput
from preceptor.estimation.binary_ridge import BinaryRidge
from preceptor.estimation.encoding import Design
from preceptor.estimation.findings import Said
from preceptor.estimation.held_out import HeldOut
from preceptor.estimation.moments import (
    Moments,
    Recipe,
    complete,
    enough_cases,
    estimate,
    fill_in,
)
from preceptor.estimation.world_doubts import (
    SignDisagreement,
    doubts_about,
    signs_that_disagree,
)
from preceptor.model.links import Link
from preceptor.model.matrices import correlations_of
from preceptor.model.outcomes import Binary
from preceptor.model.world import World

if TYPE_CHECKING:
    from preceptor._base.deadline import Deadline
    from preceptor.estimation.bootstrap import WorldBootstrap

_FOLDS = 10


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
        return correlations_of(self.world.covariance)

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
        outcome, scores = self.design.outcome, np.full(self.rows, np.nan)
        for fold, others in self._folds():
            share = float(outcome[others].mean())
            if share in (0.0, 1.0):  # of the rarer outcome there is only one case
                scores[fold] = float(link.score((outcome[others].sum() + 0.5) / (others.size + 1)))
                continue
            known, filled = self._without(fold, others, 0.0)
            weights = known.coefficients
            spread = float(weights @ known.covariance @ weights)
            scores[fold] = Binary(share, link.name).base_score(spread) + filled @ weights
        looked_at = np.isfinite(scores)
        return HeldOut(link, scores[looked_at], outcome[looked_at])

    def _predicted_share(self) -> float:
        outcome, missed, guessed = self.design.outcome, 0.0, 0.0
        for fold, others in self._folds():
            mean = float(outcome[others].mean())
            known, filled = self._without(fold, others, mean)
            errors = outcome[fold] - mean - filled @ known.coefficients
            missed += float(errors @ errors)
            guessed += float(np.sum((outcome[fold] - mean) ** 2))
        return 1.0 - missed / guessed

    def _folds(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Rows that are left out and the others; each part of a rare outcome in most folds."""
        order = np.random.default_rng(self.recipe.seed).permutation(self.rows)
        order = order[: enough_cases(self.rows, self.world.size)]
        number = min(_FOLDS, order.size)
        folds = np.array_split(order, number)
        if self.world.is_binary:
            # Sorted by outcome, every tenth case has about the share of yes that all of them have.
            order = order[np.argsort(self.design.outcome[order], kind="stable")]
            folds = [order[first::_FOLDS] for first in range(number)]
        for fold in folds:
            yield fold, np.setdiff1d(order, fold)

    def _without(
        self, fold: IntArray, others: IntArray, outcome_mean: float
    ) -> tuple[Moments, FloatArray]:
        """What the other cases say, and the fold's tests with gaps filled in by that."""
        values = self._complete
        standard = (values - np.nanmean(values[others], axis=0)) / self._scales
        outcome = self.design.outcome[others] - outcome_mean
        known = estimate(standard[others], outcome, self.recipe)
        filled, _ = fill_in(standard[fold], np.zeros(self.world.size), known.covariance)
        return known, filled

    @cached_property
    def _complete(self) -> FloatArray:
        return complete(self.design.values, self.recipe)

    @cached_property
    def outcome_correlations(self) -> FloatArray:
        """Plain correlation of each column with the outcome, over the cases that know it, (n,)."""
        found = np.zeros(self.world.size)
        for i, column in enumerate(self.design.values.T):
            known = ~np.isnan(column)
            values, outcome = column[known], self.design.outcome[known]
            if np.ptp(values) > 0.0 and np.ptp(outcome) > 0.0:
                found[i] = np.corrcoef(values, outcome)[0, 1]
        return found

    @cached_property
    def signs_that_disagree(self) -> tuple[SignDisagreement, ...]:
        """Columns whose weight has the other sign than their correlation with the outcome."""
        return signs_that_disagree(self)

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
            *(note.in_full for note in self.design.notes if not note.is_detail),
            *self._about_missing(),
            *(doubt.in_full for doubt in self._doubts),
        )

    @cached_property
    def _doubts(self) -> tuple[Said, ...]:
        return (*self.design.doubts, *map(Said, doubts_about(self)))

    @property
    def facts(self) -> list[tuple[str, str]]:
        """How well tests explain the outcome and how that was estimated: labels and texts."""
        return [
            *(self._about_yes_and_no() if self.world.is_binary else self._about_number()),
            ("Covariance", _with_number(self.recipe.covariance, "shrinkage", self.shrinkage)),
            ("Weights", _with_number(self.recipe.regression, "strength", self.alpha)),
        ]

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
            f"A world of {counted(len(world.tests), 'test')} for {units.outcome}, from "
            f"{counted(self.rows, 'case')}",
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
        lines += ["", *(f"{label}: {text}." for label, text in self.facts)]
        if self.notes:
            lines += ["", "What was done", *(f"- {note}" for note in self.notes)]
        if self.doubts:
            lines += ["", "What is doubtful", *(f"- {doubt}" for doubt in self.doubts)]
        return "\n".join(_wrapped(line) for line in lines)

    def _about_number(self) -> list[tuple[str, str]]:
        """What the tests say about an outcome that is a number."""
        units = self.world.units
        assert units is not None
        whoever = "a person who weighs all tests rightly is typically off by"
        if self.is_linear_reading:
            whoever = "no linear reader of all tests is typically off by less than"
        return [
            (
                units.outcome,
                f"average {units.outcome_mean:.4g}, standard deviation "
                f"{self.design.outcome.std():.4g}; {whoever} "
                f"{np.sqrt(self.world.noise_variance):.4g}",
            ),
            (
                "Explained",
                f"{self.explained:.0%} of the variance, {self.r_squared:.0%} in cases kept from "
                "the estimate",
            ),
        ]

    def _about_yes_and_no(self) -> list[tuple[str, str]]:
        """Prevalence, and how well cases kept from the estimate are foretold."""
        units, outcome, found = self.world.units, self.design.outcome, self.held_out
        assert units is not None
        yes = "" if units.outcome_levels is None else f" ({units.outcome_levels[1]})"
        intercept, slope = found.calibration
        return [
            (
                units.outcome,
                f"yes{yes} in {outcome.mean():.1%} of cases ({int(outcome.sum()):,} of "
                f"{self.rows:,})",
            ),
            (
                "In cases kept from the estimate",
                f"AUC {found.auc:.3f}; Brier score {found.brier:.3f}, where always saying the "
                f"prevalence has {found.brier_of_prevalence:.3f}; calibration slope {slope:.2f} (1 "
                f"is right, less is too extreme) and intercept {intercept:+.2f} (0 is right)",
            ),
        ]

    def bootstrap(
        self, replicates: int = 200, *, seed: int = 0, until: Deadline | None = None
    ) -> WorldBootstrap:
        """Estimate again from cases drawn with replacement.

        Parameters
        ----------
        replicates
            How many times, at least 2.
        seed
            Seed of the draws.
        until
            When to end with fewer, though with at least 2.

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

        return bootstrap_world(self, replicates, seed, until)

    @cached_property
    def _gaps(self) -> IntArray:
        """How many values each column misses, (n,)."""
        return np.asarray(np.isnan(self.design.values).sum(axis=0))

    @property
    def spread(self) -> float:
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
        said = f"{counted(total, 'value')} missing ({listed}): "
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


def _with_number(estimator: Any, what: str, number: float | None) -> str:
    how = _estimator_words(estimator)
    return how if number is None else f"{how}, {what} {number:.3g}"


def _wrapped(line: str) -> str:
    if len(line) <= WIDTH or "  " in line.strip():
        return line
    indent = "  " if line.startswith("- ") else ""
    return "\n".join(wrap(line, "", indent))
