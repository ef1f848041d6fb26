"""How well a person reads a set of tests: the best reader's residual, and the person's excess.

Let Σ be the covariance of the tests, Ω the one that a person imputes from, S the set shown, w* the
best weights on it and w those of a person with errors e. The residual has variance

    v = floor + |shift + factor (Ωe)_S|²,    floor = σ² + a'(Σ - M_S)a,

where factor = L'Ω_SS⁻¹ and Σ_SS = LL'. For Ω = Σ the shift is 0 and the factor L⁻¹. The best
reader's residual is a squared length too, |R(a - w*)|² with R'R = Σ, which is used wherever it is
small: both parts of v are then sums of squares, and nothing cancels. R comes from doubled precision
(`matrices.py`), so that floors keep eight digits for tests as similar as a world allows (condition
number 1e11; subtracting the explained variance would keep one or two). Deviations lose half as many
digits as the condition number of Σ_SS has: eleven of sixteen are left at 1e10.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, IntArray, remembered
from preceptor.model.matrices import covariance_root
from preceptor.model.sets import BLOCK_NUMBERS, SetFamily
from preceptor.model.world import World

# Below this share of the variance, a difference would lose digits.
_CLOSE = 1e-3


@dataclass(frozen=True)
class ResidualForms:
    """Per set: floor (m,), shift (m, k) and factor (m, k, k), with v = floor + |shift + F q_S|².

    `best` (m, k) are the best weights in the same coordinates: L⁻¹(Σa)_S. Its squared length is the
    variance that the set explains.
    """

    floor: FloatArray
    shift: FloatArray
    factor: FloatArray
    best: FloatArray

    def aligned(self) -> ResidualForms:
        """The same lengths in coordinates whose first axis is along the best weights.

        Each set's rows are reflected so that `best` becomes (its length, 0, ..., 0). Then the
        covariance of a person's prediction with the truth depends on the first row alone.
        """
        length = np.linalg.norm(self.best, axis=1)
        axis = self.best.copy()
        sign = np.where(axis[:, 0] < 0.0, -1.0, 1.0)
        axis[:, 0] += sign * length
        square = np.sum(axis * axis, axis=1)
        scale = np.where(square > 0.0, 2.0 / np.where(square > 0.0, square, 1.0), 0.0)

        def reflected(rows: FloatArray) -> FloatArray:
            along = np.einsum("mi,mi...->m...", axis, rows) * scale.reshape(
                (-1,) + (1,) * (rows.ndim - 2)
            )
            turned = rows - np.einsum("mi,m...->mi...", axis, along)
            # The reflection sends `best` to the negative end of the axis.
            flip = np.where(square > 0.0, -sign, 1.0)
            turned[:, 0] *= flip.reshape((-1,) + (1,) * (rows.ndim - 2))
            return np.asarray(turned)

        best = np.zeros_like(self.best)
        best[:, 0] = length
        return ResidualForms(self.floor, reflected(self.shift), reflected(self.factor), best)


def readings_of_all(world: World, omega: FloatArray, sets: SetFamily) -> ResidualForms:
    """Readings of all sets of a family, zero-padded to the widest."""
    count, widest = sets.members.shape
    floor = np.empty(count)
    shift = np.zeros((count, widest))
    factor = np.zeros((count, widest, widest))
    best = np.zeros((count, widest))
    for size in np.unique(sets.sizes):
        rows = np.flatnonzero(sets.sizes == size)
        part = readings_of(world, omega, sets.members[rows, :size])
        floor[rows] = part.floor
        shift[rows, :size] = part.shift
        factor[rows, :size, :size] = part.factor
        best[rows, :size] = part.best
    return ResidualForms(floor, shift, factor, best)


def readings_of(world: World, omega: FloatArray, members: IntArray) -> ResidualForms:
    """Readings of sets of equal size, members of shape (m, k)."""
    a, sigma = world.coefficients, world.covariance
    target = (sigma @ a)[members]
    shown = sigma[members[:, :, None], members[:, None, :]]
    root: FloatArray = np.linalg.cholesky(shown).astype(np.float64, copy=False)
    best = _forward(root, target)
    floor = world.noise_variance + _left(world, members, root, best)
    if np.array_equal(omega, sigma):
        identity = np.broadcast_to(np.eye(members.shape[1]), root.shape)
        factor = np.empty_like(root)
        for j in range(members.shape[1]):
            factor[:, :, j] = _forward(root, identity[:, :, j])
        return ResidualForms(floor, np.zeros_like(best), factor, best)
    believed = omega[members[:, :, None], members[:, None, :]]
    factor = np.swapaxes(np.linalg.solve(believed, root), 1, 2)
    shift = best - np.einsum("mij,mj->mi", factor, (omega @ a)[members])
    return ResidualForms(floor, shift, factor, best)


def _left(world: World, members: IntArray, root: FloatArray, best: FloatArray) -> FloatArray:
    """Residual variance (m,) of the best readers of sets.

    That is a'Σa minus the explained variance; where it is so small that digits would be lost,
    |R(a - w*)|².
    """
    variance = world.score_variance
    left: FloatArray = np.maximum(variance - np.sum(best * best, axis=1), 0.0)
    close = np.flatnonzero(left < _CLOSE * variance)
    if close.size:
        left[close] = _exactly_left(world, members[close], root[close], best[close])
    return left


def _exactly_left(
    world: World, members: IntArray, root: FloatArray, best: FloatArray
) -> FloatArray:
    """|R(a - w*)|² (m,), computed without cancellation."""
    whole: FloatArray = remembered(
        world, "covariance root", lambda: covariance_root(world.covariance)
    )
    weights = _backward(root, best)
    left = np.empty(len(members))
    step = max(1, BLOCK_NUMBERS // world.size)
    for first in range(0, len(members), step):
        part = slice(first, first + step)
        away = np.tile(world.coefficients, (len(members[part]), 1))
        away[np.arange(len(away))[:, None], members[part]] -= weights[part]
        left[part] = np.sum((away @ whole.T) ** 2, axis=1)
    return left


def _backward(root: FloatArray, right: FloatArray) -> FloatArray:
    """Solve L'w = b for stacks of lower-triangular L (m, k, k) and b (m, k)."""
    solution = np.zeros_like(right)
    for i in range(right.shape[1] - 1, -1, -1):
        known = np.einsum("mj,mj->m", root[:, i + 1 :, i], solution[:, i + 1 :])
        solution[:, i] = (right[:, i] - known) / root[:, i, i]
    return solution


def _forward(root: FloatArray, right: FloatArray) -> FloatArray:
    """Solve L y = b for stacks of lower-triangular L (m, k, k) and b (m, k)."""
    solution = np.zeros_like(right)
    for i in range(right.shape[1]):
        known = np.einsum("mj,mj->m", root[:, i, :i], solution[:, :i])
        solution[:, i] = (right[:, i] - known) / root[:, i, i]
    return solution
