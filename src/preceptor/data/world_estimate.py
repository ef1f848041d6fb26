"""The result of `fit_world`: a world, how it was estimated, and how uncertain it is.

Every bootstrap replicate uses the units of the estimate (its means and standard deviations), so
replicates can be compared with it and with each other, and planned for. Imputation is part of a
replicate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from preceptor._base.checks import check_level, count_faults
from preceptor._base.parallel import one_blas_thread
from preceptor._base.progress import Deadline
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import WIDTH, counted, wrap
from preceptor.data.design import DesignMatrix
from preceptor.data.estimators import BinaryRidge, LedoitWolf, Ridge
from preceptor.data.findings import Remark
from preceptor.data.moments import Recipe, WorldMoments, complete, enough_cases, estimate, fill_in
from preceptor.data.world_doubts import HeldOut, SignDisagreement, doubts_about, signs_that_disagree
from preceptor.errors import InvalidInput
from preceptor.model.matrices import correlations_of
from preceptor.model.outcomes import Binary, Link
from preceptor.model.world import World

_FOLDS = 10


@dataclass(frozen=True, eq=False)
class WorldEstimate:
    """A world estimated from a table, how it was estimated, and doubts about it.

    Attributes
    ----------
    world
        The world, with standardised tests and the outcome in its own units.
    design
        The encoded table.
    recipe
        The estimators.
    moments
        Their estimates.
    """

    world: World
    design: DesignMatrix = field(repr=False)
    recipe: Recipe = field(repr=False)
    moments: WorldMoments = field(repr=False)

    @property
    def rows(self) -> int:
        """Number of cases used."""
        return int(self.design.outcome.size)

    @property
    def dropped(self) -> tuple[tuple[str, str], ...]:
        """Columns left out, each with the reason."""
        return tuple(self.design.findings.dropped)

    @property
    def missing(self) -> dict[str, int]:
        """Number of missing values by test, for tests that have any."""
        gaps = [int(self._gaps[block[0]]) for block in self.world.blocks]
        return {test: gap for test, gap in zip(self.world.tests, gaps, strict=True) if gap}

    @property
    def shrinkage(self) -> float | None:
        """Shrinkage of the covariance, if its estimator reports it."""
        value = getattr(self.moments.fitted_covariance, "shrinkage_", None)
        return None if value is None else float(value)

    @property
    def alpha(self) -> float | None:
        """Penalty strength of the regression, if it has one."""
        fitted = self.moments.fitted_regression
        value = getattr(fitted, "alpha_", getattr(fitted, "alpha", None))
        return None if value is None or np.ndim(value) else float(value)

    @property
    def correlation(self) -> FloatArray:
        """Estimated correlations (n, n) of the columns."""
        return correlations_of(self.world.covariance)

    @property
    def explained(self) -> float:
        """Share of the outcome's variance that all tests explain in this world."""
        return 1.0 - self.world.noise_variance / self.world.outcome_variance

    @cached_property
    def r_squared(self) -> float:
        """Share of the variance predicted in held-out cases (ten folds).

        Gaps of those cases are filled in by the estimated covariance. For a yes-or-no outcome,
        predictions are probabilities.
        """
        if self.world.is_binary:
            return self.held_out.r_squared
        outcome, missed, guessed = self.design.outcome, 0.0, 0.0
        with one_blas_thread():
            for fold, others in self._folds():
                mean = float(outcome[others].mean())
                known, filled = self._without(fold, others, mean)
                errors = outcome[fold] - mean - filled @ known.coefficients
                missed += float(errors @ errors)
                guessed += float(np.sum((outcome[fold] - mean) ** 2))
        return 1.0 - missed / guessed

    @property
    def is_linear_reading(self) -> bool:
        """Whether an outcome of two values was read as a number; bounds are for linear readers."""
        return self.design.outcome_levels is not None and not self.world.is_binary

    @cached_property
    def held_out(self) -> HeldOut:
        """How well yes and no are predicted in held-out cases (ten folds).

        Predictions are those of the world: its base score, derived from the prevalence, plus the
        weighted tests.

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
            return self._predict_held_out(self.world.outcome.from_score)

    def _predict_held_out(self, link: Link) -> HeldOut:
        outcome, scores = self.design.outcome, np.full(self.rows, np.nan)
        for fold, others in self._folds():
            share = float(outcome[others].mean())
            if share in (0.0, 1.0):  # only one case has the rarer outcome
                scores[fold] = float(link.score((outcome[others].sum() + 0.5) / (others.size + 1)))
                continue
            known, filled = self._without(fold, others, 0.0)
            weights = known.coefficients
            spread = float(weights @ known.covariance @ weights)
            scores[fold] = Binary(share, link.name).base_score(spread) + filled @ weights
        looked_at = np.isfinite(scores)
        return HeldOut(link, scores[looked_at], outcome[looked_at])

    def _folds(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield held-out rows and the others; folds are stratified by a yes-or-no outcome."""
        order = np.random.default_rng(self.recipe.seed).permutation(self.rows)
        order = order[: enough_cases(self.rows, self.world.size)]
        number = min(_FOLDS, order.size)
        folds = np.array_split(order, number)
        if self.world.is_binary:
            # Every tenth case of those sorted by outcome has about the overall share of yes.
            order = order[np.argsort(self.design.outcome[order], kind="stable")]
            folds = [order[first::_FOLDS] for first in range(number)]
        for fold in folds:
            yield fold, np.setdiff1d(order, fold)

    def _without(
        self, fold: IntArray, others: IntArray, outcome_mean: float
    ) -> tuple[WorldMoments, FloatArray]:
        """Moments of the other cases, and the fold's tests with gaps filled in by them."""
        values, units = self._complete, self.world.units
        assert units is not None
        standard = (values - np.nanmean(values[others], axis=0)) / units.scales
        outcome = self.design.outcome[others] - outcome_mean
        known = estimate(standard[others], outcome, self.recipe)
        filled, _ = fill_in(standard[fold], np.zeros(self.world.size), known.covariance)
        return known, filled

    @cached_property
    def _complete(self) -> FloatArray:
        return complete(self.design.values, self.recipe)

    @cached_property
    def outcome_correlations(self) -> FloatArray:
        """Correlation of each column with the outcome over its known cases, shape (n,)."""
        found = np.zeros(self.world.size)
        for i, column in enumerate(self.design.values.T):
            known = ~np.isnan(column)
            values, outcome = column[known], self.design.outcome[known]
            if np.ptp(values) > 0.0 and np.ptp(outcome) > 0.0:
                found[i] = np.corrcoef(values, outcome)[0, 1]
        return found

    @cached_property
    def signs_that_disagree(self) -> tuple[SignDisagreement, ...]:
        """Columns whose weight and correlation with the outcome have opposite signs."""
        return signs_that_disagree(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the table, as sentences that identify no case."""
        said = [note.text for note in self.design.findings.notes] + self._about_missing()
        spread = np.sqrt(np.diag(self.world.covariance))
        if np.abs(spread - 1.0).max() > 0.01:
            said.append(
                "The covariance estimator changed variances: tests have standard deviations of "
                f"{spread.min():.2f} to {spread.max():.2f} in this world."
            )
        return tuple(said)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons to distrust this world, as sentences that identify no case."""
        return tuple(doubt.text for doubt in self._doubts)

    @property
    def rows_in_doubt(self) -> tuple[str, ...]:
        """Doubts about a single case, with its row and value."""
        return tuple(doubt.with_place for doubt in self._doubts if doubt.with_place)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What every user of the world should know; identifies rows of the table.

        How the table was read, what was left out, filled in and merged, and all doubts.
        """
        return (
            *(note.in_full for note in self.design.findings.notes if not note.is_detail),
            *self._about_missing(),
            *(doubt.in_full for doubt in self._doubts),
        )

    @cached_property
    def _doubts(self) -> tuple[Remark, ...]:
        return (*self.design.findings.doubts, *map(Remark, doubts_about(self)))

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Labels and texts on how well tests explain the outcome, and how that was estimated."""
        return [
            *(self._about_yes_and_no() if self.world.is_binary else self._about_number()),
            ("Covariance", _with_number(self.recipe.covariance, "shrinkage", self.shrinkage)),
            ("Weights", _with_number(self.recipe.regression, "strength", self.alpha)),
        ]

    def summary(self) -> str:
        """Describe the estimate as text.

        Returns
        -------
        str
            The tests with units and weights, then methods and doubts.
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
        """Facts about a numeric outcome."""
        units = self.world.units
        assert units is not None
        reader = "a person with the right weights for all tests is typically off by"
        if self.is_linear_reading:
            reader = "no linear reader of all tests is typically off by less than"
        return [
            (
                units.outcome,
                f"average {units.outcome_mean:.4g}, standard deviation "
                f"{self.design.outcome.std():.4g}; {reader} "
                f"{np.sqrt(self.world.noise_variance):.4g}",
            ),
            (
                "Explained",
                f"{self.explained:.0%} of the variance, {self.r_squared:.0%} in held-out cases",
            ),
        ]

    def _about_yes_and_no(self) -> list[tuple[str, str]]:
        """Facts about a yes-or-no outcome."""
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
                "In held-out cases",
                f"AUC {found.auc:.3f}; Brier score {found.brier:.3f}, against "
                f"{found.brier_of_prevalence:.3f} for always predicting the prevalence; "
                f"calibration slope {slope:.2f} (ideally 1; less is too extreme) and intercept "
                f"{intercept:+.2f} (ideally 0)",
            ),
        ]

    def bootstrap(
        self, replicates: int = 200, *, seed: int = 0, until: Deadline | None = None
    ) -> WorldBootstrap:
        """Repeat the estimate on cases drawn with replacement.

        Parameters
        ----------
        replicates
            Number of replicates, at least 2.
        seed
            Seed of the draws.
        until
            Deadline after which to stop with fewer, but at least 2.

        Returns
        -------
        WorldBootstrap
            The replicates.

        Raises
        ------
        InvalidInput
            There are too few cases for a bootstrap.
        """
        return bootstrap_world(self, replicates, seed, until)

    @cached_property
    def _gaps(self) -> IntArray:
        """Number of missing values of each column, (n,)."""
        return np.asarray(np.isnan(self.design.values).sum(axis=0))

    @property
    def spread(self) -> float:
        """Standard deviation of the outcome, or of the score behind yes and no."""
        if self.world.is_binary:
            return float(np.sqrt(self.world.outcome_variance))
        return float(self.design.outcome.std())

    def _about_missing(self) -> list[str]:
        if not self.missing:
            return []
        total = sum(self.missing.values())
        listed = ", ".join(f"{name} {gaps:,}" for name, gaps in self.missing.items())
        said = f"{counted(total, 'value')} missing ({listed}): "
        if not isinstance(self.recipe.missing, str):
            return [said + f"imputed by {self.recipe.missing!r}."]
        return [
            said + "correlations use the cases in which both tests are known, worth "
            f"{self.moments.information:,} complete cases; for the regression, gaps were filled "
            "with their conditional means."
        ]


def _estimator_words(estimator: Any) -> str:
    if isinstance(estimator, BinaryRidge):
        return f"{estimator.link} regression with a ridge, chosen by leave-one-out"
    if isinstance(estimator, Ridge):
        return "ridge, chosen by leave-one-out"
    return "Ledoit-Wolf" if isinstance(estimator, LedoitWolf) else repr(estimator)


def _with_number(estimator: Any, what: str, number: float | None) -> str:
    how = _estimator_words(estimator)
    return how if number is None else f"{how}, {what} {number:.3g}"


def _wrapped(line: str) -> str:
    if len(line) <= WIDTH or "  " in line.strip():
        return line
    indent = "  " if line.startswith("- ") else ""
    return "\n".join(wrap(line, "", indent))


@dataclass(frozen=True, eq=False)
class WorldBootstrap:
    """Estimates from cases drawn with replacement.

    Attributes
    ----------
    world
        The estimate itself.
    coefficients
        Weights, shape (replicates, n), in the world's units.
    covariance
        Shape (replicates, n, n).
    noise_variance
        Shape (replicates,).
    failed
        Number of replicates left out because they had too few distinct cases.
    seed
        Seed of the draws.
    prevalences
        Share of yes, shape (replicates,); None if the outcome is a number.
    """

    world: World
    coefficients: FloatArray
    covariance: FloatArray
    noise_variance: FloatArray
    failed: int
    seed: int
    prevalences: FloatArray | None = None

    @property
    def replicates(self) -> int:
        """Number of replicates."""
        return int(self.noise_variance.size)

    @property
    def standard_errors(self) -> FloatArray:
        """Standard error of each weight, shape (n,)."""
        return np.asarray(self.coefficients.std(axis=0, ddof=1))

    def coefficient_intervals(self, level: float = 0.95) -> FloatArray:
        """Percentile interval of each weight.

        Parameters
        ----------
        level
            Share of the replicates inside, between 0 and 1.

        Returns
        -------
        array of shape (n, 2)
            Lower and upper ends, in the world's units.
        """
        check_level(level)
        tail = (1.0 - level) / 2.0
        return np.quantile(self.coefficients, [tail, 1.0 - tail], axis=0).T

    def world_of(self, replicate: int) -> World:
        """Return one replicate as a world.

        Parameters
        ----------
        replicate
            Its number, from 0.

        Returns
        -------
        World
            With the names and units of the estimate.
        """
        outcome = self.world.outcome
        if outcome is not None and self.prevalences is not None:
            # The prevalence is that of the replicate's cases.
            outcome = Binary(float(self.prevalences[replicate]), outcome.link)
        return replace(
            self.world,
            coefficients=self.coefficients[replicate],
            covariance=self.covariance[replicate],
            noise_variance=float(self.noise_variance[replicate]),
            outcome=outcome,
        )

    def summary(self, level: float = 0.95) -> str:
        """Format the weights with their intervals as a table.

        Parameters
        ----------
        level
            Share of the replicates inside each interval.

        Returns
        -------
        str
            Text with a row for each column.
        """
        width = max(len(name) for name in (*self.world.labels, "test"))
        intervals = self.coefficient_intervals(level)
        lines = [
            f"{'test':<{width}}  {'estimated weight of 1 sd':>24}  {f'{level:.0%} interval':>22}"
        ]
        for name, weight, (low, high) in zip(
            self.world.labels, self.world.coefficients, intervals, strict=True
        ):
            between = f"{low:.4g} to {high:.4g}"
            lines.append(f"{name:<{width}}  {weight:>24.4g}  {between:>22}")
        lines.append(f"From {self.replicates:,} bootstrap replicates (seed {self.seed}).")
        if self.failed:
            lines.append(f"{self.failed:,} more could not be estimated and were left out.")
        return "\n".join(lines)


def bootstrap_world(
    fitted: WorldEstimate, replicates: int, seed: int, until: Deadline | None = None
) -> WorldBootstrap:
    """Estimate from cases drawn with replacement, `replicates` times or until time is up.

    From a large table fewer cases are drawn than it has, and the spread about the estimate, which
    is proportional to one over the root of the number of cases, is scaled back (the "m out of n"
    bootstrap of Bickel, Götze and van Zwet 1997).
    """
    InvalidInput.raise_if(count_faults(2, replicates=replicates))
    units, world = fitted.world.units, fitted.world
    assert units is not None
    rng = np.random.default_rng(seed)
    drawn = enough_cases(fitted.rows, world.size)
    share = float(np.sqrt(drawn / fitted.rows))
    draws: list[WorldMoments] = []
    shares, failed = [], 0
    with one_blas_thread():
        for _ in range(replicates):
            if until is not None and until.is_over and len(draws) > 1:
                break
            rows = rng.integers(fitted.rows, size=drawn)
            try:
                values = units.standardise(complete(fitted.design.values[rows], fitted.recipe))
                outcome = units.centre(fitted.design.outcome[rows])
                draws.append(estimate(values, outcome, fitted.recipe))
            except (InvalidInput, ValueError, np.linalg.LinAlgError):
                failed += 1
                continue
            shares.append(float(fitted.design.outcome[rows].mean()))
    if len(draws) < 2:
        raise InvalidInput(
            f"replicates: {failed} of {replicates} could not be estimated; there are too few "
            "cases for a bootstrap, or a test has too few values"
        )

    def about(centre: FloatArray | float, found: list[Any]) -> FloatArray:
        return centre + share * (np.array(found) - centre)

    outcome_kind = world.outcome
    return WorldBootstrap(
        world=world,
        coefficients=about(world.coefficients, [each.coefficients for each in draws]),
        covariance=about(world.covariance, [each.covariance for each in draws]),
        noise_variance=about(world.noise_variance, [each.noise_variance for each in draws]),
        failed=failed,
        seed=seed,
        prevalences=None if outcome_kind is None else about(outcome_kind.prevalence, shares),
    )
