"""The world: how test results and the outcome come about.

An outcome is a weighted sum of n correlated tests plus noise, y = a·x + ε, with x centred and
ε independent of it. Only second moments enter the closed forms, so a `World` is coefficients, a
covariance and a noise variance; the shape of the marginals matters when cases are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._checks import is_number
from preceptor._value import FloatArray, Value, frozen_array
from preceptor.errors import InvalidProblem
from preceptor.problem.units import Units

# Above this condition number of the correlation matrix a double has too few digits left to
# tell the tests apart; below it every formula here keeps at least six (tests/test_precision.py).
MAX_CONDITION = 1e11
# Variances beyond this leave no room for sums over rounds.
_LARGEST = 1e100


class Cases(NamedTuple):
    """Drawn cases: `features` of shape (cases, n) and `outcomes` of shape (cases,)."""

    features: FloatArray
    outcomes: FloatArray


@dataclass(frozen=True, eq=False)
class World(Value):
    """Coefficients (n,), covariance (n, n), noise variance and names of the tests.

    `beta_shape` is None for Gaussian tests. With (p, q) every test has a standardised Beta(p, q)
    marginal, tied together by a Gaussian copula whose correlation is `latent_correlation`.
    `units` translates to the numbers that people read, where the world came from a table.

    >>> world = World([1.0, 0.8], [[1.0, 0.5], [0.5, 1.0]], names=["bmi", "bp"])
    >>> world.size, world.names
    (2, ('bmi', 'bp'))
    """

    coefficients: FloatArray
    covariance: FloatArray
    noise_variance: float = 1e-3
    names: tuple[str, ...] | None = None
    beta_shape: tuple[float, float] | None = None
    latent_correlation: FloatArray | None = None
    units: Units | None = None

    def __init__(
        self,
        coefficients: npt.ArrayLike,
        covariance: npt.ArrayLike,
        noise_variance: float = 1e-3,
        names: Sequence[str] | None = None,
        beta_shape: Sequence[float] | None = None,
        latent_correlation: npt.ArrayLike | None = None,
        units: Units | None = None,
    ) -> None:
        faults: list[str] = []
        vector = _numbers("coefficients", coefficients, 1, faults)
        matrix = _numbers("covariance", covariance, 2, faults)
        latent = None
        if latent_correlation is not None:
            latent = _numbers("latent_correlation", latent_correlation, 2, faults)
        if vector is not None and matrix is not None:
            faults += _covariance_faults("covariance", matrix, vector.size)
            if latent is not None:
                faults += _covariance_faults("latent_correlation", latent, vector.size)
        faults += _noise_faults(noise_variance)
        size = vector.size if vector is not None else 0
        labels = _names(names, size, faults)
        if beta_shape is not None and (len(beta_shape) != 2 or min(beta_shape) <= 0):
            faults.append(f"beta_shape: {beta_shape!r}, must be two positive numbers")
        if (beta_shape is None) != (latent_correlation is None):
            faults.append(
                "beta_shape and latent_correlation belong together: give both or neither "
                "(World.beta_copula makes them)"
            )
        if units is not None and not isinstance(units, Units):
            faults.append(f"units: {units!r} is not a Units")
        elif units is not None and size and units.means.size != size:
            faults.append(f"units: of {units.means.size} tests, but there are {size}")
        if not faults and vector is not None and matrix is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                explained = float(np.abs(vector) @ np.abs(matrix) @ np.abs(vector))
            if not explained < _LARGEST:
                largest = np.abs(vector).max()
                faults.append(
                    f"coefficients: up to {largest:.1e}, so large that losses overflow; "
                    "measure the outcome in larger units"
                )
        InvalidProblem.raise_if(faults)
        assert vector is not None
        assert matrix is not None
        set_field = object.__setattr__
        set_field(self, "coefficients", frozen_array(vector))
        set_field(self, "covariance", frozen_array((matrix + matrix.T) / 2))
        set_field(self, "noise_variance", float(noise_variance))
        set_field(self, "names", labels)
        shape = None if beta_shape is None else (float(beta_shape[0]), float(beta_shape[1]))
        set_field(self, "beta_shape", shape)
        set_field(self, "latent_correlation", None if latent is None else frozen_array(latent))
        set_field(self, "units", units)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> World:
        """Rebuild from plain data."""
        fields = dict(data)
        if isinstance(fields.get("units"), Mapping):
            fields["units"] = Units.from_data(fields["units"])
        return super().from_data(fields)

    @classmethod
    def equicorrelated(
        cls,
        coefficients: npt.ArrayLike,
        correlation: float,
        noise_variance: float = 1e-3,
        names: Sequence[str] | None = None,
    ) -> World:
        """Unit variances and one correlation between all pairs, Σ = (1-ρ)I + ρ11'."""
        matrix = equicorrelation(np.size(np.asarray(coefficients)), correlation)
        return cls(coefficients, matrix, noise_variance, names)

    @classmethod
    def beta_copula(
        cls,
        coefficients: npt.ArrayLike,
        latent_correlation: npt.ArrayLike,
        beta_shape: tuple[float, float] = (2.0, 5.0),
        noise_variance: float = 1e-3,
        names: Sequence[str] | None = None,
    ) -> World:
        """Standardised Beta marginals joined by a Gaussian copula, as in the paper's variants.

        `latent_correlation` is one number ρ or an (n, n) correlation matrix of the Gaussian that
        lies underneath; the covariance of the tests themselves follows by quadrature.
        """
        from preceptor.problem._copula import beta_copula_covariance

        latent = np.asarray(latent_correlation, dtype=np.float64)
        if latent.ndim == 0:
            latent = equicorrelation(np.size(np.asarray(coefficients)), float(latent))
        covariance = beta_copula_covariance(latent, beta_shape)
        return cls(coefficients, covariance, noise_variance, names, beta_shape, latent)

    @property
    def size(self) -> int:
        """How many tests there are, n."""
        return int(self.coefficients.size)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the tests, x1..xn where none were given."""
        if self.names is not None:
            return self.names
        return tuple(f"x{i + 1}" for i in range(self.size))

    @property
    def outcome_variance(self) -> float:
        """Variance of y: what somebody who always predicts the average is charged."""
        explained = self.coefficients @ self.covariance @ self.coefficients
        return float(explained) + self.noise_variance

    @property
    def is_gaussian(self) -> bool:
        """Whether the tests are jointly Gaussian."""
        return self.beta_shape is None

    @property
    def is_diagonal(self) -> bool:
        """Whether no two tests are correlated."""
        off = self.covariance - np.diag(np.diag(self.covariance))
        return not np.any(off)

    def standardised(self) -> World:
        """The same world in units of each test's standard deviation."""
        scale = np.sqrt(np.diag(self.covariance))
        units = self.units
        if units is not None:
            units = Units(units.means, units.scales * scale, units.outcome, units.outcome_mean)
        return World(
            self.coefficients * scale,
            self.covariance / np.outer(scale, scale),
            self.noise_variance,
            self.names,
            self.beta_shape,
            self.latent_correlation,
            units,
        )

    def sample(self, cases: int, rng: np.random.Generator | int | None = None) -> Cases:
        """Draw that many cases with their outcomes; the same `rng` seed gives the same cases."""
        generator = np.random.default_rng(rng)
        if self.beta_shape is None:
            root = np.linalg.cholesky(self.covariance)
            features = generator.standard_normal((cases, self.size)) @ root.T
        else:
            from preceptor.problem._copula import sample_beta_copula

            assert self.latent_correlation is not None
            unit = sample_beta_copula(cases, self.latent_correlation, self.beta_shape, generator)
            features = unit * np.sqrt(np.diag(self.covariance))
        noise = generator.standard_normal(cases) * np.sqrt(self.noise_variance)
        return Cases(features, features @ self.coefficients + noise)


