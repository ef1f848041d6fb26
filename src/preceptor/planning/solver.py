"""A solver as a record: what to call, when it applies, what it proves, how much work it is.

`preceptor methods`, the tables in the documentation and the messages of `solve` are read off these
records. A new solver is a file that ends in one, and a line in `solvers.py`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from preceptor.errors import NotApplicable, UnknownMethod
from preceptor.plan import Plan
from preceptor.problem import Problem


@dataclass(frozen=True)
class Work:
    """What an exact solver would have to do: states, bytes of memory, and the states in words."""

    states: float
    bytes: float
    words: str


def serves_all(problem: Problem) -> str:
    """Why a solver cannot serve a problem, for those that can serve them all."""
    return ""


def other_people(problem: Problem) -> str:
    """Why a solver that plans on counts of showings cannot serve a problem; empty if it can."""
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
        What `solve(method=...)` and plans call it.
    solve
        A function of a problem and keyword-only options; the first line of its docstring is the
        `summary`.
    proves
        What is known about how good its plans are.
    why_not
        Says why it cannot serve a problem, in words; empty if it can.
    work
        For exact solvers that `auto` may choose: says how much there is to do.
    all_people
        Whether it plans for any kind of person, not only for those who learn by showings.

    Examples
    --------
    >>> from preceptor.planning import SOLVERS
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
        """What it does, in a line."""
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
            By name, as the solver takes them.

        Returns
        -------
        Plan
            The solver's own; `solve` adds notes that hold for any method.

        Raises
        ------
        UnknownMethod
            The solver has no option of that name.
        NotApplicable
            It plans for people by showings only, and the problem's person is another.
        """
        unknown = sorted(set(options) - set(self.options))
        if unknown:
            takes = f"it takes {', '.join(self.options)}" if self.options else "it takes none"
            raise UnknownMethod(f"method {self.name!r} has no option {', '.join(unknown)}; {takes}")
        if not self.all_people and other_people(problem):
            raise NotApplicable(f"{self.name}: {other_people(problem)}")
        return self.solve(problem, **options)
