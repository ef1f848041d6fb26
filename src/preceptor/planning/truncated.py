"""Plan the first rounds exactly, then show one set for the rest of the time.

The paper plans T̄ rounds as if the world ended there and repeats the last set. Choosing the state
to end in and the set to commit to together, min over (m, S) of V_T̄(m) + δ^T̄ · (cost of showing S
from m on), is never worse and usually far better; it is the default. Either way

    J* >= J*_T̄ + (floor of all later rounds)

is a certificate: the first T̄ rounds of the best policy cost at least the T̄-round optimum.
"""

from __future__ import annotations

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.discounting import rounds_until
from preceptor._base.progress import Status
from preceptor.errors import InvalidInput, TooLarge
from preceptor.evaluation.value import evaluate
from preceptor.plan import Plan
from preceptor.planning.anytime import Watch
from preceptor.planning.bounds import instant_bound, remaining_floor
from preceptor.planning.commits import CommitValues
from preceptor.planning.finite import (
    DEFAULT_MEMORY,
    LayeredTable,
    as_policy,
    fill,
    layer_counts,
    longest_that_fits,
)
from preceptor.planning.solver import Solver
from preceptor.policies import ExploreThenCommit
from preceptor.problem import Problem

SUFFIXES = ("best", "last")

# States x sets of a default plan: some seconds of work.
_DEFAULT_WORK = 3 * 10**8
# By default, plan until what is left weighs a thousandth.
_DEFAULT_WEIGHT = 1e-3
# Where the cost of a commitment can only be summed in Python, look at so many end states.
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
        Raises `OutOfTime` when it stops; left out, nothing does.
    most_work
        States x sets, where `length` is left out.
    length
        Rounds to plan exactly; as many as matter and can be planned in some seconds if left out.
    suffix
        "best" chooses end state and commit set together, "last" is the paper's rule.
    memory_limit
        Bytes that it may use.

    Returns
    -------
    Plan
        Optimal where nothing is left after `length` rounds; otherwise with a bound.

    Raises
    ------
    InvalidInput
        Options that make no sense.
    TooLarge
        So many rounds do not fit in `memory_limit`.
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
        matter = rounds_until(problem.discount, _DEFAULT_WEIGHT)
    else:
        matter = problem.horizon or 1
    if problem.horizon is not None:
        matter = min(matter, problem.horizon)
    rounds = longest_that_fits(problem, max(matter, 1), memory_limit, most_work)
    if rounds == 0:
        raise TooLarge(
            f"truncated: even one round of {len(problem.sets):,} sets does not fit; "
            "use method='stationary', or raise `memory_limit`",
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
    """The policy that ends and commits best, and whether every end state was considered."""
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
    """Stopping before the planned rounds are over is a commitment too: to showing nothing."""
    problem = table.problem
    cost, stopped = table.best_stop(problem.horizon)
    if cost >= value:
        return policy, value
    path = table.path_to(int(table.least_at[stopped]), stopped)
    early = as_policy(problem, path, commit=0)
    return early, evaluate(problem, early)


TRUNCATED = Solver("truncated", solve_truncated, proves="the first rounds exactly; a bound")
