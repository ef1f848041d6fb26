"""Intervals: those of a fine grid, and right as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

import preceptor as pr
from preceptor.learners.evidence_cells import mixture
from preceptor.learners.weighing import weigh
from tests.learners.playing import played, someone


def test_a_mixture_has_the_quantiles_of_its_draws():
    shares, means, sds = np.array([0.2, 0.8]), np.array([-1.0, 2.0]), np.array([0.5, 1.0])
    found = mixture(shares, means, sds)
    under = [float(shares @ norm.cdf((end - means) / sds)) for end in found[1:]]
    assert_allclose(under, [0.025, 0.975], atol=1e-9)
    assert_allclose(found.mean, 1.4)


@pytest.mark.full
def test_intervals_cover_at_their_rate():
    """People drawn from the prior; 4 standard errors around 95 %."""
    hits = {"scatter": [], "initial": []}
    for i in range(40):
        rng = np.random.default_rng([7, i])
        world = pr.World.equicorrelated(rng.normal(size=3) * 0.5, 0.5, 0.3)
        rate = float(np.clip(np.exp(np.log(0.05) + 1.1 * rng.normal()), 0.004, 0.5))
        scatter = float(np.exp(np.log(0.5) + 0.6 * rng.normal()))
        person = someone(world, "by outcomes", rng, rate=rate, kappa=1.0)
        record = played(world, person, 60, rng, scatter=scatter)
        weighed = weigh(world, record, families=["delta rule"], dials=(0.0, 1.0))
        for name, estimate, truth in (
            ("scatter", weighed.scatter, scatter),
            *(("initial", *pair) for pair in zip(weighed.initial, person.initial, strict=True)),
        ):
            hits[name].append(estimate.low <= truth <= estimate.high)
    for name, found in hits.items():
        slack = 4.0 * np.sqrt(0.95 * 0.05 / len(found))
        assert abs(np.mean(found) - 0.95) < max(slack, 0.06), name
