"""Budgets: which sets of tests may be shown in one round, and what showing them costs.

A budget lists its sets in one fixed order (smaller sets first, then by index), and every solver
breaks ties by that order, so the same problem always gives the same plan. `price` is charged per
test shown and added to the loss of the round; it is one number or one for each test.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from preceptor._base.checks import is_count, is_number
from preceptor._base.fields import Count, Index, Items, Limits, NonNegative, Vector
from preceptor._base.values import FloatArray, Kind, frozen_array
from preceptor._base.words import counted
from preceptor.errors import InvalidProblem, TooLarge
from preceptor.model.sets import SetFamily

# Beyond this many sets, listing them all takes minutes and gigabytes.
MAX_LISTED_SETS = 5_000_000
# Which set holds which test is a table of so many bytes.
_MOST_MEMBERSHIPS = 500_000_000


@dataclass(frozen=True, eq=False)
class Budget(Kind):
    """Which tests may be shown together, and at what price.

    Base of all budgets. A budget of your own is a frozen dataclass with a `kind` that defines
    `count`, `subsets`, `allows` and `maximise`.

    Parameters
    ----------
    price
        Added to the loss of a round for each test shown: one number, or one for each test (n,), in
        the units of the loss.

    Examples
    --------
    >>> Budget.from_dict({"kind": "at-most", "k": 2}) == AtMost(2)
    True
    """

    family: ClassVar[str] = "budget"

    price: Annotated[
        float | Vector,
        Limits(at_least=0),
        "Charged for every test shown, and added to the loss of the round: one number, or one "
        "for each test.",
    ] = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        if not is_number(self.price):
            try:
                object.__setattr__(self, "price", frozen_array(self.price))
            except (TypeError, ValueError, OverflowError):
                raise InvalidProblem(
                    f"price: {self.price!r}, must be a number or one number for each test"
                ) from None
        InvalidProblem.raise_if(self._faults())

    def _faults(self) -> list[str]:
        prices = np.asarray(self.price, dtype=np.float64)
        if prices.ndim > 1:
            return [f"price: shape {prices.shape}, must be a number or one for each test"]
        if not np.all(np.isfinite(prices)) or prices.min(initial=0.0) < 0:
            return [f"price: {self.price!r}, must be finite and at least 0"]
        return []

    def size_faults(self, tests: int) -> list[str]:
        """What is wrong with this budget for a world of that many tests.

        Parameters
        ----------
        tests
            How many tests there are, n.

        Returns
        -------
        list of str
            One sentence for each fault; empty if there is none.
        """
        prices = np.asarray(self.price)
        if prices.ndim and prices.size != tests:
            return [f"price: {prices.size} prices for {tests} tests; give one, or one for each"]
        return []

    def prices(self, tests: int) -> FloatArray:
        """Price of each test.

        Parameters
        ----------
        tests
            How many tests there are, n.

        Returns
        -------
        array of shape (n,)
            What showing each test adds to the loss of a round.
        """
        return np.broadcast_to(np.asarray(self.price, dtype=np.float64), (tests,)).copy()

    def shown_together(self, tests: int) -> tuple[tuple[int, ...], ...]:
        """The smallest sets that can be added or left out: single tests, unless they are grouped.

        Parameters
        ----------
        tests
            How many tests there are, n.

        Returns
        -------
        tuple of tuples of int
            Together they hold every test once.
        """
        return tuple((i,) for i in range(tests))

    def listing(self, sets: Iterable[Sequence[int]]) -> Budget:
        """A budget of only these sets, at the same prices.

        Parameters
        ----------
        sets
            The sets that stay allowed.

        Returns
        -------
        Budget
            It allows nothing else.
        """
        return Listed(tuple(tuple(shown) for shown in sets), price=self.price)

    def in_words(self, tests: int | None = None) -> str:
        """What may be shown in a round, as part of a sentence.

        Parameters
        ----------
        tests
            How many tests there are, where that is known.

        Returns
        -------
        str
            Without a capital and a full stop.
        """
        return self._with_price(f"what the budget {self.kind or type(self).__name__!r} allows")

    def _with_price(self, text: str) -> str:
        priced = np.any(np.asarray(self.price))
        return f"{text}; each showing has a price, in units of the loss" if priced else text

    @abstractmethod
    def count(self, tests: int) -> int:
        """How many sets are allowed (an upper bound where counting is as hard as listing).

        Parameters
        ----------
        tests
            How many tests there are, n.

        Returns
        -------
        int
            The number of sets, the empty one included where it is allowed.
        """

    @abstractmethod
    def subsets(self, tests: int) -> Iterator[tuple[int, ...]]:
        """The allowed sets, smaller ones first, then by index.

        Parameters
        ----------
        tests
            How many tests there are, n.

        Returns
        -------
        iterator of tuples of int
            Indices in rising order. Every solver breaks ties by this order.
        """

    @abstractmethod
    def allows(self, shown: Sequence[int]) -> bool:
        """Whether this set may be shown.

        Parameters
        ----------
        shown
            Distinct indices of tests.

        Returns
        -------
        bool
            True if the budget allows it.
        """

    @abstractmethod
    def maximise(self, scores: FloatArray) -> tuple[int, ...]:
        """The allowed set with the largest sum of scores; the smaller set if tied.

        Parameters
        ----------
        scores
            One number for each test, shape (n,).

        Returns
        -------
        tuple of int
            Indices in rising order.
        """

    def sets(self, tests: int) -> SetFamily:
        """List every allowed set.

        Parameters
        ----------
        tests
            How many tests there are, n.

        Returns
        -------
        SetFamily
            The sets in the order of `subsets`, with what each costs to show.

        Raises
        ------
        TooLarge
            More sets than can be held.
        InvalidProblem
            No set is allowed at all.
        """
        bound = self.count(tests)
        most = min(MAX_LISTED_SETS, _MOST_MEMBERSHIPS // tests)
        if bound > most:
            # A number of hundreds of digits says no more than its size.
            many = f"{bound:,}" if bound < 10**15 else f"about 10^{int(math.log10(bound))}"
            raise TooLarge(
                f"{many} sets of {tests:,} tests are allowed, more than the {most:,} that can "
                "be listed; lower the budget, or leave out tests that matter little",
                bytes_needed=bound * 8 * tests,
            )
        listed = list(self.subsets(tests))
        if not listed:
            raise InvalidProblem(f"budget: {self} allows no set of {tests} tests at all")
        widest = max((len(s) for s in listed), default=0)
        members = np.full((len(listed), max(widest, 1)), -1, dtype=np.int64)
        sizes = np.array([len(s) for s in listed], dtype=np.int64)
        for width in set(sizes.tolist()) - {0}:
            rows = np.flatnonzero(sizes == width)
            members[rows, :width] = [listed[r] for r in rows]
        per_test = np.append(self.prices(tests), 0.0)
        return SetFamily(members, sizes, per_test[members].sum(axis=1), tests)


@dataclass(frozen=True, eq=False)
class _Counted(Budget):
    """Budgets that count tests: k of them."""

    k: Annotated[Count, "How many tests."]

    def _faults(self) -> list[str]:
        faults = super()._faults()
        if not is_count(self.k, least=1):
            faults.append(f"k: {self.k!r}, must be a whole number of at least 1")
        return faults

    def size_faults(self, tests: int) -> list[str]:
        """k must not exceed the number of tests."""
        faults = super().size_faults(tests)
        if self.k > tests:
            faults.append(
                f"budget: {self.k} tests per round, but there are only {tests}; "
                f"must be at most {tests}"
            )
        return faults

    def _some(self, tests: int | None) -> str:
        return counted(self.k, "test") if tests is None else f"{self.k} of {tests}"


@dataclass(frozen=True, eq=False)
class AtMost(_Counted):
    """Any set of up to k tests, the empty one included. The paper's budget.

    Parameters
    ----------
    k
        The most tests that may be shown per case, at least 1.
    price
        Added to the loss for each test shown: one number, or one for each test (n,).

    Examples
    --------
    >>> list(AtMost(1).subsets(2))
    [(), (0,), (1,)]
    """

    kind: ClassVar[str] = "at-most"

    def count(self, tests: int) -> int:
        """Σ_j C(n, j) for j up to k."""
        return sum(math.comb(tests, j) for j in range(self.k + 1))

    def subsets(self, tests: int) -> Iterator[tuple[int, ...]]:
        """All sets of size 0, then 1, up to k."""
        for width in range(self.k + 1):
            yield from itertools.combinations(range(tests), width)

    def allows(self, shown: Sequence[int]) -> bool:
        """At most k tests."""
        return len(shown) <= self.k

    def maximise(self, scores: FloatArray) -> tuple[int, ...]:
        """The up to k largest positive scores."""
        best = np.argsort(-scores, kind="stable")[: self.k]
        return tuple(sorted(int(i) for i in best if scores[i] > 0))

    def in_words(self, tests: int | None = None) -> str:
        """The most tests.

        >>> AtMost(2).in_words(5), AtMost(2).in_words()
        ('at most 2 of 5', 'at most 2 tests')
        """
        return self._with_price(f"at most {self._some(tests)}")


@dataclass(frozen=True, eq=False)
class Exactly(_Counted):
    """Sets of exactly k tests, no fewer.

    Parameters
    ----------
    k
        How many tests are shown per case, at least 1.
    price
        Added to the loss for each test shown: one number, or one for each test (n,).

    Examples
    --------
    >>> list(Exactly(2).subsets(3))
    [(0, 1), (0, 2), (1, 2)]
    """

    kind: ClassVar[str] = "exactly"

    def count(self, tests: int) -> int:
        """C(n, k)."""
        return math.comb(tests, self.k)

    def subsets(self, tests: int) -> Iterator[tuple[int, ...]]:
        """All sets of size k."""
        return itertools.combinations(range(tests), self.k)

    def allows(self, shown: Sequence[int]) -> bool:
        """Exactly k tests."""
        return len(shown) == self.k

    def maximise(self, scores: FloatArray) -> tuple[int, ...]:
        """The k largest scores."""
        best = np.argsort(-scores, kind="stable")[: self.k]
        return tuple(sorted(int(i) for i in best))

    def in_words(self, tests: int | None = None) -> str:
        """The number of tests."""
        return self._with_price(f"exactly {self._some(tests)}")


@dataclass(frozen=True, eq=False)
class Knapsack(Budget):
    """Any set whose costs add up to no more than `limit` (minutes, money, blood).

    Costs only restrict what may be shown; to charge for tests as well, give a `price`.

    Parameters
    ----------
    costs
        What each test takes of the limit, shape (n,), at least 0.
    limit
        The most that the tests of one case may cost together, in the units of `costs`.
    price
        Added to the loss for each test shown: one number, or one for each test (n,).

    Examples
    --------
    >>> list(Knapsack([1.0, 2.0, 2.5], limit=3.0).subsets(3))
    [(), (0,), (1,), (2,), (0, 1)]
    """

    kind: ClassVar[str] = "knapsack"

    costs: Annotated[Vector, Limits(at_least=0), "Cost of each test (minutes, money, ...)."]
    limit: Annotated[NonNegative, "The most that one round may cost."]

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "costs", frozen_array(self.costs))
        except (TypeError, ValueError):
            raise InvalidProblem(f"costs: {self.costs!r}, must be a list of numbers") from None
        super().__post_init__()

    def _faults(self) -> list[str]:
        faults = super()._faults()
        if self.costs.ndim != 1 or self.costs.size == 0:
            faults.append(f"costs: shape {self.costs.shape}, must be one number for each test")
        elif not np.all(np.isfinite(self.costs)) or self.costs.min() < 0:
            faults.append(f"costs: {self.costs.tolist()}, must be finite and at least 0")
        if not is_number(self.limit) or self.limit < 0:
            faults.append(f"limit: {self.limit!r}, must be a finite number of at least 0")
        elif not faults and self.costs.min() > self.limit:
            faults.append(
                f"limit: {self.limit} is below the cheapest test ({self.costs.min():.6g}), so "
                "nothing could ever be shown; raise it"
            )
        return faults

    def size_faults(self, tests: int) -> list[str]:
        """One cost for each test."""
        faults = super().size_faults(tests)
        if self.costs.size != tests:
            faults.append(f"costs: {self.costs.size} costs for {tests} tests; lengths must agree")
        return faults

    def count(self, tests: int) -> int:
        """Bounded by the sets no larger than the most tests that ever fit together."""
        fitting = int(np.sum(np.cumsum(np.sort(self.costs)) <= self._ceiling))
        return sum(math.comb(tests, j) for j in range(fitting + 1))

    def subsets(self, tests: int) -> Iterator[tuple[int, ...]]:
        """Sets within the limit, smaller ones first."""
        layer: list[tuple[int, ...]] = [()]
        while layer:
            yield from layer
            layer = [
                (*shown, extra)
                for shown in layer
                for extra in range((shown[-1] + 1) if shown else 0, tests)
                if self.allows((*shown, extra))
            ]

    def allows(self, shown: Sequence[int]) -> bool:
        """Costs within the limit (up to rounding of the sum)."""
        return float(self.costs[list(shown)].sum()) <= self._ceiling

    def maximise(self, scores: FloatArray) -> tuple[int, ...]:
        """Solved exactly as an integer program."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        solution = milp(
            -scores,
            constraints=LinearConstraint(self.costs[None, :], ub=self._ceiling),
            integrality=np.ones(scores.size, dtype=np.int64),
            bounds=Bounds(0, 1),
        )
        chosen = np.flatnonzero(np.round(np.asarray(solution.x)) == 1)
        return tuple(int(i) for i in chosen if scores[i] > 0)

    def in_words(self, tests: int | None = None) -> str:
        """The limit."""
        which = "tests" if tests is None else f"of {tests}"
        return self._with_price(f"as many {which} as cost at most {self.limit:g} together")

    @property
    def _ceiling(self) -> float:
        return self.limit * (1 + 1e-12) + 1e-12


