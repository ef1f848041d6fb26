"""What yes-or-no answers cost, tabulated so finely that kernels can read it off.

The cost of answers depends on two numbers of a state: how the person's score goes with the true
one, c/s, and how much it varies, s; for decisions that counts by where their limit lies, theta/s.
In c/s and theta/s, or c/s and s/(1 + s) for probabilities, the cost is smooth and lives on a
bounded piece of the plane, whatever the person believes. It is interpolated by bicubic splines with
even knots; the grid is made finer until errors between the knots are below what is wanted, and what
is left is stated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from preceptor._base.values import FloatArray, remembered
from preceptor.model.compiled_risks import CompiledRisk
from preceptor.model.score_pairs import FAR, ScorePair, finer_by, standard_scores
from preceptor.model.world import World
from preceptor.model.yes_no_risks import (
    SURFACE_CODE,
    Decision,
    LogLoss,
    ProbabilityRisk,
    YesNoRisk,
)

# Wanted error, as a share of the largest charge (of 1 where there is no largest).
_WANTED = 1e-8
_FIRST_CELLS, _MOST_CELLS = 24, 700
# Scores whose standard deviation is larger are charged as if it were this.
_STEEPEST = 50.0


@dataclass(frozen=True, eq=False)
class Surface:
    """A tabulated charge, and how far it is off at most (measured between the knots).

    If `grows`, the error of a score with standard deviation s is (1 + s)² times as large.
    """

    compiled: CompiledRisk
    error: float
    grows: bool


@dataclass(frozen=True)
class Axis:
    """Even knots from `low` to `high`, and the cubic splines over them."""

    low: float
    high: float
    cells: int

    @property
    def step(self) -> float:
        """Distance of two knots."""
        return (self.high - self.low) / self.cells

    @property
    def sites(self) -> FloatArray:
        """Knots and the middles of the first and last cell: as many as there are splines."""
        places = np.concatenate(
            [[0.0, 0.5], np.arange(1, self.cells), [self.cells - 0.5, self.cells]]
        )
        return self.low + self.step * places

    @property
    def between(self) -> FloatArray:
        """Places where errors are looked at: thirds of some cells, all along the axis."""
        cells = np.unique(np.linspace(0, self.cells - 1, min(self.cells, 48)).astype(int))
        return self.low + self.step * np.sort(np.concatenate([cells + 0.31, cells + 0.71]))

    def basis(self, places: FloatArray) -> FloatArray:
        """Values of all splines (places, cells + 3)."""
        x = (places - self.low) / self.step
        i = np.minimum(x.astype(int), self.cells - 1)
        s = x - i
        parts = np.stack([
            (1 - s) ** 3, 4 - 3 * s * s * (2 - s), 4 - 3 * (1 - s) ** 2 * (1 + s), s**3
        ], axis=1) / 6.0  # fmt: skip
        out = np.zeros((places.size, self.cells + 3))
        rows = np.arange(places.size)
        for k in range(4):
            out[rows, i + k] = parts[:, k]
        return out

    def coefficients(self, values: FloatArray) -> FloatArray:
        """Splines (cells + 3, ...) that go through values at the sites, along the first axis."""
        from scipy.linalg import solve_banded

        basis = self.basis(self.sites)
        size = basis.shape[0]
        banded = np.zeros((7, size))
        for offset in range(-3, 4):
            diagonal = np.diagonal(basis, offset)
            at = slice(offset, None) if offset > 0 else slice(0, size + offset)
            banded[3 - offset, at] = diagonal
        return np.asarray(solve_banded((3, 3), banded, values))


def surface_of(world: World, risk: YesNoRisk) -> Surface:
    """The charge of a risk in a world, tabulated.

    It takes a second or so, and everybody in that world may use it: each is made once.
    """
    known: dict[YesNoRisk, Surface] = remembered(world, "surfaces", dict)
    if risk not in known:
        known[risk] = _tabulated(world, risk)
    return known[risk]


def _tabulated(world: World, risk: YesNoRisk) -> Surface:
    still = _still_score(world, risk)
    reach = float(np.sqrt(still.spread))
    theta, grows = 0.0, isinstance(risk, LogLoss)
    if isinstance(risk, Decision):
        theta = float(still.link.score(risk.yes_above)) - float(still.believed)
        low, high = (0.0, FAR) if theta >= 0.0 else (-FAR, 0.0)
    else:
        low, high = 0.0, _STEEPEST / (1.0 + _STEEPEST)

    def exact(x: FloatArray, y: FloatArray) -> FloatArray:
        """Charges (x.size, y.size), with the growth of the log loss taken out."""
        if isinstance(risk, Decision):
            return _decided_charges(risk, still, x, y)
        assert isinstance(risk, ProbabilityRisk)
        costs = _mean_charges(risk, still, x, y / (1.0 - y))
        return np.asarray(costs * ((1.0 - y) ** 2 if grows else 1.0))

    wanted = _WANTED * (risk.largest if np.isfinite(risk.largest) else 1.0)
    flat = risk.decides and theta == 0.0
    table, first, second, error = _fine_enough(exact, (-reach, reach), (low, high), flat, wanted)
    numbers = np.array(
        [
            world.outcome_variance, theta, float(risk.decides), float(risk.expected(still)),
            first.low, 1.0 / first.step, second.low, 1.0 / second.step,
            float(first.cells), float(second.cells), float(grows),
        ]
    )  # fmt: skip
    return Surface(CompiledRisk(SURFACE_CODE, numbers, _cubics(table)), 2.0 * error, grows)


def _still_score(world: World, risk: YesNoRisk) -> ScorePair:
    """Somebody whose score never moves."""
    assert world.outcome is not None
    believed = believed_base(world, risk)
    return ScorePair(
        world.outcome.from_score,
        world.base_score,
        world.score_variance,
        *map(np.array, (believed, 0.0, 0.0)),
    )


def _cubics(table: FloatArray) -> FloatArray:
    """Coefficients (rows, columns, 16) of each cell: the power of the first place times 4, plus
    that of the second."""
    powers = np.array([[1, 4, 1, 0], [-3, 0, 3, 0], [3, -6, 3, 0], [-1, 3, -3, 1]]) / 6.0
    rows, columns = table.shape[0] - 3, table.shape[1] - 3
    around = np.lib.stride_tricks.sliding_window_view(table, (4, 4))
    cells = np.einsum("pi,rcij,qj->rcpq", powers, around, powers, optimize=True)
    return np.ascontiguousarray(cells.reshape(rows, columns, 16))


def _decided_charges(
    risk: Decision, still: ScorePair, slopes: FloatArray, limits: FloatArray
) -> FloatArray:
    """Expected charges (slopes, limits) of decisions.

    The scale of the score is free: with a standard deviation of 1, its limit is so far above its
    mean.
    """
    cross, height = np.meshgrid(slopes, limits, indexing="ij")
    pair = replace(still, believed=np.asarray(0.0), shared=cross, own=np.ones_like(cross))
    misses, alarms = pair.mistakes(height)
    return np.asarray(risk.miss * misses + risk.false_alarm * alarms)


def _mean_charges(
    risk: ProbabilityRisk, still: ScorePair, slopes: FloatArray, deviations: FloatArray
) -> FloatArray:
    """Expected charges (slopes, deviations): chances by slope times charges by deviation."""
    finer = finer_by(np.array([np.max(deviations)]), float(np.sqrt(still.spread)))
    points, weights = standard_scores(int(finer[0]))
    left = np.maximum(still.spread - slopes**2, 0.0)[:, None]
    chances = still.link.mean_probability(still.base + slopes[:, None] * points, left)
    if_yes, if_no = risk.charges(still.link, still.believed + points[:, None] * deviations)
    return np.asarray((chances * weights) @ if_yes + ((1.0 - chances) * weights) @ if_no)


def believed_base(world: World, risk: YesNoRisk) -> float:
    """The person's score of an average case."""
    assert world.outcome is not None
    if risk.believed_prevalence is None:
        return world.base_score
    return world.outcome.base_score(world.score_variance, risk.believed_prevalence)


