"""A budget over tests that consist of several columns.

Any budget counts, prices and restricts *tests*. `Grouped` translates: its sets are the columns of
the tests that the inner budget allows. A problem makes one by itself when its world has groups, so
`budget=2` means two tests, whether they are two columns or twenty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from preceptor._base.fields import Count, InFiles, NotKind
from preceptor._base.values import FloatArray, frozen_array
from preceptor.errors import InvalidProblem
from preceptor.model.budgets import Budget, Listed, as_budget
from preceptor.model.groups import Blocks


@dataclass(frozen=True, eq=False)
class Grouped(Budget):
    """What `budget` allows of tests, as sets of columns; `blocks` has the columns of each test.

    `price` follows from the inner budget: a test's price is put on the first of its columns, so
    that prices of whole tests add up as they should.

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
        object.__setattr__(self, "budget", inner)
        object.__setattr__(self, "blocks", blocks)
        prices = np.zeros(len(columns))
        prices[[block[0] for block in blocks]] = inner.prices(len(blocks))
        object.__setattr__(self, "price", frozen_array(prices) if prices.any() else 0.0)

    def size_faults(self, tests: int) -> list[str]:
        """Blocks must be of the world's columns."""
        columns = sum(len(block) for block in self.blocks)
        if columns != tests:
            return [f"budget: its tests have {columns} columns, but the world has {tests}"]
        return []

    def shown_together(self, tests: int) -> Blocks:
        """The columns of each test."""
        return self.blocks

    def count(self, tests: int) -> int:
        """As many as the inner budget allows of tests."""
        return self.budget.count(len(self.blocks))

    def subsets(self, tests: int) -> Iterator[tuple[int, ...]]:
        """The inner budget's sets, column by column, fewer columns first."""
        sets = (self._columns(shown) for shown in self.budget.subsets(len(self.blocks)))
        return iter(sorted(sets, key=lambda shown: (len(shown), shown)))

    def allows(self, shown: Sequence[int]) -> bool:
        """Whole tests only, and such that the inner budget allows them."""
        chosen = self._tests(shown)
        return chosen is not None and self.budget.allows(chosen)

    def maximise(self, scores: FloatArray) -> tuple[int, ...]:
        """The inner budget's choice when a test scores the sum of its columns."""
        sums = np.array([float(scores[list(block)].sum()) for block in self.blocks])
        return self._columns(self.budget.maximise(sums))

    def listing(self, sets: Iterable[Sequence[int]]) -> Budget:
        """Only these sets of columns, which must be of whole tests, at the same prices."""
        chosen = [self._tests(shown) for shown in sets]
        if any(tests is None for tests in chosen):
            raise InvalidProblem("sets: some show a part of a test only; show whole tests")
        whole = tuple(tests for tests in chosen if tests is not None)
        return Grouped(Listed(whole, price=self.budget.price), self.blocks)

    def in_words(self, tests: int | None = None) -> str:
        """The inner budget, which counts tests however many columns they have."""
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
        """Which tests these columns are, or None if they are not whole tests."""
        chosen = sorted({int(self._test_of[i]) for i in columns if i < self._test_of.size})
        return tuple(chosen) if self._columns(chosen) == tuple(sorted(columns)) else None

    @cached_property
    def _test_of(self) -> npt.NDArray[np.int64]:
        where = np.empty(sum(len(block) for block in self.blocks), dtype=np.int64)
        for test, block in enumerate(self.blocks):
            where[list(block)] = test
        return where
