"""Algorithm 1 of the paper: the exact finite-horizon plan, forward over layers of counts.

V_t(m) is the least loss of any t rounds that end with counts m. Each layer is computed from the
one before; the set that led to each state is kept, and the plan is read off backward. Rounds in
which nothing is shown come last (`count_space.py`), so a plan may also end in an earlier layer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from preceptor._base.numerics import total_weight, weights
from preceptor._base.progress import Status
from preceptor._base.values import FloatArray, IntArray
from preceptor._base.words import many
from preceptor.errors import NotApplicable, TooLarge
from preceptor.model.plan import Plan
from preceptor.model.policies import ExploreThenCommit
from preceptor.model.problem import Problem
from preceptor.planning.anytime import OutOfTime, Watch
from preceptor.planning.count_space import CountSpace, PlannedSets
from preceptor.planning.solver import Solver, Work

DEFAULT_MEMORY = 4 * 2**30


def solve_finite(
    problem: Problem, watch: Watch | None = None, *, memory_limit: int = DEFAULT_MEMORY
) -> Plan:
    """The exact optimum over `problem.horizon` rounds; raises before it needs too much memory.

    Parameters
    ----------
    problem
        What to plan, with a horizon.
    watch
        Its stop raises `OutOfTime`; no time limit if left out.
    memory_limit
        Bytes the solver may use.

    Returns
    -------
    Plan
        Optimal.

    Raises
    ------
    NotApplicable
        The problem has no horizon.
    TooLarge
        The table does not fit in `memory_limit`.
    """
    watch = watch or Watch(None)
    started = watch.seconds
    why_not = why_not_finite(problem)
    if why_not:
        raise NotApplicable(f"finite: {why_not}")
    assert problem.horizon is not None
    table = fill(problem, problem.horizon, memory_limit, method="finite", watch=watch)
    value, path = table.best()
    return Plan(
        problem=problem,
        policy=as_policy(problem, path),
        value=value,
        lower_bound=value,
        status=Status.OPTIMAL,
        method="finite",
        seconds=watch.seconds - started,
        states=table.states,
    )


def as_policy(problem: Problem, path: IntArray, commit: int | None = None) -> ExploreThenCommit:
    """Show the sets with these positions, then `commit` (the last one if left out)."""
    final = int(path[-1]) if commit is None else commit
    changes = np.flatnonzero(path != final)
    length = int(changes[-1]) + 1 if changes.size else 0
    sets = problem.sets
    named = {chosen: sets[chosen] for chosen in set(path[:length].tolist())}
    prefix = [named[chosen] for chosen in path[:length].tolist()]
    return ExploreThenCommit(prefix, sets[final], problem.start)


@dataclass(frozen=True)
class LayeredTable:
    """A filled table: V over the last layer and the parent sets of every layer.

    Where stopping is possible, `least` and `least_at` (rounds + 1,) hold the least V of every
    layer and its rank; else they are empty.
    """

    planned: PlannedSets
    space: CountSpace
    values: FloatArray
    parents: npt.NDArray[np.unsignedinteger]
    least: FloatArray
    least_at: IntArray

    @property
    def problem(self) -> Problem:
        """The problem that was planned."""
        return self.planned.problem

    @property
    def states(self) -> int:
        """Ranks in all layers together."""
        return int(self.space.offsets[-1]) + 1

    def best(self) -> tuple[float, IntArray]:
        """Least loss of all rounds, and the positions (rounds,) of the sets that attain it."""
        rounds = self.space.rounds
        rank = int(np.argmin(self.values))
        value = float(self.values[rank])
        if self.planned.may_stop:
            cost, stopped = self.best_stop(rounds)
            if cost < value:
                shown = self.path_to(int(self.least_at[stopped]), stopped)
                return cost, np.pad(shown, (0, rounds - stopped))
        return value, self.path_to(rank)

    def best_stop(self, horizon: int | None) -> tuple[float, int]:
        """Least loss over `horizon` rounds of showing sets for some rounds, then nothing."""
        discount = self.problem.discount
        spent = np.concatenate([[0.0], np.cumsum(weights(discount, self.space.rounds))])
        waits = total_weight(discount, horizon) - spent
        costs = self.least + waits * self.planned.waiting_loss()
        stopped = int(np.argmin(costs))
        return float(costs[stopped]), stopped

    def path_to(self, rank: int, rounds: int | None = None) -> IntArray:
        """Positions (rounds,) of the sets that lead to a state of that layer at least cost."""
        from preceptor.planning._finite_kernels import backtrack

        space, sums = self.space, self.space.partial_sums(rank)
        path = np.empty(space.rounds if rounds is None else rounds, dtype=np.int64)
        backtrack(sums, space.partial_moves, space.binomials, space.offsets, self.parents, path)
        return path + self.planned.skipped


def fill(
    problem: Problem, rounds: int, memory_limit: int, *, method: str, watch: Watch | None = None
) -> LayeredTable:
    """Run Algorithm 1 for that many rounds; raises `OutOfTime` when the watch stops it."""
    watch = Watch(None) if watch is None else watch
    planned = PlannedSets.of(problem)
    space = CountSpace.smallest(planned.family, rounds)
    refuse_if_too_large(problem, space, memory_limit, method)
    parents = np.empty(int(space.offsets[-1]), dtype=parent_type(len(planned.family)))
    layers = rounds + 1 if planned.may_stop else 0
    least, least_at = np.zeros(layers), np.zeros(layers, dtype=np.int64)
    forms = planned.forms
    if forms is None:
        values = _fill_by_batches(planned, space, parents, least, least_at, watch)
        return LayeredTable(planned, space, values, parents, least, least_at)
    from preceptor.planning._finite_kernels import forward

    errors, pad = padded_errors(problem, space)
    counts = (space.growth, space.total, space.hidden, space.coordinate)
    ranks, filled = (
        (space.partial_moves, space.binomials, space.offsets),
        (parents, least, least_at),
    )
    with watch.halting() as halt:
        values = forward(
            rounds, problem.discount, *counts, *ranks, errors, pad, *forms.arrays, *filled, halt
        )
        if halt[0]:
            raise OutOfTime
    return LayeredTable(planned, space, values, parents, least, least_at)


def _fill_by_batches(
    planned: PlannedSets,
    space: CountSpace,
    parents: npt.NDArray[np.unsignedinteger],
    least: FloatArray,
    least_at: IntArray,
    watch: Watch,
) -> FloatArray:
    """The same for losses that only the oracle can compute."""
    from preceptor.planning._finite_kernels import relax_layer

    offsets = space.offsets
    largest = space.layer_size(space.rounds)
    values, following = np.full(largest, np.inf), np.empty(largest)
    values[0] = 0.0
    # Where a rank means the same counts in every layer, the last but one layer has all losses.
    losses = layer_losses(planned, space, space.rounds - 1, watch) if space.is_timeless else None
    for t in range(space.rounds):
        now = losses if losses is not None else layer_losses(planned, space, t, watch)
        layer, weight = parents[offsets[t] : offsets[t + 1]], planned.problem.discount**t
        moves, size = (space.growth, space.partial_moves, space.binomials), layer.size
        relax_layer(t, weight, *moves, now, values, following[:size], layer)
        values, following = following, values
        if least.size:
            least_at[t + 1] = np.argmin(values[:size])
            least[t + 1] = values[least_at[t + 1]]
    return values


def layer_losses(planned: PlannedSets, space: CountSpace, t: int, watch: Watch) -> FloatArray:
    """Losses (sets, states) of a whole layer."""
    by_count, pad = padded_errors(planned.problem, space)
    counts = pad + layer_counts(planned.problem, space, t)
    return asked_losses(planned.losses, by_count, counts, len(planned.family), watch)


def asked_losses(
    losses_at: Callable[[FloatArray], FloatArray],
    by_count: FloatArray,
    counts: IntArray,
    sets: int,
    watch: Watch,
) -> FloatArray:
    """Losses (sets, states) for counts (states, n), in batches; `by_count` holds errors."""
    losses = np.empty((sets, len(counts)))
    # Losses requested at once from an oracle that has no compiled form. A user-defined risk takes
    # some microseconds each, and the clock must be checked now and then.
    step, tests = max(1, 5_000 // sets), np.arange(len(by_count))
    for start in range(0, len(counts), step):
        if watch.stop():
            raise OutOfTime
        errors = by_count[tests, counts[start : start + step]]
        losses[:, start : start + step] = losses_at(errors).T
    return losses


def layer_counts(problem: Problem, space: CountSpace, t: int) -> IntArray:
    """Counts since the start (states, n) of a whole layer, in order of rank."""
    from preceptor.planning._finite_kernels import layer_counts

    counts = np.empty((space.layer_size(t), problem.size), dtype=np.int64)
    layer_counts(
        t, space.growth, space.total, space.hidden, space.coordinate, space.dimensions, counts
    )
    return counts


def padded_errors(problem: Problem, space: CountSpace) -> tuple[FloatArray, int]:
    """Errors by test and count, and where count 0 stands.

    Ranks that no schedule reaches may decode to counts below 0 or beyond the horizon. They never
    win, but the kernels read their errors all the same, so the table reaches that far.
    """
    pad = max(space.growth, space.total, 1) * space.rounds
    table = problem.by_showings.retention_table(problem.start_counts, pad + space.rounds)
    before = np.repeat(table[:, :1], pad, axis=1)
    return np.concatenate([before, table], axis=1) * problem.first_errors[:, None], pad


def parent_type(sets: int) -> npt.DTypeLike:
    """The smallest unsigned type that can name every set."""
    return np.min_scalar_type(max(sets - 1, 1))


def bytes_needed(problem: Problem, space: CountSpace) -> int:
    """Parents of all layers, two layers of values, and batches of losses if there is no form."""
    size = np.dtype(parent_type(len(problem.sets))).itemsize
    needed = int(space.states()) * size + 2 * 8 * space.layer_size(space.rounds)
    if problem.oracle.forms() is None:
        needed += 8 * space.layer_size(space.rounds) * (len(problem.sets) + problem.size)
    return needed


def longest_that_fits(problem: Problem, limit: int, memory_limit: int, max_work: int) -> int:
    """The largest number of rounds up to `limit` within that memory and states x sets (or 0)."""
    planned = PlannedSets.of(problem).family
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        space = CountSpace.smallest(planned, middle)
        fits = bytes_needed(problem, space) <= memory_limit
        if fits and space.states() * len(planned) <= max_work:
            low = middle
        else:
            high = middle - 1
    return low


def refuse_if_too_large(
    problem: Problem, space: CountSpace, memory_limit: int, method: str
) -> None:
    """Raise `TooLarge` with the number of states and bytes, and the alternatives."""
    needed = bytes_needed(problem, space)
    if needed <= memory_limit:
        return
    fits = longest_that_fits(problem, space.rounds, memory_limit, max_work=2**62)
    raise TooLarge(
        f"{method}: {space.rounds} rounds with {problem.size} tests have {space.states():,.0f} "
        f"states and would take {needed / 2**30:,.1f} GiB, more than the limit of "
        f"{memory_limit / 2**30:,.1f} GiB; use method='truncated' with length={fits} or less "
        "(in Python: or raise `memory_limit`)",
        bytes_needed=needed,
    )


def why_not_finite(problem: Problem) -> str:
    """Why there is no last round; empty if there is one."""
    return "the horizon is infinite (set Problem(horizon=T))" if problem.horizon is None else ""


def finite_work(problem: Problem) -> Work:
    """The states of all layers and the memory they need."""
    assert problem.horizon is not None
    space = CountSpace.smallest(PlannedSets.of(problem).family, problem.horizon)
    words = f"{many(space.states())} states over {problem.horizon} rounds"
    return Work(space.states(), bytes_needed(problem, space), words)


FINITE = Solver(
    "finite", solve_finite, proves="the optimum", why_not=why_not_finite, work=finite_work
)
