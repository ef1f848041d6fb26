"""What an assistant says about a case (a prediction, weights) and about a person's weights.

Advice is plain data, kept with the round; pages put it into words. Which tests a person seems to
weigh wrongly is inferred from their answers so far (`Words.weight` says it).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from preceptor.learners.case_choice import alone_shares
from preceptor.learners.case_rule import SetMaps, alone_log_loss, alone_loss
from preceptor.learners.tutor import Tutor
from preceptor.learners.tutor_record import results_in_world_units
from preceptor.model.evaluation import people_of
from preceptor.model.problem import Problem
from preceptor.model.world import World
from preceptor.planning.candidate_sets import limited_to_candidates
from preceptor.report.session import chance_given, outcome_given

# Answers before it is said what a person weighs wrongly.
ENOUGH = 10
# A weight is wrong if correcting it alone would reduce the loss by this share of an expert's.
_WRONG = 0.02


class WrongWeight(NamedTuple):
    """A test, and the weight it seems to get as a share of the weight it deserves."""

    test: str
    share: float


def follower(problem: Problem) -> Tutor:
    """A tutor that follows answers, before the first."""
    return Tutor(problem, tau=math.inf)


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


def ai_advice(
    world: World,
    kind: str,
    columns: Sequence[int],
    values: Sequence[float],
    wrong: Sequence[WrongWeight] | None,
) -> dict[str, Any] | None:
    """Advice on a case.

    Parameters
    ----------
    world
        Joint distribution of tests and outcome.
    kind
        As the arm says: none, prediction, weights or contrast.
    columns
        Columns that are shown.
    values
        Their results, in the units that people read.
    wrong
        For a contrast: tests that the participant seems to weigh wrongly, the worst first; None
        while it is too early to tell.

    Returns
    -------
    dict or None
        `kind` and: `value`, the expected outcome or its probability given what is shown; `weights`,
        the change of the outcome for one unit more of each test; or `test` and `share` of the
        weight it deserves. None if there is nothing to say.
    """
    if kind == "prediction":
        mean, left = outcome_given(
            world, tuple(columns), results_in_world_units(world, tuple(columns), values)
        )
        if world.is_binary:
            return {"kind": kind, "value": chance_given(world, mean, left)}
        return {"kind": kind, "value": mean + (world.units.outcome_mean if world.units else 0.0)}
    if kind == "weights":
        scales = None if world.units is None else world.units.scales
        weights = {
            world.labels[i]: float(world.coefficients[i] / (1.0 if scales is None else scales[i]))
            for i in columns
        }
        return {"kind": kind, "weights": weights}
    named = {world.labels[i] for i in columns}
    said = [each for each in wrong or () if each.test in named]
    return {"kind": kind, **said[0]._asdict()} if kind == "contrast" and said else None