def equicorrelation(size: int, correlation: float) -> FloatArray:
    """The n x n matrix with ones on the diagonal and `correlation` everywhere else."""
    matrix = np.full((size, size), float(correlation))
    np.fill_diagonal(matrix, 1.0)
    return matrix


def _numbers(name: str, values: npt.ArrayLike, ndim: int, faults: list[str]) -> FloatArray | None:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        faults.append(f"{name}: cannot be read as numbers; give a list or array of numbers")
        return None
    if array.ndim != ndim or array.size == 0:
        wanted = "a list of n numbers" if ndim == 1 else "an n x n table of numbers"
        faults.append(f"{name}: shape {array.shape}, must be {wanted}")
        return None
    if not np.all(np.isfinite(array)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        spot = where[0] if ndim == 1 else where
        faults.append(
            f"{name}: {array[where]} at {spot}, must be finite "
            "(drop or impute missing cases before estimating)"
        )
        return None
    return array


def _covariance_faults(name: str, matrix: FloatArray, size: int) -> list[str]:
    if matrix.shape[0] != matrix.shape[1]:
        return [f"{name}: shape {matrix.shape}, must be square"]
    if matrix.shape[0] != size:
        return [
            f"{name}: {matrix.shape[0]} x {matrix.shape[0]}, but there are {size} coefficients; "
            "their lengths must agree"
        ]
    scale = np.abs(matrix).max()
    asymmetry = np.abs(matrix - matrix.T)
    if asymmetry.max() > 1e-8 * scale:
        i, j = (int(v) for v in np.unravel_index(int(asymmetry.argmax()), asymmetry.shape))
        return [
            f"{name}: entry ({i}, {j}) is {matrix[i, j]:.6g} but ({j}, {i}) is "
            f"{matrix[j, i]:.6g}; must be symmetric"
        ]
    variances = np.diag(matrix)
    if variances.min() <= 0:
        i = int(variances.argmin())
        return [f"{name}: variance of test {i} is {variances[i]:.6g}, must be positive"]
    # The units of a test do not make it harder to tell from the others, so judge correlations.
    deviations = np.sqrt(variances)
    eigenvalues = np.linalg.eigvalsh(matrix / np.outer(deviations, deviations))
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    if smallest <= largest * 1e-15:
        return [
            f"{name}: smallest eigenvalue of its correlation matrix is {smallest:.1e}, must be "
            "positive definite (drop a duplicated test, or add a little to the diagonal)"
        ]
    if largest / smallest > MAX_CONDITION:
        return [
            f"{name}: condition number {largest / smallest:.1e} is above {MAX_CONDITION:.0e}, too "
            "close to singular for exact answers (drop or merge tests that are nearly copies, "
            "or add a little to the diagonal)"
        ]
    return []


def _noise_faults(noise_variance: float) -> list[str]:
    if not is_number(noise_variance) or noise_variance < 0:
        return [f"noise_variance: {noise_variance!r}, must be a finite number of at least 0"]
    return []


def _names(names: Sequence[str] | None, size: int, faults: list[str]) -> tuple[str, ...] | None:
    if names is None:
        return None
    labels = tuple(str(name) for name in names)
    if size and len(labels) != size:
        faults.append(f"names: {len(labels)} names for {size} tests; lengths must agree")
    repeated = sorted({name for name in labels if labels.count(name) > 1})
    if repeated:
        listed = ", ".join(map(repr, repeated))
        faults.append(f"names: {listed} repeated, every test needs a name of its own")
    return labels
