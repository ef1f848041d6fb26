"""Maximum likelihood for one family of curves where some answers only say "above" or "below".

A decision, yes or no, says on which side of 0 a score was. An answer of 0 % or 100 % says that it
was beyond what can be told from certainty. Everything else is as in `learner_model.py`: a score,
without the base score b, is s = bias + Σ x̂_i [a_i - (a_i - h_i) r(m_i)] + noise of standard
deviation σ, and

- an answer s is likely by the normal density of (s - mean) / σ,
- one that is known to be above (below) a limit c by Φ(±(mean - c) / σ).

For decisions the limit is c = -b: yes if it is likelier than no. Other thresholds look like a bias.

Decisions do not say what a unit of score is: somebody with twice the weights and twice the scatter
decides alike. Only weights over scatter can be told, (b + bias) / σ and h / σ, until people learn:
then they move toward the true weights, which are known, and their size over σ gives σ away.

Given the curve and κ, the logarithm of the likelihood is concave in bias / σ, h / σ and 1 / σ
(Olsen 1978), so its top is had by Newton's method, and only curve and κ have to be searched for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.estimation.binary_ridge import curvature
from preceptor.estimation.learner_fit import best_starts, rank_of
from preceptor.estimation.learner_model import Model
from preceptor.model.links import PROBIT, link_of
from preceptor.model.world import World

_PROBIT = link_of(PROBIT)
# A prior of standard deviation 10 for weights over scatter: decisions that follow a test without a
# mistake would make it infinite.
_WEAK = 0.01
# Nobody scatters more than 50 units of score, or less than 1 in 10,000.
_LEAST_SCALE, _LARGEST_SCALE = 0.02, 1e4
_STEPS, _ENOUGH = 60, 1e-9


def chance_of_yes(world: World, added_up: FloatArray, noise_sd: float) -> FloatArray:
    """P(yes) (...) of somebody whose tests add up to this, and who scatters by `noise_sd`."""
    return _PROBIT.probability((world.base_score + added_up) / noise_sd)


@dataclass(frozen=True, eq=False)
class LimitedFit:
    """The likeliest fit of one family, given or at the best of curve and κ.

    - `point` holds the curve's parameters and, if free, κ;
    - `bias`: by how much scores are off whatever is shown; a threshold that is off looks like it;
    - `initial` (n,): first weights;
    - `noise_sd`: standard deviation of a score around the model; 1 where decisions do not tell it;
    - `log_likelihood` of all answers;
    - `scale_known`: whether the log says what a unit of score is.
    """

    model: Model
    point: FloatArray
    bias: float
    initial: FloatArray
    noise_sd: float
    log_likelihood: float
    scale_known: bool

    @property
    def is_exact(self) -> bool:
        """Never: an answer that only says above or below is always in doubt."""
        return False

    @cached_property
    def _away(self) -> FloatArray:
        """Answers and limits (rows,) minus what is expected, over the scatter."""
        mean = self.model.mean(self.bias, self.initial, self.point)
        return (self.model.answers.limits - mean) / self.noise_sd

    @cached_property
    def row_scores(self) -> FloatArray:
        """Slopes (rows, parameters) of each answer's log likelihood.

        Columns in the order of `model.names`, and last the logarithm of the scatter if it is known.
        """
        sides, away = self.model.answers.sides, self._away
        slope = np.where(sides == 0.0, away, sides * _ratio(-sides * away))
        columns = slope[:, None] * self._columns
        if self.scale_known:
            last = np.where(sides == 0.0, away**2 - 1.0, slope * away)
            columns = np.column_stack([columns, last])
        return columns

    @cached_property
    def root(self) -> FloatArray:
        """Rows whose squares add up to what all answers tell about the parameters, on average."""
        sides, away, columns = self.model.answers.sides, self._away, self._columns
        seen = sides == 0.0
        told = np.sqrt(np.where(seen, 1.0, _told_by_a_side(away)))[:, None]
        if not self.scale_known:
            return told * columns
        root = told * np.column_stack([columns, np.where(seen, 0.0, away)])
        # Answers that are known say most about the scatter by how far they are off.
        of_scatter = np.zeros((1, root.shape[1]))
        of_scatter[0, -1] = np.sqrt(2.0 * np.sum(seen))
        return np.vstack([root, of_scatter])

    @cached_property
    def _columns(self) -> FloatArray:
        return self.model.jacobian(self.initial, self.point) / self.noise_sd

    @cached_property
    def parameters(self) -> int:
        """How many numbers were estimated; silent directions do not count."""
        return rank_of(self.root)

    @property
    def freedom(self) -> int:
        """Rows beyond the numbers estimated."""
        return len(self.model.answers) - self.parameters

    @property
    def aic(self) -> float:
        """Akaike's criterion: smaller is better."""
        return 2.0 * self.parameters - 2.0 * self.log_likelihood

    def refitted(self, model: Model) -> LimitedFit:
        """The same family fitted to other rows; this optimum is only where to begin looking."""
        return fit_limits(model, self.point)

    def expected(self, model: Model) -> FloatArray:
        """Probabilities of yes (rows,) in the rows of a model, or scores within the limits."""
        mean = model.mean(self.bias, self.initial, self.point)
        if model.answers.decided:
            return chance_of_yes(model.answers.world, mean, self.noise_sd)
        answers = self.model.answers
        beyond = answers.limits[answers.sides != 0.0]
        return np.clip(mean, min(beyond.min(), -beyond.max()), max(beyond.max(), -beyond.min()))

    def profile(self, held: int, value: float) -> float:
        """Minus the likelihood at the best of all else, with parameter number `held` held."""
        return _unlikely(self.model, _searched(self.model, self.point, held, value))

    def bearable(self, critical: float) -> float:
        """How bad a profile may be: for one squared t beyond the best fit, by `critical`."""
        return 0.5 * critical - self.log_likelihood


