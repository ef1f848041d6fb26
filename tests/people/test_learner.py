"""Learners: the belief path of the paper, and ways to impute."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import preceptor as pr
from tests.strategies import curves


@given(
    st.lists(curves, min_size=3, max_size=3), st.lists(st.integers(0, 30), min_size=3, max_size=3)
)
def test_squared_error_shrinks_by_phi_and_keeps_its_sign(several, counts):
    world = pr.World([1.0, -2.0, 0.5], np.eye(3))
    learner = pr.Learner([0.0, 1.0, 2.0], several)
    now = world.coefficients - learner.beliefs(world, counts)
    first = world.coefficients - learner.initial
    shares = [float(c.phi(m)) for c, m in zip(several, counts, strict=True)]
    assert_allclose(now**2, np.array(shares) * first**2, atol=1e-300)
    assert np.all(now * first >= 0)
    assert_allclose(learner.errors(world, np.array([counts, counts]))[1], now)


def test_the_dial_joins_both_papers():
    world = pr.World([1.0, 1.0], [[1.0, 0.8], [0.8, 2.0]])

    def imputes(kappa):
        return pr.Learner([0, 0], pr.OneShot(), kappa).imputing_covariance(world)

    assert_allclose(imputes(0.0), world.covariance)
    assert_allclose(imputes(1.0), np.diag([1.0, 2.0]))
    assert_allclose(imputes(0.5)[0, 1], 0.4)
    own = [[1.0, -0.2], [-0.2, 1.0]]
    assert_allclose(pr.Learner([0, 0], pr.OneShot(), own).imputing_covariance(world), own)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0, np.nan], pr.OneShot()), "initial: nan at 1"),
        (([0.0, 1.0], [pr.OneShot()]), "1 curves for 2 tests"),
        (([0.0], "fast"), "not a curve|curves for"),
        (([0.0, 1.0], pr.OneShot(), 1.5), "imputation: 1.5"),
        (([0.0, 1.0], pr.OneShot(), [[1.0, 2.0], [2.0, 1.0]]), "imputation: smallest eigenvalue"),
    ],
)
def test_faults(arguments, words):
    with pytest.raises(pr.InvalidProblem, match=words):
        pr.Learner(*arguments)
