"""Least squares for one family of curves.

Bias and initial coefficients are eliminated (`Model.solve`), so only the curve's parameters and κ
are searched for: "variable projection". With normal noise, least squares is maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from preceptor._base.values import FloatArray
from preceptor.estimation.learner_model import SINGULAR, Model, Solved

# Enough rows to find out roughly where the optimum is.
_ROWS_FOR_STARTS = 2_000
_POLISHED_STARTS = 3


@dataclass(frozen=True, eq=False)
class FamilyFit:
    """The best fit of one family: `point` holds the curve's parameters and, if estimated, κ."""

    model: Model
    point: FloatArray
    bias: float
    initial: FloatArray
    residuals: FloatArray

    @property
    def rss(self) -> float:
        """Sum of squared residuals."""
        return float(self.residuals @ self.residuals)

    @cached_property
    def jacobian(self) -> FloatArray:
        """Derivatives (rows, parameters) of the answers at the optimum."""
        return self.model.jacobian(self.initial, self.point)

    @cached_property
    def parameters(self) -> int:
        """How many numbers were estimated for the mean; silent directions do not count."""
        linear = self.jacobian.shape[1] - self.point.size
        return rank_of(self.jacobian[:, :linear]) + self.point.size

    @property
    def freedom(self) -> int:
        """Rows beyond the numbers estimated."""
        return len(self.model.answers) - self.parameters

    @property
    def noise_sd(self) -> float:
        """Standard deviation of an answer around the model."""
        return float(np.sqrt(self.rss / max(self.freedom, 1)))

    @property
    def is_exact(self) -> bool:
        """Whether what is left is rounding: answers as no person gives them, but a program may."""
        return self.rss <= self._exact

    @property
    def _exact(self) -> float:
        # Without noise the likelihood would be infinite, and families compared by their rounding.
        return 1e-12 * float(np.sum(self.model.answers.answers**2)) + np.finfo(float).tiny

    @property
    def log_likelihood(self) -> float:
        """Of normal noise with the variance that fits best."""
        rows = len(self.model.answers)
        variance = max(self.rss, self._exact) / rows
        return float(-0.5 * rows * (np.log(2 * np.pi * variance) + 1.0))

    @property
    def aic(self) -> float:
        """Akaike's criterion: smaller is better; the noise counts as a parameter."""
        return 2.0 * (self.parameters + 1) - 2.0 * self.log_likelihood

    @property
    def _scale(self) -> float:
        """The scatter; where there is none at all, the least that can be divided by."""
        return self.noise_sd or float(np.sqrt(np.finfo(np.float64).tiny))

    @property
    def root(self) -> FloatArray:
        """Rows (rows, parameters) whose squares add up to what the answers tell."""
        return self.jacobian / self._scale

    @property
    def row_scores(self) -> FloatArray:
        """Slopes (rows, parameters) of each answer's log likelihood, as of a small sample."""
        small_sample = float(np.sqrt((len(self.model.answers) - 1) / max(self.freedom, 1)))
        slopes: FloatArray = self.root * (small_sample * self.residuals / self._scale)[:, None]
        return slopes

    def profile(self, held: int, value: float) -> float:
        """How bad the best fit is whose parameter number `held` has this value."""
        start = self.point.copy()
        start[held] = value
        return _rss(self.model, _polish(self.model, start, held))

    def bearable(self, critical: float) -> float:
        """How bad a profile may be: for one squared t beyond the best fit, by `critical`."""
        return self.rss * (1.0 + critical / max(self.freedom, 1))

    def noise_interval(self, level: float) -> tuple[float, float]:
        """Where the scatter is with this probability."""
        from scipy.special import chdtri

        freedom, tail = max(self.freedom, 1), (1.0 - level) / 2.0
        low, high = (float(np.sqrt(self.rss / chdtri(freedom, q))) for q in (tail, 1.0 - tail))
        return low, high

    def refitted(self, model: Model) -> FamilyFit:
        """The same family fitted to other rows; this optimum is only where to begin looking."""
        return fit_family(model, start=self.point)

    def expected(self, model: Model) -> FloatArray:
        """Answers (rows,) that are to be expected in the rows of a model."""
        return model.mean(self.bias, self.initial, self.point)


def fit_family(model: Model, start: FloatArray | None = None) -> FamilyFit:
    """Least squares over everything; from `start` if given, else from a grid of starts."""
    if start is not None:
        candidates = [start]
    else:
        candidates = best_starts(model, _rss)
    found = [_polish(model, candidate) for candidate in candidates]
    best = min(found, key=lambda point: _rss(model, point))
    best = _snapped(model, best)
    solved = model.solve(best)
    return FamilyFit(model, best, solved.bias, solved.initial, solved.residuals)


def _polish(model: Model, start: FloatArray, held: int | None = None) -> FloatArray:
    from scipy.optimize import least_squares

    moving = np.array([i for i in range(start.size) if i != held], dtype=np.int64)
    if moving.size == 0:
        return start

    def whole(part: FloatArray) -> FloatArray:
        point = start.copy()
        point[moving] = part
        return point

    @lru_cache(maxsize=2)
    def solved(key: bytes) -> Solved:
        return model.solve(whole(np.frombuffer(key)))

    def residuals(part: FloatArray) -> FloatArray:
        return solved(part.tobytes()).residuals

    def slope(part: FloatArray) -> FloatArray:
        # Kaufman's form: what moving the curve changes, less what bias and initial coefficients
        # make good. The gradient of the sum of squares that follows from it is exact.
        at = solved(part.tobytes())
        columns = at.slopes[:, moving]
        return at.basis @ (at.basis.T @ columns) - columns

    lower, upper = np.array(model.bounds).T[:, moving]
    result = least_squares(
        residuals,
        np.clip(start[moving], lower, upper),
        jac=slope,
        bounds=(lower, upper),
        ftol=1e-10,
        xtol=1e-8,
        gtol=1e-10,
        x_scale=0.1,
    )
    return whole(result.x)


def best_starts(model: Model, badness: Callable[[Model, FloatArray], float]) -> list[FloatArray]:
    """The few points of a grid that are least bad, judged on some of the rows if there are many."""
    rows = len(model.answers)
    few = model
    if rows > _ROWS_FOR_STARTS:
        few = model.on(model.answers.rows(np.linspace(0, rows - 1, _ROWS_FOR_STARTS).astype(int)))
    dials = [[]] if model.imputation is not None else [[0.1], [0.5], [0.9]]
    curves = model.family.starts(float(model.answers.counts.max(initial=0.0)))
    grid = [np.append(curve, dial) for dial in dials for curve in curves]
    grid.sort(key=lambda point: badness(few, point))
    return grid[:_POLISHED_STARTS]


def _snapped(model: Model, point: FloatArray) -> FloatArray:
    """Put parameters onto a bound where nothing is lost: just beside it, or a floor not reached."""
    for i, bounds in enumerate(model.bounds):
        for bound in bounds:
            moved = point.copy()
            moved[i] = bound
            if _rss(model, moved) <= _rss(model, point) * (1 + 1e-9):
                point = moved
    return point


def _rss(model: Model, point: FloatArray) -> float:
    residuals = model.solve(point).residuals
    return float(residuals @ residuals)


def rank_of(matrix: FloatArray) -> int:
    """How many directions are not silent."""
    scale = np.linalg.norm(matrix, axis=0)
    if not np.any(scale):
        return 0
    scale[scale == 0.0] = 1.0
    singular = np.linalg.svd(matrix / scale, compute_uv=False)
    return int(np.sum(singular > SINGULAR * singular[0]))
