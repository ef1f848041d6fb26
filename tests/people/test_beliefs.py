"""First beliefs: against regressions on drawn cases, and against every other size."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.people.beliefs import BELIEFS, equal_weights, marginal_weights, novice

RNG = np.random.default_rng(5)
ROOT = RNG.normal(size=(4, 4))
WORLD = pr.World([1.0, -0.7, 0.5, 0.3], ROOT @ ROOT.T + 0.3 * np.eye(4), 0.2)


def miss(weights):
    """Error variance of somebody who sees every test and weighs them so."""
    off = WORLD.coefficients - weights
    return float(off @ WORLD.covariance @ off)


def test_a_novice_predicts_the_average():
    assert novice(WORLD).tolist() == [0.0] * 4


def test_marginal_weights_are_slopes_of_one_test_alone():
    cases = WORLD.sample(200_000, rng=1)
    slopes = [np.polyfit(x, cases.outcomes, 1)[0] for x in cases.features.T]
    assert np.allclose(marginal_weights(WORLD), slopes, atol=0.02)
    diagonal = pr.World([1.0, -2.0], np.diag([4.0, 9.0]))
    assert np.allclose(marginal_weights(diagonal), diagonal.coefficients)


def test_equal_weights_are_equal_and_of_the_best_size():
    weights = equal_weights(WORLD)
    standardised = weights * np.sqrt(np.diag(WORLD.covariance))
    assert np.ptp(np.abs(standardised)) == pytest.approx(0.0, abs=1e-12)
    assert np.array_equal(np.sign(weights), np.sign(WORLD.covariance @ WORLD.coefficients))
    best = miss(weights)
    assert all(miss(factor * weights) > best for factor in (0.9, 0.99, 1.01, 1.1))


def test_beliefs_have_names():
    assert list(BELIEFS) == ["zero", "equal", "marginal"]
