"""How sure a world is: estimated again and again from cases drawn with replacement.

Every replicate is in the units of the estimate (its averages and standard deviations), so draws can
be compared with it, with each other, and planned with. Imputation is part of a replicate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.checks import is_count, is_number
from preceptor._base.deadline import Deadline
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.estimation.moments import Moments, complete, enough_cases, estimate
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
        if not is_number(level) or not 0.0 < level < 1.0:
            raise InvalidInput(f"level: {level!r}, must be a number between 0 and 1")
        tail = (1.0 - level) / 2.0
        return np.quantile(self.coefficients, [tail, 1.0 - tail], axis=0).T

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
        outcome = self.world.outcome
        if outcome is not None and self.prevalences is not None:
            # Yes is as common as in the cases of that replicate.
            outcome = Binary(float(self.prevalences[replicate]), outcome.link)
        return World(
            self.coefficients[replicate],
            self.covariance[replicate],
            float(self.noise_variance[replicate]),
            self.world.names,
            units=self.world.units,
            groups=self.world.groups,
            outcome=outcome,
        )

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


def bootstrap_world(
    fitted: WorldEstimate, replicates: int, seed: int, until: Deadline | None = None
) -> WorldBootstrap:
    """Draw cases with replacement and estimate, `replicates` times or as often as there is time.

    Of a large table fewer cases are drawn than it has, and what that adds to the spread about the
    estimate is taken off again: it falls with the root of the number of cases (the "m out of n"
    bootstrap of Bickel, Götze and van Zwet 1997).
    """
    if not is_count(replicates, least=2):
        raise InvalidInput(f"replicates: {replicates!r}, must be a whole number of at least 2")
    units, world = fitted.world.units, fitted.world
    assert units is not None
    rng = np.random.default_rng(seed)
    drawn = enough_cases(fitted.rows, world.size)
    share = float(np.sqrt(drawn / fitted.rows))
    draws: list[Moments] = []
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
