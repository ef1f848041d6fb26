"""What every solver promises, and every plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from preceptor._base.progress import Status
from preceptor.errors import InvalidInput, NotApplicable, NotSerializable, UnknownMethod
from preceptor.plan import Plan
from preceptor.planning import Solver
from preceptor.problem import Problem
from preceptor.testing.kinds import MOST_FAULTS, ROUNDING
from preceptor.testing.small import brute_force, small_problems
from preceptor.verification.slow_value import slow_value


def check_solver(
    solver: Solver,
    problems: Mapping[str, Problem] | None = None,
    *,
    optimal_within: float = 1e-3,
    **options: Any,
) -> None:
    """Raise `InvalidInput` naming every promise of a solver that is broken.

    - its record is complete, and its first line of documentation says what it does;
    - what `why_not` refuses, it refuses with those words; everything else it solves;
    - plans are as `check_plan` wants them, compared with `brute_force`;
    - with the same options, the same problem gives the same plan;
    - an option that it does not have is refused, and so is a negative limit or seed.

    Parameters
    ----------
    solver
        The record of a method, as `preceptor.planning.SOLVERS` has them.
    problems
        What to try it on, by name; `small_problems()` if left out.
    optimal_within
        How far above the optimum a plan that calls itself optimal may be, relatively.
    **options
        Go to the solver. Give it limits that do not depend on a clock, or two runs may differ.

    Examples
    --------
    >>> from preceptor.planning import SOLVERS
    >>> short = {name: each for name, each in small_problems().items() if each.horizon}
    >>> check_solver(SOLVERS["stationary"], short)
    """
    tried = small_problems() if problems is None else problems
    faults = _record_faults(solver)
    for name, problem in tried.items():
        found = _solving_faults(solver, problem, options, optimal_within)
        faults += [f"{solver.name} ({name}): {fault}" for fault in found]
        if len(faults) > MOST_FAULTS:
            break
    served = next((each for each in tried.values() if not solver.why_not(each)), None)
    if served is None:
        faults.append(f"{solver.name}: why_not refuses every problem")
    else:
        faults += _option_faults(solver, served, options)
    InvalidInput.raise_if(faults[:MOST_FAULTS])


def check_plan(plan: Plan, *, optimal_within: float = 1e-3) -> None:
    """Raise `InvalidInput` if a plan of a small problem does not say the truth.

    Its policy is allowed and costs what the plan says, by slow algebra; the bound is not above the
    optimum, which comes from `brute_force`; and if it says that it is optimal, it is. It can be
    written to a file and read back, unless the problem holds a Python function.
    """
    InvalidInput.raise_if(_plan_faults(plan, optimal_within))


def _record_faults(solver: Solver) -> list[str]:
    faults = []
    if not solver.summary:
        faults.append(f"{solver.name}: its function needs a docstring; the first line is shown")
    if not solver.proves:
        faults.append(f"{solver.name}: proves is empty; say what is known about its plans")
    return faults


def _solving_faults(
    solver: Solver, problem: Problem, options: Mapping[str, Any], optimal_within: float
) -> list[str]:
    why_not = solver.why_not(problem)
    try:
        plan = solver.plan(problem, options)
    except NotApplicable as error:
        if not why_not:
            return [f"why_not is empty, but it refuses: {error}"]
        return [] if why_not in str(error) else [f"refuses with {str(error)!r}, not {why_not!r}"]
    if why_not:
        return [f"why_not says {why_not!r}, but it solves"]
    faults = _plan_faults(plan, optimal_within)
    if plan.problem != problem:
        faults.append("the plan is for another problem")
    again = solver.plan(problem, options)
    timed = replace(again, seconds=plan.seconds, proved=plan.proved, compiled=plan.compiled)
    if timed != plan:
        faults.append("a second run with the same options gives another plan")
    return faults


def _plan_faults(plan: Plan, optimal_within: float) -> list[str]:
    problem = plan.problem
    plan.policy.check(problem)
    optimum, slow = brute_force(problem), slow_value(problem, plan.policy)
    slack = ROUNDING * (1.0 + abs(optimum))
    faults = []
    if abs(slow - plan.value) > slack:
        faults.append(f"value is {plan.value:.10g}, but the policy costs {slow:.10g}")
    if plan.value < optimum - slack:
        faults.append(f"value {plan.value:.10g} is below the optimum {optimum:.10g}")
    if plan.lower_bound > optimum + slack:
        faults.append(f"lower_bound {plan.lower_bound:.10g} is above the optimum {optimum:.10g}")
    if plan.status is Status.OPTIMAL and plan.value > optimum * (1.0 + optimal_within) + slack:
        faults.append(f"status is optimal, but {plan.value:.10g} is above {optimum:.10g}")
    if plan.seconds < 0.0:
        faults.append(f"seconds: {plan.seconds}, must not be negative")
    try:
        if Plan.from_json(plan.to_json()) != plan:
            faults.append("it is not the same after it was written to a file and read back")
    except NotSerializable:
        pass
    except InvalidInput as error:
        faults.append(f"what it writes to a file cannot be read back: {error}")
    return faults


def _option_faults(solver: Solver, problem: Problem, options: Mapping[str, Any]) -> list[str]:
    faults = []
    try:
        solver.plan(problem, {**options, "no_such_option": 1})
        faults.append(
            f"{solver.name}: takes any option; its options must be keyword-only and named"
        )
    except UnknownMethod:
        pass
    for name, option in solver.options.items():
        # A callback is no limit, and with too little memory some solvers do with less.
        if name in {"progress", "memory_limit"} or isinstance(option.default, bool | str):
            continue
        try:
            solver.plan(problem, {**options, name: -1})
            faults.append(f"{solver.name}: option {name}=-1 is taken without a word")
        except InvalidInput:
            pass
    return faults
