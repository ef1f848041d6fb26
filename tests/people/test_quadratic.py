"""Dense matrices of linear people against the recursions that planning uses."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import preceptor as pr
from preceptor.people.moments import QuadraticRounds, quadratic_rounds
from preceptor.people.outcome_learners import DeltaRule
from preceptor.people.second_moments import Coordinates

WORLD = pr.World.equicorrelated([0.9, -0.4, 0.6], 0.5, noise_variance=0.3)
SETS = pr.AtMost(2).sets(3)
FIRST = [0.1, 0.5, 1.2]


def back(rounds: QuadraticRounds, s: int, later: np.ndarray, discount: float) -> np.ndarray:
    moved = rounds.carried(s, later) + rounds.scattered(s, later[:-1, :-1])
    return rounds.charge[s] + discount * moved


def adjoint(expected, s: int, later: np.ndarray, discount: float) -> np.ndarray:
    return expected.adjoints(expected.start[None], np.array([s]), 0, later, discount)[0]


@pytest.mark.parametrize("imputation", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("all_weights", [False, True])
@pytest.mark.parametrize("leak", [0.0, 0.07])
def test_of_the_delta_rule_they_are_the_adjoint(imputation, all_weights, leak):
    person = DeltaRule(FIRST, 0.12, imputation, all_weights, leak=leak, home=[0.3, 0.0, -0.4])
    expected = person.expected(WORLD, SETS)
    rounds = quadratic_rounds(expected)
    assert isinstance(rounds, QuadraticRounds)
    later = np.random.default_rng(0).standard_normal((4, 4))
    later = later + later.T
    for s in range(len(SETS)):
        wanted = adjoint(expected, s, later, 0.9)
        assert_allclose(back(rounds, s, later, 0.9), wanted, atol=1e-12)
        inner = rounds.spread(s, later[:3, :3])
        whole = np.zeros((4, 4))
        whole[:3, :3] = later[:3, :3]
        nothing = adjoint(expected, s, np.zeros((4, 4)), 0.9)
        moved = (adjoint(expected, s, whole, 0.9) - nothing) / 0.9
        assert_allclose(inner, moved[:3, :3], atol=1e-12)


@pytest.mark.parametrize("imputation", [0.0, 1.0])
def test_of_errors_that_move_by_themselves_they_add_up_to_the_losses(imputation):
    rng = np.random.default_rng(1)
    keep, push = rng.uniform(0.5, 1.0, (len(SETS), 3)), rng.uniform(-0.1, 0.1, (len(SETS), 3))
    omega = DeltaRule(FIRST, 0.1, imputation).imputing_covariance(WORLD)
    expected = Coordinates(WORLD, SETS, [0.8, -0.9, -0.6], keep, push, omega)
    rounds = quadratic_rounds(expected)
    assert isinstance(rounds, QuadraticRounds)
    assert rounds.is_certain
    g, losses = rounds.start, []
    schedule = rng.integers(0, len(SETS), 9)
    for s in schedule:
        losses.append(g @ rounds.charge[s] @ g)
        g = rounds.turn[s] @ g
    assert_allclose(losses, expected.losses(schedule), rtol=1e-12)


def test_other_units_change_nothing_but_the_numbers():
    rounds = quadratic_rounds(DeltaRule(FIRST, 0.12, 1.0).expected(WORLD, SETS))
    assert isinstance(rounds, QuadraticRounds)
    units = np.array([2.0, 0.5, 3.0])
    scaled = rounds.scaled(units, 10.0)
    sizes = np.append(units, 1.0)
    later = np.eye(4)
    for s in range(len(SETS)):
        wanted = back(rounds, s, later, 0.9) * np.outer(sizes, sizes) / 10.0
        found = back(scaled, s, later * np.outer(sizes, sizes) / 10.0, 0.9)
        assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("special", [{"cap": 1.0}, {"decay": 0.5}])
def test_rounds_that_are_not_linear_are_told(special):
    expected = DeltaRule(FIRST, 0.1, **special).expected(WORLD, SETS)
    assert "not linear" in str(quadratic_rounds(expected))
