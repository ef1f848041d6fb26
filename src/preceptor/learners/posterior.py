"""The likelihood and the priors that `fit`, `diagnose --read` and the tutor share.

Given the record, an answer of a person of one kind is `known + rows · θ + scatter`, where θ has a
standard normal prior: first weights, a constant bias, and the share of the last surprise that
answers follow, each divided by its prior standard deviation. θ is integrated out at each width of
scatter of `LOG_WIDTHS`, exactly for normal scatter; the width then by a spline (`over_widths`). The
filters of a tutor (`filter_bank.py`) reach the same densities round by round, with the same priors
and the same sum over widths.

Everything here is in standard units: tests in their standard deviations, answers in standard
deviations of the outcome (of the score behind it where the outcome is yes or no).
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.model.world import World

NONE_OF_THESE = "none of these"


@dataclass(frozen=True)
class NuisancePrior:
    """Priors of what every kind has in common, over the standard deviation of the outcome.

    Parameters
    ----------
    weights
        Standard deviation of each first weight around its expected value, in standard units. It is
        near the likeliest in published experiments (`docs/published_people.md`). A tutor that
        started from a narrower one, 0.3 times the typical error of a novice, taught worse: with
        this one, errors alone over 40 cases were 3.8 ± 0.7 % lower if it saw the case and
        3.5 ± 0.5 % lower if it picked the case (32 simulated people of 4 kinds each, whose first
        weights had 0.3, on diabetes and on body fat).
    bias
        Standard deviation of a constant bias of all answers; of the first level, around the one
        that is expected, of people who learn it.
    follow, follow_mean
        Standard deviation and mean of the share of the last surprise that an answer follows. In
        experiments it was .4; here it is a nuisance with a wide prior.
    none_of_these
        Probability that no kind in the list is right.
    drift, memory, push
        None of these, in standard units: standard deviation by which weights change at random after
        each told round, and those of the coefficients of `ToldRounds.regressors`.
    """

    weights: float = 0.5
    bias: float = 0.25
    follow: float = 0.3
    follow_mean: float = 0.2
    none_of_these: float = 0.05
    drift: float = 0.02
    memory: float = 1.0
    push: float = 0.1


PRIOR = NuisancePrior()
# What a tutor's filters add: variance of every weight per told round, as a share of its prior
# variance, so that kinds that are not quite right do not become certain for good. A fit has none;
# up to this, a tutor's probabilities of its kinds are those of a fit of the same kinds. With 0.02,
# errors alone of the same people were 0.4 ± 0.1 and 0.5 ± 0.2 % higher. Without it they did not
# change (0.0 ± 0.2 %, 16 people of 3 kinds on diabetes): it is for people unlike all kinds. In a
# prototype it brought those whose surprises are capped from 1.08 to 1.05 times an expert's error
# after 40 cases.
PROCESS_NOISE = 0.007


def first_spread(world: World) -> FloatArray:
    """Prior standard deviation of first weights (n,), in the world's units."""
    return PRIOR.weights * np.sqrt(world.outcome_variance / np.diag(world.covariance))


# --- Widths of scatter ---

# Width of scatter over the outcome's standard deviation: log-normal with median .5, wider than in
# the few published experiments (10, 50 and 90 % points .56, .69, .89).
MEDIAN, SPREAD = 0.5, 0.6
_LN_2PI = math.log(2.0 * math.pi)
# Widths at which densities are computed, 0.02 to 4.4. Log densities are smooth in the log width, so
# a quintic spline gives them in between: integrals are off by less than 0.005 nats (tested).
LOG_WIDTHS: FloatArray = math.log(0.02) + 0.2 * np.arange(28.0)
# Steps of the sum: posteriors of 1,000 rounds have a standard deviation of 0.022.
_BETWEEN = 5
_FINE: FloatArray = np.linspace(LOG_WIDTHS[0], LOG_WIDTHS[-1], _BETWEEN * (LOG_WIDTHS.size - 1) + 1)


def log_width_prior(log_width: FloatArray) -> FloatArray:
    """Log prior density of the log width of scatter."""
    away = (log_width - math.log(MEDIAN)) / SPREAD
    return np.asarray(-0.5 * away**2 - math.log(SPREAD) - 0.5 * _LN_2PI)


@functools.cache
def _interpolation() -> tuple[FloatArray, FloatArray]:
    """Matrices (widths, fine) of the quintic spline through the widths, and of straight lines."""
    from scipy.interpolate import make_interp_spline

    spline = make_interp_spline(LOG_WIDTHS, np.eye(LOG_WIDTHS.size), k=5)(_FINE).T
    lines = np.array([np.interp(_FINE, LOG_WIDTHS, row) for row in np.eye(LOG_WIDTHS.size)])
    return np.ascontiguousarray(spline), lines


