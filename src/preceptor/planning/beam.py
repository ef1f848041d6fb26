"""The paper's beam search, as a baseline: keep the M best prefixes of each length.

A prefix is scored by its loss so far plus the best single set shown ever after, over all allowed
sets. That score cannot see what would be learned outside the set it freezes, which makes this a
poor optimiser when errors are large; it is here because the paper has it. Two things are ours:
equal count vectors are merged by exact keys before scoring, and children that cannot reach the M-th
best score even at the floor of all later rounds are not scored. Neither changes the result.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.progress import Progress, Status, report
from preceptor._base.values import FloatArray, IntArray
from preceptor.engine.bound import FOREVER
from preceptor.engine.guided_beam import merge
from preceptor.errors import InvalidInput, TooLarge
from preceptor.evaluation.value import evaluate
from preceptor.plan import Plan
from preceptor.planning.bounds import instant_bound
from preceptor.planning.commits import CommitValues
from preceptor.planning.finite import DEFAULT_MEMORY, as_policy
from preceptor.planning.solver import Solver
from preceptor.problem import Problem

DEFAULT_WIDTH = 100
DEFAULT_LAYERS = 200


def solve_beam(
    problem: Problem,
    *,
    width: int = DEFAULT_WIDTH,
    layers: int | None = None,
    memory_limit: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Plan:
    """Beam search of that width over `layers` rounds, then the best stationary suffix.

    Parameters
    ----------
    problem
        What to plan.
    width
        How many states are kept after each round, at least 1.
    layers
        Rounds to search, at least 1; 200 if left out.
    memory_limit
        Bytes that it may use.
    progress
        Called now and then with an `Update`.

    Returns
    -------
    Plan
        Good, with an instant bound.

    Raises
    ------
    InvalidInput
        Options that make no sense.
    TooLarge
        A beam of this width does not fit in `memory_limit`.
    """
    started = time.perf_counter()
    faults = [
        f"{name}: {value!r}, must be a whole number of at least 1"
        for name, value in (("width", width), ("layers", layers))
        if value is not None and not is_count(value, least=1)
    ]
    InvalidInput.raise_if(faults)
    rounds = layers if layers is not None else DEFAULT_LAYERS
    if problem.horizon is not None:
        rounds = min(rounds, problem.horizon)
    _refuse_if_too_large(problem, width, memory_limit)
    search = _Beam(problem, width, rounds)
    layer = search.first_layer()
    for t in range(rounds):
        layer = search.advance(layer, t)
        report(progress, "beam", done=(t + 1) / rounds, value=float(layer.scores[0]))
    path = search.path(layer)
    policy = as_policy(problem, path, int(layer.commits[0]))
    value = evaluate(problem, policy)
    return Plan(
        problem=problem,
        policy=policy,
        value=value,
        lower_bound=instant_bound(problem),
        status=Status.BOUNDED,
        method="beam",
        seconds=time.perf_counter() - started,
        states=search.scored,
        options={"width": width, "layers": rounds},
    ).settled()


@dataclass(frozen=True)
class _Layer:
    """The states kept after some rounds, best score first."""

    counts: IntArray  # (states, n) since the start
    values: FloatArray  # (states,) best prefix loss
    scores: FloatArray  # (states,) prefix loss plus best suffix
    commits: IntArray  # (states,) the suffix's set
    parents: IntArray  # (states,) row in the layer before
    shown: IntArray  # (states,) set that led here
    before: _Layer | None


@dataclass(frozen=True)
class _Children:
    """What a layer leads to, one for equal counts."""

    values: FloatArray  # (children,) best prefix loss
    parents: IntArray  # (children,) row in the layer before
    shown: IntArray  # (children,) set that led here
    before: IntArray  # (states, n) counts in the layer before
    moves: IntArray  # (sets, n) what a set adds to them

    def counts(self, rows: IntArray) -> IntArray:
        """(rows, n) since the start."""
        after: IntArray = self.before[self.parents[rows]] + self.moves[self.shown[rows]]
        return after


class _Beam:
    def __init__(self, problem: Problem, width: int, rounds: int) -> None:
        self._problem = problem
        self._width = width
        self._rounds = rounds
        self._moves = problem.sets.membership.astype(np.int64)
        self._endless = CommitValues(problem, rounds, None) if problem.horizon is None else None
        self.scored = 0

    def first_layer(self) -> _Layer:
        zero = np.zeros(1)
        none = np.zeros(1, dtype=np.int64)
        counts = np.zeros((1, self._problem.size), dtype=np.int64)
        return _Layer(counts, zero, zero, none, none, none, None)

    def advance(self, layer: _Layer, t: int) -> _Layer:
        """Expand every state by every set, merge, score, keep the best."""
        problem = self._problem
        start = np.array(problem.start_counts)
        errors = problem.by_showings.errors(problem.world, start + layer.counts)
        losses = problem.oracle.losses(errors)
        costs = layer.values[:, None] + problem.discount**t * losses
        born = self._merge(layer, costs)
        left = None if problem.horizon is None else problem.horizon - t - 1
        commits = self._endless or CommitValues(problem, self._rounds, left)
        kept, scores, suffixes = commits.cheapest(
            born.values, born.counts, problem.discount ** (t + 1), self._width
        )
        self.scored += born.values.size
        return _Layer(
            born.counts(kept),
            born.values[kept],
            scores,
            suffixes,
            born.parents[kept],
            born.shown[kept],
            layer,
        )

    def _merge(self, layer: _Layer, costs: FloatArray) -> _Children:
        """The cheapest of all children (states, sets) with equal counts, the first if tied."""
        every, endless = np.arange(len(self._problem.sets)), np.full(self._problem.size, FOREVER)
        merged = merge(layer.counts, costs, self._problem.sets.members, every, endless)
        chosen = np.zeros(costs.shape, dtype=np.bool_)
        chosen[merged.parents, merged.actions] = True
        parents, shown = np.nonzero(chosen)
        return _Children(costs[chosen], parents, shown, layer.counts, self._moves)

    def path(self, layer: _Layer) -> IntArray:
        """Sets (rounds,) that lead to the best state of a layer."""
        path = []
        row, at = 0, layer
        while at.before is not None:
            path.append(int(at.shown[row]))
            row, at = int(at.parents[row]), at.before
        return np.array(path[::-1], dtype=np.int64)


def _refuse_if_too_large(problem: Problem, width: int, memory_limit: int) -> None:
    children = width * len(problem.sets)
    needed = children * (8 * problem.size + 8 * 4)
    if needed > memory_limit:
        fits = max(memory_limit // (needed // width), 1)
        raise TooLarge(
            f"beam: width {width:,} has {children:,} children a round and would take "
            f"{needed / 2**30:,.1f} GiB, more than the limit of {memory_limit / 2**30:,.1f} GiB; "
            f"use width={fits} or less, method='search', or raise `memory_limit`",
            bytes_needed=needed,
        )


BEAM = Solver("beam", solve_beam, proves="an instant bound")
