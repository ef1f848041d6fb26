"""Answers with slips, and choices: close to what sums over all weights give."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp, ndtr
from scipy.stats import norm
from scipy.stats import t as student

from preceptor.errors import InvalidInput
from preceptor.learners._evidence_kernels import likeliest
from preceptor.learners.posterior import Choices, StudentT
from preceptor.learners.records import Record
from preceptor.learners.weighing import weigh
from tests.learners.playing import WORLD, played, someone


def by_sums(log_density, rows, known):
    """The integral over two coefficients and a width, on a dense grid."""
    side = np.linspace(-4, 4, 61)
    theta = np.stack([grid.ravel() for grid in np.meshgrid(side, side)])
    prior = -0.5 * (theta**2).sum(axis=0) - np.log(2 * np.pi) + 2 * np.log(side[1] - side[0])
    mean = known[:, None] + rows @ theta
    widths = np.linspace(np.log(0.03), np.log(4.0), 30)
    logs = [logsumexp(log_density(mean, np.exp(u)).sum(axis=0) + prior) for u in widths]
    return logsumexp(logs + norm.logpdf(widths, np.log(0.5), 0.6)) + np.log(widths[1] - widths[0])


@pytest.mark.parametrize("seed", range(3))
def test_slips_are_close_to_a_sum_over_all_weights(seed):
    rng = np.random.default_rng(seed)
    rows, known = 0.5 * rng.normal(size=(1, 18, 2)), 0.3 * rng.normal(size=(1, 18))
    answers = known[0] + rows[0] @ [0.7, -1.0] + 0.3 * rng.standard_t(3, size=18)
    answers[3] += 4.0
    found = StudentT().integrate(rows, known, answers)
    at_top = student.logpdf(0.0, 4.0)

    def log_density(mean, width):
        off = (answers[:, None] - mean) / width
        return at_top - np.log(width) - 2.5 * np.log1p(off**2 / 4.0)

    truth = by_sums(log_density, rows[0], known[0])
    assert_allclose(found.log_evidence[0], truth, atol=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_choices_are_close_to_a_sum_over_all_weights(seed):
    rng = np.random.default_rng(seed)
    rows, known = rng.normal(size=(1, 30, 2)), 0.3 * rng.normal(size=(1, 30))
    answers = (rng.random(30) < ndtr((known[0] + rows[0] @ [0.5, -0.5]) / 0.3)).astype(float)
    found = Choices().integrate(rows, known, answers)

    def log_density(mean, width):
        return log_ndtr((2.0 * answers[:, None] - 1.0) * mean / width)

    truth = by_sums(log_density, rows[0], known[0])
    assert_allclose(found.log_evidence[0], truth, atol=0.1)


@pytest.mark.parametrize("choices", [False, True])
def test_the_likeliest_weights_are_those_of_a_general_optimiser(choices):
    rng = np.random.default_rng(1)
    rows, known = rng.normal(size=(2, 25, 3)), 0.3 * rng.normal(size=(2, 25))
    answers = known[0] + rows[0] @ [0.7, -1.0, 0.2] + 0.3 * rng.standard_t(3, size=25)
    answers = (answers > 0).astype(float) if choices else answers
    log_widths = np.log([[0.9, 0.3], [0.8, 0.4]])
    theta, logs, bends = np.zeros((2, 3)), np.empty((2, 2)), np.empty((2, 3, 3))
    likeliest(choices, 4.0, rows, known, answers, log_widths, theta, logs, bends)
    for cell in range(2):
        width = np.exp(log_widths[cell, -1])

        def height(at, cell=cell, width=width):
            mean = known[cell] + rows[cell] @ at
            if choices:
                total = np.sum(log_ndtr((2.0 * answers - 1.0) * mean / width))
            else:
                total = np.sum(-np.log(width) - 2.5 * np.log1p(((answers - mean) / width) ** 2 / 4))
            return -float(total - 0.5 * at @ at)

        top = minimize(height, np.zeros(3), tol=1e-12)
        assert_allclose(theta[cell], top.x, atol=0.02)
        steps = 1e-3 * np.eye(3)
        bend = [
            [
                (height(top.x + a + b) - height(top.x + a - b) - height(top.x - a + b)
                 + height(top.x - a - b)) / 4e-6
                for a in steps
            ]
            for b in steps
        ]  # fmt: skip
        assert_allclose(bends[cell], bend, rtol=0.1, atol=0.3)
        log_evidence = -top.fun - 0.5 * np.linalg.slogdet(bend)[1]
        assert_allclose(logs[cell, -1], log_evidence, atol=0.03)


def test_with_slips_t_answers_are_likelier_and_kinds_still_found():
    person = someone(WORLD, "by outcomes", 5, rate=0.1, kappa=1.0)
    record = played(WORLD, person, 80, 6, scatter=0.15)
    answers = record.answers.copy()
    answers[::11] += np.where(np.arange(answers[::11].size) % 2, 1, -1) * 3.0
    slipped = Record(WORLD, record.shown, record.values, answers, record.outcomes, record.told)
    few = {"families": ["none", "geometric", "delta rule"], "dials": (0.0, 1.0)}
    normal, heavy = (weigh(WORLD, slipped, answers=name, **few) for name in ("gaussian", "t"))
    assert heavy.log_evidence["delta rule"] > normal.log_evidence["delta rule"] + 5
    assert heavy.groups["by outcomes"] > 0.9
    assert heavy.scatter.mean < normal.scatter.mean


def test_choices_tell_kinds_too():
    rng = np.random.default_rng(3)
    person = someone(WORLD, "by outcomes", 9, rate=0.15, kappa=1.0)
    record = played(WORLD, person, 300, 6, scatter=0.15)
    chosen = (record.answers > 0).astype(float)
    chosen[rng.random(300) < 0.02] = 0.0
    choices = Record(WORLD, record.shown, record.values, chosen, record.outcomes, record.told)
    few = {"families": ["none", "geometric", "delta rule"], "dials": (0.0, 1.0)}
    weighed = weigh(WORLD, choices, answers="choices", **few)
    assert weighed.group == "by outcomes"
    with pytest.raises(InvalidInput, match="choices must be 0 or 1"):
        weigh(WORLD, record, answers="choices")