def best_charges(world: World, risk: YesNoRisk, residual: FloatArray) -> FloatArray:
    """What the best readers of sets are charged, by the variance that each set leaves open.

    Parameters
    ----------
    world
        With an outcome that is yes or no.
    risk
        What answers cost.
    residual
        Variance of the outcome's score, its own scatter included, that a set leaves open, (sets,).

    Returns
    -------
    array of shape (sets,)
        Without prices.
    """
    assert world.outcome is not None
    known = np.clip(world.outcome_variance - residual, 0.0, world.score_variance)
    # Sets often explain the same, and charges of probabilities take a sum each.
    distinct, place = np.unique(known, return_inverse=True)
    link, base = world.outcome.from_score, world.base_score
    readers = ScorePair.best_reader(link, base, world.score_variance, distinct)
    return np.asarray(risk.best(readers)[place])


def _fine_enough(
    exact: Callable[[FloatArray, FloatArray], FloatArray],
    across: tuple[float, float],
    along: tuple[float, float],
    flat: bool,
    wanted: float,
) -> tuple[FloatArray, Axis, Axis, float]:
    """Make each axis finer until it is not the one that leaves too large an error."""
    first, second = Axis(*across, _FIRST_CELLS), Axis(*along, 2 if flat else _FIRST_CELLS)
    error = np.inf
    for axis in range(2):
        # Along one axis at a time, so that it is known which one must be finer.
        while True:
            cells = (first, second)[axis].cells
            error = _error_along(exact, first, second, axis)
            if error <= 0.5 * wanted or cells >= _MOST_CELLS or (flat and axis == 1):
                break
            factor = min(max((error / (0.5 * wanted)) ** 0.25 * 1.05, 1.2), 4.0)
            more = min(int(cells * factor) + 1, _MOST_CELLS)
            if axis == 0:
                first = Axis(*across, more)
            else:
                second = Axis(*along, more)
    values = exact(first.sites, second.sites)
    table = second.coefficients(first.coefficients(values).T).T
    x, y = first.between, second.between
    seen = first.basis(x) @ table @ second.basis(y).T
    error = float(np.max(np.abs(seen - exact(x, y))))
    return table, first, second, error


def _error_along(
    exact: Callable[[FloatArray, FloatArray], FloatArray], first: Axis, second: Axis, axis: int
) -> float:
    """Largest error of interpolating along one axis alone, at some places of the other."""
    mine, other = (first, second) if axis == 0 else (second, first)
    lines = np.linspace(other.low, other.high, 25)

    def on(places: FloatArray) -> FloatArray:
        return exact(places, lines) if axis == 0 else exact(lines, places).T

    table = mine.coefficients(on(mine.sites))
    return float(np.max(np.abs(mine.basis(mine.between) @ table - on(mine.between))))
