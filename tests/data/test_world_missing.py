"""Gaps must not be taken for noise, nor noise for gaps."""

import numpy as np
import pytest

from preceptor.data.world_fitting import fit_world
from tests.strategies import covariance


@pytest.mark.few(1)
@pytest.mark.parametrize(("rows", "gaps"), [(200, 0.1), (200, 0.3), (800, 0.3)])
def test_noise_is_not_underestimated_when_values_are_missing(rows, gaps):
    """Nine tenths of the variance explained; shrunken moments would find too little noise here."""
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(25):
        sigma = covariance(rng, 6)
        weights = rng.standard_normal(6)
        noise = float(weights @ sigma @ weights) / 9.0
        tests = rng.multivariate_normal(np.zeros(6), sigma, rows)
        outcome = tests @ weights + np.sqrt(noise) * rng.standard_normal(rows)
        tests[rng.random(tests.shape) < gaps] = np.nan
        ratios.append(fit_world(tests, outcome).world.noise_variance / noise)
    error = np.std(ratios, ddof=1) / 5.0
    assert np.mean(ratios) > 1.0 - 2.0 * error
    assert np.mean(ratios) < 1.35


def test_a_noise_that_is_mostly_guessed_is_said_to_be():
    rng = np.random.default_rng(1)
    tests = rng.multivariate_normal(np.zeros(3), np.eye(3), 300)
    outcome = tests @ [1.0, 1.0, 1.0] + 0.1 * rng.standard_normal(300)
    complete = fit_world(tests, outcome)
    tests[rng.random(tests.shape) < 0.2] = np.nan
    assert not any("rough estimate" in doubt for doubt in complete.doubts)
    assert any("rough estimate" in doubt for doubt in fit_world(tests, outcome).doubts)