class WidthPosterior(NamedTuple):
    """Log evidence (...), and mean and standard deviation (...) of the log width of scatter."""

    log_evidence: FloatArray
    mean: FloatArray
    sd: FloatArray


def over_widths(log_likelihood: FloatArray) -> WidthPosterior:
    """Integrate out the width of scatter.

    Parameters
    ----------
    log_likelihood
        Log densities of all answers at the widths of `LOG_WIDTHS`, shape (..., widths).

    Returns
    -------
    WidthPosterior
        With shapes (...).
    """
    logs, shares = _fine_shares(log_likelihood)
    mean = shares @ _FINE
    variance = shares @ _FINE**2 - mean**2
    step = float(_FINE[1] - _FINE[0])
    return WidthPosterior(logs + math.log(step), mean, np.sqrt(np.maximum(variance, 1e-8)))


def width_shares(log_likelihood: FloatArray) -> FloatArray:
    """Posterior probability of each width (..., widths); in between, it goes to both neighbours."""
    return np.asarray(_fine_shares(log_likelihood)[1] @ _interpolation()[1].T)


def _fine_shares(log_likelihood: FloatArray) -> tuple[FloatArray, FloatArray]:
    logs = log_likelihood @ _interpolation()[0] + log_width_prior(_FINE)
    total = logsumexp_rows(logs)
    return total, np.exp(logs - total[..., None])


def logsumexp_rows(logs: FloatArray) -> FloatArray:
    """Log of the sum of exponentials along the last axis; rows of -inf stay -inf."""
    top = np.max(logs, axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.sum(np.exp(logs - top), axis=-1)) + top[..., 0])


# --- Models of scatter ---


class AtWidths(NamedTuple):
    """Log densities (cells, widths), and a function from one width for each cell to θ there.

    It takes positions (cells,) in `LOG_WIDTHS`; means and standard deviations are (cells, p).
    """

    logs: FloatArray
    theta: Callable[[IntArray], tuple[FloatArray, FloatArray]]


class Integrated(NamedTuple):
    """Per cell: log evidence, mean and sd of the log width, and mean and sds (cells, p) of θ."""

    log_evidence: FloatArray
    scatter: FloatArray
    scatter_sd: FloatArray
    mean: FloatArray
    sds: FloatArray


class Scatter(ABC):
    """A model of how answers scatter.

    `follows_surprises` says whether answers are numbers like outcomes, so that they can follow a
    surprise.
    """

    name: str
    follows_surprises: bool = True

    @abstractmethod
    def at_widths(self, rows: FloatArray, known: FloatArray, answers: FloatArray) -> AtWidths:
        """Integrate out θ: rows (cells, rounds, p), known and answers (cells, rounds)."""

    def integrate(self, rows: FloatArray, known: FloatArray, answers: FloatArray) -> Integrated:
        """Integrate out θ and width; the posterior of θ is that at the width nearest its mean."""
        found = self.at_widths(rows, known, np.broadcast_to(answers, known.shape))
        widths = over_widths(found.logs)
        nearest = np.rint((widths.mean - LOG_WIDTHS[0]) / (LOG_WIDTHS[1] - LOG_WIDTHS[0]))
        return Integrated(*widths, *found.theta(nearest.astype(np.int64)))

    def faults(self, answers: FloatArray) -> list[str]:
        """List what is wrong with answers; any numbers will do by default."""
        return []


class Gaussian(Scatter):
    """Normal scatter: exact. One decomposition of a design serves every width."""

    name = "gaussian"

    def at_widths(self, rows: FloatArray, known: FloatArray, answers: FloatArray) -> AtWidths:
        """With R the rows, answers vary by RR' + s²: diagonal in the eigenvectors of R'R."""
        off = answers - known
        turned = rows.swapaxes(-1, -2)
        sizes, turns = np.linalg.eigh(turned @ rows)
        sizes = np.maximum(sizes, 0.0)
        pulls = ((turned @ off[..., None]).swapaxes(-1, -2) @ turns)[..., 0, :]
        s = np.exp(-2.0 * LOG_WIDTHS)
        stretched = 1.0 + s[:, None] * sizes[:, None, :]
        bent = np.einsum("cp,cwp->cw", pulls**2, 1.0 / stretched)
        logs = np.log(stretched, out=stretched).sum(axis=-1)
        logs += answers.shape[-1] * (2.0 * LOG_WIDTHS + _LN_2PI)
        logs += s * (np.sum(off * off, axis=-1)[:, None] - s * bent)

        def theta(at: IntArray) -> tuple[FloatArray, FloatArray]:
            shrunk = 1.0 / (1.0 + s[at, None] * sizes)
            mean = np.einsum("cij,cj->ci", turns, s[at, None] * shrunk * pulls)
            return mean, np.sqrt(np.einsum("cij,cj->ci", turns**2, shrunk))

        return AtWidths(-0.5 * logs, theta)


