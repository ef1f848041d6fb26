"""`preceptor study power` of every template, against a simulation that shares no code with it."""

from __future__ import annotations

import math

import pytest

from preceptor.live.study.registration import template_names
from tests.live.study.independent_power import SIZES, independent, registered

# Seeds, simulations of each, and studies or (where a tutor decides) places.
FEW = {"adaptive-or-plan": (4, 50, 60), "deskilling": (4, 50, 60), "decisive": (8, 10, 40)}


def test_every_template_is_compared():
    assert set(SIZES) == set(template_names())


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_power_is_that_of_an_independent_simulation(name):
    seeds, simulations, studies = FEW.get(name, (12, 20, 100))
    said, off = registered(name, seeds, simulations)
    found, wide = independent(name, studies)
    # Errors of a few seeds are rough, so at least that of a share of all simulations.
    off = max(off, math.sqrt(0.25 / (seeds * simulations)))
    assert said == pytest.approx(found, abs=3.5 * math.hypot(off, wide))
