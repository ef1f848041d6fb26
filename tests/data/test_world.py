"""A world from a table: what is estimated, against NumPy, scikit-learn and known truths."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.covariance import OAS, EmpiricalCovariance, GraphicalLassoCV, MinCovDet
from sklearn.covariance import LedoitWolf as SklearnLedoitWolf
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LassoCV, LinearRegression, RidgeCV
from sklearn.linear_model import Ridge as SklearnRidge

import preceptor as pr
from preceptor.data.estimators import ALPHAS, LedoitWolf, Ridge
from preceptor.data.moments import (
    Recipe,
    estimate,
    fill_in,
    nearest_correlation,
    pairwise_correlation,
)
from preceptor.data.world_fitting import fit_world
from tests.strategies import covariance, examples, seeds

PLAIN = {"covariance": EmpiricalCovariance(), "regression": LinearRegression()}


def table(rows: int = 120, size: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated tests in odd units, and an outcome with an average of its own."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(covariance(rng, size))
    X = rng.standard_normal((rows, size)) @ root.T * [10.0, 0.1, 3.0, 1.0][:size] + 50.0
    return X, 7.0 + (X - 50.0) @ [0.2, 9.0, -0.5, 1.0][:size] + 2.0 * rng.standard_normal(rows)


def with_gaps(X: np.ndarray, share: float, seed: int = 1) -> np.ndarray:
    gaps = np.random.default_rng(seed).random(X.shape) < share
    return np.where(gaps, np.nan, X)


# --- clean tables ---------------------------------------------------------------------------------


@examples(25)
@given(seeds, st.integers(1, 4))
def test_plain_estimators_give_the_textbook_numbers(seed, size):
    X, y = table(40, size, seed)
    fitted = fit_world(X, y, **PLAIN)
    world, units = fitted.world, fitted.world.units
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(units.means, X.mean(axis=0))
    assert_allclose(units.scales, X.std(axis=0))
    assert_allclose(units.outcome_mean, y.mean())
    assert_allclose(world.covariance, np.corrcoef(X.T).reshape(size, size), atol=1e-12)
    design = np.column_stack([np.ones(len(y)), Z])
    slopes, squares, *_ = np.linalg.lstsq(design, y, rcond=None)
    assert_allclose(world.coefficients, slopes[1:], rtol=1e-8, atol=1e-8)
    assert_allclose(world.noise_variance, squares[0] / (40 - size - 1), rtol=1e-8)


def test_predictions_in_units_are_those_of_the_regression():
    X, y = table()
    world = fit_world(X, y, **PLAIN).world
    predicted = world.units.uncentre(world.units.standardise(X) @ world.coefficients)
    assert_allclose(predicted, LinearRegression().fit(X, y).predict(X), rtol=1e-10)


@examples(25)
@given(seeds, st.integers(1, 4), st.integers(6, 60))
def test_defaults_are_those_of_scikit_learn(seed, size, rows):
    X, y = table(rows, size, seed)
    ours, theirs = LedoitWolf().fit(X), SklearnLedoitWolf().fit(X)
    assert_allclose(ours.shrinkage_, theirs.shrinkage_, atol=1e-12)
    assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-10)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    fast, slow = Ridge().fit(Z, y), RidgeCV(alphas=ALPHAS).fit(Z, y)
    assert_allclose(fast.alpha_, slow.alpha_)
    assert_allclose(fast.coef_, slow.coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(fast.intercept_, slow.intercept_, rtol=1e-9)


def test_ridge_degrees_of_freedom_are_the_trace_of_the_hat_matrix():
    X, y = table(30)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    fitted = Ridge().fit(Z, y)
    hat = Z @ np.linalg.solve(Z.T @ Z + fitted.alpha_ * np.eye(4), Z.T)
    assert_allclose(fitted.degrees_, 1.0 + np.trace(hat))
    by_sklearn = estimate(Z, y, Recipe(regression=SklearnRidge(fitted.alpha_)))
    assert_allclose(by_sklearn.degrees, fitted.degrees_)


def test_scikit_learn_default_names_give_the_same_world_as_leaving_them_out():
    X, y = table()
    given_ones = fit_world(X, y, covariance=SklearnLedoitWolf(), regression=RidgeCV(alphas=ALPHAS))
    left_out = fit_world(X, y)
    assert_allclose(given_ones.world.coefficients, left_out.world.coefficients, rtol=1e-9)
    assert_allclose(given_ones.world.covariance, left_out.world.covariance, rtol=1e-9)
    assert_allclose(given_ones.world.noise_variance, left_out.world.noise_variance, rtol=1e-9)
    assert_allclose(given_ones.shrinkage, left_out.shrinkage)
    assert_allclose(given_ones.alpha, left_out.alpha)


@pytest.mark.parametrize("estimator", [OAS(), GraphicalLassoCV(cv=3), MinCovDet(random_state=0)])
def test_any_covariance_estimator(estimator):
    X, y = table(200)
    world = fit_world(X, y, covariance=estimator).world
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose(world.covariance, estimator.fit(Z).covariance_, atol=1e-10)


def test_variances_that_the_estimator_sees_otherwise_are_noted():
    X, y = table(200)
    X[:8] += 300.0
    notes = fit_world(X, y, covariance=MinCovDet(random_state=0)).notes
    assert any("estimator changed variances" in note for note in notes)


def test_any_linear_regressor():
    X, y = table(200)
    fitted = fit_world(X, y, regression=LassoCV(cv=5))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    reference = LassoCV(cv=5).fit(Z, y - y.mean())
    assert_allclose(fitted.world.coefficients, reference.coef_)
    residuals = y - y.mean() - Z @ reference.coef_
    degrees = 1 + np.count_nonzero(reference.coef_)
    assert_allclose(fitted.world.noise_variance, residuals @ residuals / (200 - degrees))
    assert "LassoCV(cv=5), strength" in fitted.summary()


def test_the_estimators_given_are_not_fitted_themselves():
    X, y = table()
    estimator = LinearRegression()
    fit_world(X, y, regression=estimator)
    assert not hasattr(estimator, "coef_")


def test_more_cases_come_closer_to_the_truth():
    truth = pr.World([2.0, -1.0, 0.5], covariance(np.random.default_rng(3), 3), 4.0)
    cases = truth.sample(50_000, rng=1)
    found = fit_world(cases.features, cases.outcomes).world
    scale = np.sqrt(np.diag(truth.covariance))
    assert_allclose(found.coefficients, truth.coefficients * scale, atol=0.05)
    assert_allclose(found.covariance, truth.covariance / np.outer(scale, scale), atol=0.02)
    assert_allclose(found.noise_variance, 4.0, rtol=0.02)


@pytest.mark.full
def test_noise_is_not_underestimated_when_cases_are_few():
    truth = pr.World(np.ones(10), np.eye(10), 4.0)
    estimates = []
    for seed in range(200):
        cases = truth.sample(20, rng=seed)
        estimates.append(fit_world(cases.features, cases.outcomes, **PLAIN).world.noise_variance)
    error = np.std(estimates) / np.sqrt(200)
    assert abs(np.mean(estimates) - 4.0) < 4 * error


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, dict], ids=["pandas", "polars", "dict"]
)
def test_every_kind_of_table_gives_the_same_world(make):
    X, y = table()
    names = ["a", "b", "c", "d"]
    from_array = fit_world(X, y, names=names, outcome="score").world
    columns = dict(zip(names, X.T, strict=True)) | {"score": y}
    assert fit_world(make(columns), "score").world == from_array
    tests_only = {name: columns[name] for name in names}
    assert fit_world(make(tests_only), y, outcome="score").world == from_array
    if make is not dict:
        assert fit_world(make(tests_only), make(columns)["score"]).world == from_array


def test_an_estimated_world_survives_a_file():
    X, y = table()
    exact = fit_world(X, y, **PLAIN).world
    assert pr.World.from_dict(exact.to_dict()) == exact
    assert pr.World.from_json(exact.to_json()) == exact


def test_what_was_left_out_is_said():
    X, y = table()
    said = fit_world(np.column_stack([X, -2 * X[:, 0]]), y).warnings
    assert any("x5 was left out: it says the same as x1" in warning for warning in said)


def test_cross_validation_by_hand():
    X, y = table(60)
    fitted = fit_world(X, y, **PLAIN, seed=3)
    order = np.random.default_rng(3).permutation(60)
    missed = guessed = 0.0
    for fold in np.array_split(order, 10):
        rest = np.setdiff1d(np.arange(60), fold)
        predicted = LinearRegression().fit(X[rest], y[rest]).predict(X[fold])
        missed += np.sum((y[fold] - predicted) ** 2)
        guessed += np.sum((y[fold] - y[rest].mean()) ** 2)
    assert_allclose(fitted.r_squared, 1 - missed / guessed, rtol=1e-9)


# --- missing values -------------------------------------------------------------------------------


@examples(25)
@given(seeds, st.floats(0.0, 0.4))
def test_pairwise_correlations_are_those_of_pandas(seed, share):
    X = with_gaps(table(60, 4, seed)[0], share, seed)
    found, shared = pairwise_correlation(X)
    assert_allclose(found, pd.DataFrame(X).corr().to_numpy(), atol=1e-9)
    known = ~np.isnan(X)
    assert shared.tolist() == [
        [int((known[:, i] & known[:, j]).sum()) for j in range(4)] for i in range(4)
    ]


def test_pairwise_moments_reach_the_covariance_estimator_unchanged():
    X, y = table(300)
    gappy = with_gaps(X, 0.1)
    fitted = fit_world(gappy, y, covariance=EmpiricalCovariance())
    assert fitted.moments.adjusted == 0.0
    assert_allclose(fitted.world.covariance, pd.DataFrame(gappy).corr().to_numpy(), atol=1e-9)
    assert_allclose(fitted.world.units.means, np.nanmean(gappy, axis=0))


def test_gaps_are_filled_with_conditional_means():
    rng = np.random.default_rng(0)
    sigma, mean = covariance(rng, 3), np.array([1.0, 2.0, 3.0])
    row = np.array([[4.0, np.nan, np.nan]])
    filled, unknown = fill_in(row, mean, sigma)
    assert_allclose(filled[0, 1:], mean[1:] + sigma[1:, 0] / sigma[0, 0] * 3.0)
    assert_allclose(
        unknown[1:, 1:], sigma[1:, 1:] - np.outer(sigma[1:, 0], sigma[1:, 0]) / sigma[0, 0]
    )
    nothing, all_of_it = fill_in(np.full((2, 3), np.nan), mean, sigma)
    assert_allclose(nothing, [mean, mean])
    assert_allclose(all_of_it, 2 * sigma)


@given(seeds, st.floats(0.0, 1.0))
def test_gaps_of_all_patterns_are_filled_case_by_case(seed, share):
    rng = np.random.default_rng(seed)
    sigma, mean = covariance(rng, 4), rng.standard_normal(4)
    values = with_gaps(rng.standard_normal((12, 4)), share, seed)
    expected, hidden = values.copy(), np.zeros((4, 4))
    for row in range(12):
        g, k = np.flatnonzero(np.isnan(values[row])), np.flatnonzero(~np.isnan(values[row]))
        weights = sigma[np.ix_(g, k)] @ np.linalg.inv(sigma[np.ix_(k, k)])
        expected[row, g] = mean[g] + weights @ (values[row, k] - mean[k])
        hidden[np.ix_(g, g)] += sigma[np.ix_(g, g)] - weights @ sigma[np.ix_(k, g)]
    filled, unknown = fill_in(values, mean, sigma)
    assert_allclose(filled, expected, rtol=1e-6, atol=1e-8)
    assert_allclose(unknown, hidden, atol=1e-8)


@pytest.mark.parametrize("missing", ["pairwise", IterativeImputer(random_state=0)], ids=str)
def test_with_gaps_the_truth_is_still_found(missing):
    truth = pr.World.equicorrelated([2.0, -1.0, 0.5], 0.6, 1.0)
    cases = truth.sample(20_000, rng=2)
    found = fit_world(with_gaps(cases.features, 0.15), cases.outcomes, missing=missing).world
    assert_allclose(found.coefficients, truth.coefficients, atol=0.08)
    if missing == "pairwise":
        # imputed values hide how much is not known, pairwise moments do not
        assert_allclose(found.covariance, truth.covariance, atol=0.03)
        assert_allclose(found.noise_variance, 1.0, rtol=0.05)


def test_a_few_gaps_change_little():
    X, y = table(400)
    whole, gappy = fit_world(X, y).world, fit_world(with_gaps(X, 0.01), y).world
    assert_allclose(gappy.coefficients, whole.coefficients, atol=0.3)
    assert_allclose(gappy.covariance, whole.covariance, atol=0.05)


@pytest.mark.parametrize(
    "imputer", [SimpleImputer(), SimpleImputer(strategy="median"), KNNImputer()], ids=repr
)
def test_an_imputer_gets_the_table_as_it_is(imputer):
    X, y = table(80)
    gappy = with_gaps(X, 0.1)
    imputed = fit_world(gappy, y, missing=imputer)
    by_hand = fit_world(imputer.fit_transform(gappy), y)
    for field in ("coefficients", "covariance", "noise_variance"):
        assert_allclose(getattr(imputed.world, field), getattr(by_hand.world, field), rtol=1e-9)
    assert f"imputed by {imputer!r}" in imputed.summary().replace("\n  ", " ")


def test_the_summary_says_how_many_are_missing_and_where():
    X, y = table(100)
    X[3, 1] = X[7, 1] = X[9, 2] = np.nan
    fitted = fit_world(X, y, names=["a", "b", "c", "d"])
    assert fitted.missing == {"b": 2, "c": 1}
    text = " ".join(fitted.summary().split())
    assert "3 values missing (b 2, c 1): correlations use the cases" in text


def test_contradicting_correlations_are_made_to_agree_and_that_is_said():
    rng = np.random.default_rng(0)
    base = rng.standard_normal((90, 3))
    X = np.full((90, 3), np.nan)
    # three pairs that never meet in one case: a = b, b = c, a = -c
    X[:30, 0] = X[:30, 1] = base[:30, 0]
    X[30:60, 1] = X[30:60, 2] = base[30:60, 1]
    X[60:, 0] = base[60:, 2]
    X[60:, 2] = -base[60:, 2]
    X += 0.01 * rng.standard_normal(X.shape)
    fitted = fit_world(X, rng.standard_normal(90))
    assert fitted.moments.adjusted > 0.1
    assert any("were inconsistent" in doubt for doubt in fitted.doubts)
    assert np.linalg.eigvalsh(fitted.world.covariance)[0] > 0


@given(seeds)
def test_nearest_correlation_is_a_correlation_and_leaves_good_ones_alone(seed):
    rng = np.random.default_rng(seed)
    noise = rng.uniform(-1, 1, (4, 4))
    wild = np.where(np.eye(4, dtype=bool), 1.0, (noise + noise.T) / 2)
    made = nearest_correlation(wild)
    assert_allclose(np.diag(made), 1.0)
    assert np.linalg.eigvalsh(made)[0] > 0
    assert_allclose(nearest_correlation(made), made)


def test_columns_that_never_meet_are_named():
    X, y = table(60)
    X[:30, 0] = np.nan
    X[30:, 1] = np.nan
    with pytest.raises(pr.InvalidData, match="'x1' and 'x2': both known in only 0 cases"):
        fit_world(X, y)


def test_an_imputer_that_does_not_impute_is_refused():
    class Lazy:
        def fit_transform(self, X):
            return X

    X, y = table(60)
    with pytest.raises(pr.InvalidData, match="left gaps"):
        fit_world(with_gaps(X, 0.1), y, missing=Lazy())


# --- what it says ---------------------------------------------------------------------------------


def test_summary_speaks_in_the_units_of_the_table():
    X, y = table(100)
    fitted = fit_world(X, y, names=["height", "b", "c", "d"], outcome="score")
    text = fitted.summary()
    row = next(line for line in text.splitlines() if line.startswith("height"))
    cells = row.split()
    assert float(cells[1]) == pytest.approx(X[:, 0].mean(), rel=1e-3)
    assert float(cells[2]) == pytest.approx(X[:, 0].std(), rel=1e-3)
    assert float(cells[4]) == pytest.approx(fitted.world.coefficients[0], rel=1e-3)
    assert text.startswith("A world of 4 tests for score, from 100 cases")
    assert all(len(line) <= 88 for line in text.splitlines())


def test_doubts():
    rng = np.random.default_rng(0)
    X, y = table(100)
    assert fit_world(X, y).doubts == ()
    cases = {
        "are few": fit_world(X[:12], y[:12]),
        "explain next to nothing": fit_world(X, rng.standard_normal(100)),
        "explain the outcome almost perfectly": fit_world(X, X[:, 0] + X[:, 1]),
        "x1 and x5 are nearly copies": fit_world(
            np.column_stack([X, X[:, 0] + 0.5 * rng.standard_normal(100)]), y, **PLAIN
        ),
        "takes only two values": fit_world(X, (y > y.mean()).astype(float), as_number=True),
    }
    for words, fitted in cases.items():
        assert any(words in doubt for doubt in fitted.doubts), words
        assert words in " ".join(fitted.summary().split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"covariance": "ledoit"}, "covariance: 'ledoit', must be a scikit-learn covariance"),
        ({"covariance": OAS}, "must be a scikit-learn covariance estimator such as OAS()"),
        ({"regression": 3}, "regression: 3"),
        ({"missing": "mean"}, "missing: 'mean', must be 'pairwise' or"),
        ({"missing": None}, "missing: None"),
        ({"seed": -1}, "seed: -1"),
        ({"covariance": LinearRegression()}, "covariance: LinearRegression() cannot be fitted"),
        ({"regression": SimpleImputer()}, "must have coef_"),
    ],
)
def test_estimators_that_cannot_be_meant(options, words):
    X, y = table()
    with pytest.raises(pr.InvalidInput, match=re.escape(words)):
        fit_world(X, y, **options)
