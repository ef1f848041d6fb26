"""Intervals: those of a fine grid, and right as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

import preceptor as pr
from preceptor.evidence.axes import log_prior
from preceptor.evidence.designs import Rounds
from preceptor.evidence.refining import mixture
from preceptor.evidence.weighing import cells_of, weigh
from tests.evidence.playing import WORLD, played, someone


def test_a_mixture_has_the_quantiles_of_its_draws():
    shares, means, sds = np.array([0.2, 0.8]), np.array([-1.0, 2.0]), np.array([0.5, 1.0])
    found = mixture(shares, means, sds)
    under = [float(shares @ norm.cdf((end - means) / sds)) for end in found[1:]]
    assert_allclose(under, [0.025, 0.975], atol=1e-9)
    assert_allclose(found.mean, 1.4)


@pytest.mark.parametrize("name", ["geometric", "delta rule"])
def test_it_is_a_very_fine_grid(name):
    record = played(WORLD, someone(WORLD, "by outcomes", 1, rate=0.1), 60, 2)
    weighed = weigh(WORLD, record, families=["none", name])
    found = weighed.refined(name)
    setting = weighed.setting._replace(rounds=Rounds.of(record, np.linspace(0, 1, 9)))
    family = found.cells.family
    fine = np.linspace(np.log(0.004), np.log(0.69), 120)[:, None]
    weights = np.r_[0.5, np.ones(7), 0.5] / 8
    cells = cells_of(setting, family, fine, weights, held_out=False)
    shares = cells.posterior.sum(axis=0)
    assert_allclose(np.exp(shares @ fine[:, 0]), found.parameters["rate"].mean, rtol=0.02)
    ends = np.interp([0.025, 0.975], np.cumsum(shares) - 0.5 * shares, fine[:, 0])
    assert_allclose(np.exp(ends), found.parameters["rate"][1:], rtol=0.05)
    kappa = cells.posterior.sum(axis=1)
    assert_allclose(setting.rounds.dials @ kappa, found.imputation.mean, atol=0.02)
    assert 0.0 <= found.imputation.low < found.imputation.high <= 1.0


def test_two_parameters_at_once():
    record = played(WORLD, someone(WORLD, "by showings", 1, rate=0.2), 60, 2)
    found = weigh(WORLD, record, families=["floor"]).refined()
    assert set(found.parameters) == {"rate", "floor"}
    for low, high in (estimate[1:] for estimate in found.parameters.values()):
        assert 0.0 < low < high < 1.0
    assert np.isfinite(log_prior(found.cells.family.axes, found.cells.coordinates)).all()


def test_intervals_cover_at_their_rate():
    """People drawn from the prior; 4 standard errors around 95 %."""
    hits = {"rate": [], "scatter": [], "initial": []}
    for i in range(40):
        rng = np.random.default_rng([7, i])
        world = pr.World.equicorrelated(rng.normal(size=3) * 0.5, 0.5, 0.3)
        rate = float(np.clip(np.exp(np.log(0.05) + 1.1 * rng.normal()), 0.004, 0.5))
        scatter = float(np.exp(np.log(0.5) + 0.6 * rng.normal()))
        person = someone(world, "by outcomes", rng, rate=rate, kappa=1.0)
        record = played(world, person, 60, rng, scatter=scatter)
        weighed = weigh(world, record, families=["delta rule"], dials=(0.0, 1.0))
        for name, estimate, truth in (
            ("rate", weighed.refined().parameters["rate"], rate),
            ("scatter", weighed.scatter, scatter),
            *(("initial", *pair) for pair in zip(weighed.initial, person.initial, strict=True)),
        ):
            hits[name].append(estimate.low <= truth <= estimate.high)
    for name, found in hits.items():
        slack = 4.0 * np.sqrt(0.95 * 0.05 / len(found))
        assert abs(np.mean(found) - 0.95) < max(slack, 0.06), name


def test_bias_and_following_are_found():
    record = played(WORLD, pr.NoLearning([0.5, 0.2, 0.1]), 200, 5, scatter=0.2)
    shifted = record.answers + 0.5
    outcomes = record.outcomes
    for t in range(1, 200):
        shifted[t] += 0.4 * (outcomes[t - 1] - shifted[t - 1])
    moved = type(record)(WORLD, record.shown, record.values, shifted, outcomes, record.told)
    weighed = weigh(WORLD, moved, families=["none"], dials=(0.0,))
    assert weighed.bias.low < 0.5 < weighed.bias.high
    assert weighed.follow.low < 0.4 < weighed.follow.high
    assert weighed.follow.low > 0.2
