"""Weighing: how likely a person's answers are under every kind, κ, rate and scatter.

The unknown first weights, a constant by which answers are off, and how far answers follow the last
surprise are integrated out exactly; parameters and scatter are summed over grids that become finer
where the posterior is narrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.threads import one_blas_thread
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.evidence.answers import Gaussian, Integrated, Scatter
from preceptor.evidence.axes import Population, log_prior, mesh
from preceptor.evidence.cells import Cells
from preceptor.evidence.designs import Rounds
from preceptor.evidence.families import Family, chosen
from preceptor.evidence.laplace import Choices, StudentT
from preceptor.evidence.priors import Prior, family_priors
from preceptor.evidence.record import Record
from preceptor.evidence.splitting import split_where_narrow
from preceptor.evidence.weighed import Weighed
from preceptor.logs import Log
from preceptor.model.world import World

DIALS = (0.0, 0.5, 1.0)
ANSWERS: dict[str, Scatter] = {"gaussian": Gaussian(), "t": StudentT(), "choices": Choices()}


class Setting(NamedTuple):
    """Everything that a design needs to become evidence."""

    rounds: Rounds
    answers: Scatter
    default: FloatArray  # standard units
    prior: Prior
    held_out: int  # rounds at the end
    rate: Population | None = None  # of the people this one belongs to, where known


def weigh(
    world: World,
    rounds: Record | Log,
    *,
    families: Sequence[str] | None = None,
    answers: str | Scatter = "gaussian",
    default: npt.ArrayLike | None = None,
    dials: Sequence[float] = DIALS,
    prior: Mapping[str, float] | None = None,
    spread: Prior | None = None,
) -> Weighed:
    """Weigh all kinds of person against the rounds of one of them.

    Parameters
    ----------
    world
        Where the cases came from.
    rounds
        A `Record`, or a log of one participant.
    families
        Which to weigh, by name; all if left out.
    answers
        How answers scatter: "gaussian", "t" (with slips) or "choices" (0 or 1). Where the outcome
        is yes or no, probabilities scatter on the scale of scores, and decisions are choices.
    default
        First weights (n,) that one would expect, in the world's units; zero if left out.
    dials
        Values of κ to weigh, equally likely before.
    prior
        How likely each group ("none", "by showings", "by outcomes") or each family is before, on
        any scale; equal thirds by group if left out, so that what comes out is about the data.
    spread
        How far first weights and nuisances may be from what one would expect.

    Returns
    -------
    Weighed
        Probabilities of groups, families and κ; parameters with intervals; held-out densities.

    Raises
    ------
    InvalidInput
        An option that makes no sense, or a log of several people.

    Examples
    --------
    >>> world = World.equicorrelated([0.6, 0.3, 0.0], 0.5, 0.4)
    >>> rng = np.random.default_rng(0)
    >>> shown = np.array([[t % 3 != i for i in range(3)] for t in range(80)])
    >>> values, truths = world.sample(80, rng)
    >>> record = Record(world, shown, values, rng.normal(size=80), truths, np.ones(80, bool))
    >>> max(weigh(world, record).groups.values()) > 0.4    # answers that do not depend on anything
    True
    """
    setting, kinds, priors = prepare(
        world, rounds, families=families, answers=answers, default=default, dials=dials,
        prior=prior, spread=spread,
    )  # fmt: skip
    with one_blas_thread():
        cells = tuple(resolved(setting, family) for family in kinds)
    return Weighed(setting, cells, priors)


def prepare(
    world: World,
    rounds: Record | Log,
    *,
    families: Sequence[str] | None = None,
    answers: str | Scatter = "gaussian",
    default: npt.ArrayLike | None = None,
    dials: Sequence[float] = DIALS,
    prior: Mapping[str, float] | None = None,
    spread: Prior | None = None,
) -> tuple[Setting, tuple[Family, ...], FloatArray]:
    """Check what `weigh` was given; the setting, the families, and how likely each is before."""
    scatter = _scatter(answers)
    record = (
        rounds
        if isinstance(rounds, Record)
        else Record.of(world, rounds, choices=not scatter.follows_surprises)
    )
    if record.decided and scatter is ANSWERS["gaussian"]:
        scatter = ANSWERS["choices"]
    kinds = chosen(families, record)
    faults = [
        f"dials: {dial!r}, must be numbers from 0 to 1" for dial in dials if not 0 <= dial <= 1
    ]
    first = np.zeros(world.size) if default is None else np.asarray(default, dtype=np.float64)
    if first.shape != (world.size,):
        faults.append(f"default: shape {first.shape}, must be ({world.size},), one for each test")
    if not len(dials):
        faults.append("dials: none; name at least one value of κ")
    if record.world != world:
        faults.append("rounds: a record of another world")
    if world.is_binary and record.decided != (not scatter.follows_surprises):
        faults.append(
            f"answers: {scatter.name!r}, but those of the log are "
            f"{'decisions' if record.decided else 'probabilities'}; leave `answers` out"
        )
    faults += scatter.faults(record.answers)
    InvalidInput.raise_if(faults)
    setting = Setting(
        Rounds.of(record, dials),
        scatter,
        record.to_standard(first),
        spread or Prior(),
        record.rounds // 4,
    )
    return setting, kinds, family_priors(kinds, prior)


def resolved(setting: Setting, family: Family) -> Cells:
    """Evidence of one family, on boxes as small as its posterior asks for."""

    def evaluate(coordinates: FloatArray | None, widths: FloatArray | None) -> Cells:
        return cells_of(setting, family, coordinates, widths)

    return split_where_narrow(evaluate(None, None), evaluate, setting.rate)


def cells_of(
    setting: Setting,
    family: Family,
    coordinates: FloatArray | None = None,
    widths: FloatArray | None = None,
) -> Cells:
    """Evidence of one family on its own grid, or on another one.

    Parameters
    ----------
    setting
        Of the person.
    family
        Which.
    coordinates
        Points (points, axes) to try; the family's own grid if left out.
    widths
        Of the boxes (points, axes) that the points stand for; steps of the family's own grid if
        left out.

    Returns
    -------
    Cells
        One for each dial and point.
    """
    at = mesh(family.axes) if coordinates is None else coordinates
    steps = np.array([axis.step for axis in family.axes])
    sides = np.tile(steps, (at.shape[0], 1)) if widths is None else widths
    dials = setting.rounds.dials.size
    shape = (dials, at.shape[0])
    priors = log_prior(family.axes, at, sides, setting.rate)
    rows, known, good = _prepared(setting, family, at)
    whole = _integrated(setting, rows, known, good, slice(None))
    before = slice(0, setting.rounds.record.rounds - setting.held_out)
    early = _integrated(setting, rows, known, good, before).log_evidence
    return Cells(
        family,
        at,
        sides,
        setting.rounds.dials,
        np.tile(priors - np.log(dials), (dials, 1)),
        whole.log_evidence.reshape(shape),
        early.reshape(shape),
        whole.scatter.reshape(*shape, -1),
        whole.shares.reshape(*shape, -1),
        whole.mean.reshape(*shape, -1),
        np.sqrt(np.diagonal(whole.covariance, axis1=1, axis2=2)).reshape(*shape, -1),
    )


def _prepared(
    setting: Setting, family: Family, at: FloatArray
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Whitened rows (cells, rounds, p), what is known (cells, rounds), and sound cells (cells,)."""
    rows, offsets = family.design(setting.rounds, at)
    record, prior = setting.rounds.record, setting.prior
    n = record.world.size
    known = offsets + rows[..., :n] @ setting.default
    surprises = record.last_surprises if setting.answers.follows_surprises else 0.0
    known += prior.follow_mean * surprises + record.base
    rows[..., :n] *= prior.weights
    rows[..., n] = prior.bias
    rows[..., n + 1] = prior.follow * surprises
    rows = rows.reshape(-1, *rows.shape[2:])
    known = known.reshape(-1, known.shape[-1])
    good = np.asarray(np.isfinite(known).all(axis=-1))
    known[~good] = 0.0
    return rows, known, good


def _integrated(
    setting: Setting,
    rows: FloatArray,
    known: FloatArray,
    good: npt.NDArray[np.bool_],
    part: slice,
) -> Integrated:
    record = setting.rounds.record
    answers = record.standard_answers if setting.answers.follows_surprises else record.answers
    found = setting.answers.integrate(rows[:, part], known[:, part], answers[part])
    found.log_evidence[~good] = -np.inf
    return found


def _scatter(answers: str | Scatter) -> Scatter:
    if not isinstance(answers, str):
        return answers
    if answers not in ANSWERS:
        raise InvalidInput(f"answers: {answers!r}, must be one of {', '.join(ANSWERS)}")
    return ANSWERS[answers]
