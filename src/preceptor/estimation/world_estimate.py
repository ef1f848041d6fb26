"""What `fit_world` gives: a world, how it was estimated, and what is doubtful about it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.estimation.encoding import Design
from preceptor.estimation.moments import Moments, Recipe, complete, estimate, fill_in
from preceptor.model.world import World

if TYPE_CHECKING:
    from preceptor.estimation.bootstrap import WorldBootstrap

_FOLDS = 10
_WIDTH = 88
# Shares of explained variance that make one wonder.
_HARDLY_ANY, _TOO_GOOD = 0.02, 0.999
# A correlation above this makes it hard to say which of two tests matters.
_NEARLY_COPIES = 0.98


# If gaps account for more of the residuals than this, the noise that is left is doubtful.
_LARGE_SHARE = 0.25


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
        gaps = [int(np.isnan(self.design.values[:, block[0]]).sum()) for block in self.world.blocks]
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

        Gaps of those cases are filled in by the estimated covariance.
        """
        values, outcome = complete(self.design.values, self.recipe), self.design.outcome
        order = np.random.default_rng(self.recipe.seed).permutation(self.rows)
        missed, guessed = 0.0, 0.0
        for fold in np.array_split(order, min(_FOLDS, self.rows)):
            others = np.setdiff1d(order, fold)
            mean, outcome_mean = np.nanmean(values[others], axis=0), outcome[others].mean()
            standard = (values - mean) / self._scales
            known = estimate(standard[others], outcome[others] - outcome_mean, self.recipe)
            filled, _ = fill_in(standard[fold], np.zeros(self.world.size), known.covariance)
            errors = outcome[fold] - outcome_mean - filled @ known.coefficients
            missed += float(errors @ errors)
            guessed += float(np.sum((outcome[fold] - outcome_mean) ** 2))
        return 1.0 - missed / guessed

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the table, a sentence each."""
        said = [*self.design.notes, *self._about_missing()]
        spread = np.sqrt(np.diag(self.world.covariance))
        if np.abs(spread - 1.0).max() > 0.01:
            said.append(
                "The covariance estimator sees other variances than the sample: tests have "
                f"standard deviations of {spread.min():.2f} to {spread.max():.2f} in this world."
            )
        return tuple(said)

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """What a careful reader should know before relying on this world, a sentence each."""
        found = list(self.design.doubts)
        if self.moments.information < 5 * self.world.size:
            found.append(
                f"{self.moments.information:,} cases for {self.world.size} columns are few; expect "
                "other weights from other cases (see the bootstrap)."
            )
        off = np.abs(self.correlation - np.eye(self.world.size))
        if off.size > 1 and off.max() > _NEARLY_COPIES:
            i, j = (int(v) for v in np.unravel_index(int(off.argmax()), off.shape))
            one, other = self.world.labels[i], self.world.labels[j]
            found.append(
                f"{one} and {other} are nearly copies (correlation {self.correlation[i, j]:.3f}); "
                "which of them carries the weight is hardly determined."
            )
        if self.explained < _HARDLY_ANY:
            found.append("The tests explain next to nothing of the outcome in these cases.")
        elif self.explained > _TOO_GOOD:
            found.append(
                "The tests explain the outcome almost perfectly; is one of them the outcome itself?"
            )
        if self.moments.hidden > _LARGE_SHARE:
            found.append(
                f"{self.moments.hidden:.0%} of what the regression misses is put down to missing "
                "values instead of noise, so the noise is a rough estimate."
            )
        if self.moments.adjusted > 0.0:
            found.append(
                "Pairwise correlations contradicted each other; they were changed by up to "
                f"{self.moments.adjusted:.2f} to agree. An imputer may serve better."
            )
        return tuple(found)

    @property
    def rows_in_doubt(self) -> tuple[str, ...]:
        """What is doubtful about single rows, a sentence each."""
        return ()

    @property
    def signs_that_disagree(self) -> tuple[Any, ...]:
        """Columns whose weight has not the sign of the correlation: name, weight, correlation."""
        return ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What somebody who looks at nothing but the world must still be told."""
        left_out = [f"{name} was left out: {reason}." for name, reason in self.dropped]
        return (*left_out, *self.doubts)

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
            f"{'test':<{width}}  {'average':>10}  {'sd':>10}  {'missing':>7}  weight of 1 sd",
        ]
        for i, name in enumerate(world.labels):
            gaps = int(np.isnan(self.design.values[:, i]).sum())
            lines.append(
                f"{name:<{width}}  {units.means[i]:>10.4g}  {units.scales[i]:>10.4g}  {gaps:>7,}  "
                f"{world.coefficients[i]:>14.4g}"
            )
        error = np.sqrt(world.noise_variance)
        lines += [
            "",
            f"{units.outcome}: average {units.outcome_mean:.4g}, standard deviation "
            f"{self.design.outcome.std():.4g}; whoever weighs all tests rightly is typically "
            f"off by {error:.4g}.",
            f"Explained: {self.explained:.0%} of the variance, {self.r_squared:.0%} in cases kept "
            "from the estimate.",
            f"Covariance: {self.covariance_method}. Coefficients: {self.regression_method}.",
        ]
        if self.notes:
            lines += ["", "What was done", *(f"- {note}" for note in self.notes)]
        if self.doubts:
            lines += ["", "What is doubtful", *(f"- {doubt}" for doubt in self.doubts)]
        return "\n".join(_wrapped(line) for line in lines)

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
