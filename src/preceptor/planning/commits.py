"""The best set to commit to from many states at once, and the states that end best.

Beam search asks this for every child of every state it keeps, so for the paper's case (squared
error, a person who knows the correlations) the sets are walked as a tree, a block of states at a
time; otherwise dense forms, or the oracle itself, answer more slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from preceptor._base.discounting import negligible_after, total_weight
from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.evaluation.tails import tail_sums, tail_sums_bytes
from preceptor.evaluation.value import commit_value
from preceptor.loss.gaussian import GaussianOracle
from preceptor.planning.finite import DEFAULT_MEMORY

if TYPE_CHECKING:
    from preceptor.problem import Problem

# States are looked at in batches, the cheapest prefixes first: few to begin with, so that the rest
# has something to be measured against, then ever more.
_FIRST, _GROWTH, _LARGEST = 64, 4, 4096


class CommitValues:
    """Answers for counts up to `showings` since the start, over `rounds` rounds or forever."""

    def __init__(
        self,
        problem: Problem,
        showings: int,
        rounds: int | None,
        memory_limit: int = DEFAULT_MEMORY,
    ) -> None:
        oracle = problem.oracle
        self._problem = problem
        self._rounds, self._showings = rounds, showings
        self._forms = oracle.forms()
        closed = oracle.squared_form_of(()) is not None
        closed = closed and tail_sums_bytes(problem, showings) <= memory_limit
        self._sums = tail_sums(problem, showings, rounds) if closed else None
        self._tree = oracle.tree if isinstance(oracle, GaussianOracle) else None

    def cheapest(
        self,
        values: FloatArray,
        counts_of: Callable[[IntArray], IntArray],
        weight: float,
        width: int,
    ) -> tuple[IntArray, FloatArray, IntArray]:
        """States that end best: rows of the best `width`, their whole costs and sets, best first.

        A state has cost `values` (states,) so far, and what comes weighs `weight`; `counts_of`
        gives counts since the start (rows, n).
        """
        floor = weight * self._least * total_weight(self._problem.discount, self._rounds)
        rows, sets = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        costs = np.empty(0)
        order = np.argsort(values, kind="stable")
        begin, size = 0, _FIRST
        while begin < order.size:
            batch = order[begin : begin + size]
            worst = float(costs[-1]) if costs.size == width else np.inf
            if values[batch[0]] + floor > worst:
                break
            limits = (worst - values[batch]) / weight if weight else np.full(batch.size, np.inf)
            later, chosen = self.best(counts_of(batch), limits)
            rows = np.concatenate([rows, batch])
            costs = np.concatenate([costs, values[batch] + weight * later])
            sets = np.concatenate([sets, chosen])
            best = np.lexsort((rows, costs))[:width]
            rows, costs, sets = rows[best], costs[best], sets[best]
            begin, size = begin + size, min(_GROWTH * size, _LARGEST)
        return rows, costs, sets

    def best(
        self, counts: IntArray, limits: FloatArray | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Least cost (states,) and the set (states,) for counts since the start (states, n).

        Where the least cost is above `limits` (states,), some cost above it may be given instead.
        """
        from preceptor.planning._commit_kernels import (
            best_commits,
            best_commits_summed,
            tree_commits,
        )

        most = np.full(len(counts), np.inf) if limits is None else limits
        least, chosen = np.empty(len(counts)), np.empty(len(counts), dtype=np.int64)

        def work(part: slice) -> None:
            here, limit, found = counts[part], most[part], (least[part], chosen[part])
            if self._sums is not None and self._tree is not None:
                tree_commits(*(here, *self._walk, limit, *found))
            elif self._sums is not None and self._forms is not None:
                best_commits(*(here, *self._dense, *found))
            else:
                best_commits_summed(*(here, limit, *self._summed, *found))

        if self._forms is None and (self._sums is None or self._tree is None):
            return self._best_by_asking(counts)
        in_threads(work, len(counts))
        return least, chosen

    @cached_property
    def _least(self) -> float:
        return float(self._problem.oracle.floors().min())

    @cached_property
    def _first_errors(self) -> FloatArray:
        return np.asarray(self._problem.world.coefficients - self._problem.learner.initial)

    @cached_property
    def _walk(self) -> tuple[object, ...]:
        """What the kernel that walks the tree of sets takes after the counts."""
        problem, sums, tree = self._problem, self._sums, self._tree
        assert sums is not None
        assert tree is not None
        cost_floor = sums.zeroth * problem.oracle.floors()
        return (
            self._first_errors, problem.world.covariance, sums.zeroth, sums.first, sums.retention,
            sums.scale, sums.second, tree.depth, tree.test, tree.set_index, tree.row, tree.after,
            cost_floor, tree.least_below(cost_floor),
        )  # fmt: skip

    @cached_property
    def _dense(self) -> tuple[object, ...]:
        """What the kernel for squared error in any form takes after the counts."""
        problem, sums, forms = self._problem, self._sums, self._forms
        assert sums is not None
        assert forms is not None
        return (
            self._first_errors, problem.sets.membership,
            forms.floor + forms.prices + np.sum(forms.shift**2, axis=1),
            np.einsum("sri,sr->si", forms.reading, forms.shift),
            np.einsum("sri,srj->sij", forms.reading, forms.reading),
            sums.zeroth, sums.first, sums.retention, sums.scale, sums.second,
        )  # fmt: skip

    @cached_property
    def _summed(self) -> tuple[object, ...]:
        """What the kernel that adds up rounds, of any risk with a form, takes after the limits."""
        problem, forms, rounds = self._problem, self._forms, self._rounds
        assert forms is not None
        if rounds is None or problem.discount < 1.0:
            matter = negligible_after(problem.discount)
            rounds = matter if rounds is None else min(rounds, matter)
        showings = self._showings + rounds
        table = problem.by_showings.retention_table(problem.start_counts, showings)
        return (
            problem.discount, rounds, table * self._first_errors[:, None],
            problem.sets.membership, *forms.arrays, self._least,
        )  # fmt: skip

    def _best_by_asking(self, counts: IntArray) -> tuple[FloatArray, IntArray]:
        problem = self._problem
        start = np.array(problem.start_counts)
        costs = np.array(
            [
                [
                    commit_value(problem, start + row, shown, self._rounds).value
                    for shown in problem.sets
                ]
                for row in counts
            ]
        )
        chosen = np.argmin(costs, axis=1)
        return costs[np.arange(costs.shape[0]), chosen], chosen
