"""Moments of normalised steps: closed form, direct integration, an identity, drawn cases."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import dblquad, quad

from preceptor.errors import InvalidInput
from preceptor.people.normalised import normalised_moments


def covariance(k, seed=0):
    root = np.random.default_rng(seed).normal(size=(k, k))
    return root @ root.T + 0.1 * np.eye(k)


@pytest.mark.parametrize("constant", [1e-6, 0.01, 1.0, 30.0])
@pytest.mark.parametrize("variance", [0.05, 1.0, 40.0])
def test_one_test_by_direct_integration(variance, constant):
    moments = normalised_moments(np.array([[variance]]), constant)
    deviation = math.sqrt(variance)

    def expectation(f):
        # x = sinh(u) times the width of the peak at 0, so that it is seen however narrow it is
        width = min(deviation, math.sqrt(constant))
        last = math.asinh(12.0 * deviation / width)

        def integrand(u):
            x = width * math.sinh(u)
            density = math.exp(-0.5 * x * x / variance) / math.sqrt(2 * math.pi * variance)
            return f(x) * density * width * math.cosh(u)

        return 2.0 * quad(integrand, 0.0, last, epsabs=0.0, epsrel=1e-11, limit=400)[0]

    assert_allclose(moments.first[0, 0], expectation(lambda x: x**2 / (constant + x * x)), 1e-9)
    assert_allclose(
        moments.second[0, 0], expectation(lambda x: (x / (constant + x * x)) ** 2), 1e-9
    )
    assert_allclose(
        moments.fourth[0, 0], expectation(lambda x: (x * x / (constant + x * x)) ** 2), 1e-9
    )


def test_one_test_in_closed_form():
    for constant in (0.1, 1.0, 5.0):
        root = math.sqrt(constant / 2)
        tail = math.sqrt(math.pi) * root * math.exp(root**2) * math.erfc(root)
        assert_allclose(normalised_moments(np.eye(1), constant).first, [[1.0 - tail]], 1e-13)


def test_two_tests_by_direct_integration():
    matrix, constant = np.array([[1.0, 0.5], [0.5, 0.7]]), 0.8
    inverse, scale = np.linalg.inv(matrix), 1 / (2 * math.pi * math.sqrt(np.linalg.det(matrix)))

    def expectation(f):
        def density(y, x):
            z = np.array([x, y])
            return f(z, constant + x * x + y * y) * scale * math.exp(-0.5 * z @ inverse @ z)

        return dblquad(density, -8, 8, -8, 8, epsabs=1e-7, epsrel=1e-7)[0]

    moments = normalised_moments(matrix, constant)
    fourth = moments.fourth.reshape(2, 2, 2, 2)  # from entry (j, m) to entry (i, l)
    assert_allclose(moments.first[0, 1], expectation(lambda z, q: z[0] * z[1] / q), atol=1e-6)
    assert_allclose(moments.second[0, 0], expectation(lambda z, q: z[0] ** 2 / q**2), atol=1e-6)
    cross = expectation(lambda z, q: z[0] * z[0] * z[0] * z[1] / q**2)
    assert_allclose(fourth[0, 0, 0, 1], cross, atol=1e-6)
    assert_allclose(fourth[0, 1, 0, 0], cross, atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_x_times_its_squared_length_over_q_is_what_c_leaves(k):
    matrix, constant = covariance(k), 0.3
    moments = normalised_moments(matrix, constant)
    at_identity = (moments.fourth @ np.eye(k).ravel()).reshape(k, k)
    assert_allclose(at_identity, moments.first - constant * moments.second, atol=1e-13)


def test_drawn_cases():
    k, constant, people = 3, 0.4, 400_000
    matrix = covariance(k, seed=3)
    rng = np.random.default_rng(1)
    x = rng.multivariate_normal(np.zeros(k), matrix, size=people)
    q = constant + np.sum(x * x, axis=1)
    asked = rng.normal(size=(k, k))
    moments = normalised_moments(matrix, constant)
    outer = x[:, :, None] * x[:, None, :]
    samples = {
        "first": outer / q[:, None, None],
        "second": outer / q[:, None, None] ** 2,
        "fourth": outer * (np.einsum("pi,ij,pj->p", x, asked, x) / q**2)[:, None, None],
    }
    exact = {
        "first": moments.first,
        "second": moments.second,
        "fourth": (moments.fourth @ asked.ravel()).reshape(k, k),
    }
    for name, sample in samples.items():
        error = sample.std(axis=0) / math.sqrt(people)
        assert np.all(np.abs(sample.mean(axis=0) - exact[name]) < 4 * error), name


def test_nothing_shown_and_no_constant():
    assert normalised_moments(np.zeros((0, 0)), 1.0).fourth.shape == (0, 0)
    with pytest.raises(InvalidInput, match="constant: 0"):
        normalised_moments(np.eye(2), 0)
