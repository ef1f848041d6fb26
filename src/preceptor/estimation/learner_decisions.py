"""Maximum likelihood for one family of curves where answers are decisions, yes or no.

A person with score p decides yes with probability Φ((p - τ) / σ), where τ is their threshold, σ how
far they scatter, and p = b + bias + Σ x̂_i [a_i - (a_i - h_i) r(m_i)]. Of b + bias - τ only the sum
shows, so τ is taken to be 0 (yes if it is likelier than no) and what differs is bias.

Decisions do not say what a unit of score is: somebody with twice the weights and twice the scatter
decides alike. Only weights over scatter can be told, (b + bias) / σ and h / σ, until people learn:
then they move toward the true weights, which are known, and their size over σ gives σ away. Given
the curve, decisions are a probit regression, linear in (b + bias) / σ, h / σ and 1 / σ, so only the
curve and κ have to be searched for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.estimation.binary_ridge import climb, curvature
from preceptor.estimation.learner_fit import best_starts
from preceptor.estimation.learner_model import SINGULAR, Model
from preceptor.model.links import PROBIT, link_of
from preceptor.model.world import World

_PROBIT = link_of(PROBIT)
# A prior of standard deviation 10 for weights over scatter: decisions that follow a test without a
# mistake would make it infinite.
_WEAK = 0.01
# Nobody scatters more than so many units of score; beyond, answers are coins.
_LEAST_SCALE = 0.02


def chance_of_yes(world: World, added_up: FloatArray, noise_sd: float) -> FloatArray:
    """P(yes) (...) of somebody whose tests add up to this, and who scatters by `noise_sd`."""
    return _PROBIT.probability((world.base_score + added_up) / noise_sd)


class SolvedDecisions(NamedTuple):
    """The likeliest linear part, given curve and κ; `noise_sd` is 1 where it cannot be told."""

    bias: float
    initial: FloatArray
    noise_sd: float
    log_likelihood: float
    scale_known: bool


def solve_decisions(model: Model, point: FloatArray) -> SolvedDecisions:
    """The likeliest bias, first weights and scatter for this curve and κ."""
    answers, base = model.answers, model.answers.world.base_score
    linear = model.design(point)
    # What moves with 1 / σ alone: the truth as far as it is learned, and tests never shown.
    silent = np.where(model.free, 0.0, model.default)
    toward = model.mean(0.0 if model.biased else base, silent, point)
    if not model.biased:
        linear = np.hstack([np.zeros((len(answers), 1)), linear])
    scale_known = _tells_scale(linear, toward)
    if scale_known:
        design = np.column_stack([linear, toward])
        start = np.zeros(design.shape[1])
        start[-1] = 1.0
        found, _ = climb(_PROBIT, design, answers.answers, _WEAK, start)
        scale = float(found[-1])
        if scale < _LEAST_SCALE:
            scale = _LEAST_SCALE
            found = _with_offset(linear, answers.answers, scale * toward)
        else:
            found = found[:-1]
    else:
        scale, found = 1.0, _with_offset(linear, answers.answers, toward)
    scores = linear @ found + scale * toward
    value = float(curvature(_PROBIT, scores, answers.answers).value.sum())
    initial = model.default.copy()
    initial[model.free] = found[1:] / scale
    bias = float(found[0]) / scale - base if model.biased else 0.0
    return SolvedDecisions(bias, initial, 1.0 / scale, value, scale_known)


@dataclass(frozen=True, eq=False)
class DecisionFit:
    """The likeliest fit of one family; `point` holds the curve's parameters and, if free, κ."""

    model: Model
    point: FloatArray
    solved: SolvedDecisions

    @property
    def bias(self) -> float:
        """How far thresholds are off: where yes and no are equally likely, minus the base score."""
        return self.solved.bias

    @property
    def initial(self) -> FloatArray:
        """First weights (n,)."""
        return self.solved.initial

    @property
    def noise_sd(self) -> float:
        """Standard deviation of a score around the model; 1 where decisions do not tell it."""
        return self.solved.noise_sd

    @property
    def scale_known(self) -> bool:
        """Whether learning gives away what a unit of score is."""
        return self.solved.scale_known

    @property
    def log_likelihood(self) -> float:
        """Of the decisions."""
        return self.solved.log_likelihood

    @property
    def is_exact(self) -> bool:
        """Never: some decision is always in doubt."""
        return False

    @cached_property
    def scores(self) -> FloatArray:
        """Scores (rows,) over the scatter: yes has the probability Φ of them."""
        mean = self.model.mean(self.bias, self.initial, self.point)
        return (self.model.answers.world.base_score + mean) / self.noise_sd

    @cached_property
    def jacobian(self) -> FloatArray:
        """Derivatives (rows, parameters) of the scores, weighted by what a decision tells there.

        Columns in the order of `model.names`, and last the logarithm of the scatter if it is known.
        """
        columns = self.model.jacobian(self.initial, self.point) / self.noise_sd
        if self.scale_known:
            columns = np.column_stack([columns, -self.scores])
        return columns * np.sqrt(self._information)[:, None]

    @cached_property
    def residuals(self) -> FloatArray:
        """Decision minus probability (rows,) in its standard deviations."""
        found = curvature(_PROBIT, self.scores, self.model.answers.answers)
        return found.slope / np.sqrt(self._information)

    @cached_property
    def _information(self) -> FloatArray:
        """What a decision tells about its score (rows,), on average: φ² / (Φ (1 - Φ))."""
        at = np.clip(self.scores, -8.0, 8.0)
        logs = _PROBIT.log_probability(at) + _PROBIT.log_probability(-at)
        return np.asarray(np.exp(-(at**2) - np.log(2.0 * np.pi) - logs))

    @cached_property
    def parameters(self) -> int:
        """How many numbers were estimated; silent directions do not count."""
        singular = np.linalg.svd(_columns_scaled(self.jacobian), compute_uv=False)
        return int(np.sum(singular > SINGULAR * singular.max(initial=0.0)))

    @property
    def freedom(self) -> int:
        """Rows beyond the numbers estimated."""
        return len(self.model.answers) - self.parameters

    @property
    def aic(self) -> float:
        """Akaike's criterion: smaller is better."""
        return 2.0 * self.parameters - 2.0 * self.log_likelihood

    def refitted(self, model: Model) -> DecisionFit:
        """The same family fitted to other rows; this optimum is only where to begin looking."""
        return fit_decisions(model, self.point)

    def expected(self, model: Model) -> FloatArray:
        """Probabilities of yes (rows,) in the rows of a model."""
        mean = model.mean(self.bias, self.initial, self.point)
        return chance_of_yes(model.answers.world, mean, self.noise_sd)


