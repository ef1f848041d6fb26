"""Large tables: what is estimated again and again is estimated from a part of the cases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preceptor.data import moments
from preceptor.data.estimators import ALPHAS, Ridge
from preceptor.data.world_fitting import fit_world
from tests.strategies import covariance


def cases(rows: int = 400, size: int = 6, gaps: float = 0.0, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, size)) @ np.linalg.cholesky(covariance(rng, size)).T
    y = X @ np.linspace(1.0, -1.0, size) + 2.0 * rng.standard_normal(rows)
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y


@pytest.mark.parametrize("rows", [8, 30])
def test_ridge_leaves_out_one_case_after_the_other(rows):
    """Blocks and products against the definition: fit without a case, predict it."""
    X, y = cases(rows, 3)
    errors = []
    for alpha in ALPHAS:
        missed = 0.0
        for i in range(rows):
            rest = np.arange(rows) != i
            Z, mean = X[rest] - X[rest].mean(axis=0), X[rest].mean(axis=0)
            slopes = np.linalg.solve(Z.T @ Z + alpha * np.eye(3), Z.T @ (y[rest] - y[rest].mean()))
            missed += (y[i] - y[rest].mean() - (X[i] - mean) @ slopes) ** 2
        errors.append(missed)
    assert Ridge().fit(X, y).alpha_ == ALPHAS[int(np.argmin(errors))]


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_a_part_of_a_large_table_predicts_like_all_of_it(monkeypatch, gaps):
    X, y = cases(3_000, gaps=gaps)
    whole = fit_world(X, y).r_squared
    monkeypatch.setattr(moments, "_MOST_VALUES", 6_000)
    assert_allclose(fit_world(X, y).r_squared, whole, atol=0.04)


@pytest.mark.few(1)
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_a_bootstrap_of_part_of_the_cases_is_as_sure_as_one_of_all(monkeypatch, gaps):
    X, y = cases(1_500, 4, gaps)
    fitted = fit_world(X, y)
    whole = fitted.bootstrap(80)
    monkeypatch.setattr(moments, "_MOST_VALUES", 2_000)
    part = fitted.bootstrap(300)
    assert_allclose(part.standard_errors, whole.standard_errors, rtol=0.35)
    spread = [each.covariance.std(axis=0)[np.triu_indices(4)] for each in (part, whole)]
    assert_allclose(*spread, rtol=0.35)
    assert_allclose(part.noise_variance.std(), whole.noise_variance.std(), rtol=0.35)
    assert_allclose(part.noise_variance.mean(), fitted.world.noise_variance, rtol=0.01)
    assert_allclose(part.coefficients.mean(axis=0), fitted.world.coefficients, atol=0.02)
    assert part.world_of(1).names == fitted.world.names
