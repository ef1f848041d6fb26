"""What a plan for several people minimises, against sums written out by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preceptor.planning.objectives import Cost, CVaR, MeanRatio, Regret

BEST = np.array([2.0, 5.0, 1.0])
WEIGHTS = np.array([0.5, 0.3, 0.2])


@pytest.fixture
def costs():
    return BEST * (1 + np.random.default_rng(0).random((20, 3)))


def tail_mean(ratios, weights, level):
    """CVaR as its definition has it: the least over a of a + E[excess over a] / (1 - level)."""
    return min(
        a + sum(w * max(r - a, 0) for w, r in zip(weights, ratios, strict=True)) / (1 - level)
        for a in ratios
    )


def test_values_are_what_they_say(costs):
    ratios = costs / BEST
    assert_allclose(Cost().value(costs[:, :1]), costs[:, 0])
    assert_allclose(MeanRatio(WEIGHTS, BEST).value(costs), ratios @ WEIGHTS)
    assert_allclose(Regret(BEST).value(costs), ratios.max(axis=1) - 1)
    for level in (0.0, 0.35, 0.8, 0.95):
        expected = [tail_mean(row, WEIGHTS, level) for row in ratios]
        assert_allclose(CVaR(WEIGHTS, BEST, level).value(costs), expected)


@pytest.mark.parametrize(
    "objective", [MeanRatio(WEIGHTS, BEST), Regret(BEST), Regret(BEST, 30.0), CVaR(WEIGHTS, BEST)]
)
def test_one_plan_and_many_agree(objective, costs):
    assert_allclose(objective.value(costs), [objective.value(row) for row in costs])


def test_cvar_goes_from_the_mean_to_the_worst(costs):
    assert_allclose(CVaR(WEIGHTS, BEST, 0.0).value(costs), MeanRatio(WEIGHTS, BEST).value(costs))
    assert_allclose(CVaR(WEIGHTS, BEST, 0.999).value(costs), Regret(BEST).value(costs) + 1)


def test_smooth_regret_comes_down_to_the_worst(costs):
    worst, gaps = Regret(BEST).value(costs), []
    for sharpness in (5.0, 50.0, 500.0):
        smooth = Regret(BEST, sharpness).value(costs)
        assert np.all(smooth >= worst)
        assert np.all(smooth <= worst + np.log(3) / sharpness + 1e-12)
        gaps.append(np.max(smooth - worst))
    assert gaps[0] > gaps[1] > gaps[2]


def test_stages_end_with_the_objective_itself(costs):
    for objective in (MeanRatio(WEIGHTS, BEST), Regret(BEST), CVaR(WEIGHTS, BEST)):
        assert objective.stages(costs[0])[-1] is objective
    sharp = [stage.sharpness for stage in Regret(BEST).stages(costs[0])]
    assert sharp == sorted(sharp)


def test_somebody_who_costs_infinitely_much_is_infinitely_bad():
    endless = np.array([[2.0, np.inf, 1.0], [2.0, 5.0, 1.0]])
    for objective in (
        Regret(BEST),
        Regret(BEST, 20.0),
        MeanRatio(WEIGHTS, BEST),
        CVaR(WEIGHTS, BEST),
    ):
        first, second = objective.value(endless)
        assert first == np.inf
        assert np.isfinite(second)
    assert MeanRatio(np.array([1.0, 0.0, 1.0]), BEST).value(endless[0]) == pytest.approx(1.0)


def test_scales_of_people_do_not_matter(costs):
    """In other units for one person, everything stays as it is."""
    units = np.array([1.0, 1000.0, 1e-3])
    for make in (Regret, lambda b: MeanRatio(WEIGHTS, b), lambda b: CVaR(WEIGHTS, b)):
        assert_allclose(make(BEST).value(costs), make(BEST * units).value(costs * units))


def test_order_of_people_does_not_matter(costs):
    for order in itertools.permutations(range(3)):
        mixed = list(order)
        assert_allclose(
            CVaR(WEIGHTS[mixed], BEST[mixed]).value(costs[:, mixed]),
            CVaR(WEIGHTS, BEST).value(costs),
        )
