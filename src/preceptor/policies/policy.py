"""What a policy is: the contract that every kind keeps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from preceptor._base.values import Kind
from preceptor.errors import InvalidPolicy
from preceptor.model.sets import MOST_NUMBERS, TestSet
from preceptor.problem import Problem


@dataclass(frozen=True, eq=False)
class Policy(Kind):
    """Base of all policies: what to show, round by round or person by person.

    Sets are tuples of test indices in rising order. Counts are totals, whatever a person had seen
    before round 0 included.

    Examples
    --------
    >>> Policy.from_dict({"kind": "stationary", "shown": [0]}).schedule(2)
    [(0,), (0,)]
    """

    family: ClassVar[str] = "policy"

    @property
    @abstractmethod
    def commit(self) -> TestSet | None:
        """The set shown from some round on, forever, or None if there is no such set."""

    @property
    @abstractmethod
    def exploration_length(self) -> int | None:
        """The paper's T_d: rounds before `commit` is all that is shown; None if it never is."""

    @abstractmethod
    def schedule(self, rounds: int) -> list[TestSet]:
        """What somebody who starts afresh is shown.

        Parameters
        ----------
        rounds
            How many rounds to list.

        Returns
        -------
        list of tuples of int
            The set of each round, round 0 first.
        """

    @abstractmethod
    def recommend(self, counts: Sequence[int], round: int | None = None) -> TestSet:
        """What to show next to somebody, on the plan or off it.

        Parameters
        ----------
        counts
            How often this person has been shown each test so far, n of them.
        round
            The round that comes next, where it is known.

        Returns
        -------
        tuple of int
            The set to show.
        """

    @abstractmethod
    def used_sets(self) -> list[TestSet]:
        """Every set that this policy may ever show.

        Returns
        -------
        list of tuples of int
            Each once.
        """

    def settles(self) -> tuple[list[TestSet], list[TestSet]] | None:
        """What is shown first, and what is then repeated forever; None if nothing ever is.

        Returns
        -------
        tuple of two lists of sets, or None
            The rounds before, and one turn of what is repeated: a single set for a policy that
            commits.
        """
        length, commit = self.exploration_length, self.commit
        if length is None or commit is None:
            return None
        return self.schedule(length), [commit]

    def check(self, problem: Problem) -> None:
        """Raise if the problem does not allow what this policy shows.

        Parameters
        ----------
        problem
            Whose budget and size to check against.

        Raises
        ------
        InvalidPolicy
            Sets that the budget does not allow, or tests that are not there.
        """
        rounds = sum(len(getattr(self, name, ())) for name in ("prefix", "cycle", "word"))
        if rounds * problem.size > MOST_NUMBERS:
            raise InvalidPolicy(
                f"policy: lists {rounds:,} rounds of {problem.size} tests, must be at most "
                f"{MOST_NUMBERS // problem.size:,} rounds"
            )
        check_sets(self.used_sets(), problem)


def check_sets(sets: Iterable[TestSet], problem: Problem) -> None:
    """Raise if a problem does not allow some of these sets; all of those are named."""
    faults = []
    for shown in dict.fromkeys(sets):
        if shown and (shown[0] < 0 or shown[-1] >= problem.size):
            faults.append(f"set {shown}: the problem has tests 0..{problem.size - 1}")
        elif not problem.budget.allows(shown):
            faults.append(f"set {shown}: not allowed by the budget {problem.budget}")
    InvalidPolicy.raise_if(faults)
