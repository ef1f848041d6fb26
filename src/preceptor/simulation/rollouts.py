"""Play a policy with simulated people: cases, answers, outcomes, and what it all cost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.discounting import total_weight, weights
from preceptor._base.progress import Progress, report
from preceptor._base.values import FloatArray
from preceptor._base.words import counted
from preceptor.errors import InvalidInput
from preceptor.logs import Log
from preceptor.model.risks import NumberRisk
from preceptor.model.sets import BLOCK_NUMBERS, MOST_NUMBERS
from preceptor.model.world import Cases
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.acting import Acting
from preceptor.people.human import (
    BatchHuman,
    Human,
    Seed,
    Sessions,
    answers_of,
    check_yes_no_answers,
)
from preceptor.people.person import Person
from preceptor.problem import Problem
from preceptor.simulation.cases import Stream, draw_cases, seed_of, stream
from preceptor.simulation.cast import acting_in
from preceptor.simulation.choosing import Chooser, schedules


@dataclass(frozen=True, eq=False)
class Rollout:
    """What happened when a policy was played.

    Attributes
    ----------
    problem
        World, person, budget, risk and time.
    sessions
        What everybody was shown, and what was true.
    predictions
        Answers, shape (people, rounds), in the world's units; where the outcome is yes or no,
        probabilities or decisions (1 and 0), as the risk says.
    losses
        The risk's charge for each answer, plus the price of what was shown, shape (people,
        rounds).
    seed
        Gives the same cases again.
    """

    problem: Problem
    sessions: Sessions
    predictions: FloatArray
    losses: FloatArray
    seed: int

    @property
    def people(self) -> int:
        """How many people played."""
        return self.sessions.people

    @property
    def rounds(self) -> int:
        """How many rounds each of them played."""
        return self.sessions.rounds

    @property
    def mean_loss(self) -> FloatArray:
        """Average loss of each round over people, (rounds,)."""
        mean: FloatArray = self.losses.mean(axis=0)
        return mean

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of each round's average, (rounds,); NaN for one person."""
        return standard_error(self.losses)

    @cached_property
    def totals(self) -> FloatArray:
        """Discounted loss of each person over the rounds played, (people,)."""
        totals: FloatArray = self.losses @ weights(self.problem.discount, self.rounds)
        return totals

    @property
    def total(self) -> float:
        """Average discounted loss: estimates `evaluate`, up to the rounds that were not played."""
        return float(self.totals.mean())

    @property
    def total_error(self) -> float:
        """Standard error of `total`; NaN for one person."""
        return float(standard_error(self.totals))

    @property
    def weight(self) -> float:
        """Share of the whole discounted time that was played; 1 if nothing is left out."""
        return played_weight(self.problem, self.rounds)

    @cached_property
    def log(self) -> Log:
        """One row for each person and round, in the units that people read."""
        sessions, world = self.sessions, self.problem.world
        values = sessions.values.reshape(-1, world.size)
        predictions, outcomes = self.predictions.ravel(), sessions.outcomes.ravel()
        if world.units is not None:
            values = world.units.restore(values)
            predictions = world.units.uncentre(predictions)
            outcomes = world.units.uncentre(outcomes)
        width = max(5, len(str(self.people)))  # at least five, so that names do not change
        who = [f"p{person:0{width}d}" for person in range(1, self.people + 1)]
        return Log(
            names=world.labels,
            participant=np.repeat(np.array(who), self.rounds),
            rounds=np.tile(np.arange(self.rounds), self.people),
            shown=sessions.shown.reshape(-1, world.size),
            values=values,
            prediction=predictions,
            outcome=outcomes,
        )

    def summary(self) -> dict[str, Any]:
        """The numbers a reader wants first.

        Returns
        -------
        dict
            Plain data: total, its standard error, first and last round, seed.
        """
        return {
            "people": self.people,
            "rounds": self.rounds,
            "discount": self.problem.discount,
            "weight": self.weight,
            "total": self.total,
            "total_error": self.total_error,
            "first_round_loss": float(self.mean_loss[0]),
            "last_round_loss": float(self.mean_loss[-1]),
            "seed": self.seed,
        }


