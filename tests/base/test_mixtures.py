"""Quantiles of mixtures against draws and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from preceptor._base.numerics import mixture_quantiles


def test_one_part_is_a_normal() -> None:
    found = mixture_quantiles(np.ones(1), np.array([2.0]), np.array([9.0]), (0.025, 0.5))
    assert found == pytest.approx(norm(2.0, 3.0).ppf([0.025, 0.5]))


def test_a_mixture_has_the_share_below_that_was_asked_for() -> None:
    weights, means = np.array([0.2, 0.5, 0.3]), np.array([-1.0, 0.0, 4.0])
    variances = np.array([0.1, 2.0, 0.5])
    for level in (0.01, 0.3, 0.9):
        at = mixture_quantiles(weights, means, variances, (level,))[0]
        assert weights @ norm.cdf(at, means, np.sqrt(variances)) == pytest.approx(level)


def test_points_are_steps() -> None:
    found = mixture_quantiles(np.array([0.5, 0.5]), np.array([0.0, 1.0]), np.zeros(2), (0.25, 0.75))
    assert found == pytest.approx([0.0, 1.0], abs=1e-9)
