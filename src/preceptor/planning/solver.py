"""A solver as a record: its function, when it applies, what it proves, how much work it takes.

`preceptor methods`, the tables in the documentation and the messages of `solve` are read off these
records. A new solver is a file that ends in one, and a line in `solvers.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from preceptor.errors import NotApplicable, UnknownMethod
from preceptor.model.evaluation import expectations
from preceptor.model.plan import Plan
from preceptor.model.problem import Problem


@dataclass(frozen=True)
class Work:
    """Work of an exact solver: states, bytes of memory, and the number of states in words."""

    states: float
    bytes: float
    words: str


def serves_all(problem: Problem) -> str:
    """The `why_not` of a solver that applies to every problem."""
    return ""


def other_people(problem: Problem) -> str:
    """Why a solver over exposure counts does not apply to a problem; empty if it does."""
    if problem.learns_by_showings:
        return ""
    return f"is for people who learn by showings, not for a {type(problem.learner).__name__}"


@dataclass(frozen=True)
class Solver:
    """One method of `solve`, as a record.

    `auto`, `preceptor methods`, the table in the documentation and the messages of `solve` are all
    read off these records.

    Parameters
    ----------
    name
        Its name in `solve(method=...)` and in plans.
    solve
        A function of a problem and keyword-only options; the first line of its docstring is the
        `summary`.
    proves
        The guarantee that comes with its plans.
    why_not
        Returns why it does not apply to a problem, in words; empty if it does.
    work
        For exact solvers that `auto` may choose: returns how much work a problem is.
    all_people
        Whether it plans for every kind of person, not only for learners by showings.

    Examples
    --------
    >>> from preceptor.planning.solvers import SOLVERS
    >>> sorted(SOLVERS["beam"].options)
    ['layers', 'memory_limit', 'progress', 'width']
    """

    name: str
    solve: Callable[..., Plan]
    proves: str
    why_not: Callable[[Problem], str] = serves_all
    work: Callable[[Problem], Work] | None = None
    all_people: bool = False

    def __post_init__(self) -> None:
        if not self.all_people:
            own = self.why_not
            object.__setattr__(self, "why_not", lambda given: other_people(given) or own(given))

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return inspect.cleandoc(self.solve.__doc__ or "").split("\n")[0]

    @property
    def options(self) -> Mapping[str, inspect.Parameter]:
        """The keyword-only options it takes, with their defaults and types."""
        given = inspect.signature(self.solve, eval_str=False).parameters.items()
        return {name: each for name, each in given if each.kind is each.KEYWORD_ONLY}

    def plan(self, problem: Problem, options: Mapping[str, Any]) -> Plan:
        """Check the options, then solve.

        Parameters
        ----------
        problem
            What to plan.
        options
            Options of the solver, by name.

        Returns
        -------
        Plan
            The solver's plan; `solve` adds notes that apply to every method.

        Raises
        ------
        UnknownMethod
            The solver has no option of that name.
        NotApplicable
            It plans for learners by showings only, and the person is of another kind.
        """
        unknown = sorted(set(options) - set(self.options))
        if unknown:
            takes = f"it takes {', '.join(self.options)}" if self.options else "it takes none"
            raise UnknownMethod(f"method {self.name!r} has no option {', '.join(unknown)}; {takes}")
        if not self.all_people and other_people(problem):
            raise NotApplicable(f"{self.name}: {other_people(problem)}")
        return self.solve(problem, **options)


_NOT_GAUSSIAN = (
    "These tests are not Gaussian; what is expected of people who learn from outcomes takes them "
    "to be, so costs are approximate."
)


def accuracy_notes(problem: Problem) -> tuple[str, ...]:
    """How inexact the costs are for people who do not learn by showings; empty if exact."""
    if problem.learns_by_showings:
        return ()
    said = tuple(dict.fromkeys(e.accuracy for e in expectations(problem) if e.accuracy))
    if not problem.world.is_gaussian:
        said += (_NOT_GAUSSIAN,)
    return (*said, "The gap is only as good as this cost.") if said else ()


def tie_notes(plan: Plan) -> tuple[str, ...]:
    """A note if another set is exactly as good in the long run as the one committed to.

    "Every optimal policy commits" requires an untied tail: with a tie, a policy that keeps
    changing sets forever can be just as good or better.
    """
    from preceptor.model.long_run import tied_sets

    commit = plan.policy.commit
    if not plan.problem.learns_by_showings:
        return ()
    if commit is None or (plan.problem.horizon is not None and plan.exploration_length is None):
        return ()
    ties = [shown for shown in tied_sets(plan.problem, plan.policy) if shown != commit]
    if not ties:
        return ()
    name_of = plan.problem.world.name_of
    others = " or ".join("{" + ", ".join(name_of(shown)) + "}" for shown in ties)
    return (
        f"In the long run {others} is exactly as good as the last set, so the best plan may never "
        "settle on one of them.",
    )
