"""Anything that chooses what to show: policies, plans, functions of counts, and baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidPolicy
from preceptor.model.plan import Plan
from preceptor.model.policies import Policy, Stationary, as_set
from preceptor.model.problem import Problem
from preceptor.model.sets import TestSet
from preceptor.planning.candidate_sets import full_sets, most_predictive_set
from preceptor.simulation.cases import Stream, stream


class Recommender(Protocol):
    """Any object that recommends a set given the exposure counts."""

    def recommend(self, counts: Sequence[int]) -> Sequence[int]:
        """Return the set to show next."""


@runtime_checkable
class PersonalPolicy(Protocol):
    """A randomised policy with a different schedule for each person."""

    def schedule_for(self, rounds: int, rng: np.random.Generator) -> Sequence[Sequence[int]]:
        """Return one person's schedule for rounds 0..rounds-1."""


class CaseSession(Protocol):
    """One person under a policy that looks at each case before it chooses."""

    def choose(self, results: FloatArray) -> TestSet:
        """Return the set to show, given all results (n,) of the case in the world's units."""

    def after(self, shown: TestSet, values: FloatArray, answer: float, outcome: float) -> None:
        """Record what was shown (shown,), answered and true, in the world's units."""


@runtime_checkable
class ChoosesWithCase(Protocol):
    """A policy that looks at each case before it chooses, such as `CaseAware`."""

    def start(self, problem: Problem) -> CaseSession:
        """Begin with a new person."""


Chooser = (
    Plan
    | Policy
    | PersonalPolicy
    | ChoosesWithCase
    | Recommender
    | Callable[[Sequence[int]], Sequence[int]]
)


class Schedules(NamedTuple):
    """Distinct sets, and the position of the one shown to each person and round."""

    sets: tuple[TestSet, ...]
    which: IntArray  # (people, rounds)


@dataclass(frozen=True)
class RandomOrder:
    """A policy that draws a set uniformly in every round, independently for each person.

    Parameters
    ----------
    sets
        Sets of tests that may be shown.

    Examples
    --------
    >>> RandomOrder([(0,), (1,)]).schedule_for(3, np.random.default_rng(0))
    [(1,), (1,), (1,)]
    """

    sets: Sequence[TestSet]

    @classmethod
    def of(cls, problem: Problem) -> RandomOrder:
        """Return the policy over all allowed sets to which no test can be added.

        Parameters
        ----------
        problem
            The problem, with its budget.

        Returns
        -------
        RandomOrder
            Over these sets; over a random sample of them where there are very many.
        """
        return cls(tuple(full_sets(problem, np.random.default_rng(0))))

    def schedule_for(self, rounds: int, rng: np.random.Generator) -> list[TestSet]:
        """Return one person's schedule.

        Parameters
        ----------
        rounds
            Number of rounds.
        rng
            The source of randomness.

        Returns
        -------
        list of tuples of int
            The set of each round, drawn independently.
        """
        return [self.sets[i] for i in rng.integers(len(self.sets), size=rounds)]


def most_predictive(problem: Problem) -> Stationary:
    """Return the policy that always shows the set with the best prediction under true weights.

    Parameters
    ----------
    problem
        World and budget; prices are ignored.

    Returns
    -------
    Stationary
        The policy that considers the data but not the person.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> most_predictive(pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1)).shown
    (0,)
    """
    return Stationary(most_predictive_set(problem))


def schedules(problem: Problem, chooser: Chooser, rounds: int, people: int, seed: int) -> Schedules:
    """Return each person's schedule; randomised policies use that person's random stream."""
    if isinstance(chooser, PersonalPolicy):
        rows = [
            [as_set(s) for s in chooser.schedule_for(rounds, rng)]
            for rng in (stream(seed, person, Stream.CHOICES) for person in range(people))
        ]
    else:
        rows = [_common_schedule(problem, chooser, rounds)]
    sets = tuple(dict.fromkeys(shown for row in rows for shown in row))
    _check(problem, sets)
    position = {shown: i for i, shown in enumerate(sets)}
    which = np.array([[position[shown] for shown in row] for row in rows], dtype=np.int64)
    return Schedules(sets, np.broadcast_to(which, (people, rounds)))


def _common_schedule(problem: Problem, chooser: Chooser, rounds: int) -> list[TestSet]:
    """The schedule of a deterministic policy, which is the same for all people."""
    policy = chooser.policy if isinstance(chooser, Plan) else chooser
    if isinstance(policy, Policy):
        policy.check(problem)
        return policy.schedule(rounds)
    choose = getattr(policy, "recommend", policy)
    if not callable(choose):
        raise InvalidPolicy(
            f"policy: {policy!r}, must be a Policy, a Plan, a function from counts to a set, "
            "or have recommend(counts) or schedule_for(rounds, rng)"
        )
    counts = list(problem.start_counts)
    chosen = []
    for _ in range(rounds):
        shown = as_set(choose(tuple(counts)))
        _check(problem, (shown,))
        chosen.append(shown)
        for i in shown:
            counts[i] += 1
    return chosen


def _check(problem: Problem, sets: Sequence[TestSet]) -> None:
    for shown in sets:
        Stationary(shown).check(problem)
