"""A tutor teaching a simulated person: sets shown, losses, and the posterior over kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from preceptor._base.numerics import discounted_sum
from preceptor._base.values import FloatArray
from preceptor.errors import InvalidInput
from preceptor.learners.case_choice import CasePool
from preceptor.learners.tutor import Tutor
from preceptor.learners.tutor_record import outcome_in_reading_units, results_in_reading_units
from preceptor.model.evaluation import family_of
from preceptor.model.problem import Problem
from preceptor.model.readings import readings_of
from preceptor.model.risks import NumberRisk
from preceptor.model.sets import TestSet
from preceptor.model.world import World
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.acting import Acting
from preceptor.people.human import Human, Seed
from preceptor.people.set_readings import scores_of
from preceptor.simulation.rollouts import charges

# What a tutor can look at before it chooses.
LOOKS = ("pool", "case", "nothing")


@dataclass(frozen=True, eq=False)
class Tutored:
    """Record of one simulated person taught by a tutor.

    Attributes
    ----------
    shown
        The set shown in each round.
    losses
        Loss of each round under the problem's risk, price included, shape (rounds,): expected given
        the person's weights where these are known, else for the case drawn.
    kinds
        The tutor's posterior over kinds before each round, shape (rounds, kinds + 1); the last
        column is the probability that no kind is right.
    tutor
        The tutor after the last round.
    weights
        The person's weights (and last the level, if they learn it) before each round and after
        the last, shape (rounds + 1, n); None if they are not known.
    """

    shown: tuple[TestSet, ...]
    losses: FloatArray
    kinds: FloatArray
    tutor: Tutor
    weights: FloatArray | None = None

    @property
    def cost(self) -> float:
        """Discounted sum of the losses."""
        return discounted_sum(self.losses, self.tutor.problem.discount)


def tutored(
    tutor: Tutor,
    human: Human,
    rounds: int,
    rng: Seed = None,
    *,
    response_noise: float = 0.0,
    schedule: Sequence[TestSet] | None = None,
    looks: str = "nothing",
    cases: CasePool | None = None,
) -> Tutored:
    """Let a tutor teach one simulated person.

    With the same seed two tutors meet the same cases and the same response noise, and so does a
    tutor that only observes a schedule fixed in advance.

    Parameters
    ----------
    tutor
        The tutor before the first of these rounds.
    human
        The simulated person; reset first.
    rounds
        Number of rounds.
    rng
        Seed of cases and response noise.
    response_noise
        Standard deviation of the noise added to every answer, in units of the outcome.
    schedule
        Sets to show in each round, instead of the tutor's recommendations.
    looks
        What the tutor knows before it chooses: "nothing", the results of the "case", or past cases
        with outcomes, of which it chooses one ("pool").
    cases
        Past cases with outcomes to teach with, in random order; drawn from the world if left out.

    Returns
    -------
    Tutored
        The record.

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
    if looks not in LOOKS:
        raise InvalidInput(f"looks: {looks!r}, must be one of {', '.join(LOOKS)}")
    world = tutor.problem.world
    generator = np.random.default_rng(rng)
    if cases is None:
        results, outcomes = world.sample(rounds, rng=generator)
        cases = _in_reading_units(world, results, outcomes)
        order = np.arange(rounds)
    else:
        results, outcomes = cases.in_world(world)
        order = np.resize(generator.permutation(len(cases)), rounds)
    noise = response_noise * generator.standard_normal(rounds)
    human.reset(int(generator.integers(2**32)))
    shown, losses, kinds, weights = [], np.empty(rounds), [], []
    for t in range(rounds):
        kinds.append(tutor.bank.kinds)
        if isinstance(human, Acting):
            weights.append(human.moving)
        row: int = int(order[t])
        if schedule is not None:
            tests = schedule[t]
        elif looks == "pool":
            row, tests = tutor.next(pool=cases)
        else:
            tests = tutor.next(case=cases.values[row] if looks == "case" else None)
        values, outcome = results[row, list(tests)], float(outcomes[row])
        answer = human.predict(tests, values)
        if looks == "nothing":
            losses[t] = _loss(tutor.problem, human, tests, values, outcome)
        else:
            losses[t] = _charged(tutor.problem, tests, answer, outcome)
        human.feedback(tests, values, outcome)
        said = answer + float(noise[t])
        case = row if looks == "pool" else None
        tutor = tutor.after(
            tests,
            results_in_reading_units(world, tests, values),
            outcome_in_reading_units(world, said),
            outcome_in_reading_units(world, outcome),
            case,
        )
        shown.append(tests)
    path = np.array([*weights, human.moving]) if isinstance(human, Acting) else None
    return Tutored(tuple(shown), losses, np.array(kinds), tutor, path)


def _in_reading_units(world: World, results: FloatArray, outcomes: FloatArray) -> CasePool:
    """Cases in the units that people read."""
    if world.units is None:
        return CasePool(results, outcomes)
    return CasePool(world.units.restore(results), world.units.uncentre(outcomes))


def _charged(problem: Problem, tests: TestSet, answer: float, outcome: float) -> float:
    """Loss of this case, price included."""
    price = float(problem.budget.prices(problem.size)[list(tests)].sum())
    return float(charges(problem, np.asarray(answer), np.asarray(outcome))) + price


def _loss(
    problem: Problem, human: Human, tests: TestSet, values: FloatArray, outcome: float
) -> float:
    """Expected loss of the next case if weights alone decide it, else the loss of this case."""
    rows, world, risk = list(tests), problem.world, problem.risk
    if not isinstance(human, Acting) or human.person.has_level:
        return _charged(problem, tests, human.predict(tests, values), outcome)
    price = float(problem.budget.prices(problem.size)[rows].sum())
    omega = human.person.imputing_covariance(world)
    if isinstance(risk, YesNoRisk):
        from preceptor.people._yes_no_kernels import path_losses

        losses, family = np.empty(1), family_of(problem, [tests])
        scores = scores_of(world, family, omega, risk)
        path_losses(np.zeros(1, dtype=np.int64), human.weights[None, :], losses, scores.arrays)
        return float(losses[0])
    assert isinstance(risk, NumberRisk)
    variance = world.outcome_variance
    if tests:
        reading = readings_of(world, omega, np.array([rows]))
        errors = (omega @ (world.coefficients - human.weights))[rows]
        missed = reading.shift[0] + reading.factor[0] @ errors
        variance = float(reading.floor[0] + missed @ missed)
    return float(risk.expected(variance)) + price
