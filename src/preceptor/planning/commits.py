"""The best set to commit to from many states at once.

Beam search asks this for every child of every state it keeps, so for the paper's case (squared
error, a person who knows the correlations) the sets are walked as a tree, a block of states at a
time; otherwise dense forms, or the oracle itself, answer more slowly.

**What a child cannot do.** Committing to S costs floor_S + |e|², a constant and a squared length
of the errors in the seminorm of S. With geometric learning a child of a state, who was shown A once
more, has errors e - d with d_i = e_i(1 - 1/α_i) for i in A, also at every later time. By the
triangle inequality its cost is at least floor_S + (|e| - |d|)², and |d| is at most the sum of the
largest k of |d_i| over all tests. So the costs at the parent, worked out once, rule out most sets
for all of its children.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from preceptor._base.discounting import negligible_after
from preceptor._base.threads import in_threads
from preceptor._base.values import FloatArray, IntArray
from preceptor.evaluation.tails import TailSums, tail_sums, tail_sums_bytes
from preceptor.evaluation.value import commit_value
from preceptor.loss.gaussian import GaussianOracle
from preceptor.planning.bounds import least_loss

if TYPE_CHECKING:
    from preceptor.problem import Problem


# Bounds near parents that are kept, at most.
_NEAR_BYTES = 64 * 2**20


class _Walk(NamedTuple):
    """What kernels that walk the tree of sets take after the counts, in their order."""

    first_error: FloatArray
    covariance: FloatArray
    zeroth: float
    first: FloatArray
    retention: FloatArray
    scale: FloatArray
    second: FloatArray
    depth: IntArray
    test: IntArray
    set_index: IntArray
    row: FloatArray
    after: IntArray
    cost_floor: FloatArray


class CommitValues:
    """Answers for counts up to `showings` since the start, over `rounds` rounds or forever.

    Closed sums are used where their tables fit into `memory_limit` bytes.
    """

    def __init__(
        self,
        problem: Problem,
        showings: int,
        rounds: int | None,
        memory_limit: float = np.inf,
    ) -> None:
        self._problem = problem
        self._rounds, self._showings = rounds, showings
        self._forms = problem.oracle.forms()
        squared = problem.oracle.squared_form_of(()) is not None
        closed = squared and tail_sums_bytes(problem, showings) <= memory_limit
        self._sums = tail_sums(problem, showings, rounds) if closed else None
        oracle = problem.oracle
        self._tree = oracle.tree if isinstance(oracle, GaussianOracle) else None
        self._near: dict[bytes, FloatArray] = {}
        if self._sums is not None and self._tree is not None:
            self._cost_floor = self._sums.zeroth * oracle.floors()
            self._least_below = self._tree.least_below(self._cost_floor)

    def best(
        self,
        counts: IntArray,
        hints: IntArray | None = None,
        parent: IntArray | None = None,
        limits: FloatArray | None = None,
    ) -> tuple[FloatArray, IntArray]:
        """Least cost (states,) and the set (states,) for counts since the start (states, n).

        `hints` are sets likely to be good, and `parent` (n,) the counts before one more set was
        shown, if that is the same for all; they change how long it takes, not the answer. Where
        the least cost is above `limits` (states,), some cost above it may be given instead.
        """
        most = np.full(counts.shape[0], np.inf) if limits is None else limits
        if self._sums is not None and self._tree is not None:
            none = np.empty(0, dtype=np.int64)
            known = none if hints is None else hints
            least = self._least_below if parent is None else self._least_near(parent, self._sums)
            return self._best_by_tree(counts, self._sums, known, least, most)
        if self._forms is None:
            return self._best_by_asking(counts)
        best = np.empty(counts.shape[0])
        chosen = np.empty(counts.shape[0], dtype=np.int64)
        if self._sums is not None:
            self._fill_by_forms(np.ascontiguousarray(counts), self._sums, best, chosen)
        else:
            self._fill_by_summing(np.ascontiguousarray(counts), most, best, chosen)
        return best, chosen

    def _fill_by_forms(
        self, counts: IntArray, sums: TailSums, best: FloatArray, chosen: IntArray
    ) -> None:
        """Closed sums over time of squared errors in any form."""
        from preceptor.planning._commit_kernels import best_commits

        problem = self._problem
        best_commits(
            counts,
            problem.world.coefficients - problem.learner.initial,
            problem.sets.membership,
            *self._quadratic,
            sums.zeroth,
            sums.first,
            sums.retention,
            sums.scale,
            sums.second,
            best,
            chosen,
        )

    @cached_property
    def _quadratic(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What each set costs as a quadratic: constant (sets,), linear (sets, n), (sets, n, n)."""
        forms = self._forms
        assert forms is not None
        return (
            forms.floor + forms.prices + np.sum(forms.shift**2, axis=1),
            np.einsum("sri,sr->si", forms.reading, forms.shift),
            np.einsum("sri,srj->sij", forms.reading, forms.reading),
        )

    def _fill_by_summing(
        self, counts: IntArray, limits: FloatArray, best: FloatArray, chosen: IntArray
    ) -> None:
        """Rounds added up in compiled loops: any risk that has a form."""
        from preceptor.planning._commit_kernels import best_commits_summed

        problem, forms = self._problem, self._forms
        assert forms is not None
        best_commits_summed(
            counts,
            limits,
            problem.discount,
            self._summed_rounds,
            self._errors,
            problem.sets.membership,
            *forms.arrays,
            least_loss(problem),
            best,
            chosen,
        )

    @cached_property
    def _summed_rounds(self) -> int:
        """Rounds after which nothing weighs anything, or all there are."""
        if self._rounds is not None and self._problem.discount >= 1.0:
            return self._rounds
        matter = negligible_after(self._problem.discount)
        return matter if self._rounds is None else min(self._rounds, matter)

    @cached_property
    def _errors(self) -> FloatArray:
        """Errors (n, showings) by how often a test was shown since the start."""
        problem = self._problem
        showings = self._showings + self._summed_rounds
        table = problem.by_showings.retention_table(problem.start_counts, showings)
        return table * (problem.world.coefficients - problem.learner.initial)[:, None]

    def _least_near(self, parent: IntArray, sums: TailSums) -> FloatArray:
        """For each branch of the tree a bound on what children of that state pay there."""
        from preceptor.planning._commit_kernels import bounds_near

        tree, reach = self._tree, self._reach
        if reach is None:
            return self._least_below
        assert tree is not None
        key = parent.tobytes()
        if key in self._near:
            return self._near[key]
        least = np.empty(tree.depth.size)
        widest = int(self._problem.sets.sizes.max())
        bounds_near(parent[None, :], *self._walk(sums), reach, widest, least)
        # Children come in two batches a parent, with those of other parents in between.
        if len(self._near) * least.nbytes > _NEAR_BYTES:
            self._near.clear()
        self._near[key] = least
        return least

    def _walk(self, sums: TailSums) -> _Walk:
        problem, tree = self._problem, self._tree
        assert tree is not None
        return _Walk(
            problem.world.coefficients - problem.learner.initial,
            problem.world.covariance,
            sums.zeroth,
            sums.first,
            sums.retention,
            sums.scale,
            sums.second,
            tree.depth,
            tree.test,
            tree.set_index,
            tree.row,
            tree.after,
            self._cost_floor,
        )

    @cached_property
    def _reach(self) -> FloatArray | None:
        """How long a unit error of each test is in the seminorm of each set, (sets, n).

        None where learning is not geometric or the sets are too many.
        """
        sums = self._sums
        if self._forms is None or sums is None or sums.second.size:
            return None
        member = self._problem.sets.membership
        weight = np.where(member, np.diag(sums.scale)[None, :], sums.zeroth)
        lengths: FloatArray = np.sqrt(weight * np.sum(self._forms.reading**2, axis=1))
        return lengths

    def _best_by_tree(
        self,
        counts: IntArray,
        sums: TailSums,
        hints: IntArray,
        least_below: FloatArray,
        limits: FloatArray,
    ) -> tuple[FloatArray, IntArray]:
        from preceptor.planning._commit_kernels import tree_commits

        best = np.empty(counts.shape[0])
        chosen = np.empty(counts.shape[0], dtype=np.int64)
        walk, paths = self._walk(sums), self._paths(hints)

        def work(part: slice) -> None:
            tree_commits(
                counts[part], *walk, least_below, limits[part], paths, best[part], chosen[part]
            )

        in_threads(work, counts.shape[0])
        return best, chosen

    def _paths(self, hints: IntArray) -> IntArray:
        """Nodes from the root to each hinted set, padded with -1."""
        assert self._tree is not None
        depth = self._tree.depth
        paths = np.full((hints.size, int(depth.max()) + 1), -1, dtype=np.int64)
        for row, hint in enumerate(hints):
            node = int(self._tree.node_of[hint])
            chain = [node]
            while depth[chain[-1]] > 1:
                above = np.flatnonzero(depth[: chain[-1]] == depth[chain[-1]] - 1)[-1]
                chain.append(int(above))
            paths[row, : len(chain)] = chain[::-1]
        return paths

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
