"""Risks: how wrong predictions are charged, and the risks for numeric outcomes.

With Gaussian tests the residual y - ŷ is normal with mean 0, so the expected charge is a function
of its variance, `expected(v)`: in closed form for the built-in risks, by quadrature otherwise.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.schema import Positive, faults_as_made
from preceptor._base.values import FloatArray, Kind, remembered
from preceptor.errors import InvalidProblem


@dataclass(frozen=True, eq=False)
class Risk(Kind):
    """How a wrong prediction is charged.

    Base of all risks: a `NumberRisk` charges outcomes that are numbers, a `YesNoRisk` those that
    are yes or no.

    Attributes
    ----------
    code
        The form that kernels use; -1 if there is none.

    Examples
    --------
    >>> Risk.from_dict({"kind": "huber", "threshold": 2.0}) == Huber(2.0)
    True
    """

    family: ClassVar[str] = "risk"
    code: ClassVar[int] = -1
    # The name of the expected charge, or of its root in units of the outcome; empty if none.
    error_name: ClassVar[str] = ""
    # Whether it charges yes-or-no outcomes.
    is_binary: ClassVar[bool] = False
    # What it is called in sentences.
    title: ClassVar[str] = ""

    def __post_init__(self) -> None:
        InvalidProblem.raise_if(faults_as_made(self))

    def in_words(self) -> str:
        """Describe the risk as part of a sentence."""
        return self.title or f"a risk of kind {self.kind or type(self).__name__}"


@dataclass(frozen=True, eq=False)
class NumberRisk(Risk):
    """How a wrong prediction of a number is charged, as a function of the residual.

    `ResidualRisk` takes any function of the residual.

    Examples
    --------
    >>> isinstance(Huber(2.0), NumberRisk)
    True
    """

    @property
    def parameter(self) -> float:
        """The parameter of the compiled closed form."""
        return 0.0

    @property
    def is_increasing(self) -> bool:
        """Whether a larger residual variance always costs at least as much."""
        return True

    @abstractmethod
    def charge(self, residual: FloatArray) -> FloatArray:
        """Charge of a residual, elementwise.

        Parameters
        ----------
        residual
            Outcome minus prediction, any shape, in units of the outcome.

        Returns
        -------
        array
            Charges of the same shape, at least 0.
        """

    @abstractmethod
    def expected(self, variance: npt.ArrayLike) -> FloatArray:
        """Expected charge of a normal residual with mean 0, elementwise.

        Parameters
        ----------
        variance
            Variance of the residual, any shape, in squared units of the outcome.

        Returns
        -------
        array
            Expected charges of the same shape.
        """

    @abstractmethod
    def charge_slope(self, largest: float) -> float:
        """Largest change of the charge per unit of residual.

        Parameters
        ----------
        largest
            The largest residual to consider.

        Returns
        -------
        float
            A Lipschitz constant of `charge` on this range.
        """

    @abstractmethod
    def deviation_slope(self, largest: float) -> float:
        """Largest change of `expected` per unit of standard deviation.

        Parameters
        ----------
        largest
            The largest standard deviation to consider.

        Returns
        -------
        float
            A Lipschitz constant on this range.
        """


@dataclass(frozen=True, eq=False)
class SquaredError(NumberRisk):
    """r², the squared residual. The paper's main case.

    Examples
    --------
    >>> SquaredError().charge(np.array([-2.0, 3.0])).tolist()
    [4.0, 9.0]
    """

    kind: ClassVar[str] = "squared-error"
    code: ClassVar[int] = 0
    error_name: ClassVar[str] = "root-mean-square error"
    title: ClassVar[str] = "squared error"

    def charge(self, residual: FloatArray) -> FloatArray:
        """r²."""
        return residual * residual

    def expected(self, variance: npt.ArrayLike) -> FloatArray:
        """v."""
        return np.array(variance, dtype=np.float64)

    def charge_slope(self, largest: float) -> float:
        """2|r|."""
        return 2.0 * largest

    def deviation_slope(self, largest: float) -> float:
        """2σ."""
        return 2.0 * largest


@dataclass(frozen=True, eq=False)
class Huber(NumberRisk):
    """r²/2 up to the threshold τ, then τ(|r| - τ/2): lenient on rare large errors.

    Parameters
    ----------
    threshold
        Where the charge becomes linear, above 0, in units of the outcome.

    Examples
    --------
    >>> Huber(1.0).charge(np.array([0.5, 3.0])).tolist()
    [0.125, 2.5]
    """

    kind: ClassVar[str] = "huber"
    code: ClassVar[int] = 1

    threshold: Annotated[Positive, "Where it turns linear."] = 1.0

    @property
    def parameter(self) -> float:
        """τ."""
        return float(self.threshold)

    def in_words(self) -> str:
        """Name and threshold."""
        return f"Huber loss: squared up to an error of {self.threshold:g}, linear beyond"

    def charge(self, residual: FloatArray) -> FloatArray:
        """Quadratic inside the threshold, linear outside."""
        size = np.abs(residual)
        inside = 0.5 * residual * residual
        outside = self.threshold * (size - self.threshold / 2)
        return np.where(size <= self.threshold, inside, outside)

    def expected(self, variance: npt.ArrayLike) -> FloatArray:
        """v(1/2 - Q) + στ·density(z) - τ²Q, where z = τ/σ and Q = P(N(0,1) > z)."""
        from scipy.special import ndtr

        v = np.asarray(variance, dtype=np.float64)
        sigma = np.sqrt(v)
        z = self.threshold / np.maximum(sigma, 1e-300)
        density = np.exp(-0.5 * np.minimum(z, 1e150) ** 2) / math.sqrt(2 * math.pi)
        outside = ndtr(-z)
        tau = self.threshold
        value: FloatArray = v * (0.5 - outside) + sigma * tau * density - tau * tau * outside
        return value

    def charge_slope(self, largest: float) -> float:
        """|r| inside the threshold, τ outside."""
        return min(largest, self.threshold)

    def deviation_slope(self, largest: float) -> float:
        """E[min(|r|, τ)|z|] is at most σ and at most τ·E|z|."""
        return min(largest, self.threshold * math.sqrt(2 / math.pi))


@dataclass(frozen=True, eq=False)
class AbsoluteError(NumberRisk):
    """|r|, the absolute residual.

    Examples
    --------
    >>> AbsoluteError().charge(np.array([-2.0, 3.0])).tolist()
    [2.0, 3.0]
    """

    kind: ClassVar[str] = "absolute-error"
    code: ClassVar[int] = 2
    error_name: ClassVar[str] = "mean absolute error"
    title: ClassVar[str] = "absolute error"

    def charge(self, residual: FloatArray) -> FloatArray:
        """|r|."""
        return np.abs(residual)

    def expected(self, variance: npt.ArrayLike) -> FloatArray:
        """sqrt(2v/π)."""
        root: FloatArray = np.sqrt(np.asarray(variance, dtype=np.float64) * (2 / math.pi))
        return root

    def charge_slope(self, largest: float) -> float:
        """1."""
        return 1.0

    def deviation_slope(self, largest: float) -> float:
        """E|z|."""
        return math.sqrt(2 / math.pi)


@dataclass(frozen=True, eq=False)
class ResidualRisk(NumberRisk):
    """Any non-negative function of the residual, integrated numerically.

    Between kinks the quadrature is good to about twelve digits for smooth functions. A problem with
    such a risk cannot be written to a file.

    Parameters
    ----------
    function
        Takes an array of residuals and returns a charge for each.
    kinks
        All residuals at which the function has a kink or a jump.

    Examples
    --------
    >>> pinball = ResidualRisk(lambda r: np.where(r > 0, 0.9 * r, -0.1 * r), kinks=[0.0])
    >>> bool(abs(pinball.expected(1.0) - 0.5 * AbsoluteError().expected(1.0)) < 1e-12)
    True
    """

    function: Callable[[FloatArray], FloatArray]
    kinks: Sequence[float] = (0.0,)

    title: ClassVar[str] = "a custom function of the residual"
    # Panels out to twelve standard deviations: the rest has probability below 1e-32.
    _EDGES: ClassVar[FloatArray] = np.linspace(-12.0, 12.0, 17)
    _NODES: ClassVar[tuple[FloatArray, FloatArray]] = np.polynomial.legendre.leggauss(24)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinks", tuple(float(k) for k in self.kinks))
        probe = self.charge(np.linspace(-5.0, 5.0, 101))
        if probe.shape != (101,):
            raise InvalidProblem(
                f"function: gave shape {probe.shape} for 101 residuals; must work elementwise"
            )
        if not np.all(np.isfinite(probe)) or probe.min() < 0:
            raise InvalidProblem("function: must give finite charges of at least 0")

    @cached_property
    def is_increasing(self) -> bool:
        """Checked on a fine grid of variances; convex functions always pass."""
        values = self.expected(np.geomspace(1e-8, 1e4, 400))
        # Charges may overflow to infinity, from where on they must stay infinite.
        known = int(np.argmin(np.append(np.isfinite(values), False)))
        grows = np.diff(values[:known]) >= -1e-12 * np.abs(values[1:known])
        return bool(np.all(grows) and np.all(np.isposinf(values[known:])))

    def charge(self, residual: FloatArray) -> FloatArray:
        """The user's function; infinite where it overflows."""
        with np.errstate(over="ignore"):
            return np.asarray(self.function(residual), dtype=np.float64)

    def charge_slope(self, largest: float) -> float:
        """Steepest difference on a fine grid plus a tenth: estimated, not proven."""
        grid = np.linspace(-largest, largest, 4001)
        return _steepest(grid, self.charge(grid))

    def deviation_slope(self, largest: float) -> float:
        """Steepest difference on a fine grid plus a tenth: estimated, not proven.

        Computed once for deviations of about the same size, at the largest of them.
        """
        if not 0.0 < largest < math.inf:
            return 0.0
        step = math.ceil(math.log(largest) / math.log(_SAME_SIZE))

        def slope() -> float:
            grid = np.linspace(0.0, _SAME_SIZE**step, 401)
            return _steepest(grid, self.expected(grid**2))

        return remembered(self, f"deviation slope {step}", slope)

    def expected(self, variance: npt.ArrayLike) -> FloatArray:
        """Gauss-Legendre on panels that end at every kink."""
        v = np.atleast_1d(np.asarray(variance, dtype=np.float64))
        flat = np.sqrt(v.ravel())
        out = np.empty_like(flat)
        for start in range(0, flat.size, 4096):
            out[start : start + 4096] = self._expected_block(flat[start : start + 4096])
        return out.reshape(np.shape(variance))

    def _expected_block(self, sigma: FloatArray) -> FloatArray:
        safe = np.maximum(sigma, 1e-300)[:, None]
        kinks = np.clip(np.asarray(self.kinks)[None, :] / safe, -12.0, 12.0)
        fixed = np.broadcast_to(self._EDGES, (sigma.size, self._EDGES.size))
        edges = np.sort(np.concatenate([fixed, kinks], axis=1), axis=1)
        half = np.diff(edges, axis=1)[:, :, None] / 2
        middle = (edges[:, 1:] + edges[:, :-1])[:, :, None] / 2
        nodes, weights = self._NODES
        z = middle + half * nodes
        density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        charges = self.charge(sigma[:, None, None] * z)
        # Panels of zero width, between kinks beyond all residuals, count nothing at any charge.
        weighed = np.where(half > 0.0, charges, 0.0)
        total: FloatArray = np.sum(weighed * density * half * weights, axis=(1, 2))
        return total


# Deviations within this ratio share one slope, that of the largest.
_SAME_SIZE = 1.1


def _steepest(grid: FloatArray, values: FloatArray) -> float:
    if grid[-1] == grid[0]:
        return 0.0
    if not np.all(np.isfinite(values)):
        return math.inf
    return 1.1 * float(np.max(np.abs(np.diff(values) / np.diff(grid))))


class CompiledRisk(NamedTuple):
    """A risk for kernels: a code, its parameters, and a surface where costs are interpolated.

    The codes are listed in `model/_loss_kernels.py`.
    """

    code: int
    numbers: FloatArray  # (any,)
    surface: FloatArray  # (any, any, 16)

    @classmethod
    def of_number(cls, risk: NumberRisk) -> CompiledRisk:
        """A risk that is a closed function of the residual variance."""
        return cls(risk.code, np.array([risk.parameter]), np.zeros((0, 0, 16)))
