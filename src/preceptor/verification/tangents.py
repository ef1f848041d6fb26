"""Where a plane should touch the loss of a round, so that what is left after it is large.

The best plane solves y = shift + D e(y), where e_i(y) is the error at which test i's part is least
given the plane at y. That jumps from count to count, so e is first averaged over counts with
weights exp(-part/τ), and Newton's method is repeated while τ falls. Nothing here needs to be right:
whatever comes out is scanned over all counts by whoever asked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.verification.own_losses import OwnLosses
from preceptor.verification.potentials import Points

# Temperatures in units of a round's loss, and Newton steps at each of them.
_HOT, _COLD, _FACTOR, _STEPS = 1e-1, 1e-12, 0.2, 3
_HALVINGS = 4


@dataclass(frozen=True, eq=False)
class Open:
    """Sets of some rounds whose planes are sought: numbers of the sets, and their places.

    `rows` (pairs,); `error` and `table` (pairs, n, places), the table infinite where there is no
    such place.
    """

    rows: IntArray
    error: FloatArray
    table: FloatArray

    @classmethod
    def of(cls, losses: OwnLosses, rounds: list[tuple[Points, IntArray]]) -> Open:
        """The places of some rounds with sets in each, side by side."""
        longest = max(points.error.shape[1] for points, _ in rounds)
        errors, tables = [], []
        for points, rows in rounds:
            missing = ((0, 0), (0, longest - points.error.shape[1]))
            member = losses.member_of[rows][:, :, None]
            table = np.where(member, points.shown, points.hidden)
            tables.append(np.pad(table, ((0, 0), *missing), constant_values=np.inf))
            errors.append(np.repeat(np.pad(points.error, missing)[None], rows.size, axis=0))
        return cls(
            np.concatenate([rows for _, rows in rounds]),
            np.concatenate(errors),
            np.concatenate(tables),
        )


def climb(losses: OwnLosses, todo: Open, start: FloatArray, patience: int = 1) -> FloatArray:
    """Better deviations (pairs, widest) for planes than those at `start`.

    With more `patience` temperatures fall more slowly, and more steps are made at each.
    """
    factor = _FACTOR ** (1.0 / patience)
    best, best_value = start.copy(), _sums(losses, todo, start, 0.0)[0]
    y = start.copy()
    loss = max(losses.scale, 1e-300)
    temperature = _HOT * loss
    while temperature > _COLD * loss:
        value, mean, spread = _sums(losses, todo, y, temperature)
        for _ in range(patience * _STEPS):
            step = _newton(losses, todo.rows, y, mean, spread / temperature)
            length = np.ones(len(y))
            for _ in range(_HALVINGS):
                tried = y + length[:, None] * step
                after, mean, spread = _sums(losses, todo, tried, temperature)
                falls = after < value
                if not falls.any():
                    break
                length[falls] *= 0.2
            else:
                tried = np.where(falls[:, None], y, y + length[:, None] * step)
                after, mean, spread = _sums(losses, todo, tried, temperature)
            y, value = tried, after
        exact = _sums(losses, todo, y, 0.0)[0]
        better = exact > best_value
        best[better], best_value[better] = y[better], exact[better]
        temperature *= factor
    return best


def _sums(
    losses: OwnLosses, todo: Open, y: FloatArray, temperature: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """h (pairs,) with soft minima, and mean and variance (pairs, n) of the errors they weigh."""
    rows, error = todo.rows, todo.error
    square = np.sum(y * y, axis=1)
    plane = losses.pull(rows, square)[:, None] * y
    total = losses.charged(rows, square) + np.sum(plane * (losses.shift[rows] - y), axis=1)
    pull = np.einsum("sk,skn->sn", plane, losses.reading[rows])
    parts = pull[:, :, None] * error + todo.table
    least = parts.min(axis=2)
    if temperature == 0.0:
        return total + least.sum(axis=1), least, least
    weights = np.exp((least[:, :, None] - parts) / temperature)
    weighed = weights.sum(axis=2)
    soft = least - temperature * np.log(weighed)
    mean = (weights * error).sum(axis=2) / weighed
    spread = (weights * error**2).sum(axis=2) / weighed - mean**2
    return total + soft.sum(axis=1), mean, np.maximum(spread, 0.0)


def _newton(
    losses: OwnLosses, rows: IntArray, y: FloatArray, mean: FloatArray, slope: FloatArray
) -> FloatArray:
    """Step (sets, widest) towards y = shift + D e(y), where e moves by -slope per unit of pull."""
    reading = losses.reading[rows]
    wrong = losses.shift[rows] + np.einsum("skn,sn->sk", reading, mean) - y
    moved = np.einsum("skn,sn,sjn->skj", reading, slope, reading)
    matrix = np.eye(y.shape[1]) + moved @ _curvature(losses, rows, y)
    return np.asarray(np.linalg.solve(matrix, wrong[:, :, None])[:, :, 0])


def _curvature(losses: OwnLosses, rows: IntArray, y: FloatArray) -> FloatArray:
    """Second derivatives (sets, widest, widest) of G(sqrt(floor + |y|²)) in y."""
    square = np.sum(y * y, axis=1)
    pull, bend = losses.pull(rows, square), losses.bend(rows, square)
    along = (bend - pull) / np.maximum(losses.floor[rows] + square, 1e-300)
    outer = y[:, :, None] * y[:, None, :]
    return np.asarray(pull[:, None, None] * np.eye(y.shape[1]) + along[:, None, None] * outer)