@dataclass(frozen=True, eq=False)
class Listed(Budget):
    """Exactly the sets that are listed, nothing else.

    Parameters
    ----------
    allowed
        Sets of test indices, in any order.
    price
        Added to the loss for each test shown: one number, or one for each test (n,).

    Examples
    --------
    >>> list(Listed([[0, 2], [1], []]).subsets(3))
    [(), (1,), (0, 2)]
    """

    kind: ClassVar[str] = "listed"

    allowed: Annotated[
        tuple[Annotated[tuple[Index, ...], Items(unique=True)], ...],
        Items(at_least=1),
        "The sets that may be shown, each a list of tests (from 0).",
    ]

    def __post_init__(self) -> None:
        try:
            sets = {tuple(sorted(int(i) for i in shown)) for shown in self.allowed}
        except (TypeError, ValueError, OverflowError):
            raise InvalidProblem("allowed: must be a list of sets of test indices") from None
        ordered = sorted(sets, key=lambda shown: (len(shown), shown))
        object.__setattr__(self, "allowed", tuple(ordered))
        super().__post_init__()

    def _faults(self) -> list[str]:
        faults = super()._faults()
        if not any(self.allowed):
            faults.append("allowed: no set shows anything; list at least one test")
        for shown in self.allowed:
            if len(set(shown)) != len(shown) or (shown and shown[0] < 0):
                faults.append(f"allowed: {shown}, must be distinct indices of at least 0")
        return faults

    def size_faults(self, tests: int) -> list[str]:
        """Indices must be those of tests."""
        faults = super().size_faults(tests)
        largest = max((shown[-1] for shown in self.allowed if shown), default=-1)
        if largest >= tests:
            faults.append(f"allowed: test {largest}, but there are only tests 0..{tests - 1}")
        return faults

    def count(self, tests: int) -> int:
        """How many are listed."""
        return len(self.allowed)

    def subsets(self, tests: int) -> Iterator[tuple[int, ...]]:
        """The list, smaller sets first."""
        return iter(self.allowed)

    def allows(self, shown: Sequence[int]) -> bool:
        """Whether it is in the list."""
        return tuple(sorted(shown)) in self._members

    def maximise(self, scores: FloatArray) -> tuple[int, ...]:
        """By looking at each."""
        return max(self.allowed, key=lambda shown: float(scores[list(shown)].sum()))

    def in_words(self, tests: int | None = None) -> str:
        """How many sets there are to choose from."""
        return self._with_price(f"one of {counted(len(self.allowed), 'listed set')}")

    @cached_property
    def _members(self) -> frozenset[tuple[int, ...]]:
        return frozenset(self.allowed)


def as_budget(budget: Budget | int) -> Budget:
    """A plain number k means `AtMost(k)`."""
    if isinstance(budget, Budget):
        return budget
    if is_count(budget, least=1):
        return AtMost(int(budget))
    raise InvalidProblem(
        f"budget: {budget!r}, must be a whole number of tests (at least 1), or an AtMost, Exactly, "
        "Knapsack or Listed"
    )
