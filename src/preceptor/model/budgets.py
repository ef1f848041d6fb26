"""Budgets: which sets of tests may be shown in one round, and at what price.

A budget lists its sets in a fixed order (smaller sets first, then by index), and every solver
breaks ties by that order, so the same problem always gives the same plan. `price` is charged per
test shown and added to the loss of the round; it is one number or one per test.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.schema import (
    Count,
    Index,
    InFiles,
    Items,
    Limits,
    NonNegative,
    NotKind,
    Vector,
    faults_as_made,
)
from preceptor._base.values import FloatArray, Kind, frozen_array
from preceptor._base.words import counted
from preceptor.errors import InvalidProblem, TooLarge
from preceptor.model.sets import MOST_NUMBERS, SetFamily
from preceptor.model.world import Blocks

# Beyond this many sets, listing them all takes minutes and gigabytes.
MAX_LISTED_SETS = 5_000_000


@dataclass(frozen=True, eq=False)
class Budget(Kind):
    """Which tests may be shown together, and at what price.

    Base of all budgets. Define your own as a frozen dataclass with a `kind` and the methods
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
        InvalidProblem.raise_if(faults_as_made(self) or self._faults())

    def _faults(self) -> list[str]:
        """Faults of fields that are valid by themselves."""
        return []

    def size_faults(self, tests: int) -> list[str]:
        """Faults of this budget in a world with this many tests.

        Parameters
        ----------
        tests
            How many tests there are, n.

        Returns
        -------
        list of str
            One sentence per fault.
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
            Added to the loss of a round for each test shown.
        """
        return np.broadcast_to(np.asarray(self.price, dtype=np.float64), (tests,)).copy()

    def shown_together(self, tests: int) -> tuple[tuple[int, ...], ...]:
        """The units that are shown or hidden together: single columns, unless tests are grouped.

        Parameters
        ----------
        tests
            How many tests there are, n.

        Returns
        -------
        tuple of tuples of int
            A partition of the columns.
        """
        return tuple((i,) for i in range(tests))

    def listing(self, sets: Iterable[Sequence[int]]) -> Budget:
        """A budget that allows only these sets, at the same prices.

        Parameters
        ----------
        sets
            The allowed sets.

        Returns
        -------
        Budget
            A `Listed` budget.
        """
        return Listed(tuple(tuple(shown) for shown in sets), price=self.price)

    def in_words(self, tests: int | None = None) -> str:
        """Describe what may be shown in a round, as part of a sentence.

        Parameters
        ----------
        tests
            How many tests there are, if known.

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
        """Number of allowed sets (an upper bound where counting is as hard as listing).

        Parameters
        ----------
        tests
            How many tests there are, n.

        Returns
        -------
        int
            Including the empty set if it is allowed.
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
            Indices in increasing order. Every solver breaks ties by this order.
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
        """The allowed set with the largest sum of scores; the smaller set in a tie.

        Parameters
        ----------
        scores
            One per test, shape (n,).

        Returns
        -------
        tuple of int
            Indices in increasing order.
        """

    def sets(self, tests: int) -> SetFamily:
        """List all allowed sets.

        Parameters
        ----------
        tests
            How many tests there are, n.

        Returns
        -------
        SetFamily
            The sets in the order of `subsets`, with their prices.

        Raises
        ------
        TooLarge
            More sets than can be held.
        InvalidProblem
            No set is allowed at all.
        """
        bound = self.count(tests)
        # A table of which set holds which test has a byte for each; the largest array has eight.
        most = min(MAX_LISTED_SETS, 8 * MOST_NUMBERS // tests)
        if bound > most:
            # A number may have hundreds of digits; then its size is enough.
            many = f"{bound:,}" if bound < 10**15 else f"about 10^{int(math.log10(bound))}"
            raise TooLarge(
                f"{many} sets of {tests:,} tests are allowed, more than the {most:,} that can "
                "be listed; lower the budget, or leave out unimportant tests",
                bytes_needed=bound * 8 * tests,
            )
        listed = list(self.subsets(tests))
        if not listed:
            raise InvalidProblem(f"budget: {self} allows no set of {tests} tests")
        return SetFamily.of(listed, self.prices(tests))


@dataclass(frozen=True, eq=False)
class _Counted(Budget):
    """Budgets that limit the number of tests, k."""

    k: Annotated[Count, "How many tests."]

    @property
    @abstractmethod
    def widths(self) -> range:
        """The allowed numbers of tests."""

    def size_faults(self, tests: int) -> list[str]:
        """k must not exceed the number of tests."""
        faults = super().size_faults(tests)
        if self.k > tests:
            faults.append(
                f"budget: {self.k} tests per round, but there are only {tests}; "
                f"must be at most {tests}"
            )
        return faults

    def in_words(self, tests: int | None = None) -> str:
        """The number of tests.

        >>> AtMost(2).in_words(5), AtMost(2).in_words()
        ('at most 2 of 5', 'at most 2 tests')
        """
        some = counted(self.k, "test") if tests is None else f"{self.k} of {tests}"
        return self._with_price(f"{self.kind.replace('-', ' ')} {some}")

    def count(self, tests: int) -> int:
        """Σ_j C(n, j) over the allowed numbers j."""
        return sum(math.comb(tests, j) for j in self.widths)

    def subsets(self, tests: int) -> Iterator[tuple[int, ...]]:
        """All sets of each allowed size."""
        for width in self.widths:
            yield from itertools.combinations(range(tests), width)

    def allows(self, shown: Sequence[int]) -> bool:
        """Whether the number of tests is allowed."""
        return len(shown) in self.widths

    def maximise(self, scores: FloatArray) -> tuple[int, ...]:
        """The k largest scores."""
        best = np.argsort(-scores, kind="stable")[: self.k]
        return tuple(sorted(int(i) for i in best))


@dataclass(frozen=True, eq=False)
class AtMost(_Counted):
    """Any set of up to k tests, including the empty set. The paper's budget.

    Parameters
    ----------
    k
        The most tests that may be shown per case, at least 1.
    price
        Added to the loss for each test shown: one number, or one per test (n,).

    Examples
    --------
    >>> list(AtMost(1).subsets(2))
    [(), (0,), (1,)]
    """

    kind: ClassVar[str] = "at-most"

    @property
    def widths(self) -> range:
        """From 0 to k."""
        return range(self.k + 1)

    def maximise(self, scores: FloatArray) -> tuple[int, ...]:
        """The k largest scores, if positive."""
        return tuple(i for i in super().maximise(scores) if scores[i] > 0)


@dataclass(frozen=True, eq=False)
class Exactly(_Counted):
    """Sets of exactly k tests, no fewer.

    Parameters
    ----------
    k
        How many tests are shown per case, at least 1.
    price
        Added to the loss for each test shown: one number, or one per test (n,).

    Examples
    --------
    >>> list(Exactly(2).subsets(3))
    [(0, 1), (0, 2), (1, 2)]
    """

    kind: ClassVar[str] = "exactly"

    @property
    def widths(self) -> range:
        """Only k."""
        return range(self.k, self.k + 1)


@dataclass(frozen=True, eq=False)
class Knapsack(Budget):
    """Any set whose total cost is at most `limit` (minutes, money, blood).

    Costs only restrict what may be shown; to charge for tests as well, set a `price`.

    Parameters
    ----------
    costs
        Cost of each test, shape (n,), at least 0.
    limit
        The largest total cost per case, in the units of `costs`.
    price
        Added to the loss for each test shown: one number, or one per test (n,).

    Examples
    --------
    >>> list(Knapsack([1.0, 2.0, 2.5], limit=3.0).subsets(3))
    [(), (0,), (1,), (2,), (0, 1)]
    """

    kind: ClassVar[str] = "knapsack"

    costs: Annotated[Vector, Limits(at_least=0), "Cost of each test (minutes, money, ...)."]
    limit: Annotated[NonNegative, "The most that one round may cost."]

    def _faults(self) -> list[str]:
        if self.costs.min() <= self.limit:
            return []
        return [
            f"limit: {self.limit} is below the cheapest test ({self.costs.min():.6g}), so nothing "
            "could ever be shown; raise it"
        ]

    def size_faults(self, tests: int) -> list[str]:
        """One cost for each test."""
        faults = super().size_faults(tests)
        if self.costs.size != tests:
            faults.append(f"costs: {self.costs.size} costs for {tests} tests; lengths must agree")
        return faults

    def count(self, tests: int) -> int:
        """Upper bound: all sets with no more tests than ever fit together."""
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
        """Solve an integer program."""
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
    """The listed sets and no others.

    Parameters
    ----------
    allowed
        Sets of test indices, in any order.
    price
        Added to the loss for each test shown: one number, or one per test (n,).

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
        faults = []
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
        """Length of the list."""
        return len(self.allowed)

    def subsets(self, tests: int) -> Iterator[tuple[int, ...]]:
        """The list, smaller sets first."""
        return iter(self.allowed)

    def allows(self, shown: Sequence[int]) -> bool:
        """Whether the set is listed."""
        return tuple(sorted(shown)) in self._members

    def maximise(self, scores: FloatArray) -> tuple[int, ...]:
        """Compare all listed sets."""
        return max(self.allowed, key=lambda shown: float(scores[list(shown)].sum()))

    def in_words(self, tests: int | None = None) -> str:
        """The number of listed sets."""
        return self._with_price(f"one of {counted(len(self.allowed), 'listed set')}")

    @cached_property
    def _members(self) -> frozenset[tuple[int, ...]]:
        return frozenset(self.allowed)


def as_budget(budget: Budget | int) -> Budget:
    """Return a budget; an integer k means `AtMost(k)`."""
    if isinstance(budget, Budget):
        return budget
    if is_count(budget, least=1):
        return AtMost(int(budget))
    raise InvalidProblem(
        f"budget: {budget!r}, must be a whole number of tests (at least 1), or an AtMost, Exactly, "
        "Knapsack or Listed"
    )


@dataclass(frozen=True, eq=False)
class Grouped(Budget):
    """The sets of tests that `budget` allows, as sets of columns; `blocks` has those of each test.

    `price` follows from the inner budget: the price of a test is charged on its first column.

    >>> from preceptor.model.budgets import AtMost
    >>> list(Grouped(AtMost(1), [[0], [1, 2]]).subsets(3))
    [(), (0,), (1, 2)]
    """

    kind: ClassVar[str] = "grouped"

    budget: Annotated[
        Budget,
        NotKind("grouped"),
        InFiles(Count | Budget),
        "What is allowed of tests: counts, costs and prices are of tests, not of columns. A "
        "number k means at most k.",
    ]
    blocks: Annotated[Blocks, "For each test its columns (from 0); every column is in one test."]
    price: float | FloatArray = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        inner = as_budget(self.budget)
        try:
            blocks = tuple(sorted(tuple(sorted(int(i) for i in block)) for block in self.blocks))
        except (TypeError, ValueError, OverflowError):
            raise InvalidProblem("blocks: must be a list of columns for each test") from None
        columns = [i for block in blocks for i in block]
        faults = [] if all(blocks) else ["blocks: a test without columns; give it at least one"]
        if sorted(columns) != list(range(len(columns))):
            faults.append(f"blocks: {blocks}, every column from 0 on must be in exactly one test")
        if isinstance(inner, Grouped):
            faults.append("budget: is grouped already; give the budget over tests")
        InvalidProblem.raise_if(faults + inner.size_faults(len(blocks)))
        prices = np.zeros(len(columns))
        prices[[block[0] for block in blocks]] = inner.prices(len(blocks))
        price = frozen_array(prices) if prices.any() else 0.0
        self.set_fields(budget=inner, blocks=blocks, price=price)

    def size_faults(self, tests: int) -> list[str]:
        """The blocks must cover the world's columns."""
        columns = sum(len(block) for block in self.blocks)
        if columns != tests:
            return [f"budget: its tests have {columns} columns, but the world has {tests}"]
        return []

    def shown_together(self, tests: int) -> Blocks:
        """The columns of each test."""
        return self.blocks

    def count(self, tests: int) -> int:
        """As many as the inner budget allows."""
        return self.budget.count(len(self.blocks))

    def subsets(self, tests: int) -> Iterator[tuple[int, ...]]:
        """The inner budget's sets as columns, fewer columns first."""
        sets = (self._columns(shown) for shown in self.budget.subsets(len(self.blocks)))
        return iter(sorted(sets, key=lambda shown: (len(shown), shown)))

    def allows(self, shown: Sequence[int]) -> bool:
        """Whether these are whole tests that the inner budget allows."""
        chosen = self._tests(shown)
        return chosen is not None and self.budget.allows(chosen)

    def maximise(self, scores: FloatArray) -> tuple[int, ...]:
        """The inner budget's maximiser; a test's score is the sum over its columns."""
        sums = np.array([float(scores[list(block)].sum()) for block in self.blocks])
        return self._columns(self.budget.maximise(sums))

    def listing(self, sets: Iterable[Sequence[int]]) -> Budget:
        """A budget that allows only these sets of whole tests, at the same prices."""
        chosen = [self._tests(shown) for shown in sets]
        if any(tests is None for tests in chosen):
            raise InvalidProblem("sets: some show only part of a test; show whole tests")
        whole = tuple(tests for tests in chosen if tests is not None)
        return Grouped(Listed(whole, price=self.budget.price), self.blocks)

    def in_words(self, tests: int | None = None) -> str:
        """The inner budget, which counts tests."""
        return self.budget.in_words(len(self.blocks))

    def to_dict(self) -> dict[str, Any]:
        """The inner budget and the blocks; prices follow from them."""
        blocks = [list(block) for block in self.blocks]
        return {"kind": self.kind, "budget": self.budget.to_dict(), "blocks": blocks}

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Grouped:
        """Rebuild the inner budget first."""
        inner = fields.get("budget")
        read = Budget.from_dict(inner) if isinstance(inner, Mapping) else inner
        return super().from_fields({**fields, "budget": read} if "budget" in fields else fields)

    def _columns(self, tests: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(i for test in tests for i in self.blocks[test]))

    def _tests(self, columns: Sequence[int]) -> tuple[int, ...] | None:
        """The tests that these columns make up, or None if they are not whole tests."""
        chosen = sorted({self._test_of[i] for i in columns if i in self._test_of})
        return tuple(chosen) if self._columns(chosen) == tuple(sorted(columns)) else None

    @cached_property
    def _test_of(self) -> dict[int, int]:
        return {column: test for test, block in enumerate(self.blocks) for column in block}
