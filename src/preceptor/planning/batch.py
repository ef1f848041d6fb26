"""Many problems at once: a whole class of learners, each with a plan of their own.

Problems that share a world, a budget, a risk and a way to impute also share what is computed from
them (the list of sets, their factors, the tree), whoever the learner is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

from preceptor._base.checks import is_count
from preceptor._base.progress import Progress, report
from preceptor.errors import InvalidInput
from preceptor.plan import Plan
from preceptor.planning.solvers import solve
from preceptor.problem import Problem

_CHUNK = 16


def solve_many(
    problems: Iterable[Problem],
    method: str = "auto",
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> list[Plan]:
    """Solve many problems, in parallel processes.

    With more than one worker a script must guard its entry with `if __name__ == "__main__":`, as
    always with processes. The plans do not depend on the number of workers.

    Parameters
    ----------
    problems
        What to plan; problems that ask the same about losses share the answers.
    method
        The name of a solver in `SOLVERS`, as for `solve`.
    workers
        How many processes; one for each core if left out.
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
        The number of workers makes no sense.

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
    if workers is not None and not is_count(workers, least=1):
        raise InvalidInput(f"workers: {workers!r}, must be a whole number of at least 1")
    chunks = [todo[start : start + _CHUNK] for start in range(0, len(todo), _CHUNK)]
    processes = min(workers or os.cpu_count() or 1, len(chunks))
    plans: list[list[Plan]] = [[] for _ in chunks]
    if processes <= 1:
        for index, chunk in enumerate(chunks):
            plans[index] = _solve_chunk(chunk, method, options)
            report(progress, "batch", done=(index + 1) / len(chunks))
        return [plan for part in plans for plan in part]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        futures = {
            pool.submit(_solve_chunk, chunk, method, options): index
            for index, chunk in enumerate(chunks)
        }
        for done, future in enumerate(as_completed(futures), start=1):
            plans[futures[future]] = future.result()
            report(progress, "batch", done=done / len(chunks))
    return [plan for part in plans for plan in part]


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
