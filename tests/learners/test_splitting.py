"""Boxes are split until sums over them are integrals that are known in closed form."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from preceptor.learners.evidence_cells import EvidenceCells, split_where_narrow
from preceptor.learners.families import FAMILIES, GridAxis, grid_boxes, log_prior

# Uniform in the logarithm, from 0 to 4 and from 0 to 3.
WIDE = GridAxis("one", 1.0, float(np.exp(4.0)), 8)
NARROW = GridAxis("other", 1.0, float(np.exp(3.0)), 5)


def on_boxes(axes, log_likelihood):
    """A family whose evidence is given, and the cells it begins with."""
    family = dataclasses.replace(FAMILIES["none"], axes=axes)

    def evaluate(at, widths):
        logs = np.atleast_2d(log_likelihood(at))
        nothing = np.zeros((*logs.shape, 1))
        prior = log_prior(axes, at, widths) - np.log(len(logs)) + np.zeros_like(logs)
        return EvidenceCells(family, at, widths, np.arange(float(len(logs))), prior, logs, logs,
                     nothing, nothing, nothing, nothing)  # fmt: skip

    return evaluate(*grid_boxes(axes)), evaluate


def split(axes, log_likelihood):
    return split_where_narrow(*on_boxes(axes, log_likelihood))


def test_boxes_still_cover_the_range_once():
    cells = split((WIDE, NARROW), lambda at: -0.5 * np.sum((at - [1.3, 2.2]) ** 2, axis=1) / 4e-4)
    assert len(cells.coordinates) > 60
    assert_allclose(np.prod(cells.widths, axis=1).sum(), 12.0)
    starts, ends = (cells.coordinates + side * cells.widths for side in (-0.5, 0.5))
    points = np.random.default_rng(0).uniform([0.0, 0.0], [4.0, 3.0], (500, 2))
    inside = np.all((points[:, None] >= starts) & (points[:, None] < ends), axis=2)
    assert np.all(inside.sum(axis=1) == 1)


@pytest.mark.parametrize("sd", [1e-3, 0.01, 0.1, 0.3])
@pytest.mark.parametrize("at", [0.0, 0.01, 0.5, 1.0, 1.26, 3.9])
def test_a_bell_anywhere_even_at_an_edge(at, sd):
    cells = split((WIDE,), lambda x: norm.logpdf(x[:, 0], at, sd))
    exact = np.log((norm.cdf(4.0, at, sd) - norm.cdf(0.0, at, sd)) / 4.0)
    assert_allclose(cells.total, exact, atol=0.08)


@pytest.mark.parametrize("correlation", [0.0, 0.7, -0.95, 0.99])
@pytest.mark.parametrize("sd", [0.01, 0.1])
def test_a_ridge_across_two_axes(sd, correlation):
    """As heavy in its tails as the evidence of eighty answers whose scatter is not known."""
    spread, answers = np.array([sd, 1.5 * sd]), 80
    inverse = np.linalg.inv([[1.0, correlation], [correlation, 1.0]])
    volume = 2.0 * np.pi * np.prod(spread) * np.sqrt(1.0 - correlation**2)
    exact = np.log(volume * answers / (answers - 2) / 12.0)
    rng = np.random.default_rng(0)
    for _ in range(10):
        centre = rng.uniform([1.0, 1.0], [3.0, 2.0])

        def log_likelihood(at, centre=centre):
            away = (at - centre) / spread
            squares = np.einsum("pi,ij,pj->p", away, inverse, away)
            return -0.5 * answers * np.log1p(squares / answers)

        assert_allclose(split((WIDE, NARROW), log_likelihood).total, exact, atol=0.15)


def test_only_the_axis_that_is_narrow_is_split():
    cells = split((WIDE, NARROW), lambda at: -0.5 * (at[:, 0] - 1.3) ** 2 / 1e-4)
    assert cells.widths[:, 1].min() >= 0.5 * NARROW.step  # one split shows that it is wide
    assert cells.widths[:, 0].min() < 0.02


def test_each_imputation_has_its_own_peak():
    peaks = np.array([0.7, 3.2])
    cells = split((WIDE,), lambda at: norm.logpdf(at[:, 0], peaks[:, None], 0.01))
    assert_allclose(cells.posterior.sum(axis=1), [0.5, 0.5], atol=0.02)
    assert_allclose(cells.total, np.log(1.0 / 4.0), atol=0.02)


def test_wide_posteriors_are_left_alone():
    for axes in ((), (WIDE,), (WIDE, NARROW)):
        before, evaluate = on_boxes(axes, lambda at: -0.5 * np.sum((at - 1.7) ** 2, axis=1))
        assert split_where_narrow(before, evaluate) is before


def test_where_errors_run_away_nothing_is_split():
    before, evaluate = on_boxes((WIDE,), lambda at: np.full(len(at), -np.inf))
    assert split_where_narrow(before, evaluate) is before
    cells = split((WIDE,), lambda at: np.where(at[:, 0] < 1.0, 0.0, -np.inf))
    assert_allclose(cells.total, np.log(0.25), atol=0.08)
