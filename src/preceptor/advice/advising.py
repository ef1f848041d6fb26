"""Table in, advice out: a plan with its rivals, what it depends on, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from preceptor._base.files import write_text
from preceptor._base.progress import Progress, report
from preceptor._base.threads import one_blas_thread
from preceptor._base.version import VERSION
from preceptor._base.words import labelled
from preceptor.advice.alternatives import Alternative, alternatives
from preceptor.advice.choices import Beliefs, budget_for, discount_from, refuse_choices
from preceptor.advice.deciding import plan_for
from preceptor.advice.sensitivity import Change, sensitivity
from preceptor.advice.whom import problem_for
from preceptor.model.budgets import Budget
from preceptor.people.person import Person
from preceptor.plan import Plan
from preceptor.problem import Problem
from preceptor.tables import Reading

if TYPE_CHECKING:
    from preceptor.estimation import WorldEstimate
    from preceptor.verification import Verification


@dataclass(frozen=True)
class Provenance:
    """Where advice comes from.

    Attributes
    ----------
    source
        What the table is called.
    outcome
        What is predicted; empty for a bare problem.
    cases
        How many cases the world was estimated from, or None.
    seed
        Seed of everything random.
    version
        The version of this package.
    when
        The day, as in 2026-11-16; empty where nobody said it.
    command
        The command line; empty in Python.
    """

    source: str
    outcome: str
    cases: int | None
    seed: int
    version: str
    when: str = ""
    command: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Advice:
    """What `advise` found: a plan beside what else could be done, and what else could be true.

    Attributes
    ----------
    plan
        What to show.
    rivals
        What people would do without a plan, and what that costs.
    changes
        The plan under changed assumptions; empty where nothing was varied.
    provenance
        Where it all comes from.
    estimate
        The estimated world, or None where a problem was given instead of a table.
    verification
        Value and bound proven again, or None where nobody asked for it.
    """

    plan: Plan
    rivals: tuple[Alternative, ...]
    changes: tuple[Change, ...]
    provenance: Provenance
    estimate: WorldEstimate | None = None
    verification: Verification | None = None
    resampled: Any = None
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> tuple[str, ...]:
        """What to do, what that is worth, how sure it is, for whom it would be wrong."""
        return (f"{self.plan.how_sure()}.",)

    def schedule(self, most: int = 200) -> list[Any]:
        """What to show case by case."""
        rows = self.plan.policy.schedule(min(most, self.plan.problem.horizon or 60))
        names = [self.plan.problem.world.name_of(shown) for shown in rows]
        return [
            SimpleNamespace(case=f"{i + 1:,}", shown=each, text=" + ".join(each) or "nothing")
            for i, each in enumerate(names)
        ]

    def __repr__(self) -> str:
        rivals = [f"{rival.name} {rival.excess(self.plan):+.1%}" for rival in self.rivals]
        origin = self.provenance
        cases = "" if origin.cases is None else f", {origin.cases:,} cases"
        rows = [
            ("from", f"{origin.source}{cases}; seed {origin.seed}"),
            ("plan", self.plan.how_sure()),
            ("loss", f"{self.plan.value:.6g} in total"),
            ("rivals' loss", ", ".join(rivals) or "not compared"),
            ("changes", f"{len(self.changes)} assumptions varied"),
        ]
        return labelled("Advice", rows)

    def explain(self) -> str:
        """The plan in words, and a table of its rivals.

        Returns
        -------
        str
            What `preceptor plan` prints.
        """
        from preceptor.report.advice_words import explain_advice

        return explain_advice(self)

    def save(self, plan: str | Path, report: str | Path, *, rows: bool = False) -> None:
        """Write the plan (JSON) and the report (HTML); neither if the report cannot be drawn.

        Parameters
        ----------
        plan
            Where to write the plan.
        report
            Where to write the report.
        rows
            Also say in the report what is odd about single rows of the table.

        Raises
        ------
        MissingExtra
            jinja2 is not installed.
        """
        from preceptor.report.html import render_report

        page = render_report(self, rows=rows)
        self.plan.save(plan)
        write_text(report, page)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data.

        Returns
        -------
        dict
            Numbers, text, lists and tables, for JSON.
        """
        from preceptor.report.advice_words import advice_to_dict

        return advice_to_dict(self)


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
    person: str | Person | None = None,
    objective: str | None = None,
    learner: Person | str | Path | None = None,
    participant: str | None = None,
    beliefs: Beliefs | None = None,
    standardised: bool = False,
    half_life: float | None = None,
    alpha: float | None = None,
    cases: float | None = None,
    discount: float | None = None,
    time_limit: float | None = None,
    verify: bool = False,
    vary: bool = True,
    seed: int = 0,
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
        Who in the learner file; everybody pooled if left out.
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
        About how many cases are to come (100 if left out).
    discount
        The discount factor, in place of `cases`.
    time_limit
        Seconds to search and to prove. If left out: four; for somebody who learns by showings half
        a second, then ten more if the gap is wide.
    verify
        Prove value and bound again; may take minutes.
    vary
        Also plan with changed assumptions (not for a crowd: there, people are varied instead).
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
    estimate: WorldEstimate | None = None
    if isinstance(data, Problem):
        refuse_choices(
            outcome=outcome, unit=unit, tests=tests, costs=costs, prices=prices, limit=limit,
            person=person, learner=learner, participant=participant, beliefs=beliefs,
            half_life=half_life, alpha=alpha, standardised=standardised or None, cases=cases,
            discount=discount, drop=tuple(drop) or None,
        )  # fmt: skip
        problem = data
    else:
        from preceptor.estimation import WorldEstimate
        from preceptor.estimation.sources import fit_source, name_of_source

        report(progress, "estimating")
        weight = discount_from(cases, discount)
        if isinstance(data, WorldEstimate):
            refuse_choices(outcome=outcome, unit=unit, drop=tuple(drop) or None)
            estimate = data
        else:
            estimate = fit_source(data, outcome, unit=unit, drop=drop, reading=reading, seed=seed)
            source = source or name_of_source(data)
            for doubt in estimate.warnings:
                report(progress, "estimating", sentence=f"Note: {doubt}")
        problem = problem_for(
            estimate.world,
            budget_for(estimate.world, tests=tests, costs=costs, prices=prices, limit=limit),
            weight,
            person=person,
            learner=learner,
            participant=participant,
            beliefs=beliefs,
            standardised=standardised,
            half_life=half_life,
            alpha=alpha,
            progress=progress,
        )
    with one_blas_thread():
        plan = plan_for(
            problem, objective=objective, time_limit=time_limit, seed=seed, progress=progress
        )
    return advice_on(
        plan,
        estimate=estimate,
        source=source or "a problem",
        verify=verify,
        vary=vary,
        seed=seed,
        progress=progress,
    )


def advice_on(
    plan: Plan,
    *,
    estimate: WorldEstimate | None = None,
    source: str = "a plan",
    verify: bool = False,
    vary: bool = True,
    seed: int = 0,
    progress: Progress | None = None,
) -> Advice:
    """A plan that is there already beside its rivals and under changed assumptions."""
    proof = None
    with one_blas_thread():
        report(progress, "comparing")
        rivals = alternatives(plan, seed=seed)
        changes = sensitivity(plan, seed=seed) if vary else ()
        if verify:
            from preceptor.verification import verify as prove_again

            report(progress, "proving again")
            proof = prove_again(plan)
    units = plan.problem.world.units
    outcome = "" if units is None else units.outcome
    cases = None if estimate is None else estimate.rows
    provenance = Provenance(source, outcome, cases, seed, VERSION)
    return Advice(plan, rivals, changes, provenance, estimate, proof)
