"""Risks: closed forms against numerical integration, kernels against both."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats

import preceptor as pr
from preceptor.loss._loss_kernels import expected_risk
from tests.strategies import risks

variances = st.floats(1e-6, 1e3)


def by_integration(risk, variance):
    sd = math.sqrt(variance)
    points = [-risk.threshold / sd, risk.threshold / sd] if isinstance(risk, pr.Huber) else [0.0]
    edges = sorted({-12.0, 12.0, *(min(max(p, -12.0), 12.0) for p in points)})

    def weighed(z):
        return float(risk.charge(np.array(sd * z))) * stats.norm.pdf(z)

    return sum(integrate.quad(weighed, *ends, epsabs=1e-13)[0] for ends in pairwise(edges))


@given(risks, variances)
def test_expected_charge_of_a_normal_residual(risk, variance):
    assert_allclose(risk.expected(variance), by_integration(risk, variance), rtol=1e-8)
    assert_allclose(expected_risk(risk.code, risk.parameter, variance), risk.expected(variance))


@given(risks, variances)
def test_quadrature_of_any_function_agrees_with_closed_forms(risk, variance):
    kinks = [0.0, -risk.parameter, risk.parameter]
    own = pr.ResidualRisk(risk.charge, kinks)
    assert_allclose(own.expected(variance), risk.expected(variance), rtol=1e-11)
    assert own.is_increasing


def test_no_residual_costs_nothing():
    for risk in (pr.SquaredError(), pr.Huber(1.0), pr.AbsoluteError()):
        assert risk.expected(0.0) == 0.0
        assert expected_risk(risk.code, risk.parameter, 0.0) == 0.0


def test_shapes_are_kept():
    grid = np.ones((2, 3))
    for risk in (pr.Huber(0.5), pr.ResidualRisk(np.abs)):
        assert risk.expected(grid).shape == (2, 3)
        assert np.shape(risk.expected(1.0)) == ()


def test_a_risk_that_falls_with_variance_is_noticed():
    assert not pr.ResidualRisk(lambda r: np.exp(-r * r)).is_increasing


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pr.Huber(0.0), "threshold: 0.0"),
        (lambda: pr.ResidualRisk(lambda r: 1.0), "elementwise"),
        (lambda: pr.ResidualRisk(lambda r: r), "at least 0"),
    ],
)
def test_faults(make, words):
    with pytest.raises(pr.InvalidProblem, match=words):
        make()


def test_a_function_cannot_go_to_a_file():
    with pytest.raises(pr.NotSerializable, match="cannot be written to a file"):
        pr.ResidualRisk(np.abs).to_json()
