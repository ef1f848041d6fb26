"""Which tests a person seems to weigh wrongly, by their answers so far.

Courses and studies say it in one sentence (`Words.weight`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from preceptor.learners.case_choice import alone_shares
from preceptor.learners.case_rule import SetMaps, alone_log_loss, alone_loss
from preceptor.learners.tutor import Tutor
from preceptor.model.evaluation import people_of
from preceptor.model.problem import Problem
from preceptor.planning.candidate_sets import limited_to_candidates

# Answers before it is said what a person weighs wrongly.
ENOUGH = 10
# A weight is wrong if correcting it alone would reduce the loss by this share of an expert's.
_WRONG = 0.02
# Insurance against kinds that learn more slowly than assumed, as `Tutor` advises for pools.
_PROCESS_NOISE = 0.02


class WrongWeight(NamedTuple):
    """A test, and the weight it seems to get as a share of the weight it deserves."""

    test: str
    share: float


def follower(problem: Problem) -> Tutor:
    """A tutor that follows answers, before the first."""
    return Tutor(problem, tau=math.inf, process_noise=_PROCESS_NOISE)


def wrong_weights(tutor: Tutor, shown: Sequence[int] | None = None) -> list[WrongWeight]:
    """Tests that the trainee seems to weigh wrongly, the worst first; only among `shown`.

    A weight is judged given the others, by the trainee's expected loss alone, w'Hw - 2g'w + c:
    changing weight i by d = (g - Hw)_i / H_ii is best, and reduces the loss by d² H_ii. So a test
    is not blamed for what another one, nearly the same, makes up for.
    """
    problem, weights = tutor.problem, tutor.coefficients
    people = people_of(problem)
    likeliest = max(people, key=lambda name: tutor.kinds[name])
    sets = limited_to_candidates(problem).sets
    maps = SetMaps.of(people[likeliest].imputing_covariance(problem.world), sets)
    ways = alone_shares(problem, sets, "any")
    if problem.is_binary:
        loss = alone_log_loss(problem.world, maps, ways, weights)
    else:
        loss = alone_loss(problem.world, maps, ways)
    curvature = np.diag(loss.hessian)
    best = weights + (loss.slope - loss.hessian @ weights) / curvature
    gain = (best - weights) ** 2 * curvature / loss.best
    # A weight that hardly moves answers has no sign.
    weights = np.where(weights**2 * curvature < _WRONG * loss.best / 4, 0.0, weights)
    tests = [i for i in (range(weights.size) if shown is None else shown) if gain[i] >= _WRONG]
    tests.sort(key=lambda i: -gain[i])
    return [WrongWeight(problem.world.labels[i], float(weights[i] / best[i])) for i in tests]