def solve_limits(model: Model, point: FloatArray) -> LimitedFit:
    """The likeliest bias, first weights and scatter for this curve and κ."""
    answers = model.answers
    linear, silent = model.design(point), np.where(model.free, 0.0, model.default)
    # What moves with 1 / σ alone: answers and limits less the truth as far as it is learned.
    across = answers.limits - model.mean(0.0, silent, point)
    scale_known = not answers.decided or _tells_scale(linear, across)
    found, value = _climb(linear, across, answers.sides, scale_known)
    scale = float(found[-1])
    initial = model.default.copy()
    initial[model.free] = found[int(model.biased) : -1] / scale
    bias = float(found[0]) / scale if model.biased else 0.0
    return LimitedFit(model, point, bias, initial, 1.0 / scale, value, scale_known)


def fit_limits(model: Model, start: FloatArray | None = None) -> LimitedFit:
    """Maximum likelihood over everything; from `start` if given, else from a grid of starts."""
    starts = [start] if start is not None else best_starts(model, _unlikely)
    found = [_searched(model, each) for each in starts]
    best = min(found, key=lambda point: _unlikely(model, point))
    return solve_limits(model, best)


def _searched(
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
    return -solve_limits(model, point).log_likelihood


def _climb(
    linear: FloatArray, across: FloatArray, sides: FloatArray, scale_known: bool
) -> tuple[FloatArray, float]:
    """Weights over scatter and 1 / scatter (p + 1,) at the top, and the log likelihood there.

    With θ = 1 / σ and γ the weights over it, answers are e = θ across - linear γ away from what is
    expected. If the scale is not known, θ stays 1.
    """
    seen = sides == 0.0
    rows = np.column_stack([-linear, across])  # e = rows · (γ, θ)
    moving = np.arange(rows.shape[1] - (0 if scale_known else 1))
    penalty = np.full(moving.size, _WEAK)
    at = np.zeros(rows.shape[1])
    at[-1] = 1.0 / max(float(np.std(across[seen])), 1e-3) if seen.any() else 1.0
    observed = int(seen.sum())

    def height(where: FloatArray) -> tuple[float, FloatArray]:
        away = rows @ where
        logs = np.where(seen, -0.5 * away**2, _PROBIT.log_probability(-sides * away))
        value = float(logs.sum())
        if observed:
            value += observed * float(np.log(where[-1]) - 0.5 * np.log(2.0 * np.pi))
        return value, away

    def penalised(where: FloatArray) -> tuple[float, FloatArray]:
        value, away = height(where)
        return value - 0.5 * float(penalty @ where[moving] ** 2), away

    value, away = penalised(at)
    for _ in range(_STEPS):
        here = curvature(_PROBIT, -away, (sides > 0.0).astype(np.float64))
        slope = np.where(seen, -away, -here.slope)
        bend = np.where(seen, 1.0, here.bend)
        part = rows[:, moving]
        pull = part.T @ slope - penalty * at[moving]
        bends = (part * bend[:, None]).T @ part + np.diag(penalty)
        if scale_known and observed:
            pull[-1] += observed / at[-1]
            bends[-1, -1] += observed / at[-1] ** 2
        step = np.zeros(at.size)
        step[moving] = np.linalg.solve(bends, pull)
        if float(pull @ step[moving]) <= _ENOUGH:
            break
        for _ in range(40):
            there = at + step
            if _LEAST_SCALE <= there[-1] <= _LARGEST_SCALE:
                moved, apart = penalised(there)
                if moved >= value:
                    break
            step = 0.5 * step
        else:
            break
        at, value, away = there, moved, apart
    return at, height(at)[0]


def _ratio(at: FloatArray) -> FloatArray:
    """φ / Φ (...), without underflow."""
    logs = _PROBIT.log_probability(at)
    return np.asarray(np.exp(-0.5 * at**2 - 0.5 * np.log(2.0 * np.pi) - logs))


def _told_by_a_side(at: FloatArray) -> FloatArray:
    """What "above or below" tells about where the middle is (...), on average: φ² / (Φ (1 - Φ))."""
    near = np.clip(at, -8.0, 8.0)
    logs = _PROBIT.log_probability(near) + _PROBIT.log_probability(-near)
    return np.asarray(np.exp(-(near**2) - np.log(2.0 * np.pi) - logs))


def _tells_scale(linear: FloatArray, across: FloatArray) -> bool:
    """Whether the known part is anything that first weights and bias could not be."""
    size = float(np.linalg.norm(across))
    if size == 0.0:
        return False
    used = linear[:, np.linalg.norm(linear, axis=0) > 0.0]
    left = across - used @ np.linalg.lstsq(used, across, rcond=None)[0]
    return float(np.linalg.norm(left)) > 1e-6 * size
