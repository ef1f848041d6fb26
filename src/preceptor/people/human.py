"""The protocol of a person who answers, and the sessions that a crowd goes through.

People use the world's units: tests with mean 0 in the world's scale (a standard deviation of 1
where it came from a table), outcomes as deviations from their mean. Logs convert to the units that
real people read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidInput
from preceptor.model.sets import TestSet
from preceptor.model.world import SampledCases

Seed = np.random.Generator | int | None
# Cases are drawn in whole blocks of this many rounds, so that asking for more rounds leaves the
# earlier ones as they were.
ROUNDS_DRAWN = 64


@runtime_checkable
class Human(Protocol):
    """One person: any class with these three methods; `check_human` tests yours.

    Hidden results are never passed to it.

    Examples
    --------
    >>> class Guesser:
    ...     def reset(self, rng=None): ...
    ...     def predict(self, shown, values): return 0.0
    ...     def feedback(self, shown, values, outcome): ...
    >>> isinstance(Guesser(), Human)
    True
    """

    def reset(self, rng: Seed = None) -> None:
        """Start over as a new person.

        Parameters
        ----------
        rng
            A seed or a generator, the only source of randomness in later answers.
        """

    def predict(self, shown: TestSet, values: FloatArray) -> float:
        """Return the answer to a case, without side effects: asked again, it is the same.

        Parameters
        ----------
        shown
            Indices of the shown tests, in rising order.
        values
            Their results in the same order, shape (len(shown),), in the world's units.

        Returns
        -------
        float
            The predicted outcome, in the world's units.
        """

    def feedback(self, shown: TestSet, values: FloatArray, outcome: float) -> None:
        """Learn from the outcome, and end the round.

        Parameters
        ----------
        shown
            Indices of the shown tests, in rising order.
        values
            Their results in the same order, shape (len(shown),), in the world's units.
        outcome
            The outcome, in the world's units.
        """


@dataclass(frozen=True, eq=False)
class Sessions:
    """Sets, results and outcomes of all rounds of all people in a crowd.

    Parameters
    ----------
    sets
        The distinct sets that occur.
    which
        Position in `sets` of the set shown, shape (people, rounds).
    values
        Test results, shape (people, rounds, n), NaN where hidden.
    outcomes
        Outcomes, shape (people, rounds).
    told
        Whether the outcome is revealed, shape (rounds,); always if omitted. Otherwise nothing is
        learned.

    Examples
    --------
    >>> sessions = Sessions(((0,),), np.zeros((1, 2), int), np.ones((1, 2, 1)), np.ones((1, 2)))
    >>> sessions.people, sessions.rounds, sessions.size
    (1, 2, 1)
    """

    sets: tuple[TestSet, ...]
    which: IntArray
    values: FloatArray
    outcomes: FloatArray
    told: npt.NDArray[np.bool_] | None = None

    @classmethod
    def hiding(cls, sets: tuple[TestSet, ...], which: IntArray, cases: SampledCases) -> Sessions:
        """Return sessions made of complete cases, hiding all but the chosen sets.

        Parameters
        ----------
        sets
            The distinct sets that occur.
        which
            Position in `sets` of the set shown, shape (people, rounds).
        cases
            Features of shape (people, rounds, n) and outcomes of shape (people, rounds).

        Returns
        -------
        Sessions
            The same cases with NaN for hidden results.
        """
        shown = cls(sets, which, cases.features, cases.outcomes).shown
        return cls(sets, which, np.where(shown, cases.features, np.nan), cases.outcomes)

    @property
    def people(self) -> int:
        """Number of people."""
        return int(self.values.shape[0])

    @property
    def rounds(self) -> int:
        """Number of rounds per person."""
        return int(self.values.shape[1])

    @property
    def size(self) -> int:
        """Number of tests, n."""
        return int(self.values.shape[2])

    @property
    def shown(self) -> npt.NDArray[np.bool_]:
        """Whether a test was shown, (people, rounds, n)."""
        member = np.zeros((len(self.sets), self.size), dtype=np.bool_)
        for row, shown in enumerate(self.sets):
            member[row, list(shown)] = True
        return member[self.which]

    def of(self, people: slice | IntArray) -> Sessions:
        """Return the sessions of some of the people.

        Parameters
        ----------
        people
            A slice or positions, from 0.

        Returns
        -------
        Sessions
            Of those people, in that order.
        """
        which, values, outcomes = self.which[people], self.values[people], self.outcomes[people]
        return Sessions(self.sets, which, values, outcomes, self.told)

    def is_told(self, t: int) -> bool:
        """Return whether the outcome of round t is revealed.

        Parameters
        ----------
        t
            The round, from 0.

        Returns
        -------
        bool
            True if `told` was omitted.
        """
        return self.told is None or bool(self.told[t])


@runtime_checkable
class BatchHuman(Human, Protocol):
    """A person who can also answer for a whole crowd in one call."""

    def predict_many(self, sessions: Sessions, rngs: Sequence[np.random.Generator]) -> FloatArray:
        """Return the answers of all people in all rounds: `answer_one_by_one`, only faster.

        Parameters
        ----------
        sessions
            Sets, results and outcomes.
        rngs
            One generator per person.

        Returns
        -------
        array of shape (people, rounds)
            Predicted outcomes, in the world's units.
        """


@runtime_checkable
class HandlesMissingOutcome(Protocol):
    """A person who is notified when a round ends without an outcome."""

    def skip_outcome(self) -> None:
        """End the round without revealing its outcome."""


def answers_of(human: Human, sessions: Sessions, rngs: Sequence[np.random.Generator]) -> FloatArray:
    """Play all sessions, in one call if the person can, else one by one.

    Parameters
    ----------
    human
        The person who answers.
    sessions
        Sets, results and outcomes.
    rngs
        One generator per person.

    Returns
    -------
    array of shape (people, rounds)
        Predicted outcomes, in the world's units.
    """
    if isinstance(human, BatchHuman):
        return human.predict_many(sessions, rngs)
    return answer_one_by_one(human, sessions, rngs)


def answer_one_by_one(
    human: Human, sessions: Sessions, rngs: Sequence[np.random.Generator]
) -> FloatArray:
    """Play all sessions, one person after the other, round by round.

    Parameters
    ----------
    human
        The person who answers, reset for each session in turn.
    sessions
        Sets, results and outcomes.
    rngs
        One generator per person.

    Returns
    -------
    array of shape (people, rounds)
        Predicted outcomes, in the world's units.

    Examples
    --------
    >>> from preceptor import DeltaRule, World
    >>> sessions = Sessions(((0,),), np.zeros((1, 2), int), np.ones((1, 2, 1)), np.ones((1, 2)))
    >>> person = DeltaRule([0.0], rate=0.5).acting(World([1.0], [[1.0]]))
    >>> answer_one_by_one(person, sessions, [np.random.default_rng(0)])
    array([[0. , 0.5]])
    """
    answers = np.empty((sessions.people, sessions.rounds))
    for person, rng in enumerate(rngs):
        human.reset(rng)
        for t in range(sessions.rounds):
            shown = sessions.sets[sessions.which[person, t]]
            values = sessions.values[person, t, list(shown)]
            answers[person, t] = human.predict(shown, values)
            if sessions.is_told(t):
                human.feedback(shown, values, float(sessions.outcomes[person, t]))
            elif isinstance(human, HandlesMissingOutcome):
                human.skip_outcome()
    return answers


def check_yes_no_answers(name: str, answers: FloatArray, first: int = 0) -> None:
    """Raise `InvalidInput` for answers (people, rounds) outside of 0 to 1.

    Parameters
    ----------
    name
        Name of the person's class, for the message.
    answers
        Probabilities of yes, or 1 for yes and 0 for no.
    first
        The round of the first column.
    """
    wrong = np.argwhere(~((answers >= 0.0) & (answers <= 1.0)))
    if wrong.size:
        person, t = (int(i) for i in wrong[0])
        raise InvalidInput(
            f"human: {name} answered {answers[person, t]} in round {first + t} of person "
            f"{person + 1}; where outcomes are yes/no, an answer is a probability from 0 to 1, or "
            "1 for yes and 0 for no"
        )
