"""All solvers; `solve`, which calls one of them, and `solve_many`, for many problems at once.

Problems with the same world, budget, risk and imputation share everything computed from them (the
list of sets, their factors, the tree), even if their learners differ.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from preceptor._base.checks import count_faults
from preceptor._base.extensions import installed_extensions
from preceptor._base.many import chunk_for, run_many
from preceptor._base.numerics import total_weight
from preceptor._base.parallel import executor_of
from preceptor._base.progress import UNCOUNTED, Progress, Status
from preceptor._base.values import plain
from preceptor.errors import InvalidInput, NotApplicable, UnknownMethod
from preceptor.model.plan import Plan
from preceptor.model.problem import Problem
from preceptor.planning.auto import AUTO
from preceptor.planning.beam import BEAM
from preceptor.planning.certified import CERTIFIED
from preceptor.planning.finite import FINITE
from preceptor.planning.lattice import LATTICE
from preceptor.planning.search import SEARCH
from preceptor.planning.solver import Solver, tie_notes
from preceptor.planning.stationary import INDEPENDENT, STATIONARY
from preceptor.planning.truncated import TRUNCATED

SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (
        AUTO,
        STATIONARY,
        INDEPENDENT,
        FINITE,
        TRUNCATED,
        LATTICE,
        BEAM,
        SEARCH,
        CERTIFIED,
    )
}
"""The built-in solvers by name, and those of installed extensions once they are asked for."""


def installed_solvers() -> tuple[dict[str, Solver], tuple[str, ...]]:
    """`SOLVERS` with those of installed extensions, and what is wrong with extensions."""
    extensions = installed_extensions()
    faults = list(extensions.faults)
    for source, record in extensions.records.items():
        if not isinstance(record, Solver):
            faults.append(
                f"{source} is {record!r}, must be a module, a class with a kind or a Solver"
            )
        elif SOLVERS.setdefault(record.name, record) is not record:
            faults.append(f"{source}: method {record.name!r} exists already; choose another name")
    return SOLVERS, tuple(faults)


def solver_named(method: str) -> Solver:
    """The solver of that name; raises `UnknownMethod` if neither we nor an extension have it."""
    if method not in SOLVERS:
        known, faults = installed_solvers()
        if method not in known:
            unknown = f"method: {method!r} is not known; use one of {', '.join(known)}"
            raise UnknownMethod("; ".join((unknown, *faults)))
    return SOLVERS[method]


def solve(problem: Problem, method: str = "auto", **options: Any) -> Plan:
    """Find a plan.

    Parameters
    ----------
    problem
        What to plan.
    method
        The name of a solver in `SOLVERS` or of an installed extension; "auto" picks one by the
        shape and size of the problem.
    **options
        Passed to the solver; `preceptor methods` lists them.

    Returns
    -------
    Plan
        A policy, its cost, and a lower bound on the cost of all policies, or of schedules fixed in
        advance, as `bound_holds_for` says.

    Raises
    ------
    UnknownMethod
        No solver has that name, or it does not have that option.
    NotApplicable
        The solver does not apply to this problem; the message names those that do.
    TooLarge
        The solver would need more memory than it may use.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"])
    >>> learner = pr.Learner([0.2, 1.3], pr.Geometric(1.10))
    >>> plan = pr.solve(pr.Problem(world, learner, 1, discount=0.99, horizon=600))
    >>> round(plan.value, 4), plan.exploration_length, plan.status.value
    (25.7274, 46, 'optimal')
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"solve: got {type(problem).__name__}, expected a Problem")
    solver = solver_named(method)
    before = UNCOUNTED.so_far
    try:
        plan = solver.plan(problem, options)
    except NotApplicable as error:
        others = [each.name for each in SOLVERS.values() if each is not solver]
        able = [name for name in others if not SOLVERS[name].why_not(problem)]
        raise NotApplicable(f"{error}; methods that can: {', '.join(able)}") from None
    notes = (*plan.notes, *tie_notes(plan))
    return replace(_stated(plan), notes=notes, compiled=UNCOUNTED.so_far - before)