def rollout(
    problem: Problem,
    policy: Chooser,
    rounds: int,
    people: int,
    rng: Seed = None,
    human: Human | Person | None = None,
) -> Rollout:
    """Play a policy with simulated people.

    Parameters
    ----------
    problem
        World, person, budget, risk and time.
    policy
        A `Policy`, a `Plan`, a function from counts to a set, or anything with `recommend(counts)`
        or `schedule_for(rounds, rng)`.
    rounds
        How many cases each person meets.
    people
        How many people play.
    rng
        A seed or a generator; people, rounds, policies and humans that are added later change
        nothing in what is played with the same seed.
    human
        A `Person`, or anybody with the three methods of `Human`, reset for everybody in turn; the
        problem's own learner if left out.

    Returns
    -------
    Rollout
        Answers and losses, person by person and round by round.

    Raises
    ------
    InvalidInput
        Numbers that make no sense, or a person who does not keep to the protocol.
    InvalidPolicy
        The problem does not allow what the policy shows.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=50)
    >>> played = rollout(problem, pr.Stationary((0,)), rounds=50, people=1000, rng=1)
    >>> exact = pr.evaluate(problem, pr.Stationary((0,)))
    >>> abs(played.total - exact) < 3 * played.total_error
    True
    """
    check_request(problem, rounds, people)
    seed = seed_of(rng)
    person = acting_in(problem, problem.learner if human is None else human)
    if not isinstance(person, Human):
        raise InvalidInput(
            f"human: {human!r}, must be a Person or have reset, predict and feedback"
        )
    cases = draw_cases(problem.world, rounds, people, seed)
    return play(problem, policy, cases, seed, person)


def play(
    problem: Problem,
    policy: Chooser,
    cases: Cases,
    seed: int,
    human: Human,
    progress: Progress | None = None,
) -> Rollout:
    """Like `rollout`, with cases (people, rounds, n) that have been drawn already."""
    people, rounds, _ = cases.features.shape
    sets, which = schedules(problem, policy, rounds, people, seed)
    sessions = Sessions.hiding(sets, which, cases)
    predictions = np.empty((people, rounds))
    group = max(1, BLOCK_NUMBERS // (rounds * problem.size)) if isinstance(human, BatchHuman) else 1
    for first in range(0, people, group):
        last = min(first + group, people)
        rngs = [stream(seed, person, Stream.ANSWERS) for person in range(first, last)]
        with np.errstate(over="ignore", invalid="ignore"):  # who diverges is reported below
            predictions[first:last] = answers_of(human, sessions.of(first, last), rngs)
        report(progress, "simulate", done=last / people)
    _check_answers(problem, human, predictions)
    prices = problem.budget.prices(problem.size)
    charged = charges(problem, predictions, cases.outcomes)
    losses = charged + np.array([prices[list(shown)].sum() for shown in sets])[which]
    return Rollout(problem, sessions, predictions, losses, seed)


def charges(problem: Problem, answers: FloatArray, outcomes: FloatArray) -> FloatArray:
    """What answers cost, elementwise, without the price of what was shown."""
    risk = problem.risk
    if isinstance(risk, YesNoRisk):
        return risk.charge(answers, outcomes)
    assert isinstance(risk, NumberRisk)
    return risk.charge(outcomes - answers)


def check_request(problem: Problem, rounds: int, people: int) -> None:
    """Raise `InvalidInput` if so many rounds or people cannot be played."""
    faults = [
        f"{name}: {value!r}, must be a whole number of at least 1"
        for name, value in (("rounds", rounds), ("people", people))
        if not is_count(value, least=1)
    ]
    if not faults and problem.horizon is not None and rounds > problem.horizon:
        faults.append(f"rounds: {rounds}, but the problem ends after {problem.horizon}")
    numbers = 0 if faults else int(people) * int(rounds) * problem.size
    if numbers > MOST_NUMBERS:
        faults.append(
            f"people: {people:,} with {rounds:,} rounds of {counted(problem.size, 'test')} are "
            f"{numbers:.1e} numbers, must be at most {MOST_NUMBERS:.0e}; ask for fewer people or "
            "`rounds`"
        )
    InvalidInput.raise_if(faults)


def standard_error(samples: FloatArray) -> FloatArray:
    """Standard error of the mean over the first axis; NaN where there is one sample only."""
    count = samples.shape[0]
    if count < 2:
        return np.full(samples.shape[1:], np.nan)
    error: FloatArray = np.asarray(samples.std(axis=0, ddof=1) / np.sqrt(count))
    return error


def played_weight(problem: Problem, rounds: int) -> float:
    """Discounted length of the first rounds as a share of that of all rounds."""
    discount = problem.discount
    return total_weight(discount, rounds) / total_weight(discount, problem.horizon)


def _check_answers(problem: Problem, human: Human, predictions: FloatArray) -> None:
    name = type(human.person if isinstance(human, Acting) else human).__name__
    wrong = np.argwhere(~np.isfinite(predictions))
    if wrong.size:
        person, t = (int(i) for i in wrong[0])
        raise InvalidInput(
            f"human: {name} predicted {predictions[person, t]} in round {t} of "
            f"person {person + 1}, must be a finite number (a learning rate that is too large "
            "diverges)"
        )
    if problem.is_binary:
        check_yes_no_answers(name, predictions)