def fit_decisions(model: Model, start: FloatArray | None = None) -> DecisionFit:
    """Maximum likelihood over everything; from `start` if given, else from a grid of starts."""
    starts = [start] if start is not None else best_starts(model, _unlikely)
    found = [searched_decisions(model, each) for each in starts]
    best = min(found, key=lambda point: _unlikely(model, point))
    return DecisionFit(model, best, solve_decisions(model, best))


def searched_decisions(
    model: Model, start: FloatArray, held: int | None = None, value: float = 0.0
) -> FloatArray:
    """The likeliest point near a start; with parameter number `held` at a value, if given."""
    from scipy.optimize import minimize

    point = np.array(start, dtype=np.float64)
    if held is not None:
        point[held] = value
    moving = np.array([i for i in range(point.size) if i != held], dtype=np.int64)
    if moving.size == 0:
        return point

    def minus(part: FloatArray) -> float:
        at = point.copy()
        at[moving] = part
        return _unlikely(model, at)

    bounds = [model.bounds[i] for i in moving]
    lower, upper = np.array(bounds).T
    begin = np.clip(point[moving], lower, upper)
    found = minimize(minus, begin, method="L-BFGS-B", bounds=bounds)
    point[moving] = found.x if found.fun <= minus(begin) else begin
    return point


def _unlikely(model: Model, point: FloatArray) -> float:
    return -solve_decisions(model, point).log_likelihood


def _with_offset(linear: FloatArray, decisions: FloatArray, offset: FloatArray) -> FloatArray:
    """Weights (p,) of a probit regression beside a known part of the score (rows,)."""
    penalty = np.full(linear.shape[1], _WEAK)
    penalty[0] = 1e-9
    weights = np.zeros(linear.shape[1])
    value = -np.inf
    for _ in range(50):
        here = curvature(_PROBIT, linear @ weights + offset, decisions)
        now = float(here.value.sum() - 0.5 * penalty @ weights**2)
        if now - value < 1e-9 * (1.0 + abs(now)):
            break
        value = now
        bends = (linear * here.bend[:, None]).T @ linear + np.diag(penalty)
        weights = weights + np.linalg.solve(bends, linear.T @ here.slope - penalty * weights)
    return weights


def _tells_scale(linear: FloatArray, toward: FloatArray) -> bool:
    """Whether the known part is anything that first weights and bias could not be."""
    size = float(np.linalg.norm(toward))
    if size == 0.0:
        return False
    used = linear[:, np.linalg.norm(linear, axis=0) > 0.0]
    left = toward - used @ np.linalg.lstsq(used, toward, rcond=None)[0]
    return float(np.linalg.norm(left)) > 1e-6 * size


def _columns_scaled(matrix: FloatArray) -> npt.NDArray[np.float64]:
    scale = np.linalg.norm(matrix, axis=0)
    return np.asarray(matrix / np.where(scale == 0.0, 1.0, scale))
