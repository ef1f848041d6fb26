"""Families of learning curves that a log is compared with, in the form that fitting needs.

A family gives the share of an initial error that is left after m showings, `retention`, and its
derivatives; and it turns fitted numbers into a `Curve`. Its parameters are chosen so that "no
learning" and "no floor" are their lower ends, not infinitely far away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.people.curves import Curve, Geometric, PowerLaw

# r(1) = exp(-5): whoever learns faster than this knows everything after one showing.
_FASTEST = 5.0


@dataclass(frozen=True)
class Family:
    """A shape of curve, with or without a floor.

    `parameters` are what is fitted: `rate` (how fast: the logarithm of alpha, or half the exponent
    of the power law) and `floor` (the share of the *error*, not squared, that always stays).
    """

    name: str
    words: str
    parameters: tuple[str, ...]

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Smallest and largest value of each parameter."""
        return [(0.0, _FASTEST) if name == "rate" else (0.0, 1.0) for name in self.parameters]

    def starts(self, most_showings: float) -> list[FloatArray]:
        """Points from which to look for the best parameters, up to as many showings as occurred."""
        if not self.parameters:
            return [np.zeros(0)]
        # Errors that halve within half a showing, ..., within twice as many as there were.
        half_lives = np.geomspace(0.5, 2.0 * max(most_showings, 1.0), 7)
        rates = np.log(2.0) / self._time(half_lives)
        if "floor" not in self.parameters:
            return [np.array([rate]) for rate in rates]
        return [np.array([rate, floor]) for rate in rates for floor in (0.02, 0.15, 0.35, 0.6)]

    def retention(self, parameters: FloatArray, counts: FloatArray) -> FloatArray:
        """Share of the initial error left after that many showings; the shape of `counts`."""
        if not self.parameters:
            return np.ones_like(counts)
        left: FloatArray = np.exp(-parameters[0] * self._time(counts))
        return np.maximum(left, parameters[1]) if len(parameters) > 1 else left

    def slopes(self, parameters: FloatArray, counts: FloatArray) -> list[FloatArray]:
        """Derivative of `retention` with respect to each parameter."""
        if not self.parameters:
            return []
        time = self._time(counts)
        left = np.exp(-parameters[0] * time)
        if len(parameters) == 1:
            return [-time * left]
        stopped = left < parameters[1]
        return [np.where(stopped, 0.0, -time * left), stopped.astype(np.float64)]

    def curve(self, parameters: FloatArray) -> Curve:
        """The curve of the model."""
        floor = float(parameters[1]) ** 2 if len(parameters) > 1 else 0.0
        if not self.parameters:
            return Geometric(1.0)
        if self.name.startswith("geometric"):
            return Geometric(float(np.exp(parameters[0])), floor=floor)
        return PowerLaw(2.0 * float(parameters[0]), floor=floor)

    def natural(self, name: str, value: float) -> tuple[str, float]:
        """A parameter as the curve calls it: alpha or exponent, and the floor of φ."""
        if name == "floor":
            return "floor", value**2
        if self.name.startswith("geometric"):
            return "alpha", float(np.exp(value))
        return "exponent", 2.0 * value

    def _time(self, counts: FloatArray) -> FloatArray:
        """What the logarithm of the error falls along: showings, or their logarithm."""
        if self.name.startswith("geometric"):
            return counts
        logarithm: FloatArray = np.log1p(counts)
        return logarithm


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("none", "no learning", ()),
        Family("geometric", "geometric", ("rate",)),
        Family("power-law", "power law", ("rate",)),
        Family("geometric-floor", "geometric with a floor", ("rate", "floor")),
        Family("power-law-floor", "power law with a floor", ("rate", "floor")),
    )
}


def chosen_families(names: Sequence[str] | str) -> list[Family]:
    """The families with these names, simplest first; "none" is always compared with.

    >>> [family.name for family in chosen_families("geometric")]
    ['none', 'geometric']
    """
    wanted = {names} if isinstance(names, str) else set(names)
    unknown = sorted(wanted - set(FAMILIES))
    if unknown:
        raise InvalidInput(
            f"families: {', '.join(map(repr, unknown))} is not known; known are "
            f"{', '.join(FAMILIES)}"
        )
    return [family for family in FAMILIES.values() if family.name in wanted | {"none"}]
