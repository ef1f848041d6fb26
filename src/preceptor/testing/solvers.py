"""Contract checks for solvers and plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from preceptor._base.progress import Status
from preceptor.errors import InvalidInput, NotApplicable, NotSerializable, UnknownMethod
from preceptor.model.plan import Plan
from preceptor.model.problem import Problem
from preceptor.planning.solver import Solver
from preceptor.proofs.slow_value import slow_value
from preceptor.testing.budgets_and_risks import MOST_FAULTS, ROUNDING
from preceptor.testing.problems import brute_force, small_problems


def check_solver(
    solver: Solver,
    problems: Mapping[str, Problem] | None = None,
    *,
    optimal_within: float = 1e-3,
    **options: Any,
) -> None:
    """Raise `InvalidInput` naming every rule that a solver breaks.

    - its record is complete, and the first line of its docstring says what it does;
    - what `why_not` refuses, it refuses with the same message; everything else it solves;
    - plans pass `check_plan`, compared with `brute_force`;
    - with the same options, the same problem gives the same plan;
    - unknown options are refused, and so are negative limits or seeds.

    Parameters
    ----------
    solver
        The record of a method, as in `preceptor.planning.SOLVERS`.
    problems
        Problems to try, by name; `small_problems()` if omitted.
    optimal_within
        Allowed relative excess over the optimum of a plan with status optimal.
    **options
        Passed to the solver. Use limits that do not depend on a clock, or two runs may differ.

    Examples
    --------
    >>> from preceptor.planning.solvers import SOLVERS
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
    """Raise `InvalidInput` if a plan of a small problem makes a false claim.

    Its policy must be allowed and have the loss that the plan states, by slow algebra; the lower
    bound must not exceed the optimum from `brute_force`; and status optimal must be true. It must
    survive writing to a file and reading back, unless the problem holds a Python function.
    """
    InvalidInput.raise_if(_plan_faults(plan, optimal_within))


def _record_faults(solver: Solver) -> list[str]:
    faults = []
    if not solver.summary:
        faults.append(f"{solver.name}: the function needs a docstring; its first line is shown")
    if not solver.proves:
        faults.append(f"{solver.name}: proves is empty; state what its plans guarantee")
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
        faults.append("a second run with the same options gives a different plan")
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
            faults.append("writing it to a file and reading it back gives a different plan")
    except NotSerializable:
        pass
    except InvalidInput as error:
        faults.append(f"its file cannot be read back: {error}")
    return faults


def _option_faults(solver: Solver, problem: Problem, options: Mapping[str, Any]) -> list[str]:
    faults = []
    try:
        solver.plan(problem, {**options, "no_such_option": 1})
        faults.append(f"{solver.name}: accepts unknown options; options must be named keywords")
    except UnknownMethod:
        pass
    for name, option in solver.options.items():
        # A callback is not a limit, and some solvers adapt to too little memory.
        if name in {"progress", "memory_limit"} or isinstance(option.default, bool | str):
            continue
        try:
            solver.plan(problem, {**options, name: -1})
            faults.append(f"{solver.name}: option {name}=-1 is accepted")
        except InvalidInput:
            pass
    return faults
