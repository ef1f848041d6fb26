"""A tutor at work with simulated people: what it showed, what that cost, whom it thought it had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.discounting import discounted_sum
from preceptor._base.values import FloatArray
from preceptor.model.readings import readings_of
from preceptor.model.sets import TestSet
from preceptor.model.world import Cases, World
from preceptor.people.acting import Acting
from preceptor.people.human import Human, Seed
from preceptor.tutoring import Tutor


@dataclass(frozen=True, eq=False)
class Tutored:
    """One person taught by a tutor, round by round.

    Attributes
    ----------
    shown
        The tests of each round.
    losses
        What each round cost, shape (rounds,): its expectation given the person's weights where
        these are known, else the squared error.
    kinds
        Who the tutor thought it was before each round, shape (rounds, kinds + 1); the last column
        is that none of the kinds is right.
    tutor
        The tutor afterwards.
    """

    shown: tuple[TestSet, ...]
    losses: FloatArray
    kinds: FloatArray
    tutor: Tutor

    @property
    def cost(self) -> float:
        """Discounted losses of all rounds."""
        return discounted_sum(self.losses, self.tutor.problem.discount)


def tutored(
    tutor: Tutor,
    human: Human,
    rounds: int,
    rng: Seed = None,
    *,
    response_noise: float = 0.0,
    schedule: Sequence[TestSet] | None = None,
) -> Tutored:
    """Let a tutor teach one simulated person.

    With the same seed two tutors meet the same cases and the same slips, and so does a tutor that
    only watches how a plan fixed in advance is played.

    Parameters
    ----------
    tutor
        Before the first of these rounds.
    human
        Who answers; begins anew.
    rounds
        How many.
    rng
        Seed of cases and slips.
    response_noise
        Standard deviation of a slip added to every answer, in units of the outcome.
    schedule
        What is shown in each round, whatever the tutor advises.

    Returns
    -------
    Tutored
        The run.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> people = {"by showings": pr.Learner([0.2, 1.3], pr.Geometric(1.1)),
    ...           "by outcomes": pr.DeltaRule([0.2, 1.3], rate=0.1)}
    >>> tutor = pr.Tutor(pr.Problem(world, pr.Crowd(people), budget=1, horizon=40), spread=0.0)
    >>> run = tutored(tutor, people["by outcomes"].acting(world), 40, 1, response_noise=0.1)
    >>> run.tutor.kinds["by outcomes"] > 0.9
    True
    """
    world = tutor.problem.world
    generator = np.random.default_rng(rng)
    cases = world.sample(rounds, rng=generator)
    slips = response_noise * generator.standard_normal(rounds)
    human.reset(int(generator.integers(2**32)))
    shown, losses, kinds = [], np.empty(rounds), []
    for t in range(rounds):
        kinds.append(tutor.bank.kinds)
        tests = tutor.next() if schedule is None else schedule[t]
        values, outcome = cases.features[t, list(tests)], float(cases.outcomes[t])
        losses[t] = _loss(world, human, tests, cases, t)
        answer = human.predict(tests, values) + float(slips[t])
        human.feedback(tests, values, outcome)
        tutor = tutor.after(tests, *_as_read(world, tests, values, answer, outcome))
        shown.append(tests)
    return Tutored(tuple(shown), losses, np.array(kinds), tutor)


def _loss(world: World, human: Human, tests: TestSet, cases: Cases, t: int) -> float:
    """What the next case costs on average if weights are known, else what this one does."""
    if not isinstance(human, Acting):
        answer = human.predict(tests, cases.features[t, list(tests)])
        return float((answer - cases.outcomes[t]) ** 2)
    if not tests:
        return world.outcome_variance
    rows, omega = list(tests), human.person.imputing_covariance(world)
    reading = readings_of(world, omega, np.array([rows]))
    errors = (omega @ (world.coefficients - human.weights))[rows]
    missed = reading.shift[0] + reading.factor[0] @ errors
    return float(reading.floor[0] + missed @ missed)


def _as_read(
    world: World, tests: TestSet, values: FloatArray, answer: float, outcome: float
) -> tuple[FloatArray, float, float]:
    """Results, answer and outcome in the units that people read."""
    if world.units is None:
        return values, answer, outcome
    rows = list(tests)
    results = values * world.units.scales[rows] + world.units.means[rows]
    return results, float(world.units.uncentre(answer)), float(world.units.uncentre(outcome))
