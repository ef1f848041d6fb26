"""The best set to commit to from many states at once.

Beam search asks this for every child of every state it keeps, so for the paper's case (squared
error, a person who knows the correlations) the sets are walked as a tree, a block of states at a
time; otherwise dense forms, or the oracle itself, answer more slowly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from preceptor._value import FloatArray, IntArray
from preceptor.evaluation import commit_value
from preceptor.loss import DeviationForms
from preceptor.loss.gaussian import GaussianOracle
from preceptor.tails import TailSums, tail_sums

if TYPE_CHECKING:
    from preceptor.problem.problem import Problem

# States a walk carries along; their cross terms stay in the second-level cache.
_BLOCK = 64


class CommitValues:
    """Answers for counts up to `showings` since the start, over `rounds` rounds or for ever."""

    def __init__(self, problem: Problem, showings: int, rounds: int | None) -> None:
        self._problem = problem
        self._rounds = rounds
        self._forms = problem.oracle.forms()
        self._squared = problem.oracle.squared_form_of(()) is not None
        self._sums = tail_sums(problem, showings, rounds) if self._squared else None
        oracle = problem.oracle
        self._tree = oracle.tree if isinstance(oracle, GaussianOracle) else None

    def best(self, counts: IntArray) -> tuple[FloatArray, IntArray]:
        """Least cost (states,) and the set (states,) for counts since the start (states, n)."""
        if self._sums is not None and self._tree is not None:
            return self._best_by_tree(counts, self._sums)
        if self._sums is not None and self._forms is not None:
            none = np.zeros(counts.shape[0])
            parts = [
                best_commits_by_forms(self._problem, self._forms, self._sums, row, none[:1], 1.0)
                for row in counts[:, None, :]
            ]
            return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
        return self._best_by_asking(counts)

    def _best_by_tree(self, counts: IntArray, sums: TailSums) -> tuple[FloatArray, IntArray]:
        from preceptor.planning import _commit_kernels

        problem, tree = self._problem, self._tree
        assert tree is not None
        sigma = problem.world.covariance
        first = problem.world.coefficients - problem.learner.initial
        cost_floor = sums.zeroth * problem.oracle.floors()
        best = np.empty(counts.shape[0])
        chosen = np.empty(counts.shape[0], dtype=np.int64)
        tests = np.arange(problem.size)
        for start in range(0, counts.shape[0], _BLOCK):
            part = counts[start : start + _BLOCK]
            still = (sums.retention[tests, part] * first).T
            moved = (sums.first[tests, part] * first).T
            q = sigma @ still
            lost = sums.zeroth * still - moved  # Σ_t δ^t (e - e(t))
            if sums.second.size:
                pairs = (
                    sums.second[
                        tests[:, None], tests, part[:, :, None], part[:, None, :]
                    ].transpose(1, 2, 0)
                    * np.outer(first, first)[:, :, None]
                )
            else:
                pairs = sums.scale[:, :, None] * still[:, None, :] * still[None, :, :]
            # Σ_t δ^t (e_i - e_i(t))(e_j - e_j(t))
            cross = still[:, None] * lost[None, :] - still[None, :] * moved[:, None] + pairs
            _commit_kernels.tree_commits(
                q,
                q * lost,
                np.ascontiguousarray(sigma[:, :, None] * cross),
                tree.depth,
                tree.test,
                tree.set_index,
                tree.row,
                cost_floor,
                sums.zeroth,
                best[start : start + _BLOCK],
                chosen[start : start + _BLOCK],
            )
        return best, chosen

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


def best_commits_by_forms(
    problem: Problem,
    forms: DeviationForms,
    sums: TailSums,
    counts: IntArray,
    values: FloatArray,
    weight: float,
) -> tuple[FloatArray, IntArray]:
    """Least values + weight·cost (states,) and its set, for squared error in any form.

    States that cannot beat an earlier one are passed over and keep infinity.
    """
    from preceptor.planning import _commit_kernels

    best = np.empty(counts.shape[0])
    chosen = np.empty(counts.shape[0], dtype=np.int64)
    _commit_kernels.best_commits(
        np.ascontiguousarray(counts),
        values,
        weight,
        problem.world.coefficients - problem.learner.initial,
        problem.sets.membership,
        forms.floor + forms.prices + np.sum(forms.shift**2, axis=1),
        np.einsum("sri,sr->si", forms.reading, forms.shift),
        np.einsum("sri,srj->sij", forms.reading, forms.reading),
        sums.zeroth,
        sums.first,
        sums.retention,
        sums.scale,
        sums.second,
        best,
        chosen,
    )
    return best, chosen