# Answers with slips (Student's t) and choices (0 or 1) have no closed form once θ is integrated
# out. At the most likely θ the density is replaced by a normal one with the same curvature
# (Laplace's approximation), which is close here because the prior constrains θ well.


@dataclass(frozen=True)
class StudentT(Scatter):
    """Normal scatter with occasional slips: Student's t with few degrees of freedom."""

    degrees: float = 4.0
    name = "t"

    def at_widths(self, rows: FloatArray, known: FloatArray, answers: FloatArray) -> AtWidths:
        """Laplace's approximation at each width."""
        from scipy.special import gammaln

        half = 0.5 * self.degrees
        constant = gammaln(half + 0.5) - gammaln(half) - 0.5 * math.log(self.degrees * math.pi)
        found = _laplace(rows, known, answers, self.degrees)
        return found._replace(logs=found.logs + answers.shape[-1] * float(constant))


class Choices(Scatter):
    """Choices: 1 if the answer, with normal scatter, would be above 0.

    A probit regression with slope 1 / width, whose threshold may have a constant bias. There is no
    surprise to follow, as a choice cannot be compared with an outcome.
    """

    name = "choices"
    follows_surprises = False

    def faults(self, answers: FloatArray) -> list[str]:
        """Require answers of 0 or 1."""
        odd = answers[(answers != 0.0) & (answers != 1.0)]
        return [f"answers: {odd[0]:g}, choices must be 0 or 1"] if odd.size else []

    def at_widths(self, rows: FloatArray, known: FloatArray, answers: FloatArray) -> AtWidths:
        """Laplace's approximation at each width."""
        return _laplace(rows, known, answers, None)


def _laplace(
    rows: FloatArray, known: FloatArray, answers: FloatArray, degrees: float | None
) -> AtWidths:
    """Slips with these degrees of freedom, or choices if None."""
    from preceptor.learners._evidence_kernels import likeliest

    cells, _, size = rows.shape
    theta, bends = np.zeros((cells, size)), np.empty((cells, size, size))
    rows, known = np.ascontiguousarray(rows), np.ascontiguousarray(known)
    given = np.ascontiguousarray(answers[0]) if cells else answers

    def climb(log_widths: FloatArray) -> FloatArray:
        logs = np.empty(log_widths.shape)
        if cells:
            likeliest(
                degrees is None, degrees or 0.0, rows, known, given, log_widths, theta, logs, bends
            )
        return logs

    # From wide to narrow: the wider, the closer the most likely θ is to the prior mean.
    logs = climb(np.tile(LOG_WIDTHS[::-1], (cells, 1)))[:, ::-1]

    def at(position: IntArray) -> tuple[FloatArray, FloatArray]:
        climb(LOG_WIDTHS[position][:, None])
        covariance = np.linalg.inv(bends)
        return theta, np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))

    return AtWidths(np.ascontiguousarray(logs), at)


ANSWERS: dict[str, Scatter] = {"gaussian": Gaussian(), "t": StudentT(), "choices": Choices()}


# --- None of these ---
#
# An answer is a weighted sum, as of the others, of weights that change at random instead of by a
# rule; plus a share of the outcomes of similar cases, as of people who remember cases; plus what
# surprises of limited size would have pushed it to. Mean probability after 80 rounds of random
# pairs, at a scatter of 0.1, 0.3 and 0.6 (10 people each): exemplar learners 1.00, 0.67, 0.30
# (sensitivity 0.7) and 1.00, 1.00, 0.71 (sensitivity 3); a delta rule with surprises capped at 0.4
# standard deviations 0.46, 0.19, 0.06; at a drift of 0.05 the last are never noticed.

# How fast similarity falls with distance: between 0.7 and 3, of people with long and short reach.
_SENSITIVITY = 1.5
# Surprises beyond this count as this, in standard deviations of the outcome.
_CAP = 0.5
# Imputation: halfway between those of the kinds listed.
STRANGERS_KAPPA = 0.5


