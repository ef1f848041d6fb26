"""The paper's beam search, as a baseline: keep the M best prefixes of each length.

A prefix is scored by its loss so far plus the best single set shown ever after, over all allowed
sets. That score cannot see what would be learned outside the set it freezes, which makes this a
poor optimiser when errors are large; it is here because the paper has it. Three things are ours:
equal count vectors are merged by exact keys before scoring, children that cannot reach the M-th
best score even at the floor of all later rounds are not scored, and suffixes that were too bad for
a parent are not tried for its children (`commits.py` says which). None changes the result.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.discounting import total_weight
from preceptor._base.progress import Progress, Status, report
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidInput, TooLarge
from preceptor.evaluation.value import evaluate
from preceptor.plan import Plan
from preceptor.planning.bounds import instant_bound, least_loss
from preceptor.planning.commits import CommitValues
from preceptor.planning.finite import DEFAULT_MEMORY, as_policy
from preceptor.planning.solver import Solver
from preceptor.problem import Problem

DEFAULT_WIDTH = 100
DEFAULT_LAYERS = 200
# Children are scored so many at a time, the cheapest prefixes first.
_BATCH = 4096
# but first a few of each parent, so that the rest has something to be measured against.
_FIRST = 64
# What children of one parent cannot do is worth working out for larger families only. Measured at
# width 100: with 56 sets five times as long, with 576 twice, with 6,196 a quarter of the time.
_MIXED_SETS = 1_000
# Suffixes of the best parents, tried first for their children.
_MAX_HINTS = 4


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
    bound = min(instant_bound(problem), value)
    return Plan(
        problem=problem,
        policy=policy,
        value=value,
        lower_bound=bound,
        status=Status.OPTIMAL if bound == value else Status.BOUNDED,
        method="beam",
        seconds=time.perf_counter() - started,
        states=search.scored,
        options={"width": width, "layers": rounds},
    )


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


class _Beam:
    def __init__(self, problem: Problem, width: int, rounds: int) -> None:
        self._problem = problem
        self._width = width
        self._rounds = rounds
        self._least = least_loss(problem)
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
        children = (layer.counts[:, None, :] + self._moves[None, :, :]).reshape(-1, problem.size)
        chosen = cheapest_of_each(children, costs.ravel())
        counts, values = children[chosen], costs.ravel()[chosen]
        hints = np.unique(layer.commits[: self._width // 10 + 1])[:_MAX_HINTS]
        sets = len(problem.sets)
        parents = chosen // sets
        kept, scores, commits = self._score(counts, values, parents, layer, t + 1, hints)
        origin = chosen[kept]
        return _Layer(
            counts[kept], values[kept], scores, commits, origin // sets, origin % sets, layer
        )

    def _score(
        self,
        counts: IntArray,
        values: FloatArray,
        parents: IntArray,
        before: _Layer,
        t: int,
        hints: IntArray,
    ) -> tuple[IntArray, FloatArray, IntArray]:
        """Rows of the best `width` states, their scores and suffixes, best first."""
        problem = self._problem
        left = None if problem.horizon is None else problem.horizon - t
        weight = problem.discount**t
        floor = weight * self._least * total_weight(problem.discount, left)
        commits = self._endless or CommitValues(problem, self._rounds, left)
        rows: list[IntArray] = []
        scores: list[FloatArray] = []
        suffixes: list[IntArray] = []
        worst = np.inf
        kept = np.empty(0)  # the best scores so far
        by_parent = len(problem.sets) > _MIXED_SETS
        for batch in _batches(values, parents) if by_parent else _mixed_batches(values):
            if values[batch[0]] + floor > worst:
                continue
            limits = (worst - values[batch]) / weight if weight else np.full(batch.size, np.inf)
            parent = before.counts[parents[batch[0]]] if by_parent else None
            cost, suffix = commits.best(counts[batch], hints, parent, limits)
            self.scored += batch.size
            rows.append(batch)
            scores.append(values[batch] + weight * cost)
            suffixes.append(suffix)
            kept = np.concatenate([kept, scores[-1]])
            if kept.size >= self._width:
                kept = np.partition(kept, self._width - 1)[: self._width]
                worst = float(kept[-1])
        all_rows, all_scores = np.concatenate(rows), np.concatenate(scores)
        best = np.argsort(all_scores, kind="stable")[: self._width]
        return all_rows[best], all_scores[best], np.concatenate(suffixes)[best]

    def path(self, layer: _Layer) -> IntArray:
        """Sets (rounds,) that lead to the best state of a layer."""
        path = []
        row, at = 0, layer
        while at.before is not None:
            path.append(int(at.shown[row]))
            row, at = int(at.parents[row]), at.before
        return np.array(path[::-1], dtype=np.int64)


def _batches(values: FloatArray, parents: IntArray) -> Iterator[IntArray]:
    """Rows in batches of one parent each, cheapest first; first a few of every parent."""
    order = np.argsort(values, kind="stable")
    order = order[np.argsort(parents[order], kind="stable")]
    own = np.split(order, np.flatnonzero(np.diff(parents[order])) + 1)
    sizes = (_FIRST, *(_BATCH for _ in range(max(map(len, own)) // _BATCH + 1)))
    begin = 0
    for size in sizes:
        batches = [rows[begin : begin + size] for rows in own if rows.size > begin]
        yield from sorted(batches, key=lambda rows: float(values[rows[0]]))
        begin += size


def _mixed_batches(values: FloatArray) -> Iterator[IntArray]:
    """Rows in batches of any parents, cheapest first."""
    order = np.argsort(values, kind="stable")
    yield order[:_FIRST]
    for begin in range(_FIRST, order.size, _BATCH):
        yield order[begin : begin + _BATCH]


def cheapest_of_each(counts: IntArray, costs: FloatArray) -> IntArray:
    """One row for each distinct count vector: the cheapest, the first if tied. Exact keys."""
    keys = exact_keys(counts)
    order = np.lexsort((costs, *keys.T))
    sorted_keys = keys[order]
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = np.any(sorted_keys[1:] != sorted_keys[:-1], axis=1)
    return np.sort(order[is_new])


def exact_keys(counts: IntArray) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """Counts (rows, n) packed without loss into as few 64-bit words (rows, words) as hold them."""
    largest = int(counts.max(initial=1))
    bits = max(largest.bit_length(), 1)
    per_word = 64 // bits
    words = -(-counts.shape[1] // per_word)
    packed = np.zeros((counts.shape[0], words), dtype=np.uint64)
    for i in range(counts.shape[1]):
        word, place = divmod(i, per_word)
        packed[:, word] |= counts[:, i].astype(np.uint64) << np.uint64(place * bits)
    return packed


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
