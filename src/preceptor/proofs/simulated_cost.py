"""Cost of a policy by simulation, for people without an exact formula.

Solvers work with the *expected* behaviour of a person; here simulated people *act*, case by case,
and losses are averaged. Where possible, the noise of single cases is integrated out in closed form:
given a person's weights the expected loss of a round is known, and for user-defined people, who
only answer, it is known given the shown results.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from preceptor._base.numerics import rounds_until
from preceptor._base.values import FloatArray
from preceptor.model.policies import Policy
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.model.world import SampledCases, World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.acting import Imputer
from preceptor.people.answering import as_believed
from preceptor.people.human import Sessions, answers_of
from preceptor.people.own_person import OwnPerson
from preceptor.proofs.losses import ReferenceLosses

_PEOPLE, _GROUP = 4_000, 250
# A mean of thousands of people is further off than this many standard errors once in 150,000.
STANDARD_ERRORS = 4.5


@dataclass(frozen=True)
class Played:
    """Mean discounted loss, its standard deviation among people, and the size of the simulation.

    `left` is the estimated loss of the rounds that were not simulated.
    """

    value: float
    deviation: float
    left: float
    people: int
    rounds: int

    @property
    def standard_error(self) -> float:
        """Standard error of the mean."""
        return self.deviation / math.sqrt(self.people)

    @property
    def error(self) -> float:
        """How far off the mean may be."""
        return STANDARD_ERRORS * self.standard_error + self.left


def played_value(problem: Problem, policy: Policy, seed: int = 0) -> Played:
    """Simulate a policy with people of the problem's kind; the problem must not have a crowd."""
    rounds = problem.horizon or 1
    if problem.horizon is None and problem.discount > 0.0:
        # The last tenth of the rounds represents those that are not simulated.
        rounds = min(rounds_until(problem.discount, 1e-4), 5_000)
    schedule = policy.schedule(rounds)
    weights = problem.discount ** np.arange(rounds)
    last, left = max(rounds // 10, 1), 0.0
    if problem.horizon is None:
        left = problem.discount**rounds / (1.0 - problem.discount)
        weights[-last:] += left / last
    losses = np.concatenate(list(_groups(problem, schedule, seed)))
    totals = losses @ weights
    return Played(
        value=float(totals.mean()),
        deviation=float(totals.std(ddof=1)),
        left=left * float(losses[:, -last:].mean()),
        people=totals.size,
        rounds=rounds,
    )


def _groups(problem: Problem, schedule: list[TestSet], seed: int) -> Iterator[FloatArray]:
    """Losses (people, rounds), one group of people at a time."""
    rng, person, rounds = np.random.default_rng(seed), problem.learner, len(schedule)
    people = _PEOPLE
    if isinstance(person, OwnPerson):
        # User-defined people may answer one by one, in Python: as many answers as take half a
        # minute.
        people = max(min(_PEOPLE, 500_000 // rounds), _GROUP)
    own = ReferenceLosses.of(problem, list(dict.fromkeys(schedule)))
    for _ in range(people // _GROUP):
        drawn = problem.world.sample(_GROUP * rounds, rng)
        features = drawn.features.reshape(_GROUP, rounds, problem.size)
        cases = SampledCases(features, drawn.outcomes.reshape(_GROUP, rounds))
        if isinstance(person, OwnPerson) or person.has_level:
            yield _answered(problem, own, schedule, cases, int(rng.integers(2**31)))
        else:
            yield _learned(problem, own, schedule, cases)


def _learned(
    problem: Problem, own: ReferenceLosses, schedule: list[TestSet], cases: SampledCases
) -> FloatArray:
    """Losses of people with the weights that they have in each round."""
    person, truth = problem.learner, problem.world.coefficients
    world = problem.world
    if isinstance(problem.risk, YesNoRisk):
        world = as_believed(world, problem.risk)
    imputer = Imputer(person.imputing_covariance(world))
    state = person.fresh(world, (len(cases.outcomes),), problem.start)
    losses = np.empty(cases.outcomes.shape)
    for t, shown in enumerate(schedule):
        row = own.sets.index(shown)
        losses[:, t] = own.losses(row, truth - person.weights_of(world, state))
        filled = cases.features[:, t, list(shown)] @ imputer.fill(shown)
        seen = np.broadcast_to(own.member_of[row], filled.shape)
        state = person.learn(world, state, filled, seen, cases.outcomes[:, t])
    return losses


def _answered(
    problem: Problem, own: ReferenceLosses, schedule: list[TestSet], cases: SampledCases, seed: int
) -> FloatArray:
    """Losses of answers, averaged over what the shown results leave open."""
    which = np.array([own.sets.index(shown) for shown in schedule], dtype=np.int64)
    sessions = Sessions.hiding(own.sets, np.broadcast_to(which, cases.outcomes.shape), cases)
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(_GROUP)]
    human = copy.deepcopy(problem.learner.acting(problem.world, problem.start, risk=problem.risk))
    answers = answers_of(human, sessions, streams)
    losses = np.empty(answers.shape)
    for row, shown in enumerate(own.sets):
        at = np.flatnonzero(which == row)
        results = cases.features[:, at][..., list(shown)]
        told = cases.outcomes[:, at]
        losses[:, at] = _charged(problem, shown, results, told, answers[:, at]) + own.price[row]
    return losses


def _charged(
    problem: Problem, shown: TestSet, results: FloatArray, outcomes: FloatArray, answers: FloatArray
) -> FloatArray:
    """Losses of answers given the shown results, or given the outcome if not Gaussian."""
    world, risk = problem.world, problem.risk
    best, left = _best_use(world, shown)
    if not isinstance(risk, YesNoRisk):
        if not world.is_gaussian:
            return np.asarray((outcomes - answers) ** 2)
        return np.asarray(world.noise_variance + left + (results @ best - answers) ** 2)
    assert world.outcome is not None
    chance = world.outcome.from_score.mean_probability(world.base_score + results @ best, left)
    if_yes, if_no = (risk.charge(answers, np.full(answers.shape, y)) for y in (1.0, 0.0))
    # A probability of 0 adds nothing, even if the answer would cost infinitely much.
    return np.asarray(
        np.where(chance > 0.0, chance * if_yes, 0.0)
        + np.where(chance < 1.0, (1.0 - chance) * if_no, 0.0)
    )


def _best_use(world: World, shown: TestSet) -> tuple[FloatArray, float]:
    """Slopes of the regression on the shown tests, and its residual variance without noise."""
    rows, sigma = list(shown), world.covariance
    with_outcome = (sigma @ world.coefficients)[rows]
    best = np.asarray(np.linalg.solve(sigma[np.ix_(rows, rows)], with_outcome))
    spread = float(world.coefficients @ sigma @ world.coefficients)
    return best, max(spread - float(with_outcome @ best), 0.0)
