"""Table in, advice out: a plan with its rivals, how sure it is, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preceptor._base.deadline import Deadline, check_time_limit
from preceptor._base.progress import Progress, report
from preceptor._base.threads import one_blas_thread
from preceptor._base.version import VERSION
from preceptor.advice.advice import Advice, Provenance
from preceptor.advice.choices import (
    Beliefs,
    budget_for,
    problem_for,
    reading_as,
    refuse_choices,
    risk_for,
    time_from,
)
from preceptor.advice.comparing import compare
from preceptor.advice.deciding import plan_for
from preceptor.advice.few_sets import check_simple, plan_with_few_sets
from preceptor.advice.from_here import from_here, remembering, so_far_from
from preceptor.model.budgets import Budget
from preceptor.model.risks import Risk
from preceptor.people.person import Person
from preceptor.plan import Plan
from preceptor.problem import Problem
from preceptor.tables import Reading

if TYPE_CHECKING:
    from preceptor.estimation import WorldEstimate
    from preceptor.logs import Log

# All of it together, where nobody says how long it may take.
DEFAULT_SECONDS = 15.0


def advise(
    data: Any,
    outcome: str | None = None,
    *,
    source: str | None = None,
    unit: str | None = None,
    drop: Iterable[str] = (),
    reading: Reading | None = None,
    tests: int | Budget | None = None,
    costs: Mapping[str, float] | None = None,
    prices: Mapping[str, float] | None = None,
    limit: float | None = None,
    risk: str | Risk | None = None,
    miss_cost: float | None = None,
    false_alarm_cost: float | None = None,
    as_number: bool = False,
    link: str | None = None,
    person: str | Person | None = None,
    objective: str | None = None,
    learner: Person | str | Path | None = None,
    participant: str | None = None,
    shown: Mapping[str, int] | None = None,
    log: Log | str | Path | None = None,
    beliefs: Beliefs | None = None,
    standardised: bool = False,
    half_life: float | None = None,
    alpha: float | None = None,
    cases: float | None = None,
    about: float | None = None,
    discount: float | None = None,
    simple: int | None = None,
    full_plan: bool = False,
    time_limit: float | None = None,
    verify: bool = False,
    vary: bool = True,
    seed: int = 0,
    when: str = "",
    command: str = "",
    progress: Progress | None = None,
) -> Advice:
    """Plan which tests to show, from a table of cases; what `preceptor plan` prints and reports.

    Parameters
    ----------
    data
        Cases: the path of a .csv, .tsv, .jsonl or .parquet file, a frame, a mapping of columns, a
        built-in `DataSet`; or what has been made of them already, a `WorldEstimate` or a `Problem`.
    outcome
        The column that is to be predicted.
    source
        What to call the table in the report; its file's name if left out.
    unit
        The unit of the outcome, for the report.
    drop
        Columns to ignore.
    reading
        How the table is written and what its values mean, where guessing would go wrong.
    tests
        How many tests may be shown per case (3 if left out), or a budget.
    costs
        By name of test: what it takes of the limit.
    prices
        By name of test: what showing it adds to the loss of a case.
    limit
        What the tests of one case may cost together.
    risk
        How answers to a yes-or-no question are charged: "decision" (the default), "brier" or
        "log-loss" for answers that are probabilities; or a risk such as
        `Decision(5, 1, threshold=0.3)`.
    miss_cost
        For decisions: what saying no costs when the truth is yes (1 if left out).
    false_alarm_cost
        For decisions: what saying yes costs when the truth is no (1 if left out).
    as_number
        Read an outcome of two values as a number, with squared errors and a linear model.
    link
        How a score becomes a probability where the outcome is yes or no: "probit" (the default) or
        "logistic".
    person
        Whom to plan for: "crowd" (the default: seven kinds of person, since one rarely knows how
        somebody learns), one kind ("by-showings", "delta-rule", "bayesian", "forgetful", ...), or a
        `Person` or `Crowd`. A kind is made of the four arguments after `participant`.
    objective
        What a plan for a crowd minimises: "regret" (the default: the most that anybody loses beyond
        their own best plan), "mean" or "cvar".
    learner
        A person who was estimated, or the path of a learner file, in place of `person`.
    participant
        Who in the learner file, everybody pooled if left out; and who in the log.
    shown
        How often the person has seen each test already, by name. The cases of the plan count from
        now.
    log
        What the person was shown and told so far, a log or its path, in place of `shown`: whoever
        learns from outcomes is followed through it.
    beliefs
        First weights: "zero" (the default), "equal", "marginal", or weights by name of column.
    standardised
        Weights by name are per standard deviation of the test, not per unit.
    half_life
        Showings after which half of a weight's error is gone (14 if left out).
    alpha
        What a showing divides a weight's error by, in place of `half_life`. It is about people who
        learn by showings, so it plans for one of them unless `person` says otherwise.
    cases
        How many cases there will be; after them it ends. Open-ended teaching if left out.
    about
        For open-ended teaching: about how many cases matter (100 if left out).
    discount
        The discount factor, in place of `about`; beside `cases`, what later ones count.
    simple
        At most so many different sets; the plan says what that costs. Any number if left out.
    full_plan
        Keep the plan even where the best fixed set is as good, as far as the cases can tell.
    time_limit
        Seconds from the first plan to the last comparison, once the table has been read (15 if left
        out; searching takes four of them, or half a second for somebody who learns by showings,
        then ten more if the gap is wide). What does not fit is left out, and said. Not for
        `verify`.
    verify
        Prove value and bound again; may take minutes.
    vary
        Also plan with changed assumptions (not for a crowd: there, people are varied instead).
    seed
        Seed of everything random.
    when
        The day, for the report.
    command
        The command line, for the report.
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
    estimate: WorldEstimate | None = None
    if isinstance(data, Problem):
        refuse_choices(
            outcome=outcome, unit=unit, tests=tests, costs=costs, prices=prices, limit=limit,
            risk=risk, miss_cost=miss_cost, false_alarm_cost=false_alarm_cost, link=link,
            as_number=as_number or None, person=person, learner=learner, beliefs=beliefs,
            participant=participant if log is None else None,
            half_life=half_life, alpha=alpha, standardised=standardised or None, cases=cases,
            about=about, discount=discount, drop=tuple(drop) or None,
        )  # fmt: skip
        problem = data
    else:
        from preceptor.estimation import WorldEstimate
        from preceptor.estimation.world import fit_source, name_of_source

        report(progress, "estimating")
        time = time_from(cases, about, discount)
        if isinstance(data, WorldEstimate):
            refuse_choices(
                outcome=outcome, unit=unit, drop=tuple(drop) or None, link=link,
                as_number=as_number or None,
            )  # fmt: skip
            estimate = data
        else:
            estimate = fit_source(
                data, outcome, unit=unit, drop=drop, reading=reading, seed=seed,
                **reading_as(link, as_number),
            )  # fmt: skip
            source = source or name_of_source(data)
            for doubt in estimate.warnings:
                report(progress, "estimating", sentence=f"Note: {doubt}")
        in_file = isinstance(learner, (str, Path))
        problem = problem_for(
            estimate.world,
            budget_for(estimate.world, tests=tests, costs=costs, prices=prices, limit=limit),
            time,
            risk_for(
                estimate.world,
                risk=risk,
                miss_cost=miss_cost,
                false_alarm_cost=false_alarm_cost,
                link=link,
                as_number=as_number,
            ),
            person=person,
            learner=learner,
            participant=participant if in_file or log is None else None,
            newcomer=log is not None,
            beliefs=beliefs,
            standardised=standardised,
            half_life=half_life,
            alpha=alpha,
            progress=progress,
        )
    so_far = so_far_from(
        problem.world, shown=shown, log=log, participant=participant, reading=reading
    )
    if so_far is not None:
        for note in () if so_far.log is None else so_far.log.notes:
            report(progress, "estimating", sentence=f"Note: {note}")
        problem = from_here(problem, so_far)
    report(progress, "preparing")
    deadline = Deadline(DEFAULT_SECONDS if time_limit is None else time_limit)
    with one_blas_thread():
        free = plan = plan_for(
            problem,
            objective=objective,
            time_limit=time_limit,
            deadline=deadline,
            seed=seed,
            progress=progress,
        )
        if simple is not None:
            report(progress, "choosing few sets")
            plan = plan_with_few_sets(free, simple, deadline=deadline.halfway(), seed=seed)
    found = advice_on(
        plan,
        free=free,
        estimate=estimate,
        source=source or "a problem",
        full_plan=full_plan,
        verify=verify,
        vary=vary,
        seed=seed,
        deadline=deadline,
        progress=progress,
    )
    if so_far is not None:
        found = replace(found, plan=remembering(found.plan, so_far))
    origin = replace(found.provenance, when=when, command=command)
    return replace(found, simple=simple, provenance=origin)


