"""What answers cost somebody who allows for what is hidden, tabulated.

Their score is multiplied with γ, which depends on what they believe to be hidden. A decision then
has the limit τ/γ, and is read off the surface of decisions. A probability depends on a third
number, γ times the base score: a stack of surfaces, one for each γ from 0 to 1, interpolated like
the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, remembered
from preceptor.model.score_pairs import FAR, ScorePair
from preceptor.model.surfaces import (
    STEEPEST,
    WANTED,
    Axis,
    decided_charges,
    fine_enough,
    still_score,
    weighed_chances,
)
from preceptor.model.world import World
from preceptor.model.yes_no_risks import Decision, LogLoss, ProbabilityRisk, YesNoRisk

_MOST_LAYERS = 40


@dataclass(frozen=True, eq=False)
class Volume:
    """A table over two or three axes, and how far it is off at most (measured between the knots).

    If `grows`, the error of a score with standard deviation s is (1 + s)² times as large.
    """

    risk: YesNoRisk
    axes: tuple[Axis, ...]
    table: FloatArray
    error: float
    grows: bool = False

    def charges(self, pair: ScorePair) -> FloatArray:
        """What answers cost in each state."""
        deviation, shrink = pair.deviation, pair.shrinking
        still = pair.is_still
        safe = np.where(still, 1.0, deviation)
        cross = np.where(still, 0.0, pair.shared / safe)
        if isinstance(self.risk, Decision):
            limit = self.risk.score_above(pair) - pair.believed
            never = np.where(limit < 0.0, -FAR, FAR)
            return self._at(cross, np.where(still, never, limit / safe))
        own = deviation * shrink
        costs = self._at(cross, own / (1.0 + own), shrink)
        return np.asarray(costs * (1.0 + own) ** 2 if self.grows else costs)

    def _at(self, *places: FloatArray) -> FloatArray:
        from scipy.ndimage import map_coordinates

        # The spline of a knot is one place behind it, because the first ones begin outside.
        rows = [
            1.0 + np.clip((place - axis.low) / axis.step, 0.0, axis.cells)
            for axis, place in zip(self.axes, np.broadcast_arrays(*places), strict=True)
        ]
        return np.asarray(map_coordinates(self.table, rows, order=3, prefilter=False))


def volume_of(world: World, risk: YesNoRisk) -> Volume:
    """The charge of a risk in a world, for people who allow for what is hidden; each made once."""
    known: dict[YesNoRisk, Volume] = remembered(world, "volumes", dict)
    if risk not in known:
        known[risk] = _tabulated(world, risk)
    return known[risk]


def _tabulated(world: World, risk: YesNoRisk) -> Volume:
    still = still_score(world, risk)
    reach = float(np.sqrt(still.spread))
    across, grows = (-reach, reach), isinstance(risk, LogLoss)
    wanted = WANTED * (risk.largest if np.isfinite(risk.largest) else 1.0)
    if isinstance(risk, Decision):
        table, first, second, error = fine_enough(
            lambda x, y: decided_charges(risk, still, x, y), across, (-FAR, FAR), False, wanted
        )
        return Volume(risk, (first, second), table, 2.0 * error)
    assert isinstance(risk, ProbabilityRisk)

    def stated(x: FloatArray, y: FloatArray, shrinks: FloatArray) -> FloatArray:
        """Charges (x, y, shrinks), with the growth of the log loss taken out."""
        own = y / (1.0 - y)
        points, weighed, against = weighed_chances(still, x, float(np.max(own)))
        costs = np.empty((x.size, y.size, shrinks.size))
        for layer, shrink in enumerate(shrinks):
            scores = shrink * still.believed + points[:, None] * own
            if_yes, if_no = risk.charges(still.link, scores)
            costs[..., layer] = weighed @ if_yes + against @ if_no
        return np.asarray(costs * ((1.0 - y) ** 2)[:, None]) if grows else costs

    alone = np.ones(1)
    _, first, second, _ = fine_enough(
        lambda x, y: stated(x, y, alone)[..., 0],
        across,
        (0.0, STEEPEST / (1.0 + STEEPEST)),
        False,
        wanted,
    )
    cells = 6
    while True:
        axes = first, second, Axis(0.0, 1.0, cells)
        table = _along_all(axes, stated(*(axis.sites for axis in axes)))
        x, y, shrinks = first.between[::6], second.between[::6], axes[2].between[:: cells // 3]
        over = np.einsum(
            "xi,ijk,yj,zk->xyz",
            *(first.basis(x), table, second.basis(y), axes[2].basis(shrinks)),
            optimize=True,
        )
        error = float(np.max(np.abs(over - stated(x, y, shrinks))))
        if error <= wanted or cells >= _MOST_LAYERS:
            return Volume(risk, axes, table, 2.0 * error, grows)
        cells = min(2 * cells, _MOST_LAYERS)


def _along_all(axes: tuple[Axis, ...], values: FloatArray) -> FloatArray:
    """Splines along one axis after the other."""
    for place, axis in enumerate(axes):
        moved = np.moveaxis(values, place, 0)
        flat = axis.coefficients(moved.reshape(moved.shape[0], -1))
        values = np.moveaxis(flat.reshape(moved.shape), 0, place)
    return np.ascontiguousarray(values)
