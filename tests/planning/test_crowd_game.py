"""The game of plans against people, against the linear program over all schedules."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from preceptor.planning.crowd_game import crowd_game, solve_game
from preceptor.planning.crowd_plans import plan_for_crowd
from tests.people.reference import all_costs, cast

SETS = [(0,), (1,), (2,)]
DISCOUNT = 0.95
KINDS = ("paper", "delta rule, ignores", "folding fully")


def test_a_game_with_a_known_answer():
    stakes = np.array([[0.0, 2.0], [1.0, 0.0]])
    value, rows, columns = solve_game(stakes)
    assert value == pytest.approx(2 / 3)
    assert_allclose(rows, [1 / 3, 2 / 3])
    assert_allclose(columns, [2 / 3, 1 / 3])
    assert_allclose(columns @ stakes.T, value)


def test_plans_that_never_settle_are_not_drawn():
    value, rows, _ = solve_game(np.array([[0.1, 0.3], [0.0, np.inf]]))
    assert value == pytest.approx(0.3)
    assert rows.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_as_good_as_a_mixture_of_all_schedules(seed):
    people = [cast(seed, SETS)[kind] for kind in KINDS]
    costs = np.column_stack([all_costs(p, 5, DISCOUNT) for p in people])
    exact = solve_game(costs / costs.min(axis=0) - 1)[0]
    options = {"rounds": 5, "discount": DISCOUNT, "infinite": False, "sets": 3}
    game = crowd_game(people, **options)
    assert game.finished
    assert exact - 1e-9 <= game.upper <= exact + 2e-3
    assert game.lower <= game.upper
    assert abs(game.lower - exact) < 2e-3
    assert_allclose(game.chances.sum(), 1.0)
    assert_allclose(game.weights.sum(), 1.0)
    # The mixed plan keeps its word to everybody.
    played = [[p.total(plan.schedule, DISCOUNT, ()) for p in people] for plan in game.plans]
    regrets = np.array(played) / game.best - 1
    assert_allclose(regrets, game.regrets, atol=1e-9)
    assert np.max(game.chances @ regrets) == pytest.approx(game.upper, abs=1e-9)
    # No single plan is better than the best mixture.
    single = plan_for_crowd(people, **options).plan
    assert single.value >= exact - 1e-9


def test_a_limit_on_responses_is_kept():
    people = [cast(0, SETS)[kind] for kind in KINDS]
    game = crowd_game(
        people, rounds=5, discount=DISCOUNT, infinite=False, sets=3, max_responses=0, tolerance=0.0
    )
    assert len(game.plans) <= len(people) + 1
