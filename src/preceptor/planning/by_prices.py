"""A good schedule for whoever learns by showings, squared errors charged: search by prices.

What one showing more or less changes later is known in closed form for any curve
(`people.exposures`), so the search of `price_search` finds in a second what replaying every change
does not find in a minute. For other risks its plan is where a search begins: what misses least
squarely misses little by any measure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from preceptor._base.values import IntArray
from preceptor.evaluation.value import evaluate
from preceptor.loss import ClosedForm
from preceptor.model.risks import NumberRisk, SquaredError
from preceptor.people.expected import Tail
from preceptor.planning.finite import as_policy
from preceptor.planning.price_search import search_prices
from preceptor.planning.restricted import first_candidates, listed
from preceptor.planning.searched_rounds import SearchedRounds
from preceptor.planning.shape import shape_of
from preceptor.problem import Problem

# Of families larger than this only promising sets are looked at.
_MOST_SETS = 100_000


@dataclass(frozen=True)
class Found:
    """Positions of the sets shown, the set after them, and how the search ended."""

    path: IntArray
    commit: int
    kicks: int
    finished: bool


def has_prices(problem: Problem) -> bool:
    """Whether prices of changes are exact: squared errors of somebody who learns by showings."""
    return (
        isinstance(problem.risk, SquaredError)
        and isinstance(problem.loss, ClosedForm)
        and has_prices_nearby(problem)
    )


def has_prices_nearby(problem: Problem) -> bool:
    """Whether the same problem with squared errors has prices, and a plan worth starting from."""
    rounds = SearchedRounds.of(problem).rounds
    return (
        problem.learns_by_showings
        and not problem.is_binary
        and not shape_of(problem).too_many_sets
        and isinstance(problem.risk, NumberRisk)
        and (problem.horizon is None or problem.horizon <= rounds)
    )


def search_by_prices(
    problem: Problem,
    *,
    seed: int,
    max_kicks: int,
    stop: Callable[[], bool],
    start: IntArray | None = None,
    improved: Callable[[float], None] = lambda _value: None,
) -> Found:
    """The best schedule found for squared errors, from `start` and from fixed sets.

    Of very many sets only those are looked at that read well now or once all is learned, and those
    of the start.
    """
    if len(problem.sets) <= _MOST_SETS:
        return _among_all(problem, seed, max_kicks, stop, start, improved)
    kept = first_candidates(problem)
    if start is not None:
        kept |= {problem.sets[int(s)] for s in set(start.tolist())}
    small = problem.replace(budget=listed(problem, kept))
    where = np.array([problem.sets.index(shown) for shown in small.sets])
    if start is not None:
        place = {int(position): few for few, position in enumerate(where)}
        start = np.array([place[s] for s in start.tolist()], dtype=np.int64)
    found = _among_all(small, seed, max_kicks, stop, start, improved)
    return replace(found, path=where[found.path], commit=int(where[found.commit]))


def _among_all(
    problem: Problem,
    seed: int,
    max_kicks: int,
    stop: Callable[[], bool],
    start: IntArray | None,
    improved: Callable[[float], None],
) -> Found:
    schedule = SearchedRounds.of(problem)
    expected = problem.learner.expectation(
        problem.world, problem.sets, problem.start, SquaredError()
    )
    starts: list[tuple[IntArray, Tail]] = []
    if start is not None:
        starts.append((start, (int(start[-1]),) if schedule.infinite else ()))
    found = search_prices(
        [expected],
        rounds=schedule.rounds,
        discount=problem.discount,
        infinite=schedule.infinite,
        sets=len(problem.sets),
        starts=starts,
        seed=seed,
        max_kicks=max_kicks,
        stop=stop,
        improved=improved,
    )
    path, commit = _committed(problem, found.schedule, found.tail)
    return Found(path, commit, found.kicks, found.finished)


def _committed(problem: Problem, path: IntArray, tail: Tail) -> tuple[IntArray, int]:
    """A plan that ends with one set; a word that is repeated gives way to its best set at last."""
    if len(tail) <= 1:
        return path, int(tail[0]) if tail else int(path[-1])
    path = np.concatenate([path, np.resize(np.array(tail, dtype=np.int64), path.size)])
    costs = {last: evaluate(problem, as_policy(problem, path, last)) for last in set(tail)}
    return path, min(costs, key=lambda last: (costs[last], last))
