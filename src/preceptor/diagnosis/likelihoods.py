"""How likely answers are for somebody of a known kind whose first weights are not known.

Given the record, weights are affine in the first ones (`Person.moves`), so answers are

    answers = A h_0 + c + constant + g x last surprise + scatter,

and everything unknown but the scatter is normal: it integrates out exactly, for all scatters at
once after one decomposition. `people/followed.py` gives the same round by round; this is for
thousands of people who were shown the same sets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.evidence.lockstep import Rounds, affine_in_first_weights, last_told
from preceptor.model.world import World
from preceptor.people.person import Person


class Prior(NamedTuple):
    """What is known before the first answer.

    `spread` is the standard deviation of each first weight (n,) around those of the kind,
    `constant` that of a constant by which answers are off; `level` are mean and standard deviation
    of the share of the last surprise that answers follow. `scatters` (s,) are the standard
    deviations of answers that are thought possible, with probabilities `weights` (s,).
    """

    spread: FloatArray
    constant: float
    level: tuple[float, float]
    scatters: FloatArray
    weights: FloatArray


def usual_prior(world: World, scatter: float | None = None) -> Prior:
    """What published experiments make likely, in the units of a world.

    First weights lie within half a standard deviation of the outcome of what they are taken to be,
    per standard deviation of a test; a constant within a quarter. Answers follow a fifth of the
    last surprise, give or take 0.3. Scatter is log-normal around half a standard deviation of the
    outcome, or around `scatter`.
    """
    deviation = np.sqrt(world.outcome_variance)
    middle = 0.5 * deviation if scatter is None else scatter
    steps = np.linspace(-1.5, 1.5, 7)
    weights = np.exp(-0.5 * steps**2)
    return Prior(
        0.5 * deviation / np.sqrt(np.diag(world.covariance)),
        0.25 * float(deviation),
        (0.2, 0.3),
        middle * np.exp(0.5 * steps),
        weights / weights.sum(),
    )


def log_evidence(
    world: World, person: Person, rounds: Rounds, prior: Prior
) -> npt.NDArray[np.float64]:
    """Logarithm of the density of all answers (..., s), for each scatter.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    person
        Kind, its parameters, and the mean of the first weights.
    rounds
        What they were shown and answered.
    prior
        What is not known about them.

    Returns
    -------
    array of shape (..., s)
        For each person and each scatter of the prior.
    """
    design, offset = affine_in_first_weights(world, person, rounds)
    surprise = last_told(rounds.told, rounds.outcomes - rounds.answers)
    first = person.weights_of(world, person.fresh(world, (), None))
    left = rounds.answers - offset - design @ first - prior.level[0] * surprise
    columns = np.concatenate(
        [
            design * prior.spread,
            np.full((*surprise.shape, 1), prior.constant),
            prior.level[1] * surprise[..., None],
        ],
        axis=-1,
    )
    # With C the columns, answers vary by CC' + s²: in the eigenvectors of C'C that is diagonal.
    inner = np.swapaxes(columns, -1, -2) @ columns
    values, vectors = np.linalg.eigh(inner)
    values = np.maximum(values, 0.0)
    along = np.squeeze(left[..., None, :] @ columns @ vectors, -2)
    scatter = prior.scatters**2
    total = values[..., None, :] + scatter[:, None]
    explained = np.sum(along[..., None, :] ** 2 / total, axis=-1)
    squares = (np.sum(left**2, axis=-1)[..., None] - explained) / scatter
    length, size = columns.shape[-2:]
    logs = np.sum(np.log(total), axis=-1) + (length - size) * np.log(scatter)
    density: FloatArray = -0.5 * (squares + logs + length * np.log(2.0 * np.pi))
    return density
