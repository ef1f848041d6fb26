"""Large tables go through their sums: the same numbers as case by case, or next to them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preceptor.estimation import bootstrap, cross_products, defaults, fit_world, moments
from preceptor.estimation.cross_products import Pairs, Sums, predicted_share, ridge
from preceptor.estimation.defaults import LedoitWolf, Ridge
from preceptor.estimation.moments import fill_in
from tests.strategies import covariance


def cases(rows: int = 400, size: int = 6, gaps: float = 0.0, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, size)) @ np.linalg.cholesky(covariance(rng, size)).T
    y = X @ np.linspace(1.0, -1.0, size) + 2.0 * rng.standard_normal(rows)
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y


def each_alone(rows: int) -> list[np.ndarray]:
    return np.array_split(np.arange(rows), rows)


def test_ridge_through_products_is_ridge_by_singular_values(monkeypatch):
    X, y = cases()
    slow = Ridge().fit(X, y)
    monkeypatch.setattr(defaults, "_LARGE", 0)
    monkeypatch.setattr(defaults, "_BLOCK", 37)
    fast = Ridge().fit(X, y)
    for name in ("alpha_", "coef_", "intercept_", "degrees_"):
        assert_allclose(getattr(fast, name), getattr(slow, name), rtol=1e-9)


@pytest.mark.parametrize("rows", [8, 30])
def test_ridge_leaves_out_one_case_after_the_other(rows):
    """Blocks and products against the definition: fit without a case, predict it."""
    X, y = cases(rows, 3)
    errors = []
    for alpha in defaults.ALPHAS:
        missed = 0.0
        for i in range(rows):
            rest = np.arange(rows) != i
            Z, mean = X[rest] - X[rest].mean(axis=0), X[rest].mean(axis=0)
            slopes = np.linalg.solve(Z.T @ Z + alpha * np.eye(3), Z.T @ (y[rest] - y[rest].mean()))
            missed += (y[i] - y[rest].mean() - (X[i] - mean) @ slopes) ** 2
        errors.append(missed)
    assert Ridge().fit(X, y).alpha_ == defaults.ALPHAS[int(np.argmin(errors))]


def test_shrunk_covariance_of_weighted_sums_is_that_of_repeated_cases():
    X, y = cases()
    times = np.bincount(np.random.default_rng(1).integers(400, size=400), minlength=400)
    repeated = np.repeat(X + 0.3, times, axis=0)
    sums = Sums.of(X + 0.3, y, each_alone(400)).weighted(times.astype(float))
    assert_allclose(sums.covariance(), LedoitWolf().fit(repeated).covariance_, rtol=1e-9)


def test_pairwise_covariance_of_sums_is_that_of_stand_ins_up_to_their_chance():
    X, y = cases(2_000, gaps=0.1)
    fitted = fit_world(X, y)
    standard = fitted.world.units.standardise(X)
    found = Pairs.of(standard, each_alone(2_000)).covariance(np.ones(2_000))
    assert_allclose(found, fitted.world.covariance, atol=2e-4)


def test_gaps_are_filled_the_same_by_precision_and_by_pattern():
    X, _ = cases(200, 7, gaps=0.3)
    sigma, mean = covariance(np.random.default_rng(5), 7), np.linspace(-1.0, 1.0, 7)
    fast = fill_in(X, mean, sigma)
    slow = moments._fill_by_patterns(X, np.isnan(X), mean, sigma)
    assert_allclose(fast[0], slow[0], rtol=1e-9, atol=1e-10)
    assert_allclose(fast[1], slow[1], rtol=1e-9, atol=1e-9)


def test_nearly_singular_covariances_are_not_inverted(monkeypatch):
    X, _ = cases(60, 3, gaps=0.2)
    near = np.array([[1.0, 1.0 - 1e-9, 0.0], [1.0 - 1e-9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    monkeypatch.setattr(np.linalg, "inv", None)
    assert np.isfinite(fill_in(X, np.zeros(3), near)[0]).all()


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_cross_validation_by_sums_is_that_case_by_case(monkeypatch, gaps):
    X, y = cases(600, gaps=gaps)
    slow = fit_world(X, y).r_squared
    monkeypatch.setattr(cross_products, "LARGE", 0)
    assert_allclose(fit_world(X, y).r_squared, slow, atol=5e-4 if not gaps else 3e-3)


def test_predicted_share_is_exact_for_the_ridge_it_uses():
    X, y = cases(100, 3)
    folds = np.array_split(np.random.default_rng(0).permutation(100), 10)
    missed = guessed = 0.0
    for fold in folds:
        rest = np.setdiff1d(np.arange(100), fold)
        Z, deviations = X[rest] - X[rest].mean(axis=0), y[rest] - y[rest].mean()
        slopes, degrees, squares = ridge(
            Z.T @ Z, Z.T @ deviations, deviations @ deviations, rest.size
        )
        residuals = deviations - Z @ slopes
        assert_allclose(squares, residuals @ residuals, rtol=1e-9)
        assert 1.0 < degrees <= 4.0
        errors = y[fold] - y[rest].mean() - (X[fold] - X[rest].mean(axis=0)) @ slopes
        missed += errors @ errors
        guessed += np.sum((y[fold] - y[rest].mean()) ** 2)
    assert_allclose(predicted_share(X, y, folds), 1.0 - missed / guessed, rtol=1e-9)


def test_a_bootstrap_of_single_cases_is_the_ordinary_one():
    X, y = cases(300)
    fitted = fit_world(X, y)
    slow = bootstrap._case_by_case(fitted, 8, 3)
    fast = bootstrap._from_sums(fitted, 8, 3, 300)
    assert_allclose(fast.covariance, slow.covariance, rtol=1e-9, atol=1e-12)
    # Strengths are chosen by another rule, which moves weights by far less than chance does.
    away = np.abs(fast.coefficients - slow.coefficients)
    assert np.all(away < 0.1 * slow.standard_errors)
    assert_allclose(fast.noise_variance, slow.noise_variance, rtol=1e-3)


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_a_bootstrap_of_groups_is_as_sure_as_one_of_cases(gaps):
    X, y = cases(1_500, 4, gaps)
    fitted = fit_world(X, y)
    slow = bootstrap._case_by_case(fitted, 80, 0)
    fast = bootstrap._from_sums(fitted, 300, 0, 200)
    assert_allclose(fast.standard_errors, slow.standard_errors, rtol=0.35)
    spread = [each.covariance.std(axis=0)[np.triu_indices(4)] for each in (fast, slow)]
    assert_allclose(*spread, rtol=0.35)
    assert_allclose(fast.noise_variance.std(), slow.noise_variance.std(), rtol=0.35)
    assert_allclose(fast.noise_variance.mean(), fitted.world.noise_variance, rtol=0.01)
    assert_allclose(fast.coefficients.mean(axis=0), fitted.world.coefficients, atol=0.02)


def test_large_tables_are_drawn_in_groups_and_others_are_not(monkeypatch):
    X, y = cases(400)
    fitted = fit_world(X, y)
    monkeypatch.setattr(bootstrap, "_case_by_case", None)
    with pytest.raises(TypeError):
        fitted.bootstrap(5)
    monkeypatch.setattr(cross_products, "LARGE", 1_000)
    drawn = fitted.bootstrap(5)
    assert drawn.replicates == 5
    assert drawn.world_of(1).names == fitted.world.names
