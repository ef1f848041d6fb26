"""How sure a world is: estimated again and again from cases drawn with replacement.

Every replicate is in the units of the estimate (its averages and standard deviations), so draws can
be compared with it, with each other, and planned with. Imputation is part of a replicate. Large
tables are drawn in groups of cases, by their sums (`cross_products.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.checks import is_count, is_number
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.estimation.cross_products import Pairs, Steps, Sums, by_sums, group_count, ridge
from preceptor.estimation.moments import Moments, complete, estimate
from preceptor.model.outcomes import Binary
from preceptor.model.world import World

if TYPE_CHECKING:
    from preceptor.estimation.world_estimate import WorldEstimate


@dataclass(frozen=True, eq=False)
class WorldBootstrap:
    """What was estimated, again and again from cases drawn with replacement.

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
        Replicates that had too few different cases to be estimated, and are left out.
    seed
        Seed of the draws.
    prevalences
        Share of yes, shape (replicates,); None where the outcome is a number.
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
        """How many draws there are."""
        return int(self.noise_variance.size)

    @property
    def standard_errors(self) -> FloatArray:
        """Standard error of each weight, shape (n,)."""
        return np.asarray(self.coefficients.std(axis=0, ddof=1))

    def coefficient_intervals(self, level: float = 0.95) -> FloatArray:
        """An interval for each weight, from percentiles of the draws.

        Parameters
        ----------
        level
            Share of the draws inside, between 0 and 1.

        Returns
        -------
        array of shape (n, 2)
            Lower and upper ends, in the world's units.
        """
        return _percentiles(self.coefficients, level)

    def covariance_intervals(self, level: float = 0.95) -> FloatArray:
        """An interval for each covariance, from percentiles of the draws.

        Parameters
        ----------
        level
            Share of the draws inside, between 0 and 1.

        Returns
        -------
        array of shape (n, n, 2)
            Lower and upper ends, of standardised tests.
        """
        return _percentiles(self.covariance, level)

    def noise_interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval for the noise variance, from percentiles of the draws.

        Parameters
        ----------
        level
            Share of the draws inside, between 0 and 1.

        Returns
        -------
        tuple of two floats
            Lower and upper end, in squared units of the outcome.
        """
        low, high = _percentiles(self.noise_variance, level)
        return float(low), float(high)

    def prevalence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval for the share of yes, from percentiles of the draws.

        Parameters
        ----------
        level
            Share of the draws inside, between 0 and 1.

        Returns
        -------
        tuple of two floats
            Lower and upper end.

        Raises
        ------
        InvalidInput
            The outcome is a number.
        """
        if self.prevalences is None:
            raise InvalidInput("prevalence: the outcome of this world is a number, not yes or no")
        low, high = _percentiles(self.prevalences, level)
        return float(low), float(high)

    def world_of(self, replicate: int) -> World:
        """One replicate as a world.

        Parameters
        ----------
        replicate
            Which one, from 0.

        Returns
        -------
        World
            Named and measured like the estimate.
        """
        return World(
            self.coefficients[replicate],
            self.covariance[replicate],
            float(self.noise_variance[replicate]),
            self.world.names,
            units=self.world.units,
            groups=self.world.groups,
            outcome=self._outcome_of(replicate),
        )

    def _outcome_of(self, replicate: int) -> Binary | None:
        """Yes or no as common as in that replicate's cases, if the outcome is yes or no."""
        own, shares = self.world.outcome, self.prevalences
        if own is None or shares is None:
            return None
        return Binary(float(shares[replicate]), own.link)

    def summary(self, level: float = 0.95) -> str:
        """A table of the weights with their intervals.

        Parameters
        ----------
        level
            Share of the draws inside each interval.

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


def bootstrap_world(fitted: WorldEstimate, replicates: int, seed: int) -> WorldBootstrap:
    """Draw cases with replacement and estimate, `replicates` times."""
    if not is_count(replicates, least=2):
        raise InvalidInput(f"replicates: {replicates!r}, must be a whole number of at least 2")
    with one_blas_thread():
        if by_sums(fitted.design.values, fitted.recipe):
            groups = group_count(fitted.world.size)
            if fitted.world.is_binary:
                return _from_steps(fitted, replicates, seed, groups)
            return _from_sums(fitted, replicates, seed, groups)
        return _case_by_case(fitted, replicates, seed)


def _case_by_case(fitted: WorldEstimate, replicates: int, seed: int) -> WorldBootstrap:
    units = fitted.world.units
    assert units is not None
    rng = np.random.default_rng(seed)
    draws: list[Moments] = []
    shares, failed = [], 0
    for _ in range(replicates):
        rows = rng.integers(fitted.rows, size=fitted.rows)
        try:
            values = units.standardise(complete(fitted.design.values[rows], fitted.recipe))
            drawn = estimate(values, units.centre(fitted.design.outcome[rows]), fitted.recipe)
        except (InvalidInput, ValueError, np.linalg.LinAlgError):
            failed += 1
            continue
        draws.append(drawn)
        shares.append(float(fitted.design.outcome[rows].mean()))
    if len(draws) < 2:
        raise InvalidInput(
            f"replicates: {failed} of {replicates} could not be estimated; there are too few "
            "cases for a bootstrap, or a test has too few values"
        )
    return WorldBootstrap(
        world=fitted.world,
        coefficients=np.array([drawn.coefficients for drawn in draws]),
        covariance=np.array([drawn.covariance for drawn in draws]),
        noise_variance=np.array([drawn.noise_variance for drawn in draws]),
        failed=failed,
        seed=seed,
        prevalences=np.array(shares) if fitted.world.is_binary else None,
    )


def _from_sums(fitted: WorldEstimate, replicates: int, seed: int, groups: int) -> WorldBootstrap:
    """The same for large tables: groups of cases are drawn instead of cases."""
    units, rows = fitted.world.units, fitted.rows
    assert units is not None
    rng = np.random.default_rng(seed)
    # Groups of one case each are the ordinary bootstrap, in which order does not matter.
    order = np.arange(rows) if groups == rows else rng.permutation(rows)
    members = np.array_split(order, groups)
    cases, outcome = fitted.filled()
    sums = Sums.of(cases, outcome, members)
    has_gaps = bool(fitted.missing)
    pairs = Pairs.of(units.standardise(fitted.design.values), members) if has_gaps else None
    coefficients, covariances, noises = [], [], []
    for _ in range(replicates):
        times = np.bincount(rng.integers(groups, size=groups), minlength=groups).astype(np.float64)
        drawn = sums.weighted(times)
        weights, degrees, squares = ridge(*drawn.centred(), float(drawn.cases))
        hidden = min(float(weights @ fitted.moments.blurred @ weights), 0.95 * squares)
        coefficients.append(weights)
        noises.append((squares - hidden) / (float(drawn.cases) - degrees))
        covariances.append(drawn.covariance() if pairs is None else pairs.covariance(times))
    return WorldBootstrap(
        world=fitted.world,
        coefficients=np.array(coefficients),
        covariance=np.array(covariances),
        noise_variance=np.array(noises),
        failed=0,
        seed=seed,
    )


def _from_steps(fitted: WorldEstimate, replicates: int, seed: int, groups: int) -> WorldBootstrap:
    """Large tables of yes and no: one step of Newton's method from the estimate.

    Slopes and curvatures of the likelihood are summed over groups of cases once; a replicate is a
    small system of them. The strength of the penalty stays that of the estimate.
    """
    units, rows, outcome = fitted.world.units, fitted.rows, fitted.world.outcome
    assert units is not None
    assert outcome is not None
    rng = np.random.default_rng(seed)
    members = np.array_split(rng.permutation(rows), groups)
    cases, yes = fitted.filled()
    regression = fitted.moments.fitted_regression
    start = np.append(regression.intercept_, regression.coef_)
    steps = Steps.of(outcome.from_score, cases, yes, start, regression.alpha_, members)
    sums = Sums.of(cases, yes, members)
    pairs = Pairs.of(units.standardise(fitted.design.values), members) if fitted.missing else None
    coefficients, covariances, shares = [], [], []
    for _ in range(replicates):
        times = np.bincount(rng.integers(groups, size=groups), minlength=groups).astype(np.float64)
        drawn = sums.weighted(times)
        coefficients.append(steps.weights(times)[1:])
        shares.append(float(drawn.outcomes / drawn.cases))
        covariances.append(drawn.covariance() if pairs is None else pairs.covariance(times))
    return WorldBootstrap(
        world=fitted.world,
        coefficients=np.array(coefficients),
        covariance=np.array(covariances),
        noise_variance=np.full(replicates, outcome.from_score.variance),
        failed=0,
        seed=seed,
        prevalences=np.array(shares),
    )


def _percentiles(draws: FloatArray, level: float) -> FloatArray:
    if not is_number(level) or not 0.0 < level < 1.0:
        raise InvalidInput(f"level: {level!r}, must be a number between 0 and 1")
    tail = (1.0 - level) / 2.0
    ends = np.quantile(draws, [tail, 1.0 - tail], axis=0)
    return np.asarray(np.moveaxis(ends, 0, -1), dtype=np.float64)
