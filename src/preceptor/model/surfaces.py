"""The cost of yes-or-no answers, tabulated so finely that kernels can interpolate it.

The cost of answers depends on two numbers of a state: the covariance c of the person's score with
the true one, and its standard deviation s. In c/s and theta/s for decisions (theta is the distance
of their threshold), or c/s and s/(1 + s) for probabilities, the cost is smooth on a bounded
rectangle, whatever the person believes. It is interpolated by bicubic splines with uniform knots.
The grid is refined until errors between the knots are below a tolerance, and the error is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from preceptor._base.values import FloatArray, remembered
from preceptor.model.risks import CompiledRisk
from preceptor.model.score_pairs import FAR, ScorePair, finer_by, standard_scores
from preceptor.model.world import World
from preceptor.model.yes_no_risks import SURFACE_CODE, Decision, LogLoss, ProbabilityRisk, YesNoRisk

# Tolerance, as a share of the largest charge (of 1 if charges are unbounded).
_WANTED = 1e-8
_FIRST_CELLS, _MOST_CELLS = 24, 700
# Cells along the distances of thresholds on either side, in tables of levels.
_LEVEL_CELLS = 192
# Scores whose standard deviation is larger are charged as if it were this.
_STEEPEST = 50.0


@dataclass(frozen=True, eq=False)
class Surface:
    """A tabulated charge and its largest error (measured between the knots).

    If `grows`, the error of a score with standard deviation s is (1 + s)² times as large.
    """

    compiled: CompiledRisk
    error: float
    grows: bool


@dataclass(frozen=True)
class SplineGrid:
    """Uniform knots from `low` to `high`, and the cubic B-splines over them."""

    low: float
    high: float
    cells: int

    @property
    def step(self) -> float:
        """Distance between knots."""
        return (self.high - self.low) / self.cells

    @property
    def knots(self) -> FloatArray:
        """All knots, with three more on either side."""
        return np.asarray(self.low + self.step * np.arange(-3.0, self.cells + 4))

    @property
    def sites(self) -> FloatArray:
        """Interpolation points: knots and the middles of the first and last cell."""
        places = np.concatenate(
            [[0.0, 0.5], np.arange(1, self.cells), [self.cells - 0.5, self.cells]]
        )
        return self.low + self.step * places

    @property
    def between(self) -> FloatArray:
        """Points where errors are measured: about thirds of up to 48 cells."""
        cells = np.unique(np.linspace(0, self.cells - 1, min(self.cells, 48)).astype(int))
        return self.low + self.step * np.sort(np.concatenate([cells + 0.31, cells + 0.71]))

    def basis(self, places: FloatArray) -> FloatArray:
        """Values of all splines (places, cells + 3)."""
        from scipy.interpolate import BSpline

        return np.asarray(BSpline.design_matrix(places, self.knots, 3).toarray())

    def coefficients(self, values: FloatArray) -> FloatArray:
        """Spline coefficients (cells + 3, ...) that interpolate values at the sites."""
        from scipy.interpolate import make_interp_spline

        return np.asarray(make_interp_spline(self.sites, values, k=3, t=self.knots).c)


def surface_of(world: World, risk: YesNoRisk) -> Surface:
    """The charge of a risk in a world, tabulated.

    It takes about a second and is cached with the world.
    """
    known: dict[YesNoRisk, Surface] = remembered(world, "surfaces", dict)
    if risk not in known:
        known[risk] = _tabulated(world, risk)
    return known[risk]


def level_surfaces(
    world: World, risk: YesNoRisk, levels: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The charge of a risk where the person's base score is off by some levels, tabulated.

    Decisions depend on the distance of the threshold alone: one table for thresholds on either
    side. For probabilities, one table for each level, of a fixed fineness.

    Parameters
    ----------
    world
        With a yes-or-no outcome.
    risk
        How answers are charged.
    levels
        Base scores, counted from the person's own without a level, shape (levels,).

    Returns
    -------
    numbers of shape (1 or levels, 11), surfaces of shape (1 or levels, rows, columns, 16)
        As in `Surface`.
    """
    known: dict[tuple[YesNoRisk, bytes], tuple[FloatArray, FloatArray]]
    known = remembered(world, "surfaces of levels", dict)
    key = (risk, levels.tobytes())
    if key not in known:
        still = _still_score(world, risk)
        bases = still.believed + (np.zeros(1) if risk.decides else levels)
        tables = [
            _tabulated(world, risk, replace(still, believed=np.asarray(base))) for base in bases
        ]
        known[key] = (
            np.array([each.compiled.numbers for each in tables]),
            np.array([each.compiled.surface for each in tables]),
        )
    return known[key]


