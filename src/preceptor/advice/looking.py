"""What looking at the case would be worth: trainees simulated on the table.

A plan is made without looking at cases, and on most tables such plans are worth little. A tutor
that chooses cases and tests by results, outcomes and answers teaches faster. How much faster is
simulated with people as the plan assumes them, who are taught once by the tutor and once by the
plan, with cases of the table. What they could do alone is computed from their weights in the
estimated world, so only people, their slips and the order of cases are random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from preceptor._base.progress import Deadline
from preceptor._base.values import FloatArray
from preceptor._base.words import counted, many
from preceptor.errors import NotApplicable
from preceptor.learners.case_choice import CasePool, Readings
from preceptor.learners.simulated_tutoring import tutored
from preceptor.learners.tutor import Tutor
from preceptor.model.evaluation import people_of, weights_of
from preceptor.model.person import Person
from preceptor.model.plan import Plan
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.people.acting import Acting
from preceptor.people.own_person import OwnPerson
from preceptor.people.with_level import read_covariance
from preceptor.planning.candidate_sets import limited_to_candidates

if TYPE_CHECKING:
    from preceptor.data.world_estimate import WorldEstimate

PEOPLE = 16
# Cases that the tutor chooses, and cases by the plan.
CHOSEN, PLANNED = 40, 200
# A trainee is within this share of an expert's loss.
WITHIN = 0.1
# Scatter of answers, in standard deviations of the outcome: what was measured in experiments.
_SCATTER = 0.6
# Spread of first weights around those of the plan's person, as a share of their typical error.
_SPREAD = 0.3
# Fewer cases than these are soon used up; more would only take longer.
_FEWEST_CASES, _MOST_CASES = 60, 500
# Sets x kinds up to which the simulation takes a few seconds: (13, 3) with seven kinds has 2,646.
_MOST_PRICES = 8_000
# Draws of people, and coverage, of the interval.
_RESAMPLES, _LEVEL = 400, 0.9


@dataclass(frozen=True)
class Looking:
    """Cases until half of the simulated trainees are within 10% of an expert, without help.

    Attributes
    ----------
    chosen
        Cases needed if a tutor chooses cases and tests; None if more than `most_chosen`.
    low, high
        Ends of the bootstrap interval of `chosen`; None if more than `most_chosen`.
    planned
        Cases needed with the plan; None if more than `most_planned`.
    most_chosen, most_planned
        Cases simulated.
    people
        Number of simulated trainees.
    discomfort
        Mean loss of the answers to chosen cases, as a multiple of an expert's alone.
    """

    chosen: int | None
    low: int | None
    high: int | None
    planned: int | None
    most_chosen: int
    most_planned: int
    people: int
    discomfort: float


def look(
    plan: Plan, estimate: WorldEstimate, *, deadline: Deadline | None = None, seed: int = 0
) -> Looking:
    """Simulate trainees who are taught with chosen cases of the table, and by the plan.

    Parameters
    ----------
    plan
        What would be shown without looking.
    estimate
        The estimated world, with its cases.
    deadline
        When to give up.
    seed
        Seed of people, their slips and the order of cases.

    Returns
    -------
    Looking
        Cases needed, with an interval.

    Raises
    ------
    NotApplicable
        Too few complete cases, too many sets, people who cannot be followed, or no time left.
    """
    problem = plan.problem
    world, people = problem.world, list(people_of(problem).values())
    if any(isinstance(person, OwnPerson) for person in people):
        raise NotApplicable("a person who can only act cannot be followed")
    sets = limited_to_candidates(problem).sets
    if len(sets) * len(people) > _MOST_PRICES:
        raise NotApplicable(f"{many(len(sets))} sets for {counted(len(people), 'kind')} of person")
    pool = _complete_cases(estimate, seed)
    readings = Readings.of(problem, sets, "any")
    horizon = problem.horizon or PLANNED
    rounds, planned = min(CHOSEN, horizon), min(PLANNED, horizon)
    schedule = plan.policy.schedule(planned)
    tutor = Tutor(problem)
    by_tutor, by_plan, errors = [], [], []
    for i, person in enumerate(_trainees(problem, people, seed)):
        if deadline is not None and deadline.is_over:
            raise NotApplicable("the time was up (--time-limit gives more)")
        human = person.acting(
            world, problem.start, _SCATTER * float(np.sqrt(world.outcome_variance)), problem.risk
        )
        omega = read_covariance(person, world)
        expert = readings.expert(omega)
        run = tutored(
            tutor, human, rounds, np.random.default_rng([seed, i]), looks="pool", cases=pool
        )
        assert run.weights is not None
        by_tutor.append(_losses(readings, omega, run.weights) / expert)
        errors.append(run.losses.mean() / expert)
        weights = _taught(human, schedule, pool, np.random.default_rng([seed, i]))
        by_plan.append(_losses(readings, omega, weights) / expert)
    reached = np.array(by_tutor) <= 1.0 + WITHIN
    drawn = np.random.default_rng(seed).integers(PEOPLE, size=(_RESAMPLES, PEOPLE))
    needed = [_needed(reached[rows]) for rows in drawn]
    tail = (1.0 - _LEVEL) / 2.0
    low, high = (_quantile(needed, q) for q in (tail, 1.0 - tail))
    return Looking(
        _needed(reached), low, high, _needed(np.array(by_plan) <= 1.0 + WITHIN),
        rounds, planned, PEOPLE, float(np.mean(errors)),
    )  # fmt: skip


def _trainees(problem: Problem, people: list[Person], seed: int) -> list[Person]:
    """People of each kind in proportion to their shares; first weights differ a little."""
    shares = np.cumsum(weights_of(problem)) / np.sum(weights_of(problem))
    places = np.searchsorted(shares, (np.arange(PEOPLE) + 0.5) / PEOPLE).tolist()
    initial = np.array([person.initial for person in people])
    spread = _SPREAD * _typical_error(problem.world, initial)
    found = []
    for i, place in enumerate(places):
        away = spread * np.random.default_rng([seed, i, 1]).standard_normal(problem.size)
        found.append(people[place].with_initial(people[place].initial + away))
    return found


def _typical_error(world: World, weights: FloatArray) -> float:
    """Root-mean-square error of weights (..., n); of all-zero weights if there is no error."""
    typical = float(np.sqrt(np.mean((world.coefficients - weights) ** 2)))
    return typical or float(np.sqrt(np.mean(world.coefficients**2)))


def _complete_cases(estimate: WorldEstimate, seed: int) -> CasePool:
    """Cases of the table without gaps; more than `_MOST_CASES` would change nothing."""
    values, outcomes = estimate.design.values, estimate.design.outcome
    rows = np.flatnonzero(~np.isnan(values).any(axis=1))
    if rows.size < _FEWEST_CASES:
        raise NotApplicable(
            f"{counted(rows.size, 'complete case')}; at least {_FEWEST_CASES} are needed"
        )
    if rows.size > _MOST_CASES:
        rows = np.random.default_rng(seed).choice(rows, _MOST_CASES, replace=False)
    return CasePool(values[rows], outcomes[rows])


def _taught(
    human: Acting, schedule: list[TestSet], pool: CasePool, rng: np.random.Generator
) -> FloatArray:
    """Weights (rounds + 1, n) of a person who is shown cases of the pool in random order.

    Of people who learn the level, with the level as one more.
    """
    results, outcomes = pool.in_world(human.world)
    order = np.resize(rng.permutation(len(pool)), len(schedule))
    human.reset(0)
    weights = [human.moving]
    for shown, row in zip(schedule, order.tolist(), strict=True):
        human.feedback(shown, results[row, list(shown)], float(outcomes[row]))
        weights.append(human.moving)
    return np.array(weights)


def _losses(readings: Readings, omega: FloatArray, weights: FloatArray) -> FloatArray:
    """Loss alone (rounds,) for weights (rounds, n)."""
    return np.array([readings.alone(omega, each)(each) for each in weights])


def _needed(reached: npt.NDArray[np.bool_]) -> int | None:
    """Cases until at least half of the people (people, cases + 1) are there."""
    half = reached.mean(axis=0) >= 0.5
    return int(half.argmax()) if half.any() else None


def _quantile(needed: list[int | None], level: float) -> int | None:
    """A quantile of numbers of cases, where None is larger than all."""
    ordered = sorted(np.inf if each is None else each for each in needed)
    found = ordered[min(int(level * len(ordered)), len(ordered) - 1)]
    return None if np.isinf(found) else int(found)
