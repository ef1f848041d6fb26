"""The next rounds in common, against trying everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import preceptor as pr
from preceptor._base.values import FloatArray
from preceptor.evaluation.expectations import expectations
from preceptor.planning.price_search import search_prices
from preceptor.tutoring.hindsight import look_ahead, relative_costs
from preceptor.tutoring.own_way import Way, find_way

INITIAL = [0.2, 1.3, 0.4]
PEOPLE = {
    "by showings": pr.Learner(INITIAL, pr.Geometric(1.3)),
    "delta rule": pr.DeltaRule(INITIAL, 0.15),
    "ignores": pr.Learner(INITIAL, pr.Geometric(1.3), 1.0),
    "forgets": pr.Forgetful(INITIAL, pr.Geometric(1.3), 0.1),
}


def _problem(horizon: int | None = 12) -> pr.Problem:
    world = pr.World.equicorrelated([1.0, 0.5, -0.4], 0.7, 0.1)
    return pr.Problem(world, pr.Crowd(dict(PEOPLE)), 1, discount=0.95, horizon=horizon)


def _ways(problem: pr.Problem, rounds: int, infinite: bool) -> list[Way]:
    return [
        find_way(
            each, rounds=rounds, discount=0.95, infinite=infinite, sets=len(problem.sets),
            from_scratch=True,
        )
        for each in expectations(problem)
    ]  # fmt: skip


@pytest.mark.parametrize("infinite", [False, True])
def test_quick_ways_are_nearly_as_good_as_searched_ones(infinite: bool) -> None:
    problem = _problem(None if infinite else 16)
    for each, way in zip(expectations(problem), _ways(problem, 16, infinite), strict=True):
        searched = search_prices(
            [each], rounds=16, discount=0.95, infinite=infinite, sets=len(problem.sets), max_kicks=0
        )
        assert way.cost <= 1.02 * searched.costs[0]
        assert way.cost == pytest.approx(each.total(way.schedule, 0.95, way.tail))


def test_common_rounds_are_the_best_of_all() -> None:
    problem = _problem()
    everybody, ways = expectations(problem), _ways(problem, 12, infinite=False)
    weights = np.array([0.4, 0.3, 0.2, 0.1])
    ahead = look_ahead(
        everybody, weights, ways, discount=0.95, sets=len(problem.sets), common_rounds=3
    )
    best = np.array([way.cost for way in ways])

    def value(common: tuple[int, ...]) -> float:
        costs = []
        for each, way in zip(everybody, ways, strict=True):
            schedule = np.concatenate([common, way.schedule[3:]]).astype(np.int64)
            costs.append(each.total(schedule, 0.95, ()))
        return float(weights @ (np.array(costs) / best))

    every = {c: value(c) for c in itertools.product(range(len(problem.sets)), repeat=3)}
    assert ahead.value == pytest.approx(every[tuple(ahead.common.tolist())])
    assert ahead.value == pytest.approx(min(every.values()), rel=1e-3)


def test_whoever_is_certain_gets_their_own_way() -> None:
    problem = _problem()
    everybody, ways = expectations(problem), _ways(problem, 12, infinite=False)
    for who in range(4):
        weights = np.full(4, 1e-9)
        weights[who] = 1.0
        ahead = look_ahead(everybody, weights, ways, discount=0.95, sets=len(problem.sets))
        assert ahead.relative[who] <= 1.0 + 1e-6


def test_beginnings_are_priced_as_if_laid_whole() -> None:
    problem = _problem(None)
    everybody, ways = expectations(problem), _ways(problem, 20, infinite=True)
    best = np.ones(4)
    begins = [np.array([0, 1, 2]), np.array([3, 3, 3]), np.array([2, 0, 1])]
    found = relative_costs(everybody, ways, best, begins, 0.95)
    for row, begin in zip(found, begins, strict=True):
        laid = [
            each.total(np.concatenate([begin, way.schedule[3:]]), 0.95, way.tail)
            for each, way in zip(everybody, ways, strict=True)
        ]
        assert row == pytest.approx(laid)


def test_a_way_goes_on_with_what_it_repeats() -> None:
    way = Way(np.array([5, 6, 7]), (1, 2), 0.0)
    assert _plain(way.later(0, 3)) == ([5, 6, 7], (1, 2))
    assert _plain(way.later(2, 4)) == ([7, 1, 2, 1], (2, 1))
    assert _plain(way.later(4, 2)) == ([2, 1], (2, 1)) or _plain(way.later(4, 2)) == (
        [1, 2],
        (1, 2),
    )


def _plain(start: tuple[FloatArray, tuple[int, ...]]) -> tuple[list[int], tuple[int, ...]]:
    schedule, tail = start
    return [int(s) for s in schedule], tail
