"""Play a policy with simulated people: cases, answers, outcomes and losses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.checks import count_faults
from preceptor._base.numerics import total_weight, weights
from preceptor._base.progress import Progress, report
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import counted
from preceptor.errors import InvalidInput
from preceptor.model.person import Person
from preceptor.model.problem import Problem
from preceptor.model.risks import NumberRisk
from preceptor.model.sets import BLOCK_NUMBERS, MOST_NUMBERS, TestSet
from preceptor.model.world import SampledCases
from preceptor.model.yes_no_risks import YesNoRisk
from preceptor.people.acting import Acting
from preceptor.people.human import (
    BatchHuman,
    HandlesMissingOutcome,
    Human,
    Seed,
    Sessions,
    answers_of,
    check_yes_no_answers,
)
from preceptor.planning.candidate_sets import full_sets
from preceptor.simulation.cases import Stream, draw_cases, seed_of, stream
from preceptor.simulation.choosing import Chooser, ChoosesWithCase, schedules
from preceptor.simulation.named import acting_in

if TYPE_CHECKING:
    from preceptor.data.log import Log


@dataclass(frozen=True, eq=False)
class Rollout:
    """Answers and losses of simulated people under a policy.

    Attributes
    ----------
    problem
        The problem.
    sessions
        Sets, results and outcomes of all people.
    predictions
        Answers, shape (people, rounds), in the world's units; where outcomes are yes/no,
        probabilities or decisions (1 and 0), as the risk says.
    losses
        The risk's charge for each answer, plus the price of the set shown, shape (people, rounds).
    seed
        Reproduces the cases.
    alone
        Charges without the assistant, in a block of test cases without feedback after the last
        round, shape (people, test cases); None if there was none. Each shows a random largest set.
    """

    problem: Problem
    sessions: Sessions
    predictions: FloatArray
    losses: FloatArray
    seed: int
    alone: FloatArray | None = None

    @property
    def people(self) -> int:
        """Number of people."""
        return self.sessions.people

    @property
    def rounds(self) -> int:
        """Number of rounds per person."""
        return self.sessions.rounds

    @property
    def mean_loss(self) -> FloatArray:
        """Mean loss of each round over people, (rounds,)."""
        return np.asarray(self.losses.mean(axis=0))

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of `mean_loss`, (rounds,); NaN for one person."""
        return standard_error(self.losses)

    @cached_property
    def totals(self) -> FloatArray:
        """Discounted loss of each person over the rounds played, (people,)."""
        return np.asarray(self.losses @ weights(self.problem.discount, self.rounds))

    @property
    def total(self) -> float:
        """Mean discounted loss: estimates `evaluate`, except for rounds that were not played."""
        return float(self.totals.mean())

    @property
    def total_error(self) -> float:
        """Standard error of `total`; NaN for one person."""
        return float(standard_error(self.totals))

    @property
    def weight(self) -> float:
        """Share of the total discounted weight that the rounds played have; 1 for all rounds."""
        return played_weight(self.problem, self.rounds)

    @cached_property
    def log(self) -> Log:
        """One row per person and round, in the units that people read."""
        # The only import of a higher package here: nothing else about playing needs logs.
        from preceptor.data.log import Log

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
        """Return the key figures.

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
    alone: int = 0,
) -> Rollout:
    """Play a policy with simulated people.

    Parameters
    ----------
    problem
        The problem.
    policy
        A `Policy`, a `Plan`, a function from exposure counts to a set, or any object with
        `recommend(counts)` or `schedule_for(rounds, rng)`.
    rounds
        Number of cases per person.
    people
        Number of people.
    rng
        A seed or a generator; with the same seed, results do not depend on how many other people,
        rounds, policies or humans are played.
    human
        A `Person`, or any object with the three methods of `Human`, reset for each person in turn;
        the problem's own learner if omitted.

    alone
        Number of test cases without feedback after the last round, each with a random largest set:
        how well people decide without the assistant.

    Returns
    -------
    Rollout
        Answers and losses of each person and round.

    Raises
    ------
    InvalidInput
        Invalid numbers, or a person who does not follow the protocol.
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
    return play(problem, policy, cases, seed, person, alone=alone)


