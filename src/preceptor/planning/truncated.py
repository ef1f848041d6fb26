"""Plan the first rounds exactly, then show one set for the rest of the time.

The paper plans T̄ rounds as if the world ended there and repeats the last set. Choosing the state
to end in and the set to commit to together, min over (m, S) of V_T̄(m) + δ^T̄ · (cost of showing S
from m on), is never worse and usually far better; it is the default. Either way

    J* >= J*_T̄ + (floor of all later rounds)

is a certificate: the first T̄ rounds of the best policy cost at least the T̄-round optimum.

`CommitValues` finds the best set to commit to from many states at once. Beam search needs this for
every child of every state it keeps, so for the paper's case (squared error, a person who knows the
correlations) the sets are traversed as a tree, a block of states at a time. Other cases use dense
forms or the oracle itself, which is slower.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.numerics import negligible_after, rounds_until, total_weight
from preceptor._base.parallel import in_threads
from preceptor._base.progress import Status
from preceptor._base.values import FloatArray, IntArray
from preceptor.errors import InvalidInput, TooLarge
from preceptor.model.evaluation import commit_value, evaluate, tail_sums, tail_sums_bytes
from preceptor.model.gaussian_loss import GaussianOracle
from preceptor.model.plan import Plan
from preceptor.model.policies import ExploreThenCommit
from preceptor.model.problem import Problem
from preceptor.planning.anytime import Watch
from preceptor.planning.bounds import instant_bound, remaining_floor
from preceptor.planning.finite import (
    DEFAULT_MEMORY,
    LayeredTable,
    as_policy,
    fill,
    layer_counts,
    longest_that_fits,
)
from preceptor.planning.solver import Solver


class CommitValues:
    """Costs of committing, for counts up to `showings`, over `rounds` rounds or forever."""

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
        """Rows of the `width` states with the least total cost, their costs and sets, best first.

        A state has cost `values` (states,) so far, and later costs have the weight `weight`;
        `counts_of` returns counts since the start (rows, n).
        """
        floor = weight * self._least * total_weight(self._problem.discount, self._rounds)
        rows, sets = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        costs = np.empty(0)
        order = np.argsort(values, kind="stable")
        # The cheapest prefixes first: a small batch to get a first limit, then larger ones.
        begin, size = 0, 64
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
            begin, size = begin + size, min(4 * size, 4096)
        return rows, costs, sets

    def best(
        self, counts: IntArray, limits: FloatArray | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Least cost (states,) and the set (states,) for counts since the start (states, n).

        Where the least cost exceeds `limits` (states,), any cost above the limit may be returned.
        """
        from preceptor.planning._commit_kernels import best_commits_summed, tree_commits

        most = np.full(len(counts), np.inf) if limits is None else limits
        least, chosen = np.empty(len(counts)), np.empty(len(counts), dtype=np.int64)

        def work(part: slice) -> None:
            here, limit, found = counts[part], most[part], (least[part], chosen[part])
            if self._sums is not None and self._tree is not None:
                tree_commits(*(here, *self._walk, limit, *found))
            elif self._sums is not None or self._forms is None:
                costs = self._asked(here) if self._forms is None else self._squared(here)
                chosen[part] = np.argmin(costs, axis=1)
                least[part] = costs.min(axis=1)
            else:
                best_commits_summed(*(here, limit, *self._summed, *found))

        in_threads(work, len(counts), min(1024, max(1, 2**22 // len(self._problem.sets))))
        return least, chosen

    @cached_property
    def _least(self) -> float:
        return float(self._problem.oracle.floors().min())

    @cached_property
    def _walk(self) -> tuple[object, ...]:
        """Arguments after the counts for the kernel that traverses the tree of sets."""
        problem, sums, tree = self._problem, self._sums, self._tree
        assert sums is not None
        assert tree is not None
        cost_floor = sums.zeroth * problem.oracle.floors()
        return (
            problem.first_errors, problem.world.covariance, sums.zeroth, sums.first, sums.retention,
            sums.scale, sums.second, tree.depth, tree.test, tree.set_index, tree.row, tree.after,
            cost_floor, tree.least_below(cost_floor),
        )  # fmt: skip

    def _squared(self, counts: IntArray) -> FloatArray:
        """Costs (states, sets) Σ_t δ^t (constant + 2 linear·e + e'Qe) of any form."""
        sums, forms, shown = self._sums, self._forms, self._problem.sets.membership
        assert sums is not None
        assert forms is not None
        tests, one, other = np.arange(self._problem.size), shown[:, :, None], shown[:, None, :]
        linear = np.einsum("sri,sr->si", forms.reading, forms.shift)
        quadratic = np.einsum("sri,srj->sij", forms.reading, forms.reading)
        still = self._problem.first_errors * sums.retention[tests, counts]
        moved = self._problem.first_errors * sums.first[tests, counts]
        here = still[:, :, None] * still[:, None, :]
        if not sums.second.size:
            both = here * sums.scale
        else:
            table = sums.second[tests[:, None], tests, counts[:, :, None], counts[:, None, :]]
            both = table * np.outer(self._problem.first_errors, self._problem.first_errors)
        costs = sums.zeroth * (forms.floor + forms.prices + np.sum(forms.shift**2, axis=1))
        costs = costs + 2.0 * moved @ np.where(shown, linear, 0.0).T
        costs += 2.0 * sums.zeroth * still @ np.where(shown, 0.0, linear).T
        for which, products in (
            (one & other, both),
            (one & ~other, 2.0 * moved[:, :, None] * still[:, None, :]),
            (~(one | other), sums.zeroth * here),
        ):
            costs += np.tensordot(products, np.where(which, quadratic, 0.0), axes=([1, 2], [1, 2]))
        return np.asarray(costs)

    @cached_property
    def _summed(self) -> tuple[object, ...]:
        """Arguments after the limits for the kernel that sums rounds under any compiled risk."""
        problem, forms, rounds = self._problem, self._forms, self._rounds
        assert forms is not None
        if rounds is None or problem.discount < 1.0:
            matter = negligible_after(problem.discount)
            rounds = matter if rounds is None else min(rounds, matter)
        showings = self._showings + rounds
        table = problem.by_showings.retention_table(problem.start_counts, showings)
        return (
            problem.discount, rounds, table * self._problem.first_errors[:, None],
            problem.sets.membership, *forms.arrays, self._least,
        )  # fmt: skip

    def _asked(self, counts: IntArray) -> FloatArray:
        """Costs (states, sets) one by one."""
        problem, start = self._problem, np.array(self._problem.start_counts)
        return np.array(
            [
                [commit_value(problem, start + row, s, self._rounds) for s in problem.sets]
                for row in counts
            ]
        )


SUFFIXES = ("best", "last")

# States x sets of a default plan: a few seconds of work.
_DEFAULT_WORK = 3 * 10**8
# End states considered where the cost of a commitment can only be summed in Python.
_MAX_SLOW_ENDS = 200


def solve_truncated(
    problem: Problem,
    watch: Watch | None = None,
    most_work: int = _DEFAULT_WORK,
    *,
    length: int | None = None,
    suffix: str = "best",
    memory_limit: int = DEFAULT_MEMORY,
) -> Plan:
    """Plan `length` rounds exactly, then commit.

    Parameters
    ----------
    problem
        What to plan.
    watch
        Its stop raises `OutOfTime`; no time limit if left out.
    most_work
        States x sets, where `length` is left out.
    length
        Rounds to plan exactly; if left out, as many as matter and take a few seconds.
    suffix
        "best" chooses the end state and the committed set together, "last" is the paper's rule.
    memory_limit
        Bytes the solver may use.

    Returns
    -------
    Plan
        Optimal if no rounds are left after `length`; otherwise with a bound.

    Raises
    ------
    InvalidInput
        An option is out of range.
    TooLarge
        The rounds do not fit in `memory_limit`.
    """
    watch = watch or Watch(None)
    started = watch.seconds
    _check_options(length, suffix)
    rounds = default_length(problem, memory_limit, most_work) if length is None else length
    if problem.horizon is not None:
        rounds = min(rounds, problem.horizon)
    table = fill(problem, rounds, memory_limit, method="truncated", watch=watch)
    least, path = table.best()
    bound = least + remaining_floor(problem, after=rounds)
    left = None if problem.horizon is None else problem.horizon - rounds
    notes: tuple[str, ...] = ()
    if suffix == "last" or left == 0:
        policy = as_policy(problem, path)
    else:
        policy, complete = _best_commitment(table, left, memory_limit)
        if not complete:
            notes = (f"Only the {_MAX_SLOW_ENDS} cheapest end states were tried for the suffix.",)
    value = evaluate(problem, policy)
    if suffix == "best" and table.planned.may_stop:
        policy, value = _unless_stopping_is_better(table, policy, value)
    bound = max(bound, instant_bound(problem))
    return Plan(
        problem=problem,
        policy=policy,
        value=value,
        lower_bound=value if left == 0 else bound,
        status=Status.OPTIMAL if left == 0 else Status.BOUNDED,
        method="truncated",
        seconds=watch.seconds - started,
        states=table.states,
        notes=notes,
        options={"length": rounds, "suffix": suffix},
    ).settled()


def default_length(problem: Problem, memory_limit: int, most_work: int = _DEFAULT_WORK) -> int:
    """Rounds to plan: all that matter if they fit, else as many as fit."""
    if problem.discount == 0.0:
        matter = 1
    elif problem.discount < 1.0:
        # Until the remaining weight is a thousandth.
        matter = rounds_until(problem.discount, 1e-3)
    else:
        matter = problem.horizon or 1
    if problem.horizon is not None:
        matter = min(matter, problem.horizon)
    rounds = longest_that_fits(problem, max(matter, 1), memory_limit, most_work)
    if rounds == 0:
        raise TooLarge(
            f"truncated: even one round of {len(problem.sets):,} sets does not fit; "
            "use method='stationary' (in Python: or raise `memory_limit`)",
            bytes_needed=8 * len(problem.sets),
        )
    return rounds


def _check_options(length: int | None, suffix: str) -> None:
    faults = []
    if length is not None and not is_count(length, least=1):
        faults.append(f"length: {length!r}, must be a whole number of rounds of at least 1")
    if suffix not in SUFFIXES:
        faults.append(f"suffix: {suffix!r}, must be one of {', '.join(map(repr, SUFFIXES))}")
    InvalidInput.raise_if(faults)


def _best_commitment(
    table: LayeredTable, left: int | None, memory_limit: int
) -> tuple[ExploreThenCommit, bool]:
    """The cheapest end state and commitment, and whether every end state was considered."""
    problem, space = table.problem, table.space
    reached = np.flatnonzero(np.isfinite(table.values))
    complete = problem.oracle.forms() is not None or reached.size <= _MAX_SLOW_ENDS
    if not complete:
        reached = reached[np.argsort(table.values[reached], kind="stable")[:_MAX_SLOW_ENDS]]
    counts = layer_counts(problem, space, space.rounds)[reached]
    commits = CommitValues(problem, space.rounds, left, memory_limit)
    weight = problem.discount**space.rounds
    rows, _, sets = commits.cheapest(table.values[reached], lambda r: counts[r], weight, 1)
    path = table.path_to(int(reached[rows[0]]))
    return as_policy(problem, path, int(sets[0])), complete


def _unless_stopping_is_better(
    table: LayeredTable, policy: ExploreThenCommit, value: float
) -> tuple[ExploreThenCommit, float]:
    """Compare with stopping earlier, which commits to showing nothing."""
    problem = table.problem
    cost, stopped = table.best_stop(problem.horizon)
    if cost >= value:
        return policy, value
    path = table.path_to(int(table.least_at[stopped]), stopped)
    early = as_policy(problem, path, commit=0)
    return early, evaluate(problem, early)


TRUNCATED = Solver("truncated", solve_truncated, proves="the first rounds exactly; a bound")