def _stated(plan: Plan) -> Plan:
    """The plan with the status that its numbers allow: a gap of 0 is optimal."""
    problem = plan.problem
    if problem.oracle.accuracy > 0.0:
        off = problem.oracle.accuracy * total_weight(problem.discount, problem.horizon)
        plan = replace(plan, lower_bound=max(plan.lower_bound - off, 0.0))
    return plan.settled()


# Problems per chunk, which share what is computed from their world. For fewer, processes are
# started only on request.
_CHUNK = 16


def solve_many(
    problems: Iterable[Problem],
    method: str = "auto",
    *,
    workers: int | None = None,
    cluster: Any = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> list[Plan]:
    """Solve many problems, in parallel processes or on a cluster.

    With more than one worker a script must guard its entry point with `if __name__ == "__main__":`,
    as usual with multiprocessing. Plans do not depend on where they were computed.

    Parameters
    ----------
    problems
        What to plan; problems that ask the same about losses share the answers.
    method
        The name of a solver in `SOLVERS`, as for `solve`.
    workers
        How many processes; 1 is this one. Left out: one for each core if there are more than 16
        problems.
    cluster
        A `distributed.Client`, or the address of a Dask scheduler; its workers are then used.
    resume
        A checkpoint file for finished plans. Plans found there, with the same method and options,
        are not computed again, so an interrupted run resumes. Delete it when no longer needed.
    progress
        Called now and then with an `Update`.
    **options
        Go to the solver.

    Returns
    -------
    list of Plan
        In the order of the problems.

    Raises
    ------
    InvalidInput
        The number of workers is invalid, or no scheduler answers.
    InvalidFile
        The folder of `resume` does not exist.
    NotSerializable
        With `resume`: a problem or an option that cannot be written to a file.
    MissingExtra
        A cluster is asked for, and `distributed` is not installed.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> people = [pr.Learner([0.2, 1.3], pr.Geometric(alpha)) for alpha in (1.05, 1.1)]
    >>> plans = pr.solve_many([pr.Problem(world, each, 1, horizon=9) for each in people], workers=1)
    >>> [plan.status.value for plan in plans]
    ['optimal', 'optimal']
    """
    todo = list(problems)
    wrong = [(i, each) for i, each in enumerate(todo) if not isinstance(each, Problem)]
    if wrong:
        index, given = wrong[0]
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise InvalidInput(
            f"problems: item {index} is of type {type(given).__name__}, must be a Problem{more}"
        )
    InvalidInput.raise_if(count_faults(1, or_none=True, workers=workers))
    if workers is None and len(todo) <= _CHUNK:
        workers = 1
    with executor_of(workers, cluster) as executor:
        plans: list[Plan] = run_many(
            functools.partial(_solve_chunk, method=method, options=options),
            todo,
            executor=executor,
            journal=resume,
            key=functools.partial(_key, method=method, options=options),
            pack=_packed,
            unpack=Plan.from_dict,
            progress=progress,
            chunk=chunk_for(len(todo), executor, _CHUNK),
            together=True,
            noun="people",
        )
    return plans


def share_oracles(problems: Sequence[Problem]) -> list[Problem]:
    """Copies of the problems in which equal settings share one loss oracle.

    The given problems are left unchanged, so a list of thousands does not fill up with cached
    factors.
    """
    leaders: list[Problem] = []
    shared: list[Problem] = []
    for problem in problems:
        leader = next((each for each in leaders if problem.has_same_losses_as(each)), None)
        if leader is None:
            leader = problem.replace()
            leaders.append(leader)
            shared.append(leader)
        else:
            shared.append(problem.with_oracle_of(leader))
    return shared


def _solve_chunk(problems: Sequence[Problem], method: str, options: dict[str, Any]) -> list[Plan]:
    return [solve(problem, method, **options) for problem in share_oracles(problems)]


def _key(problem: Problem, method: str, options: dict[str, Any]) -> str:
    asked = json.dumps([problem.to_dict(), method, plain(options)], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def _packed(plan: Plan) -> dict[str, Any] | None:
    """A plan as it is stored in the checkpoint file; None for an interrupted one."""
    return None if plan.status is Status.INTERRUPTED else plan.to_dict()
