"""Boxes of parameters, split in halves wherever the posterior is narrower than they are.

The evidence of a family is an integral over its parameters. A box contributes the density at its
middle times its volume, which is right only while the density is smooth across the box. The less
the answers scatter, the narrower the posterior: at a scatter of 0.03 that of a rate is often ten or
twenty times narrower than a step of the grid to begin with. So boxes that hold probability, and
those that touch them, are split along one axis at a time until another split would hardly change
anything.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.evidence.answers import logsumexp_rows
from preceptor.evidence.axes import Population, log_prior
from preceptor.evidence.cells import Cells

# Splitting ends when the next split along any axis would move less than this share of the
# probability. Boxes are then at most about 1.1 standard deviations wide where it lies.
_ENOUGH = 0.03
# A single box may keep its probability by accident; its halves then differ by more than this,
# which is what halves of boxes two standard deviations wide do.
_UNEVEN = 0.45
# Boxes with at least this share of the probability are split, with all that touch them; at 0.003
# there are half as many boxes again, and log evidence is no closer to the integrals in the tests.
# A long ridge may have no such box: then those with a tenth of the largest share.
_HEAVY, _OF_LARGEST = 0.01, 0.1
# A stop that nothing should reach: the most that any family took was 16, without any scatter.
_MOST_SPLITS = 60

Evaluate = Callable[[FloatArray, FloatArray], Cells]


def split_where_narrow(cells: Cells, evaluate: Evaluate, rate: Population | None = None) -> Cells:
    """Split boxes until the sums over them are integrals.

    Parameters
    ----------
    cells
        The family on the grid of its axes.
    evaluate
        Evidence of the same family at middles (points, axes) of boxes with these widths
        (points, axes).
    rate
        Where rates lie, if they are those of a population.

    Returns
    -------
    Cells
        The same range of parameters in boxes of different sizes. Both posteriors are resolved, that
        of all rounds and that of the first three quarters, for each κ.
    """
    # One row for each posterior: of all rounds and of the first ones, for each κ.
    narrow = _foretold(cells) >= _ENOUGH
    unsettled, splits = narrow.copy(), np.zeros(narrow.shape[1])
    for _ in range(_MOST_SPLITS):
        if not unsettled.any():
            break
        # Axes that were narrow when last looked at take turns; the others are looked at last.
        waiting = unsettled & narrow if np.any(unsettled & narrow) else unsettled
        axis = int(np.argmin(np.where(waiting.any(axis=0), splits, np.inf)))
        cells, moved, uneven = _split(cells, axis, unsettled[:, axis], evaluate, rate)
        splits[axis] += 1
        # The error of a sum over middles falls with the square of the step.
        still = (moved / 4.0 >= _ENOUGH) | (uneven >= _UNEVEN)
        narrow[:, axis] = unsettled[:, axis] = still
        unsettled[still] = True  # what is narrow along one axis may be so along the others
    return cells


def _foretold(cells: Cells) -> FloatArray:
    """Shares (rows, axes) of the probability that a first split would move, about.

    Halving a box of step h changes its integral by h³ f''/32, and on a regular grid the second
    difference of the boxes' probabilities is h³ f''.
    """
    axes = cells.family.axes
    shares = _shares(_log_joint(cells)).reshape(-1, *(axis.points for axis in axes))
    found = np.empty((shares.shape[0], len(axes)))
    for position in range(len(axes)):
        along = np.moveaxis(shares, position + 1, -1)
        around = np.concatenate([along[..., :1], along, along[..., -1:]], axis=-1)
        bends = np.abs(np.diff(around, n=2, axis=-1)).reshape(shares.shape[0], -1)
        found[:, position] = bends.sum(axis=1) / 32.0
    return found


def _split(
    cells: Cells,
    axis: int,
    rows: npt.NDArray[np.bool_],
    evaluate: Evaluate,
    rate: Population | None,
) -> tuple[Cells, FloatArray, FloatArray]:
    """Halve boxes that matter to some rows along an axis.

    Also gives, for every row, which shares of the probability that moved, and by which halves
    differ.
    """
    chosen = _with_neighbours(cells, _heavy(_shares(_log_joint(cells))[rows]))
    widths = cells.widths[chosen]
    shift, halved = np.zeros_like(widths), widths.copy()
    shift[:, axis] = 0.25 * widths[:, axis]
    halved[:, axis] *= 0.5
    middles = cells.coordinates[chosen]
    halves = evaluate(
        np.concatenate([middles - shift, middles + shift]), np.concatenate([halved, halved])
    )
    after = _joined(cells, ~chosen, halves, rate)
    whole, parts = _log_joint(cells), _log_joint(after)
    total = np.maximum(logsumexp_rows(whole), logsumexp_rows(parts))
    before = _shares(whole[:, chosen], total)
    lower, upper = np.split(_shares(parts[:, -2 * len(middles) :], total), 2, axis=1)
    moved = np.abs(lower + upper - before).sum(axis=1)
    return after, moved, np.abs(upper - lower).sum(axis=1)


def _log_joint(cells: Cells) -> FloatArray:
    """Log prior plus log evidence (2 dials, points): of all rounds, then of the first ones."""
    return np.concatenate([cells.prior + cells.log_evidence, cells.prior + cells.early])


def _shares(logs: FloatArray, total: FloatArray | None = None) -> FloatArray:
    """Probabilities along rows; none where errors would run away at all parameters."""
    total = logsumexp_rows(logs) if total is None else total
    return np.asarray(np.exp(logs - np.where(np.isfinite(total), total, 0.0)[:, None]))


def _heavy(shares: FloatArray) -> npt.NDArray[np.bool_]:
    """Boxes (points,) that hold much of the probability of some row."""
    least = np.minimum(_HEAVY, _OF_LARGEST * shares.max(axis=1, keepdims=True))
    return np.asarray(np.any((shares >= least) & (shares > 0.0), axis=0))


def _with_neighbours(cells: Cells, heavy: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """These boxes and those that touch them: a peak near an edge may be on its other side."""
    middles, reach = cells.coordinates, 0.5 * cells.widths
    apart = np.abs(middles[:, None] - middles[heavy])
    touching = apart <= (reach[:, None] + reach[heavy]) * (1.0 + 1e-9)
    return np.asarray(np.any(np.all(touching, axis=2), axis=1))


def _joined(
    cells: Cells, kept: npt.NDArray[np.bool_], halves: Cells, rate: Population | None
) -> Cells:
    """The boxes that are kept, and then the halves of the others."""
    coordinates = np.concatenate([cells.coordinates[kept], halves.coordinates])
    widths = np.concatenate([cells.widths[kept], halves.widths])
    points = log_prior(cells.family.axes, coordinates, widths, rate)
    prior = logsumexp_rows(cells.prior)[:, None] + points
    per_box = [
        np.concatenate([mine[:, kept], theirs], axis=1)
        for mine, theirs in zip(cells[5:], halves[5:], strict=True)
    ]
    return Cells(cells.family, coordinates, widths, cells.dials, prior, *per_box)
