"""The paper's beam search, as a baseline: keep the M best prefixes of each length.

A prefix is scored by its loss so far plus the best single set shown ever after, over all allowed
sets. That score cannot see what would be learned outside the set it freezes, which makes this a
poor optimiser when errors are large; it is here because the paper has it. Two things are ours:
equal count vectors are merged by exact keys before scoring, and children that cannot reach the M-th
best score even at the floor of all later rounds are not scored. Neither changes the result.
"""

from __future__ import annotations

import time

import numpy as np

from preceptor._base.checks import count_faults
from preceptor._base.progress import Progress, Status, report
from preceptor._base.values import IntArray
from preceptor.errors import InvalidInput, TooLarge
from preceptor.model.evaluation import evaluate
from preceptor.model.plan import Plan
from preceptor.model.problem import Problem
from preceptor.planning.bounds import instant_bound
from preceptor.planning.dual import FOREVER
from preceptor.planning.finite import DEFAULT_MEMORY, as_policy
from preceptor.planning.guided_beam import BackPointers, merge
from preceptor.planning.solver import Solver
from preceptor.planning.truncated import CommitValues

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
    """Beam search over `layers` rounds, then the best set shown forever.

    Parameters
    ----------
    problem
        What to plan.
    width
        How many states are kept after each round, at least 1.
    layers
        Rounds to search, at least 1; 200 if left out.
    memory_limit
        Bytes the solver may use.
    progress
        Called now and then with an `Update`.

    Returns
    -------
    Plan
        Without a guarantee, but with an instant bound.

    Raises
    ------
    InvalidInput
        An option is out of range.
    TooLarge
        A beam of this width does not fit in `memory_limit`.
    """
    started = time.perf_counter()
    InvalidInput.raise_if(count_faults(1, or_none=True, width=width, layers=layers))
    rounds = layers if layers is not None else DEFAULT_LAYERS
    if problem.horizon is not None:
        rounds = min(rounds, problem.horizon)
    _refuse_if_too_large(problem, width, memory_limit)
    path, commit, states = _walk(problem, width, rounds, progress)
    policy = as_policy(problem, path, commit)
    value = evaluate(problem, policy)
    return Plan(
        problem=problem,
        policy=policy,
        value=value,
        lower_bound=instant_bound(problem),
        status=Status.BOUNDED,
        method="beam",
        seconds=time.perf_counter() - started,
        states=states,
        options={"width": width, "layers": rounds},
    ).settled()


def _walk(
    problem: Problem, width: int, rounds: int, progress: Progress | None
) -> tuple[IntArray, int, int]:
    """Sets (rounds,) that lead to the best state, its suffix, and how many states there were."""
    start, moves = np.array(problem.start_counts), problem.sets.membership.astype(np.int64)
    endless = CommitValues(problem, rounds, None) if problem.horizon is None else None
    every, uncapped = np.arange(len(problem.sets)), np.full(problem.size, FOREVER)
    counts, values = np.zeros((1, problem.size), dtype=np.int64), np.zeros(1)
    suffixes = np.zeros(1, dtype=np.int64)
    back, states = BackPointers(), 0
    for t in range(rounds):
        errors = problem.by_showings.errors(problem.world, start + counts)
        costs = values[:, None] + problem.discount**t * problem.oracle.losses(errors)
        merged = merge(counts, costs, problem.sets.members, every, uncapped)
        order = np.lexsort((merged.actions, merged.parents))
        parents, shown = merged.parents[order], merged.actions[order]
        born = costs[parents, shown]
        left = None if problem.horizon is None else problem.horizon - t - 1
        commits = endless or CommitValues(problem, rounds, left)

        def counts_of(
            rows: IntArray, before: IntArray = counts, p: IntArray = parents, s: IntArray = shown
        ) -> IntArray:
            return np.asarray(before[p[rows]] + moves[s[rows]])

        weight = problem.discount ** (t + 1)
        kept, scores, suffixes = commits.cheapest(born, counts_of, weight, width)
        counts, values = counts_of(kept), born[kept]
        back.add(parents[kept], shown[kept])
        states += born.size
        report(progress, "beam", done=(t + 1) / rounds, value=float(scores[0]))
    return back.path(rounds, 0), int(suffixes[0]), states


def _refuse_if_too_large(problem: Problem, width: int, memory_limit: int) -> None:
    children = width * len(problem.sets)
    needed = children * (8 * problem.size + 8 * 4)
    if needed > memory_limit:
        fits = max(memory_limit // (needed // width), 1)
        raise TooLarge(
            f"beam: width {width:,} has {children:,} children a round and would take "
            f"{needed / 2**30:,.1f} GiB, more than the limit of {memory_limit / 2**30:,.1f} GiB; "
            f"use width={fits} or less or method='search' (in Python: or raise `memory_limit`)",
            bytes_needed=needed,
        )


BEAM = Solver("beam", solve_beam, proves="an instant bound")