def play(
    problem: Problem,
    policy: Chooser,
    cases: SampledCases,
    seed: int,
    human: Human,
    progress: Progress | None = None,
    alone: int = 0,
) -> Rollout:
    """Play like `rollout`, with given cases (people, rounds, n)."""
    people, rounds, _ = cases.features.shape
    tests = _test_block(problem, people, alone, seed)
    if isinstance(policy, ChoosesWithCase):
        sets, which, answers = _played_in_view(problem, policy, cases, tests, seed, human, progress)
    else:
        sets, which = schedules(problem, policy, rounds, people, seed)
        played = _joined(Sessions.hiding(sets, which, cases), tests)
        answers = np.empty((people, played.rounds))
        batch = isinstance(human, BatchHuman)
        group = max(1, BLOCK_NUMBERS // (played.rounds * problem.size)) if batch else 1
        for first in range(0, people, group):
            last = min(first + group, people)
            rngs = [stream(seed, person, Stream.ANSWERS) for person in range(first, last)]
            with np.errstate(over="ignore", invalid="ignore"):  # divergence is reported below
                answers[first:last] = answers_of(human, played.of(slice(first, last)), rngs)
            report(progress, "simulate", done=last / people)
    _check_answers(problem, human, answers)
    prices = problem.budget.prices(problem.size)
    charged = charges(problem, answers[:, :rounds], cases.outcomes)
    losses = charged + np.array([prices[list(shown)].sum() for shown in sets])[which]
    tested = charges(problem, answers[:, rounds:], tests.outcomes) if alone else None
    sessions = Sessions.hiding(sets, which, cases)
    return Rollout(problem, sessions, answers[:, :rounds], losses, seed, tested)


def _test_block(problem: Problem, people: int, rounds: int, seed: int) -> Sessions:
    """Test cases without feedback for each person, each with a random largest set."""
    sets = tuple(full_sets(problem, np.random.default_rng(0)))
    features = np.empty((people, rounds, problem.size))
    outcomes = np.empty((people, rounds))
    which = np.empty((people, rounds), dtype=np.int64)
    for person in range(people):
        rng = stream(seed, person, Stream.TESTS)
        which[person] = rng.integers(len(sets), size=rounds)
        if rounds:
            features[person], outcomes[person] = problem.world.sample(rounds, rng)
    return Sessions.hiding(sets, which, SampledCases(features, outcomes))


def _joined(sessions: Sessions, tests: Sessions) -> Sessions:
    """Rounds with feedback, then test cases without."""
    if not tests.rounds:
        return sessions
    return Sessions(
        (*sessions.sets, *tests.sets),
        np.concatenate([sessions.which, tests.which + len(sessions.sets)], axis=1),
        np.concatenate([sessions.values, tests.values], axis=1),
        np.concatenate([sessions.outcomes, tests.outcomes], axis=1),
        np.arange(sessions.rounds + tests.rounds) < sessions.rounds,
    )


def _played_in_view(
    problem: Problem,
    policy: ChoosesWithCase,
    cases: SampledCases,
    tests: Sessions,
    seed: int,
    human: Human,
    progress: Progress | None,
) -> tuple[tuple[TestSet, ...], IntArray, FloatArray]:
    """Sets, positions of those shown (people, rounds), and all answers, test cases included."""
    people, rounds, _ = cases.features.shape
    answers = np.empty((people, rounds + tests.rounds))
    position: dict[TestSet, int] = {}
    which = np.empty((people, rounds), dtype=np.int64)
    for person in range(people):
        session = policy.start(problem)
        human.reset(stream(seed, person, Stream.ANSWERS))
        for t in range(rounds):
            results, outcome = cases.features[person, t], float(cases.outcomes[person, t])
            shown = session.choose(results)
            values = results[list(shown)]
            answers[person, t] = answer = human.predict(shown, values)
            human.feedback(shown, values, outcome)
            session.after(shown, values, float(answer), outcome)
            which[person, t] = position.setdefault(shown, len(position))
        for t in range(tests.rounds):
            shown = tests.sets[tests.which[person, t]]
            answers[person, rounds + t] = human.predict(shown, tests.values[person, t, list(shown)])
            if isinstance(human, HandlesMissingOutcome):
                human.skip_outcome()
        report(progress, "simulate", done=(person + 1) / people)
    return tuple(position), which, answers


def charges(problem: Problem, answers: FloatArray, outcomes: FloatArray) -> FloatArray:
    """Return the charge of each answer, without the price of the set shown."""
    risk = problem.risk
    if isinstance(risk, YesNoRisk):
        return risk.charge(answers, outcomes)
    assert isinstance(risk, NumberRisk)
    return risk.charge(outcomes - answers)


def check_request(problem: Problem, rounds: int, people: int) -> None:
    """Raise `InvalidInput` if this number of rounds or people cannot be played."""
    faults = count_faults(1, rounds=rounds, people=people)
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
    """Return the standard error of the mean over the first axis; NaN for a single sample."""
    if len(samples) < 2:
        return np.full(samples.shape[1:], np.nan)
    return np.asarray(samples.std(axis=0, ddof=1) / np.sqrt(len(samples)))


def played_weight(problem: Problem, rounds: int) -> float:
    """Return the discounted weight of the first rounds as a share of that of all rounds."""
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