def advice_on(
    plan: Plan,
    *,
    free: Plan | None = None,
    estimate: WorldEstimate | None = None,
    source: str = "a plan",
    full_plan: bool = True,
    verify: bool = False,
    vary: bool = True,
    seed: int = 0,
    deadline: Deadline | None = None,
    progress: Progress | None = None,
) -> Advice:
    """A plan that is there already beside its rivals and under changed assumptions.

    `free` is what search found, where the plan is something simpler.
    """
    with one_blas_thread():
        found = compare(
            plan,
            plan if free is None else free,
            estimate=estimate,
            full_plan=full_plan,
            vary=vary,
            seed=seed,
            deadline=Deadline(None) if deadline is None else deadline,
            progress=progress,
        )
        proof = None
        if verify:
            from preceptor.verification import verify as prove_again

            report(progress, "proving again")
            proof = prove_again(found.plan)
    units = plan.problem.world.units
    outcome = "" if units is None else units.outcome
    cases = None if estimate is None else estimate.rows
    return Advice(
        plan=found.plan,
        rivals=found.rivals,
        changes=found.changes,
        provenance=Provenance(source, outcome, cases, seed, VERSION),
        estimate=estimate,
        verification=proof,
        free=found.free,
        resampled=found.resampled,
        notes=found.notes,
    )
