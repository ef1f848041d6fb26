"""The model of an answer: derivatives, the linear part, and the curves behind the families."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, check_grad

from preceptor.errors import InvalidInput
from preceptor.estimation.learner_answers import Answers
from preceptor.estimation.learner_fit import fit_family
from preceptor.estimation.learner_model import FAMILIES, Model, chosen_families

from .answering import simulate, world_of

POINTS = {
    "none": [],
    "geometric": [0.08],
    "power-law": [0.4],
    "geometric-floor": [0.08, 0.21],
    "power-law-floor": [0.4, 0.33],
}


def a_model(family: str, *, imputation=None, biased=True, seed=0, rounds=40, **options) -> Model:
    world = world_of(3)
    rng = np.random.default_rng(seed)
    log = simulate(
        world,
        initial=[0.0, 2.0, -0.5],
        retention=lambda m: 1.1**-m,
        rng=rng,
        rounds=rounds,
        **options,
    )
    answers = Answers.of(world, log)
    free = np.any(answers.shown, axis=0)
    return Model(answers, FAMILIES[family], free, np.zeros(3), imputation, biased)


@pytest.mark.parametrize("name", FAMILIES)
def test_families_are_the_curves_they_become(name):
    family, point = FAMILIES[name], np.array(POINTS[name])
    counts = np.arange(60.0)
    curve = family.curve(point)
    assert_allclose(family.retention(point, counts), curve.retention(counts), rtol=1e-12)
    for parameter, value in zip(family.parameters, point, strict=True):
        known_as, natural = family.natural(parameter, float(value))
        assert_allclose(getattr(curve, known_as), natural)


@pytest.mark.parametrize("name", FAMILIES)
def test_slopes_of_retention_are_derivatives(name):
    family, point = FAMILIES[name], np.array(POINTS[name])
    for count in (0.0, 1.0, 7.0, 50.0):
        slopes = [float(s) for s in family.slopes(point, np.array(count))]
        numeric = approx_fprime(point, lambda p, c=count: float(family.retention(p, np.array(c))))
        assert_allclose(slopes, np.atleast_1d(numeric)[: len(slopes)], atol=1e-6)


def test_unknown_families_are_named():
    with pytest.raises(InvalidInput, match="'cubic' is not known; known are none, geometric"):
        chosen_families(["cubic"])


@pytest.mark.parametrize("dial", [0.0, 0.4, 1.0])
def test_filling_in_is_the_conditional_mean_and_its_derivative(dial):
    answers = a_model("none").answers
    filled, slope = answers.imputed(dial)
    sigma = answers.world.covariance

    def by_hand(row: int, kappa: float) -> np.ndarray:
        omega = (1 - kappa) * sigma + kappa * np.diag(np.diag(sigma))
        seen = np.flatnonzero(answers.shown[row])
        weights = omega[:, seen] @ np.linalg.inv(omega[np.ix_(seen, seen)])
        return weights @ answers.features[row, seen]

    step = 1e-6
    for row in range(len(answers)):
        assert_allclose(filled[row], by_hand(row, dial), atol=1e-12)
        numeric = (by_hand(row, dial + step) - by_hand(row, dial - step)) / (2 * step)
        assert_allclose(slope[row], numeric, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("biased", [True, False])
def test_the_jacobian_is_the_derivative_of_the_mean(name, biased):
    model = a_model(name, biased=biased)
    point = np.array([*POINTS[name], 0.3])
    initial = np.array([0.3, 1.2, -0.4])
    linear = np.append(0.5, initial) if biased else initial

    def mean(parameters):
        bias = parameters[0] if biased else 0.0
        cut = len(parameters) - len(point)
        return model.mean(bias, parameters[int(biased) : cut], parameters[cut:])

    whole = np.concatenate([linear, point])
    steps = np.eye(whole.size) * 1e-6
    numeric = np.stack([(mean(whole + s) - mean(whole - s)) / 2e-6 for s in steps], axis=1)
    assert_allclose(model.jacobian(initial, point), numeric, atol=1e-7)
    assert len(model.names) == whole.size


@pytest.mark.parametrize("name", FAMILIES)
def test_the_gradient_with_the_linear_part_eliminated_is_exact(name):
    model = a_model(name)

    def half_squares(point):
        residuals = model.solve(point).residuals
        return 0.5 * float(residuals @ residuals)

    def gradient(point):
        at = model.solve(point)
        columns = at.slopes - at.basis @ (at.basis.T @ at.slopes)
        return -columns.T @ at.residuals

    point = np.array([*POINTS[name], 0.3])
    assert check_grad(half_squares, gradient, point) < 1e-4 * (1 + np.abs(gradient(point)).max())


def test_the_linear_part_is_ordinary_least_squares():
    linear_model = pytest.importorskip("sklearn.linear_model")
    model = a_model("geometric", imputation=0.2)
    point = np.array([0.1])
    solved = model.solve(point)
    target = model.answers.answers - model.mean(0.0, np.zeros(3), point)
    theirs = linear_model.LinearRegression().fit(model.design(point)[:, 1:], target)
    assert_allclose(solved.initial, theirs.coef_, rtol=1e-9)
    assert_allclose(solved.bias, theirs.intercept_, atol=1e-9)


@pytest.mark.parametrize("name", ["geometric", "power-law", "geometric-floor", "power-law-floor"])
def test_no_point_of_a_fine_grid_is_better(name):
    model = a_model(name, imputation=0.0)
    fit = fit_family(model)
    grid = [np.array([rate]) for rate in np.linspace(0.0, 2.0, 81)]
    if "floor" in model.family.parameters:
        grid = [np.append(rate, f) for rate in grid for f in np.linspace(0.0, 0.9, 19)]
    least = min(float(np.sum(model.solve(point).residuals ** 2)) for point in grid)
    assert fit.rss <= least * (1 + 1e-9)


def test_akaike_and_likelihood_follow_their_definitions():
    from scipy.stats import norm

    fit = fit_family(a_model("geometric"))
    rows = len(fit.model.answers)
    likelihood = norm.logpdf(fit.residuals, scale=np.sqrt(fit.rss / rows)).sum()
    assert_allclose(fit.log_likelihood, likelihood)
    assert fit.parameters == 1 + 3 + 1 + 1  # bias, coefficients, rate, imputation
    assert_allclose(fit.aic, 2 * (fit.parameters + 1) - 2 * likelihood)


def test_answers_without_noise_are_fitted_exactly():
    model = a_model("geometric", dial=0.3, bias=0.7, noise=0.0)
    fit = fit_family(model)
    assert_allclose(fit.point, [np.log(1.1), 0.3], atol=1e-6)
    assert_allclose(fit.initial, [0.0, 2.0, -0.5], atol=1e-6)
    assert_allclose(fit.bias, 0.7, atol=1e-6)
    assert np.isfinite(fit.aic)
