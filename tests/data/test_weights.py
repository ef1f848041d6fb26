"""Weights whose sign is not that of the plain correlation."""

import numpy as np
from numpy.testing import assert_allclose

from preceptor.data.world_fitting import fit_world
from tests.data.tables import said


def near_copies(gaps: float = 0.0):
    rng = np.random.default_rng(0)
    size = rng.normal(size=500)
    radius, area = size + 0.15 * rng.normal(size=500), size + 0.15 * rng.normal(size=500)
    y = 2.0 * radius - 0.8 * area + 0.4 * rng.normal(size=500)
    X = np.column_stack([radius, area, rng.normal(size=500)]) * 10.0 + 100.0
    X[rng.random(X.shape) < gaps] = np.nan
    return fit_world(X, y, names=["radius", "area", "noise"], outcome="cancer"), X, y


def test_correlations_are_plain_ones_also_with_gaps():
    for gaps in (0.0, 0.2):
        fitted, X, y = near_copies(gaps)
        for column, found in zip(X.T, fitted.outcome_correlations, strict=True):
            known = ~np.isnan(column)
            assert_allclose(found, np.corrcoef(column[known], y[known])[0, 1], rtol=1e-9)


def test_signs_that_disagree_are_listed_and_doubted():
    fitted, _, _ = near_copies()
    [found] = fitted.signs_that_disagree
    assert found.name == "area"
    assert found.weight == fitted.world.coefficients[1] < 0 < found.correlation
    assert found.correlation == fitted.outcome_correlations[1]
    doubt = said(fitted.doubts, "area (weight -0.", "opposite sign", "correlation with cancer")
    assert doubt in fitted.warnings
    assert doubt.split(":")[0] in " ".join(fitted.summary().split())


def test_weights_are_called_estimated():
    fitted, _, _ = near_copies()
    assert "estimated weight of 1 sd" in fitted.summary()
    assert "estimated weight of 1 sd" in fitted.bootstrap(3).summary()


def test_signs_of_chance_are_left_alone():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 5))
    assert fit_world(X, X[:, 0] + rng.normal(size=100)).signs_that_disagree == ()
