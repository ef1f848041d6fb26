"""A simulated person: one small protocol, and the sessions that a crowd goes through.

People live in the numbers of the world: tests with mean 0 in the world's scale (a standard
deviation of 1 where it came from a table), outcomes as deviations from their average.
Translating to the units that real people read happens in logs, outside of them.
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
from preceptor.model.world import Cases

Seed = np.random.Generator | int | None
# Cases are drawn in blocks of so many rounds, whole ones always, so that asking for more rounds
# leaves the earlier ones as they were.
ROUNDS_DRAWN = 64


@runtime_checkable
class Human(Protocol):
    """One person. Any class with these three methods will do; `check_human` tests yours.

    What is hidden is never passed, so nobody can peek.

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
        """Become somebody new.

        Parameters
        ----------
        rng
            A seed or a generator from which all chance in later answers comes.
        """

    def predict(self, shown: TestSet, values: FloatArray) -> float:
        """Answer a case. Asking changes nothing: asked again, the answer is the same.

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
        """Hear what was true, and learn; ends the round.

        Parameters
        ----------
        shown
            Indices of the shown tests, in rising order.
        values
            Their results in the same order, shape (len(shown),), in the world's units.
        outcome
            What was true, in the world's units.
        """


@dataclass(frozen=True, eq=False)
class Sessions:
    """What every person of a crowd is shown, and what is true, in all their rounds.

    Parameters
    ----------
    sets
        The distinct sets that occur.
    which
        Position in `sets` of what is shown, shape (people, rounds).
    values
        Test results, shape (people, rounds, n), NaN where hidden.
    outcomes
        What is true, shape (people, rounds).
    told
        Whether people hear it, shape (rounds,); always if left out. Else nothing is learned.

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
    def hiding(cls, sets: tuple[TestSet, ...], which: IntArray, cases: Cases) -> Sessions:
        """Whole cases, of which only the chosen sets are shown.

        Parameters
        ----------
        sets
            The distinct sets that occur.
        which
            Position in `sets` of what is shown, shape (people, rounds).
        cases
            Features of shape (people, rounds, n) and outcomes of shape (people, rounds).

        Returns
        -------
        Sessions
            The same cases with NaN for what is hidden.
        """
        shown = cls(sets, which, cases.features, cases.outcomes).shown
        return cls(sets, which, np.where(shown, cases.features, np.nan), cases.outcomes)

    @property
    def people(self) -> int:
        """How many people."""
        return int(self.values.shape[0])

    @property
    def rounds(self) -> int:
        """How many rounds each."""
        return int(self.values.shape[1])

    @property
    def size(self) -> int:
        """How many tests there are, n."""
        return int(self.values.shape[2])

    @property
    def shown(self) -> npt.NDArray[np.bool_]:
        """Whether a test was shown, (people, rounds, n)."""
        member = np.zeros((len(self.sets), self.size), dtype=np.bool_)
        for row, shown in enumerate(self.sets):
            member[row, list(shown)] = True
        return member[self.which]

    def of(self, first: int, last: int) -> Sessions:
        """The sessions of some of the people.

        Parameters
        ----------
        first
            The first of them, from 0.
        last
            The first who is not among them.

        Returns
        -------
        Sessions
            Of people first to last - 1.
        """
        part = slice(first, last)
        return Sessions(
            self.sets, self.which[part], self.values[part], self.outcomes[part], self.told
        )

    def is_told(self, t: int) -> bool:
        """Whether the truth of a round is heard.

        Parameters
        ----------
        t
            The round, from 0.

        Returns
        -------
        bool
            Always True where nothing is said about it.
        """
        return self.told is None or bool(self.told[t])


@runtime_checkable
class BatchHuman(Human, Protocol):
    """A person who can also answer for a crowd of people like them, all at once."""

    def predict_many(self, sessions: Sessions, rngs: Sequence[np.random.Generator]) -> FloatArray:
        """Answer all rounds of all people: the same as `answer_one_by_one`, only faster.

        Parameters
        ----------
        sessions
            What they are shown, and what is true.
        rngs
            One generator for each person.

        Returns
        -------
        array of shape (people, rounds)
            Predicted outcomes, in the world's units.
        """


@runtime_checkable
class CanGoOn(Protocol):
    """A person who wants to know that a round has ended without the truth."""

    def go_on(self) -> None:
        """The round is over and nobody said what was true; the next case comes."""


def answers_of(human: Human, sessions: Sessions, rngs: Sequence[np.random.Generator]) -> FloatArray:
    """Play all sessions: all people at once if the person can, one after the other if not.

    Parameters
    ----------
    human
        Whoever answers.
    sessions
        What everybody is shown, and what is true.
    rngs
        One generator for each person.

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
        Reset for everybody in turn.
    sessions
        What they are shown, and what is true.
    rngs
        One generator for each person.

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
            elif isinstance(human, CanGoOn):
                human.go_on()
    return answers


def check_yes_no_answers(name: str, answers: FloatArray, first: int = 0) -> None:
    """Raise `InvalidInput` for answers (people, rounds) that no yes-or-no outcome has.

    Parameters
    ----------
    name
        Of whoever answered, for the message.
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
            f"{person + 1}; where the outcome is yes or no, an answer is a probability from 0 to "
            "1, or 1 for yes and 0 for no"
        )
