"""Many problems at once: a whole class of learners, each with a plan of their own.

Problems that share a world, a budget, a risk and a way to impute also share what is computed from
them (the list of sets, their factors, the tree), whoever the learner is.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from preceptor._base.checks import is_count
from preceptor._base.executors import executor_of
from preceptor._base.many import chunk_for, run_many
from preceptor._base.progress import Progress, Status
from preceptor._base.values import plain
from preceptor.errors import InvalidInput
from preceptor.plan import Plan
from preceptor.planning.solvers import solve
from preceptor.problem import Problem

# So many share what is computed from their world; fewer are not worth starting processes for,
# unless somebody asks for them.
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

    With more than one worker a script must guard its entry with `if __name__ == "__main__":`, as
    always with processes. The plans do not depend on where they were made.

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
        A file that keeps finished plans. If it has some, made in the same way, they are not made
        again: a run that was stopped goes on. Delete it when it is no longer needed.
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
        The number of workers makes no sense, or no scheduler answers.
    InvalidFile
        The folder of `resume` is not there.
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
    if workers is not None and not is_count(workers, least=1):
        raise InvalidInput(f"workers: {workers!r}, must be a whole number of at least 1")
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
    """Copies of the problems; those that ask the same questions about losses share the answers.

    The problems themselves stay as they were given: nothing is worked out for them, so a list of
    thousands does not fill up with factors behind its owner's back.
    """
    leaders: list[Problem] = []
    shared: list[Problem] = []
    for problem in problems:
        leader = next((each for each in leaders if problem.asks_the_same_as(each)), None)
        if leader is None:
            leader = problem.replace()
            leaders.append(leader)
            shared.append(leader)
        else:
            shared.append(problem.answered_by(leader))
    return shared


def _solve_chunk(problems: Sequence[Problem], method: str, options: dict[str, Any]) -> list[Plan]:
    return [solve(problem, method, **options) for problem in share_oracles(problems)]


def _key(problem: Problem, method: str, options: dict[str, Any]) -> str:
    asked = json.dumps([problem.to_dict(), method, plain(options)], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def _packed(plan: Plan) -> dict[str, Any] | None:
    """What is kept; a plan that somebody interrupted is made again."""
    return None if plan.status is Status.INTERRUPTED else plan.to_dict()
