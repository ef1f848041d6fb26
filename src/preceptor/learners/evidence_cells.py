"""Evidence cells: one family at several κ and boxes of parameters; and estimates with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.numerics import mixture_quantiles
from preceptor._base.values import FloatArray
from preceptor.learners.families import LearnerFamily, Population, log_prior
from preceptor.learners.posterior import logsumexp_rows

# Quantiles at the ends of a 95 % interval.
ENDS = (0.025, 0.975)


class Estimate(NamedTuple):
    """A posterior mean with its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


def mean_of(people: Sequence[Estimate]) -> Estimate:
    """Average of independent people, with its interval as of normal posteriors."""
    if len(people) == 1:
        return people[0]
    mean = float(np.mean([each.mean for each in people]))
    half = 0.5 * float(np.sqrt(np.sum([(each.high - each.low) ** 2 for each in people])))
    return Estimate(mean, mean - half / len(people), mean + half / len(people))


class EvidenceCells(NamedTuple):
    """One family: a cell for each dial (κ) and point (the midpoint of a box of parameters).

    `coordinates` and `widths` (points, axes) are midpoints and side lengths of the boxes. `prior`
    is the log prior within the family, `log_evidence` that of all rounds and `early` that of the
    first three quarters, all (dials, points). `scatter` and `scatter_sd` (dials, points) are mean
    and standard deviation of the log width of scatter; `mean` and `sds` (dials, points, p) are
    those of whitened first weights and nuisances.
    """

    family: LearnerFamily
    coordinates: FloatArray
    widths: FloatArray
    dials: FloatArray
    prior: FloatArray
    log_evidence: FloatArray
    early: FloatArray
    scatter: FloatArray
    scatter_sd: FloatArray
    mean: FloatArray
    sds: FloatArray

    @property
    def total(self) -> float:
        """Log evidence of the family."""
        return float(logsumexp_rows((self.prior + self.log_evidence).ravel()))

    @property
    def early_total(self) -> float:
        """Log evidence of the family in the first three quarters of the rounds."""
        return float(logsumexp_rows((self.prior + self.early).ravel()))

    @property
    def posterior(self) -> FloatArray:
        """Posterior probabilities (dials, points) within the family."""
        total = self.total
        if not np.isfinite(total):
            return np.exp(self.prior)
        return np.asarray(np.exp(self.prior + self.log_evidence - total))


def mixture(shares: FloatArray, means: FloatArray, sds: FloatArray) -> Estimate:
    """Mean and interval of a mixture of normal distributions, given arrays (parts,)."""
    total = float(shares.sum())
    mean = float(shares @ means / total)
    low, high = mixture_quantiles(shares / total, means, sds**2, ENDS).tolist()
    return Estimate(mean, low, high)


# -------------------------------------------------------------------------------------------------
# Adaptive integration: boxes of parameters are halved where the posterior is narrower than they.
#
# The evidence of a family is an integral over its parameters. A box contributes the density at its
# midpoint times its volume, which is accurate only while the density is smooth across the box. The
# less the answers scatter, the narrower the posterior: at a scatter of 0.03 that of a rate is
# often ten or twenty times narrower than a step of the initial grid. So boxes that hold
# probability, and their neighbours, are split along one axis at a time until another split would
# hardly matter.

# Splitting ends when the next split along any axis would move less than this share of the
# probability. Boxes that hold it are then at most about 1.1 standard deviations wide.
_ENOUGH = 0.03
# A single box may keep its probability by accident; its halves then differ by more than this, as
# halves of boxes two standard deviations wide do.
_UNEVEN = 0.45
# Boxes with at least this share of the probability are split, with all neighbours; at 0.003 there
# are half as many boxes again, and log evidence is no closer to the integrals in the tests.
# A long ridge may have no such box: then those with a tenth of the largest share.
_HEAVY, _OF_LARGEST = 0.01, 0.1
# A safety limit: the most that any family took was 16, without any scatter.
_MOST_SPLITS = 60

Evaluate = Callable[[FloatArray, FloatArray], EvidenceCells]


