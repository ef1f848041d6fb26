"""How sure a world is: bootstrap over cases."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.covariance import EmpiricalCovariance
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression

import preceptor as pr
from preceptor.data.world_fitting import fit_world

PLAIN = {"covariance": EmpiricalCovariance(), "regression": LinearRegression()}
TRUTH = pr.World([2.0, -1.0, 0.5], [[1.0, 0.6, 0.2], [0.6, 1.0, 0.4], [0.2, 0.4, 1.0]], 3.0)


def fitted(rows: int = 80, seed: int = 0, **options):
    cases = TRUTH.sample(rows, rng=seed)
    return fit_world(cases.features, cases.outcomes, **options)


def test_a_replicate_is_an_estimate_from_drawn_cases():
    estimate = fitted(**PLAIN)
    drawn = estimate.bootstrap(3, seed=5)
    rng = np.random.default_rng(5)
    X, y = estimate.design.values, estimate.design.outcome
    for replicate in range(3):
        rows = rng.integers(80, size=80)
        # in the units of the estimate, not in those of the drawn cases
        Z = (X[rows] - X.mean(axis=0)) / X.std(axis=0)
        reference = LinearRegression().fit(Z, y[rows])
        assert_allclose(drawn.coefficients[replicate], reference.coef_, rtol=1e-8)
        assert_allclose(drawn.covariance[replicate], np.cov(Z.T, ddof=0), rtol=1e-8, atol=1e-12)
        residuals = y[rows] - reference.predict(Z)
        assert_allclose(drawn.noise_variance[replicate], residuals @ residuals / 76, rtol=1e-8)


def test_the_seed_decides():
    estimate = fitted()
    one, same, other = (estimate.bootstrap(10, seed=s) for s in (1, 1, 2))
    assert_allclose(one.coefficients, same.coefficients, rtol=0)
    assert not np.allclose(one.coefficients, other.coefficients)
    assert one.seed == 1


def test_standard_errors_are_those_of_the_textbook():
    estimate = fitted(2_000, **PLAIN)
    drawn = estimate.bootstrap(300)
    Z = estimate.world.units.standardise(estimate.design.values)
    textbook = np.sqrt(estimate.world.noise_variance * np.diag(np.linalg.inv(Z.T @ Z)))
    assert_allclose(drawn.standard_errors, textbook, rtol=0.2)
    assert_allclose(drawn.coefficients.mean(axis=0), estimate.world.coefficients, atol=0.02)


def test_intervals_are_percentiles():
    drawn = fitted().bootstrap(101)
    low, high = drawn.coefficient_intervals(0.9)[1]
    assert_allclose([low, high], np.quantile(drawn.coefficients[:, 1], [0.05, 0.95]))
    assert drawn.replicates == 101


def test_draws_are_worlds_with_the_names_and_units_of_the_estimate():
    sites = (["a", "b", "b", "c"] * 20)[:80]
    cases = TRUTH.sample(80, rng=0)
    table = pd.DataFrame(cases.features, columns=["u", "v", "w"]).assign(site=sites)
    estimate = fit_world(table, cases.outcomes)
    world = estimate.bootstrap(5).world_of(2)
    assert world.tests == ("u", "v", "w", "site")
    assert world.units == estimate.world.units


@pytest.mark.parametrize("missing", ["pairwise", SimpleImputer()], ids=str)
def test_gaps_make_it_less_sure(missing):
    cases = TRUTH.sample(400, rng=0)
    gaps = np.random.default_rng(1).random(cases.features.shape) < 0.3
    X = np.where(gaps, np.nan, cases.features)
    whole = fit_world(cases.features, cases.outcomes).bootstrap(100)
    gappy = fit_world(X, cases.outcomes, missing=missing).bootstrap(100)
    assert np.all(gappy.standard_errors > whole.standard_errors)


def test_replicates_that_cannot_be_estimated_are_counted():
    cases = TRUTH.sample(40, rng=0)
    X = cases.features.copy()
    X[6:, 0] = np.nan  # six values: a draw often has fewer than it takes
    drawn = fit_world(X, cases.outcomes).bootstrap(60)
    assert drawn.failed > 0
    assert drawn.failed + drawn.replicates == 60
    assert f"{drawn.failed} more could not be estimated" in drawn.summary()


def test_the_summary_has_a_row_for_each_column():
    estimate = fitted(names=["bmi", "bp", "s5"])
    lines = estimate.bootstrap(50).summary(0.9).splitlines()
    assert "90% interval" in lines[0]
    assert [line.split()[0] for line in lines[1:4]] == ["bmi", "bp", "s5"]


def test_what_cannot_be_meant():
    with pytest.raises(pr.InvalidInput, match="replicates: 1"):
        fitted().bootstrap(1)
    with pytest.raises(pr.InvalidInput, match=r"level: 1\.5"):
        fitted().bootstrap(5).coefficient_intervals(1.5)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(PLAIN, id="least squares", marks=pytest.mark.slow),
        pytest.param({}, id="defaults", marks=pytest.mark.full),
    ],
)
def test_intervals_cover_the_truth_at_their_rate(options):
    """200 tables; a 90% interval covers each coefficient in 90% of them, up to chance.

    Percentile intervals at 150 cases are known to cover a little less than they say, so two points
    are allowed for that besides four standard errors of the count.
    """
    tables, level, ends = 200, 0.9, (0.05, 0.95)
    covered = np.zeros(3)
    noise_covered, pairs_covered = 0, np.zeros((3, 3))
    for seed in range(tables):
        estimate = fitted(150, seed, **options)
        drawn = estimate.bootstrap(200, seed=seed)
        low, high = drawn.coefficient_intervals(level).T
        truth = TRUTH.coefficients * estimate.world.units.scales
        covered += (low <= truth) & (truth <= high)
        bottom, top = np.quantile(drawn.noise_variance, ends)
        noise_covered += bottom <= TRUTH.noise_variance <= top
        pairs = np.moveaxis(np.quantile(drawn.covariance, ends, axis=0), 0, -1)
        truth = TRUTH.covariance / np.outer(*[estimate.world.units.scales] * 2)
        pairs_covered += (pairs[..., 0] <= truth) & (truth <= pairs[..., 1])
    slack = 4 * stats.binom.std(tables, level) / tables
    assert np.all(np.abs(covered / tables - level) < slack + 0.02)
    assert abs(noise_covered / tables - level) < slack + 0.04
    # Ledoit-Wolf trades a little bias for less variance, and intervals do not know of the bias.
    assert np.all(np.abs(pairs_covered / tables - level) < slack + (0.02 if options else 0.06))
