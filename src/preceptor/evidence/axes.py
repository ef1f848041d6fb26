"""Axes: one parameter of a kind, the values to try, and how likely each is before any data.

An axis is even in a coordinate of its own (the logarithm of a rate, the log-odds of a share), in
which posteriors look like bells; sums over even steps are then nearly exact integrals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.evidence.answers import logsumexp_rows


@dataclass(frozen=True)
class Axis:
    """One parameter: name, meaning, range, and prior.

    Parameters
    ----------
    name
        As the person of the kind calls it.
    meaning
        In words.
    lowest, highest
        Range of values to try.
    points
        How many.
    median, spread
        Prior: the coordinate is normal around that of `median`; uniform if `spread` is 0.
    beta
        For shares from 0 to 1: the two parameters of a Beta prior instead. The coordinate is then
        the log-odds; that of other values is their logarithm.
    """

    name: str
    meaning: str
    lowest: float
    highest: float
    points: int
    median: float = 1.0
    spread: float = 0.0
    beta: tuple[float, float] | None = None

    def coordinate(self, value: npt.ArrayLike) -> FloatArray:
        """Where values lie on the even scale."""
        at = np.asarray(value, dtype=np.float64)
        return np.log(at / (1.0 - at)) if self.beta else np.log(at)

    def value(self, coordinate: npt.ArrayLike) -> FloatArray:
        """The way back."""
        at = np.asarray(coordinate, dtype=np.float64)
        return 1.0 / (1.0 + np.exp(-at)) if self.beta else np.exp(at)

    @property
    def ends(self) -> tuple[float, float]:
        """Coordinates of the lowest and highest value."""
        return float(self.coordinate(self.lowest)), float(self.coordinate(self.highest))

    @property
    def grid(self) -> FloatArray:
        """Coordinates (points,) to try: middles of equal parts of the range."""
        (low, high), half = self.ends, 0.5 * self.step
        return np.linspace(low + half, high - half, self.points)

    @property
    def step(self) -> float:
        """Length of such a part."""
        low, high = self.ends
        return (high - low) / self.points

    def log_density(self, coordinate: npt.ArrayLike) -> FloatArray:
        """Logarithm of the prior density of coordinates."""
        at = np.asarray(coordinate, dtype=np.float64)
        if self.beta:
            from scipy.special import betaln

            p, q = self.beta
            share = self.value(at)
            return np.asarray(p * np.log(share) + q * np.log1p(-share) - betaln(p, q))
        if not self.spread:
            low, high = self.ends
            return np.where(
                (at >= low - 1e-9) & (at <= high + 1e-9), -math.log(high - low), -np.inf
            )
        away = (at - float(self.coordinate(self.median))) / self.spread
        return np.asarray(-0.5 * away**2 - math.log(self.spread * math.sqrt(2.0 * math.pi)))


def mesh(axes: tuple[Axis, ...]) -> FloatArray:
    """All combinations (points, axes) of coordinates; one empty row if there are no axes."""
    if not axes:
        return np.zeros((1, 0))
    sides = np.meshgrid(*(axis.grid for axis in axes), indexing="ij")
    return np.stack([side.ravel() for side in sides], axis=-1)


class Population(NamedTuple):
    """Where people of one group lie on an axis: normal, with this mean and spread."""

    mean: float
    spread: float

    def log_density(self, coordinate: FloatArray, step: FloatArray | None = None) -> FloatArray:
        """Logarithm of the density, averaged over steps of a grid that may be wider than it."""
        away = (coordinate - self.mean) / self.spread
        if step is None:
            constant = math.log(self.spread * math.sqrt(2.0 * math.pi))
            return np.asarray(-0.5 * away**2 - constant)
        from scipy.special import ndtr

        half = 0.5 * step / self.spread
        # The tail that is nearer is subtracted, so that nothing cancels far out.
        mass = ndtr(half - np.abs(away)) - ndtr(-half - np.abs(away))
        return np.asarray(np.log(np.maximum(mass, 1e-300) / step))


def log_prior(
    axes: tuple[Axis, ...],
    coordinates: FloatArray,
    widths: FloatArray | None = None,
    rate: Population | None = None,
) -> FloatArray:
    """Log prior probability (points,) of boxes, given that the truth is in one of them.

    Parameters
    ----------
    axes
        Of the family.
    coordinates
        Middles (points, axes) of the boxes.
    widths
        Their sides (points, axes); all the same, and small, if left out.
    rate
        Where rates lie, if they are those of a population.

    Returns
    -------
    array of shape (points,)
        Logarithms of numbers that add up to 1.
    """
    total = np.zeros(coordinates.shape[0])
    for position, axis in enumerate(axes):
        at = coordinates[:, position]
        side = None if widths is None else widths[:, position]
        if rate is not None and axis.name == "rate":
            total += rate.log_density(at, side)
        else:
            total += axis.log_density(at)
        if side is not None:
            total += np.log(side)
    return total - logsumexp_rows(total)


def values_of(axes: tuple[Axis, ...], coordinates: FloatArray) -> FloatArray:
    """Parameters (points, axes) at rows of coordinates."""
    found = np.empty(coordinates.shape)
    for position, axis in enumerate(axes):
        found[:, position] = axis.value(coordinates[:, position])
    return found
