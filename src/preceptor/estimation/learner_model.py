"""What answers a person is expected to give, as a function of everything that is estimated.

A person who fills in x̂ and has been shown tests m times answers

    b + Σ_i x̂_i(κ) [a_i - (a_i - h_i) r(m_i)] + noise,

with bias b, initial coefficients h, the world's coefficients a. Given the curve and κ this is
linear in b and h, so the best of those are had at once and only two or three numbers have to be
searched for.

A family of curves gives the share r of an initial error that is left after m showings, and its
derivatives; and it turns fitted numbers into a `Curve`. Its parameters are chosen so that "no
learning" and "no floor" are their lower ends, not infinitely far away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.estimation.learner_answers import Answers
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


# A direction with a singular value this much below the largest is one that the log leaves open.
SINGULAR = 1e-8


class Solved(NamedTuple):
    """What the rows say about the linear part, given curve and κ."""

    bias: float
    initial: FloatArray
    residuals: FloatArray
    slopes: FloatArray
    basis: FloatArray


@dataclass(frozen=True, eq=False)
class Model:
    """What is estimated from which rows.

    - `free` (n,): initial coefficients that are estimated; the others keep `default` (n,);
    - `imputation`: κ if it is known, None if it is estimated;
    - `biased`: whether the person may be off by a constant.
    """

    answers: Answers
    family: Family
    free: npt.NDArray[np.bool_]
    default: FloatArray
    imputation: float | None
    biased: bool

    @property
    def searched(self) -> tuple[str, ...]:
        """Names of the parameters that enter nonlinearly."""
        return self.family.parameters + (("imputation",) if self.imputation is None else ())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters, in the order of the Jacobian's columns."""
        labels = self.answers.world.labels
        tests = tuple(f"initial {labels[i]}" for i in np.flatnonzero(self.free))
        return (("bias",) if self.biased else ()) + tests + self.searched

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Smallest and largest value of what is searched for."""
        return self.family.bounds + ([(0.0, 1.0)] if self.imputation is None else [])

    def on(self, answers: Answers) -> Model:
        """The same model for other rows."""
        return Model(answers, self.family, self.free, self.default, self.imputation, self.biased)

    def split(self, point: FloatArray) -> tuple[FloatArray, float]:
        """The curve's parameters and κ in a vector of what is searched for."""
        curve = point[: len(self.family.parameters)]
        return curve, float(point[-1]) if self.imputation is None else self.imputation

    @cached_property
    def _filled(self) -> dict[float, tuple[FloatArray, FloatArray]]:
        return {}

    def _imputed(self, dial: float) -> tuple[FloatArray, FloatArray]:
        """As the answers impute; the last few dials are remembered, for searches that keep κ."""
        if dial not in self._filled:
            if len(self._filled) >= 6:
                self._filled.pop(next(iter(self._filled)))
            self._filled[dial] = self.answers.imputed(dial)
        return self._filled[dial]

    def mean(self, bias: float, initial: FloatArray, point: FloatArray) -> FloatArray:
        """Expected answers (rows,)."""
        curve, dial = self.split(point)
        left = self.family.retention(curve, self.answers.counts)
        truth = self.answers.world.coefficients
        beliefs = truth - (truth - initial) * left
        total: FloatArray = np.sum(self._imputed(dial)[0] * beliefs, axis=1)
        return bias + total

    def design(self, point: FloatArray) -> FloatArray:
        """Derivatives of the answers by bias and free initial coefficients: (rows, linear)."""
        curve, dial = self.split(point)
        weights = self._imputed(dial)[0] * self.family.retention(curve, self.answers.counts)
        ones = np.ones((len(self.answers), int(self.biased)))
        return np.hstack([ones, weights[:, self.free]])

    def slopes(self, initial: FloatArray, point: FloatArray) -> FloatArray:
        """Derivatives of the answers by what is searched for: (rows, searched)."""
        curve, dial = self.split(point)
        filled, by_dial = self._imputed(dial)
        counts, truth = self.answers.counts, self.answers.world.coefficients
        error = truth - initial
        columns = [-(filled * slope) @ error for slope in self.family.slopes(curve, counts)]
        if self.imputation is None:
            beliefs = truth - error * self.family.retention(curve, counts)
            columns.append(np.sum(by_dial * beliefs, axis=1))
        return np.stack(columns, axis=1) if columns else np.zeros((len(self.answers), 0))

    def jacobian(self, initial: FloatArray, point: FloatArray) -> FloatArray:
        """All derivatives of the answers, columns in the order of `names`."""
        return np.hstack([self.design(point), self.slopes(initial, point)])

    def solve(self, point: FloatArray) -> Solved:
        """The best bias and initial coefficients for this curve and κ.

        Where the rows leave a direction open, the solution stays as near the default as it can.
        """
        design = self.design(point)
        target = self.answers.answers - self.mean(0.0, self.default, point)
        scale = np.linalg.norm(design, axis=0)
        scale[scale == 0.0] = 1.0
        orthogonal, triangle = np.linalg.qr(design / scale)
        left, singular, right = np.linalg.svd(triangle)
        rank = int(np.sum(singular > SINGULAR * singular.max(initial=0.0)))
        basis = orthogonal @ left[:, :rank]
        found = right[:rank].T @ ((basis.T @ target) / singular[:rank]) / scale
        bias = float(found[0]) if self.biased else 0.0
        initial = self.default.copy()
        initial[self.free] += found[int(self.biased) :]
        return Solved(bias, initial, target - design @ found, self.slopes(initial, point), basis)
