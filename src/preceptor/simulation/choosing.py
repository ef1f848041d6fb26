"""Who chooses what is shown: policies, plans, functions of counts, and simple rules to beat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from preceptor._base.values import IntArray
from preceptor.advice.alternatives import full_sets, most_predictive_set
from preceptor.errors import InvalidPolicy
from preceptor.model.sets import TestSet
from preceptor.plan import Plan
from preceptor.policies import Policy, Stationary, as_set
from preceptor.problem import Problem
from preceptor.simulation.cases import Stream, stream


class Recommender(Protocol):
    """Anything that says what to show next to somebody with these counts."""

    def recommend(self, counts: Sequence[int]) -> Sequence[int]:
        """What to show next."""


@runtime_checkable
class PersonalPolicy(Protocol):
    """A policy that shows different people different things, by chance."""

    def schedule_for(self, rounds: int, rng: np.random.Generator) -> Sequence[Sequence[int]]:
        """What one person is shown, in rounds 0..rounds-1."""


Chooser = Plan | Policy | PersonalPolicy | Recommender | Callable[[Sequence[int]], Sequence[int]]


class Schedules(NamedTuple):
    """Distinct sets, and for every person and round (people, rounds) which of them is shown."""

    sets: tuple[TestSet, ...]
    which: IntArray


@dataclass(frozen=True)
class RandomOrder:
    """Every round one of some sets, each as likely as the others, for everybody anew.

    Parameters
    ----------
    sets
        What may be shown.

    Examples
    --------
    >>> RandomOrder([(0,), (1,)]).schedule_for(3, np.random.default_rng(0))
    [(1,), (1,), (1,)]
    """

    sets: Sequence[TestSet]

    @classmethod
    def of(cls, problem: Problem) -> RandomOrder:
        """Over all allowed sets to which no single test could be added.

        Parameters
        ----------
        problem
            Whose budget says what is allowed.

        Returns
        -------
        RandomOrder
            Over these sets; over a random choice of them where there are very many.
        """
        return cls(tuple(full_sets(problem, np.random.default_rng(0))))

    def schedule_for(self, rounds: int, rng: np.random.Generator) -> list[TestSet]:
        """What one person is shown.

        Parameters
        ----------
        rounds
            How many rounds to draw.
        rng
            Where the draws come from.

        Returns
        -------
        list of tuples of int
            The set of each round, drawn independently.
        """
        return [self.sets[i] for i in rng.integers(len(self.sets), size=rounds)]


def most_predictive(problem: Problem) -> Stationary:
    """Always show the set that somebody with perfect weights would predict best from.

    Parameters
    ----------
    problem
        Whose world and budget are meant; prices do not count.

    Returns
    -------
    Stationary
        The policy of a statistician who looks at the data alone.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> most_predictive(pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1)).shown
    (0,)
    """
    return Stationary(most_predictive_set(problem))


def schedules(problem: Problem, chooser: Chooser, rounds: int, people: int, seed: int) -> Schedules:
    """What each person is shown; chance, where there is any, comes from their own stream."""
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
    """Without chance, counts are the same for everybody, so one schedule serves all."""
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