def _tabulated(world: World, risk: YesNoRisk, one_of: ScorePair | None = None) -> Surface:
    """The surface of a risk; with `one_of`, one of several that have the same grid."""
    still = one_of or _still_score(world, risk)
    reach = float(np.sqrt(still.spread))
    theta, grows = 0.0, isinstance(risk, LogLoss)
    if isinstance(risk, Decision):
        theta = float(still.link.score(risk.yes_above)) - float(still.believed)
        low, high = (0.0, FAR) if theta >= 0.0 else (-FAR, 0.0)
        if one_of is not None:
            low, high = -FAR, FAR
    else:
        low, high = 0.0, _STEEPEST / (1.0 + _STEEPEST)

    def exact(x: FloatArray, y: FloatArray) -> FloatArray:
        """Charges (x.size, y.size), with the growth of the log loss divided out."""
        if isinstance(risk, Decision):
            return _decided_charges(risk, still, x, y)
        assert isinstance(risk, ProbabilityRisk)
        costs = _mean_charges(risk, still, x, y / (1.0 - y))
        return np.asarray(costs * ((1.0 - y) ** 2 if grows else 1.0))

    wanted = _WANTED * (risk.largest if np.isfinite(risk.largest) else 1.0)
    flat = risk.decides and theta == 0.0 and one_of is None
    if one_of is not None:
        wanted = np.inf
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
    """A person whose score is constant."""
    assert world.outcome is not None
    believed = believed_base(world, risk)
    return ScorePair(
        world.outcome.from_score,
        world.base_score,
        world.score_variance,
        *map(np.array, (believed, 0.0, 0.0)),
    )


def _cubics(table: FloatArray) -> FloatArray:
    """Coefficients (rows, columns, 16) of each cell, at 4 x first power + second power."""
    powers = np.array([[1, 4, 1, 0], [-3, 0, 3, 0], [3, -6, 3, 0], [-1, 3, -3, 1]]) / 6.0
    rows, columns = table.shape[0] - 3, table.shape[1] - 3
    around = np.lib.stride_tricks.sliding_window_view(table, (4, 4))
    cells = np.einsum("pi,rcij,qj->rcpq", powers, around, powers, optimize=True)
    return np.ascontiguousarray(cells.reshape(rows, columns, 16))


def _decided_charges(
    risk: Decision, still: ScorePair, slopes: FloatArray, limits: FloatArray
) -> FloatArray:
    """Expected charges (slopes, limits) of decisions.

    The scale of the score is free, so its standard deviation is 1 and `limits` are distances of
    the threshold from its mean.
    """
    cross, height = np.meshgrid(slopes, limits, indexing="ij")
    pair = replace(still, believed=np.asarray(0.0), shared=cross, own=np.ones_like(cross))
    misses, alarms = pair.mistakes(height)
    return np.asarray(risk.miss * misses + risk.false_alarm * alarms)


def _mean_charges(
    risk: ProbabilityRisk, still: ScorePair, slopes: FloatArray, deviations: FloatArray
) -> FloatArray:
    """Expected charges (slopes, deviations): probabilities by slope times charges by deviation."""
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
    """Expected charge of the best reader of each set, given its residual variance.

    Parameters
    ----------
    world
        With a yes-or-no outcome.
    risk
        How answers are charged.
    residual
        Variance of score plus noise that each set leaves unexplained, (sets,).

    Returns
    -------
    array of shape (sets,)
        Without prices.
    """
    # Sets often explain the same variance, and a charge takes an integral.
    distinct, place = np.unique(residual, return_inverse=True)
    return np.asarray(risk.best(best_readers(world, distinct))[place])


def best_readers(world: World, residual: FloatArray) -> ScorePair:
    """Scores of the best readers of sets that leave these residual variances (sets,)."""
    assert world.outcome is not None
    known = np.clip(world.outcome_variance - residual, 0.0, world.score_variance)
    link = world.outcome.from_score
    return ScorePair.best_reader(link, world.base_score, world.score_variance, known)


def _fine_enough(
    exact: Callable[[FloatArray, FloatArray], FloatArray],
    across: tuple[float, float],
    along: tuple[float, float],
    flat: bool,
    wanted: float,
) -> tuple[FloatArray, SplineGrid, SplineGrid, float]:
    """Refine each axis until its interpolation error is within half of the tolerance.

    Without a tolerance the grid is one that suffices for tables of levels.
    """
    long = _FIRST_CELLS if along[0] >= 0.0 or np.isfinite(wanted) else _LEVEL_CELLS
    grids = [SplineGrid(*across, _FIRST_CELLS), SplineGrid(*along, 2 if flat else long)]
    # One axis at a time, so that it is clear which one needs refinement.
    for axis in (0,) if flat else (0, 1):
        while np.isfinite(wanted) and (cells := grids[axis].cells) < _MOST_CELLS:
            excess = _error_along(exact, grids, axis) / (0.5 * wanted)
            if excess <= 1.0:
                break
            factor = min(max(excess**0.25 * 1.05, 1.2), 4.0)
            grids[axis] = replace(grids[axis], cells=min(int(cells * factor) + 1, _MOST_CELLS))
    first, second = grids
    values = exact(first.sites, second.sites)
    table = second.coefficients(first.coefficients(values).T).T
    x, y = first.between, second.between
    seen = first.basis(x) @ table @ second.basis(y).T
    error = float(np.max(np.abs(seen - exact(x, y))))
    return table, first, second, error


def _error_along(
    exact: Callable[[FloatArray, FloatArray], FloatArray], grids: list[SplineGrid], axis: int
) -> float:
    """Largest error of interpolation along one axis, at 25 points of the other."""
    mine, other = grids[axis], grids[1 - axis]
    lines = np.linspace(other.low, other.high, 25)

    def on(places: FloatArray) -> FloatArray:
        return exact(places, lines) if axis == 0 else exact(lines, places).T

    table = mine.coefficients(on(mine.sites))
    return float(np.max(np.abs(mine.basis(mine.between) @ table - on(mine.between))))