def split_where_narrow(
    cells: EvidenceCells, evaluate: Evaluate, rate: Population | None = None
) -> EvidenceCells:
    """Split boxes until the sums over them are accurate integrals.

    Parameters
    ----------
    cells
        The family on the grid of its axes.
    evaluate
        Computes the evidence of the same family at midpoints (points, axes) of boxes with these
        widths (points, axes).
    rate
        Population of log rates, if known.

    Returns
    -------
    EvidenceCells
        The same range of parameters in boxes of different sizes, which resolve the posterior of all
        rounds and that of the first three quarters, for each κ.
    """
    # One row for each posterior: of all rounds and of the first ones, for each κ.
    narrow = _predicted_move(cells) >= _ENOUGH
    unsettled, splits = narrow.copy(), np.zeros(narrow.shape[1])
    for _ in range(_MOST_SPLITS):
        if not unsettled.any():
            break
        # Axes that were narrow at their last split take turns; the others come last.
        waiting = unsettled & narrow if np.any(unsettled & narrow) else unsettled
        axis = int(np.argmin(np.where(waiting.any(axis=0), splits, np.inf)))
        cells, moved, uneven = _split(cells, axis, unsettled[:, axis], evaluate, rate)
        splits[axis] += 1
        # The error of the midpoint rule falls with the square of the step.
        still = (moved / 4.0 >= _ENOUGH) | (uneven >= _UNEVEN)
        narrow[:, axis] = unsettled[:, axis] = still
        unsettled[still] = True  # a posterior narrow along one axis may be so along the others
    return cells


def _predicted_move(cells: EvidenceCells) -> FloatArray:
    """Approximate shares (rows, axes) of the probability that a first split would move.

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
    cells: EvidenceCells,
    axis: int,
    rows: npt.NDArray[np.bool_],
    evaluate: Evaluate,
    rate: Population | None,
) -> tuple[EvidenceCells, FloatArray, FloatArray]:
    """Halve boxes that matter to some rows along an axis.

    Also return, for every row, the share of the probability that moved and by which halves differ.
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


def _log_joint(cells: EvidenceCells) -> FloatArray:
    """Log prior plus log evidence (2 dials, points): of all rounds, then of the first ones."""
    return np.concatenate([cells.prior + cells.log_evidence, cells.prior + cells.early])


def _shares(logs: FloatArray, total: FloatArray | None = None) -> FloatArray:
    """Probabilities along rows; 0 where errors diverge at all parameters."""
    total = logsumexp_rows(logs) if total is None else total
    return np.asarray(np.exp(logs - np.where(np.isfinite(total), total, 0.0)[:, None]))


def _heavy(shares: FloatArray) -> npt.NDArray[np.bool_]:
    """Boxes (points,) that hold much of the probability of some row."""
    least = np.minimum(_HEAVY, _OF_LARGEST * shares.max(axis=1, keepdims=True))
    return np.asarray(np.any((shares >= least) & (shares > 0.0), axis=0))


def _with_neighbours(cells: EvidenceCells, heavy: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Add the neighbours of these boxes: a peak near an edge may be on its other side."""
    middles, reach = cells.coordinates, 0.5 * cells.widths
    apart = np.abs(middles[:, None] - middles[heavy])
    touching = apart <= (reach[:, None] + reach[heavy]) * (1.0 + 1e-9)
    return np.asarray(np.any(np.all(touching, axis=2), axis=1))


def _joined(
    cells: EvidenceCells,
    kept: npt.NDArray[np.bool_],
    halves: EvidenceCells,
    rate: Population | None,
) -> EvidenceCells:
    """Return the kept boxes, followed by the halves of the others."""
    coordinates = np.concatenate([cells.coordinates[kept], halves.coordinates])
    widths = np.concatenate([cells.widths[kept], halves.widths])
    points = log_prior(cells.family.axes, coordinates, widths, rate)
    prior = logsumexp_rows(cells.prior)[:, None] + points
    per_box = [
        np.concatenate([mine[:, kept], theirs], axis=1)
        for mine, theirs in zip(cells[5:], halves[5:], strict=True)
    ]
    return EvidenceCells(cells.family, coordinates, widths, cells.dials, prior, *per_box)
