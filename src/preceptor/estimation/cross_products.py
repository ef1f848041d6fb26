"""Large tables through their sums of products: folds and bootstrap without touching cases again.

Cases are put into groups, and what estimates are made of is summed over each. A fold is all groups
but one, a bootstrap replicate is groups drawn with replacement; both are small sums of small
matrices, however many cases there are. Groups of cases taken at random vary, as sums, like cases
drawn one by one. Two things differ from an estimate case by case: the strength of the ridge is
chosen by generalised cross-validation, and gaps stay filled as they were for the estimate itself.
The latter makes standard errors of weights about a tenth too small where many values are missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.estimation.binary_ridge import BinaryRidge, curvature
from preceptor.estimation.defaults import ALPHAS, LedoitWolf, Ridge, shrunk_covariance
from preceptor.estimation.moments import Recipe, nearest_correlation
from preceptor.model.links import Link

# Tables of more values, and of so many cases a column, are treated by their sums.
LARGE, _TALL = 100_000, 20
# Groups of a bootstrap: enough that chance in forming them does not matter, few enough to keep.
_FEWEST, _MOST, _NUMBERS = 100, 500, 2_000_000


def by_sums(values: FloatArray, recipe: Recipe) -> bool:
    """Whether a table is large, and estimated in the ways that sums are enough for."""
    regression = Ridge if recipe.link is None else BinaryRidge
    ours = type(recipe.covariance) is LedoitWolf and type(recipe.regression) is regression
    large = values.size > LARGE and values.shape[0] > _TALL * values.shape[1]
    return large and ours and isinstance(recipe.missing, str)


def group_count(columns: int) -> int:
    """How many groups a bootstrap of a large table has."""
    return int(np.clip(_NUMBERS // columns**2, _FEWEST, _MOST))


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over cases, one set for each group along the first axis.

    `cases` (g,), `tests` (g, n), `products` (g, n, n), `crossed` (g, n) of tests with outcomes,
    `outcomes` (g,), `squared` (g,); `quartic` (g,) and `cubic` (g, n) are sums of |x|^4 and of
    |x|^2 x, from which the shrinkage of a covariance follows.
    """

    cases: FloatArray
    tests: FloatArray
    products: FloatArray
    crossed: FloatArray
    outcomes: FloatArray
    squared: FloatArray
    quartic: FloatArray
    cubic: FloatArray

    @classmethod
    def of(cls, values: FloatArray, outcome: FloatArray, groups: list[IntArray]) -> Sums:
        """Add up complete cases (rows, n), best standardised, and centred outcomes (rows,)."""
        size = values.shape[1]
        shapes = ((), (size,), (size, size), (size,), (), (), (), (size,))
        parts = [np.empty((len(groups), *shape)) for shape in shapes]
        for g, rows in enumerate(groups):
            x, y = values[rows], outcome[rows]
            length = np.einsum("ij,ij->i", x, x)
            about_y = (y.sum(), y @ y)
            these = (len(rows), x.sum(axis=0), x.T @ x, x.T @ y, *about_y, length @ length)
            for part, number in zip(parts, (*these, length @ x), strict=True):
                part[g] = number
        return cls(*parts)

    def weighted(self, times: FloatArray) -> Sums:
        """All groups as one, each taken so many times; `times` (g,)."""
        fields = (self.cases, self.tests, self.products, self.crossed)
        more = (self.outcomes, self.squared, self.quartic, self.cubic)
        return Sums(*(np.tensordot(times, part, axes=(0, 0)) for part in (*fields, *more)))

    def centred(self) -> tuple[FloatArray, FloatArray, float]:
        """Gram matrix (n, n), products with the outcome (n,) and its square, about the averages."""
        mean, outcome = self.tests / self.cases, self.outcomes / self.cases
        gram = self.products - np.outer(mean, self.tests)
        crossed = self.crossed - mean * self.outcomes
        return gram, crossed, float(self.squared - outcome * self.outcomes)

    def covariance(self) -> FloatArray:
        """Ledoit and Wolf's covariance of these cases."""
        mean = self.tests / self.cases
        empirical = self.centred()[0] / self.cases
        # |x - m|^4 summed over cases, from sums about 0.
        m2 = float(mean @ mean)
        trace = float(np.trace(self.products))
        quartic = float(
            self.quartic
            - 4.0 * (self.cubic @ mean)
            + 2.0 * m2 * trace
            + 4.0 * (mean @ self.products @ mean)
            - 4.0 * m2 * (self.tests @ mean)
            + self.cases * m2**2
        )
        return shrunk_covariance(empirical, quartic / float(self.cases), float(self.cases))[0]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Sums over the cases that know both of two tests, (g, n, n) each, gaps counted as 0."""

    shared: FloatArray
    sums: FloatArray
    squares: FloatArray
    products: FloatArray

    @classmethod
    def of(cls, values: FloatArray, groups: list[IntArray]) -> Pairs:
        """Add up standardised cases (rows, n), NaN where missing."""
        size = values.shape[1]
        parts = [np.empty((len(groups), size, size)) for _ in range(4)]
        for g, rows in enumerate(groups):
            known = (~np.isnan(values[rows])).astype(np.float64)
            x = np.nan_to_num(values[rows])
            these = (known.T @ known, x.T @ known, (x**2).T @ known, x.T @ x)
            for part, number in zip(parts, these, strict=True):
                part[g] = number
        return cls(*parts)

    def covariance(self, times: FloatArray) -> FloatArray:
        """What `moments.estimate` makes of these cases, with exactly Gaussian stand-ins."""
        shared, sums, squares, products = (
            np.tensordot(times, part, axes=(0, 0))
            for part in (self.shared, self.sums, self.squares, self.products)
        )
        means = sums / shared
        spreads = squares / shared - means**2
        correlation = (products / shared - means * means.T) / np.sqrt(spreads * spreads.T)
        scales = np.sqrt(np.diag(spreads))
        empirical = nearest_correlation(correlation) * np.outer(scales, scales)
        cases = round(float(1.0 / np.mean(1.0 / shared)))
        quartic = float(np.trace(empirical) ** 2 + 2.0 * np.sum(empirical**2))
        return shrunk_covariance(empirical, quartic, cases)[0]


@dataclass(frozen=True, eq=False)
class Steps:
    """Slopes (g, p) and curvatures (g, p, p) of the likelihood of yes and no, group by group.

    Both are at `start` (p,), an intercept and weights; `penalty` (p,) is that of the estimate.
    """

    start: FloatArray
    penalty: FloatArray
    slopes: FloatArray
    bends: FloatArray

    @classmethod
    def of(
        cls,
        link: Link,
        cases: FloatArray,
        yes: FloatArray,
        start: FloatArray,
        strength: float,
        groups: list[IntArray],
    ) -> Steps:
        """Add up complete cases (rows, n) and outcomes of 0 and 1 (rows,)."""
        penalty = np.full(start.size, strength)
        penalty[0] = 0.0
        here = curvature(link, start[0] + cases @ start[1:], yes)
        slopes, bends = [], []
        for rows in groups:
            design = np.column_stack([np.ones(len(rows)), cases[rows]])
            slopes.append(design.T @ here.slope[rows])
            bends.append((design * here.bend[rows, None]).T @ design)
        return cls(start, penalty, np.array(slopes), np.array(bends))

    def weights(self, times: FloatArray) -> FloatArray:
        """Intercept and weights (p,) of the groups, each taken so many times (g,)."""
        bend = np.tensordot(times, self.bends, axes=(0, 0)) + np.diag(self.penalty)
        slope = times @ self.slopes - self.penalty * self.start
        return self.start + np.linalg.solve(bend, slope)


def ridge(
    gram: FloatArray, crossed: FloatArray, squared: float, cases: float
) -> tuple[FloatArray, float, float]:
    """Coefficients (n,), degrees of freedom and squared residuals, all from centred sums."""
    powers, vectors = np.linalg.eigh(gram)
    kept = powers > powers[-1] * 1e-13
    powers, vectors = powers[kept], vectors[:, kept]
    along = vectors.T @ crossed
    shrunk = powers / (powers + ALPHAS[:, None])  # (alphas, n)
    explained = (shrunk * (2.0 - shrunk)) @ (along**2 / powers)
    missed = np.maximum(squared - explained, 0.0)
    degrees = 1.0 + shrunk.sum(axis=1)
    best = int(np.argmin(missed / np.maximum(1.0 - degrees / cases, 1e-9) ** 2))
    coefficients: FloatArray = vectors @ (along / (powers + ALPHAS[best]))
    return coefficients, float(degrees[best]), float(missed[best])


def predicted_share(values: FloatArray, outcome: FloatArray, folds: list[IntArray]) -> float:
    """Share of variance predicted in each fold by the others; complete cases (rows, n)."""
    sums = Sums.of(values, outcome, folds)
    missed = guessed = 0.0
    for fold in range(len(folds)):
        others = np.ones(len(folds))
        others[fold] = 0.0
        known, new = sums.weighted(others), sums.weighted(1.0 - others)
        coefficients, _, _ = ridge(*known.centred(), float(known.cases))
        mean, outcome_mean = known.tests / known.cases, known.outcomes / known.cases
        # Sums of the fold about the averages of the others.
        gram = (
            new.products
            - np.outer(mean, new.tests)
            - np.outer(new.tests, mean)
            + new.cases * np.outer(mean, mean)
        )
        about = new.outcomes - new.cases * outcome_mean
        crossed = new.crossed - outcome_mean * new.tests - mean * about
        squared = float(new.squared - outcome_mean * (new.outcomes + about))
        guessed += squared
        missed += squared - 2.0 * float(crossed @ coefficients)
        missed += float(coefficients @ gram @ coefficients)
    return 1.0 - missed / guessed
