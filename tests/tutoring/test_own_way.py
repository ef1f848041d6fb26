"""How one kind of person would go on: quick ways beside searched ones."""

from __future__ import annotations

import numpy as np
import pytest

import preceptor as pr
from preceptor._base.values import FloatArray
from preceptor.evaluation.expectations import expectations
from preceptor.planning.price_search import search_prices
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
