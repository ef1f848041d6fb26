"""Risks: closed forms against numerical integration, kernels against both."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats
from scipy.special import ndtr

import preceptor as pr
from preceptor.model._loss_kernels import expected_risk
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


STEEP = {
    "exp": (lambda r: np.expm1(np.abs(r)), lambda v: 2 * np.exp(v / 2) * ndtr(np.sqrt(v)) - 1),
    "cosh": (lambda r: np.cosh(r) - 1.0, lambda v: np.expm1(v / 2)),
    "power": (lambda r: np.abs(r) ** 200.0, None),
}


@pytest.mark.parametrize("name", STEEP)
def test_charges_may_outgrow_all_numbers(name):
    """Probes reach residuals of 1,200, where these overflow; that they grow is still known."""
    function, exact = STEEP[name]
    risk = pr.ResidualRisk(function)
    assert risk.is_increasing
    assert np.isposinf(risk.expected(1e8))
    assert risk.deviation_slope(1e5) == np.inf
    if exact is not None:
        v = np.array([0.01, 0.5, 2.0, 9.0])
        assert_allclose(risk.expected(v), exact(v), rtol=1e-10)


def test_what_falls_beyond_all_numbers_is_not_increasing():
    assert not pr.ResidualRisk(lambda r: np.exp(-np.abs(r))).is_increasing
    hump = pr.ResidualRisk(lambda r: np.where(np.abs(r) < 3, 10.0 * np.abs(r), np.exp(np.abs(r))))
    assert pr.ResidualRisk(lambda r: np.minimum(np.exp(np.abs(r)), 5.0)).is_increasing
    assert hump.is_increasing


def test_a_steep_risk_has_a_plan_and_a_bound():
    world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    learner = pr.Learner([0.2, 1.3], pr.Geometric(1.4))
    problem = pr.Problem(world, learner, 1, 0.9, risk=pr.ResidualRisk(STEEP["cosh"][0]))
    plan = pr.solve(problem, "lattice")
    assert 0.0 < plan.lower_bound <= plan.value < np.inf
    assert plan.gap < 1e-5
