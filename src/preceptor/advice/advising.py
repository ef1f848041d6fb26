"""From a table to advice: a plan, its rivals, how certain it is, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from preceptor._base.parallel import one_blas_thread
from preceptor._base.progress import Deadline, Progress, check_time_limit, report
from preceptor._base.version import VERSION
from preceptor.advice.advice import Advice, Provenance
from preceptor.advice.comparing import compare
from preceptor.advice.few_sets import check_simple, few_sets_offer, plan_with_few_sets
from preceptor.advice.looking import Looking, look
from preceptor.advice.next_case import from_here, remembering, so_far_from
from preceptor.advice.options import (
    Charges,
    PersonOptions,
    TableOptions,
    budget_for,
    problem_for,
    refuse_choices,
    risk_for,
    time_from,
)
from preceptor.advice.planning import Effort, plan_for
from preceptor.data.world_estimate import WorldEstimate
from preceptor.data.world_fitting import fit_source, name_of_source
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.model.budgets import Budget
from preceptor.model.outcomes import PROBIT
from preceptor.model.person import Person
from preceptor.model.plan import Plan
from preceptor.model.problem import Problem
from preceptor.model.risks import Risk

# For planning and comparing together, unless `time_limit` says otherwise.
DEFAULT_SECONDS = 15.0


def advise(
    data: Any,
    outcome: str | None = None,
    *,
    tests: int | Budget | None = None,
    costs: Mapping[str, float] | None = None,
    limit: float | None = None,
    person: str | Person | PersonOptions | None = None,
    half_life: float | None = None,
    cases: float | None = None,
    about: float | None = None,
    risk: str | Risk | Charges | None = None,
    table: TableOptions | None = None,
    simple: int | None = None,
    full_plan: bool = False,
    verify: bool = False,
    vary: bool = True,
    looking: bool = True,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Advice:
    """Plan which tests to show, from a table of cases; what `preceptor plan` prints and reports.

    Parameters
    ----------
    data
        Cases: the path of a .csv, .tsv, .jsonl or .parquet file, a frame, a mapping of columns, a
        built-in `DataSet`; or what was made of them, a `WorldEstimate` or a `Problem`.
    outcome
        The column to predict.
    tests
        How many tests may be shown per case (3 if left out), or a budget.
    costs
        What each test takes of the limit, by name.
    limit
        What the tests of one case may cost together.
    person
        The person to plan for: "crowd" (the default: seven kinds of person, since it is rarely
        known how a person learns), one kind ("by-showings", "delta-rule", "bayesian", "forgetful",
        ...), a `Person` or `Crowd`; or `PersonOptions`, which can also say initial beliefs, a
        learner file, and what the person has seen already.
    half_life
        Showings after which half of a weight's error is gone (14 if left out).
    cases
        How many cases there will be. Teaching is open-ended if left out.
    about
        For open-ended teaching: about how many cases matter (100 if left out).
    risk
        How answers to a yes-or-no question are charged: "decision" (the default), "brier" or
        "log-loss" for answers that are probabilities; a risk such as
        `Decision(5, 1, threshold=0.3)`; or `Charges`, which can also say prices of tests.
    table
        How to read the table: columns to ignore, units, the file's format.
    simple
        The largest number of different sets; the plan says what that costs. No limit if left out.
    full_plan
        Keep the plan even if the best fixed set is as good, as far as the cases can tell.
    verify
        Prove value and bound again; may take minutes, and is not part of `time_limit`.
    vary
        Also plan under changed assumptions (not for a crowd, whose members differ already).
    looking
        Also simulate what choosing with the case in view would be worth, if there is a table.
    time_limit
        Seconds from the first plan to the last comparison, once the table has been read (15 if left
        out, of which the search takes four, or half a second for a person who learns by showings,
        then ten more if the gap is wide). The advice says what did not fit.
    seed
        Seed of everything random.
    progress
        Called now and then with an `Update`.

    Returns
    -------
    Advice
        The plan, its rivals, the plan under changed assumptions, and where it all comes from.

    Raises
    ------
    InvalidData
        No world can be estimated from the table.
    InvalidInput
        Arguments that make no sense, or that say the same thing twice.

    Examples
    --------
    >>> import preceptor as pr
    >>> table = {"age": [50, 61, 47, 70, 39, 58], "bmi": [22, 31, 25, 28, 24, 33],
    ...          "risk": [2.0, 5.1, 2.2, 5.0, 1.4, 5.3]}
    >>> advice = pr.advise(table, "risk", tests=1, cases=4, person="by-showings", vary=False)
    >>> advice.plan.status.value, [rival.name for rival in advice.rivals]
    ('optimal', ['fixed', 'predictive', 'random'])
    """
    check_simple(simple)
    check_time_limit(time_limit)
    options = person if isinstance(person, PersonOptions) else PersonOptions(person)
    if half_life is not None:
        if options.half_life is not None:
            raise InvalidInput("half_life: is in `person` too; leave one of them out")
        options = replace(options, half_life=half_life)
    charged = risk if isinstance(risk, Charges) else Charges(risk)
    table = table or TableOptions()
    estimate: WorldEstimate | None = None
    if isinstance(data, Problem):
        about_the_past = ("participant", "log") if options.log is not None else ()
        refuse_choices(
            options, charged, table, outcome=outcome, tests=tests, costs=costs, limit=limit,
            cases=cases, about=about,
            but=("source", "reading", "objective", "shown", *about_the_past),
        )  # fmt: skip
        problem, source = data, table.source
    else:
        report(progress, "estimating")
        time = time_from(cases, about)
        estimate, source = _estimated(data, outcome, table, seed, progress)
        world = estimate.world
        problem = problem_for(
            world,
            budget_for(world, tests=tests, costs=costs, prices=charged.prices, limit=limit),
            time,
            options,
            risk=risk_for(world, charged, table),
            progress=progress,
        )
    so_far = so_far_from(problem.world, options, table.reading)
    if so_far is not None:
        for note in () if so_far.log is None else so_far.log.notes:
            report(progress, "estimating", sentence=f"Note: {note}")
        problem = from_here(problem, so_far)
    report(progress, "preparing")
    deadline = Deadline(DEFAULT_SECONDS if time_limit is None else time_limit)
    limited = time_limit is not None
    effort = Effort(deadline, limited, seed, progress, full_plan, verify, vary, looking)
    with one_blas_thread():
        free = plan = plan_for(problem, options.objective, effort)
        if simple is not None:
            report(progress, "choosing few sets")
            plan = plan_with_few_sets(free, simple, deadline=deadline.halfway(), seed=seed)
    found = _advice(plan, free, effort, estimate, source or "a problem")
    if simple is None:
        found = replace(found, few=few_sets_offer(found.plan, deadline=deadline, seed=seed))
    if so_far is not None:
        found = replace(found, plan=remembering(found.plan, so_far))
    return replace(found, simple=simple)


def advice_on(plan: Plan, *, vary: bool = True) -> Advice:
    """Compare an existing plan with its rivals, and with plans under changed assumptions."""
    return _advice(plan, plan, Effort(Deadline(None), full_plan=True, vary=vary), None, "a plan")


def _estimated(
    data: Any, outcome: str | None, table: TableOptions, seed: int, progress: Progress | None
) -> tuple[WorldEstimate, str | None]:
    """The world of a table, and what to call the table."""
    if isinstance(data, WorldEstimate):
        refuse_choices(table, outcome=outcome, but=("source", "reading"))
        return data, table.source
    estimate = fit_source(
        data, outcome, unit=table.unit, drop=table.drop or (), reading=table.reading, seed=seed,
        link=table.link or PROBIT, as_number=table.as_number,
    )  # fmt: skip
    for warning in estimate.warnings:
        report(progress, "estimating", sentence=f"Note: {warning}")
    return estimate, table.source or name_of_source(data)


def _advice(
    plan: Plan, free: Plan, effort: Effort, estimate: WorldEstimate | None, source: str
) -> Advice:
    """Compare the plan, and prove it again on request; `free` is the plan that search found."""
    with one_blas_thread():
        found = compare(plan, effort, estimate)
        looked, notes = _looked(found.plan, effort, estimate)
        proof = None
        if effort.verify:
            from preceptor.proofs.verify import verify

            report(effort.progress, "proving again")
            proof = verify(found.plan)
    units = plan.problem.world.units
    outcome = "" if units is None else units.outcome
    cases = None if estimate is None else estimate.rows
    return Advice(
        **vars(found) | {"notes": (*found.notes, *notes)},
        looking=looked,
        provenance=Provenance(source, outcome, cases, effort.seed, VERSION),
        estimate=estimate,
        verification=proof,
        free=None if found.plan is free else free,
    )


def _looked(
    plan: Plan, effort: Effort, estimate: WorldEstimate | None
) -> tuple[Looking | None, list[str]]:
    """What looking at the case would be worth, or a note that says why that was left out."""
    if estimate is None or not effort.looking:
        return None, []
    report(effort.progress, "looking at cases")
    try:
        deadline = effort.deadline if effort.limited else None
        return look(plan, estimate, deadline=deadline, seed=effort.seed), []
    except NotApplicable as fault:
        return None, [f"What looking at the case would be worth was not simulated: {fault}."]