class ToldRounds(NamedTuple):
    """Told rounds in standard units: cases (..., s, n), 0 where hidden; outcomes and surprises."""

    cases: FloatArray
    outcomes: FloatArray
    surprises: FloatArray

    def regressors(
        self, case: FloatArray, shown: npt.NDArray[np.bool_], filled: FloatArray
    ) -> FloatArray:
        """Memory and push (..., 2): the outcome of similar cases, and where surprises push.

        Parameters
        ----------
        case
            Results of the present case, 0 where hidden, shape (..., n).
        shown
            Which tests are shown, shape (n,).
        filled
            The present case with hidden tests imputed, shape (..., n).

        Returns
        -------
        array of shape (..., 2)
            In standard deviations of the outcome.
        """
        if not self.outcomes.shape[-1]:
            return np.zeros((*case.shape[:-1], 2))
        apart = np.abs(self.cases - case[..., None, :]) @ shown
        similar = np.exp(-_SENSITIVITY * (apart - apart.min(axis=-1, keepdims=True)))
        memory = np.sum(similar * self.outcomes, axis=-1) / np.sum(similar, axis=-1)
        capped = np.clip(self.surprises, -_CAP, _CAP)
        pushed = np.sum(capped[..., None] * self.cases, axis=-2)
        return np.stack([memory, np.sum(filled * pushed, axis=-1)], axis=-1)


def stranger_rows(
    rounds: ToldRounds,
    shown: npt.NDArray[np.bool_],
    told: npt.NDArray[np.bool_],
    filled: FloatArray,
    spread: FloatArray | float,
    prior: NuisancePrior = PRIOR,
    least: float = 0.0,
    process_noise: float = 0.0,
) -> FloatArray:
    """Whitened rows of the answers of none of these, of which only the covariance matters.

    Parameters
    ----------
    rounds
        All rounds, also those that were not told.
    shown, told
        Which tests were shown (rounds, n), and whether the outcome was told (rounds,).
    filled
        All tests in standard units, imputed with `STRANGERS_KAPPA`, shape (..., rounds, n).
    spread
        Standard deviation of first weights in standard units: one, or (n,); at least that of
        `PRIOR`, as nothing is known about strangers.
    prior
        Other standard deviations.
    least
        Leave out directions in which answers vary by less than this variance.
    process_noise
        Variance added to every weight per told round, as a share of its prior variance.

    Returns
    -------
    array of shape (..., rounds, p)
        Such that rows times their transpose is the covariance of the answers.
    """
    columns = []
    for t in range(told.size):
        past = np.flatnonzero(told[:t])
        before = ToldRounds(
            rounds.cases[..., past, :], rounds.outcomes[..., past], rounds.surprises[..., past]
        )
        columns.append(before.regressors(rounds.cases[..., t, :], shown[t], filled[..., t, :]))
    extra = np.stack(columns, axis=-2) * [prior.memory, prior.push]
    steps: IntArray = np.cumsum(told) - told
    first, turned = filled * np.maximum(spread, PRIOR.weights), filled.swapaxes(-1, -2)
    covariance = first @ first.swapaxes(-1, -2) + extra @ extra.swapaxes(-1, -2)
    walked = filled * (prior.drift**2 + process_noise * np.asarray(spread) ** 2)
    covariance += np.minimum.outer(steps, steps) * (walked @ turned)
    return root_of(covariance, least)


def root_of(covariance: FloatArray, least: float = 0.0) -> FloatArray:
    """Rows (..., rounds, p) whose products are a covariance (..., rounds, rounds) of answers.

    Directions with a variance of at most `least` for everyone are left out.
    """
    values, vectors = np.linalg.eigh(covariance)
    if least:
        kept = np.max(values, axis=tuple(range(values.ndim - 1))) > least
        values, vectors = values[..., kept], vectors[..., kept]
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :])


def with_nuisances(
    rows: FloatArray,
    surprises: FloatArray,
    prior: NuisancePrior = PRIOR,
    level: FloatArray | None = None,
) -> FloatArray:
    """Append the columns of bias and following to whitened rows (..., rounds, p).

    The first level of people who learn it takes the place of the bias: `level` (..., rounds) is how
    much of it is in each answer.
    """
    bias = np.full((*rows.shape[:-1], 1), prior.bias)
    if level is not None:
        bias = prior.bias * level[..., None]
    follow = np.broadcast_to((prior.follow * surprises)[..., None], bias.shape)
    return np.concatenate([rows, bias, follow], axis=-1)
