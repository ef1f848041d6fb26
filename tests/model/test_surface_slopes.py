"""Slopes of tabulated charges are those of the charges."""

import numpy as np
import pytest

import preceptor as pr
from preceptor.model._loss_kernels import pair_charge, pair_slopes
from preceptor.model.surfaces import surface_of
from tests.doors import door

pair_charge, pair_slopes = door(pair_charge), door(pair_slopes)

RISKS = [pr.Decision(), pr.Decision(5.0, 1.0), pr.Brier(), pr.LogLoss()]


@pytest.mark.parametrize("risk", RISKS, ids=["equal", "unequal", "Brier", "log loss"])
@pytest.mark.parametrize("prevalence", [0.5, 0.2])
def test_slopes_are_differences_of_charges(risk, prevalence):
    world = pr.World([1.0, -0.7], [[1.0, 0.3], [0.3, 1.0]], outcome=pr.Binary(prevalence))
    charge = surface_of(world, risk).compiled
    rng, spread = np.random.default_rng(2), world.score_variance
    for _ in range(40):
        own = float(rng.uniform(0.05, 4.0))
        shared = float(rng.uniform(-0.9, 0.9) * np.sqrt(own * spread))
        by_shared, by_own = pair_slopes(charge.numbers, charge.surface, shared, own)
        for slope, move in ((by_shared, (1e-5, 0.0)), (by_own, (0.0, 1e-5))):
            up, down = (
                pair_charge(charge.numbers, charge.surface, shared + s * move[0], own + s * move[1])
                for s in (1.0, -1.0)
            )
            assert slope == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-5)
