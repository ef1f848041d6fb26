"""Parameters with intervals: a finer grid where the posterior of a family lies.

The grid that weighs kinds is coarse: enough for a sum, not for the ends of an interval. Here a grid
of the same shape is laid around the posterior, twice, with κ free between 0 and 1, and intervals
are read off the interpolated marginals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from preceptor._base.mixtures import mixture_quantiles
from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray
from preceptor.evidence.axes import Axis, mesh
from preceptor.evidence.designs import Rounds

if TYPE_CHECKING:
    from preceptor.evidence.cells import Cells
    from preceptor.evidence.weighing import Setting

LEVEL = 0.95
# κ in fifths of the way, with the weights of a sum over even steps.
_DIALS = np.linspace(0.0, 1.0, 5)
_DIAL_WEIGHTS = np.array([0.5, 1.0, 1.0, 1.0, 0.5]) / 4.0
_FINE = {0: 1, 1: 21, 2: 11}
_TAIL = 1e-4


class Estimate(NamedTuple):
    """A number and the interval that holds it with 95 % probability."""

    mean: float
    low: float
    high: float


class Refined(NamedTuple):
    """One family's parameters by name, and κ, each with its interval."""

    parameters: dict[str, Estimate]
    imputation: Estimate
    cells: Cells


def refined(setting: Setting, coarse: Cells, level: float = LEVEL) -> Refined:
    """Lay a finer grid where the posterior lies.

    Parameters
    ----------
    setting
        Of the person.
    coarse
        The family as it was weighed.
    level
        Probability that an interval holds the truth.

    Returns
    -------
    Refined
        Within this family.
    """
    from preceptor.evidence.weighing import cells_of

    family = coarse.family
    free = setting._replace(rounds=Rounds.of(setting.rounds.record, _DIALS))
    steps = [axis.step for axis in family.axes]
    with one_blas_thread():
        cells = coarse
        for _ in range(2):
            sides = [
                _around(axis, cells, position, step, _FINE.get(len(family.axes), 5))
                for position, (axis, step) in enumerate(zip(family.axes, steps, strict=True))
            ]
            steps = [float(side[1] - side[0]) for side in sides]
            at = mesh(family.axes, tuple(sides))
            cells = cells_of(free, family, at, _DIAL_WEIGHTS, held_out=False)
    posterior = cells.posterior
    found = {
        axis.name: _estimate(axis, side, _marginal(posterior, sides, position), level)
        for position, (axis, side) in enumerate(zip(family.axes, sides, strict=True))
    }
    dials = posterior.sum(axis=1) / _DIAL_WEIGHTS
    low, high = _quantiles(_DIALS, dials, level)
    imputation = Estimate(float(_DIALS @ posterior.sum(axis=1)), low, high)
    return Refined(found, imputation, cells)


def _around(axis: Axis, cells: Cells, position: int, step: float, points: int) -> FloatArray:
    """Coordinates of a grid that covers the posterior of one axis."""
    shares = cells.posterior.sum(axis=0)
    at, which = np.unique(cells.coordinates[:, position], return_inverse=True)
    below = np.cumsum(np.bincount(which.ravel(), shares))
    # Tails matter: slow learning looks like none, so a rate may have a long one.
    first = at[int(np.searchsorted(below, _TAIL))] - step
    last = at[min(int(np.searchsorted(below, 1.0 - _TAIL)), at.size - 1)] + step
    low, high = axis.ends
    return np.linspace(max(first, low), min(last, high), points)


def _marginal(posterior: FloatArray, sides: list[FloatArray], position: int) -> FloatArray:
    shape = tuple(side.size for side in sides)
    table = posterior.sum(axis=0).reshape(shape)
    others = tuple(i for i in range(len(sides)) if i != position)
    return np.asarray(table.sum(axis=others))


def _estimate(axis: Axis, side: FloatArray, density: FloatArray, level: float) -> Estimate:
    low, high = _quantiles(side, density, level)
    centre = float(side @ density / density.sum())
    value = [float(axis.value(at)) for at in (centre, low, high)]
    return Estimate(value[0], value[1], value[2])


def _quantiles(side: FloatArray, density: FloatArray, level: float) -> tuple[float, float]:
    """The two ends that leave equal tails, on the interpolated logarithm of a density."""
    from scipy.interpolate import PchipInterpolator

    logs = np.log(np.maximum(density, density.max() * 1e-30))
    fine = np.linspace(side[0], side[-1], 600)
    bell = np.exp(PchipInterpolator(side, logs)(fine) - logs.max())
    below = np.r_[0.0, np.cumsum(0.5 * (bell[1:] + bell[:-1]))]
    tail = 0.5 * (1.0 - level)
    low, high = np.interp([tail, 1.0 - tail], below / below[-1], fine)
    return float(low), float(high)


def mixture(
    shares: FloatArray, means: FloatArray, sds: FloatArray, level: float = LEVEL
) -> Estimate:
    """Mean and interval of a mixture of normal distributions, each (parts,)."""
    total = float(shares.sum())
    mean = float(shares @ means / total)
    tail = 0.5 * (1.0 - level)
    low, high = mixture_quantiles(shares / total, means, sds**2, (tail, 1.0 - tail)).tolist()
    return Estimate(mean, low, high)
