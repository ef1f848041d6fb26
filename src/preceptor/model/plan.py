"""A plan: what to show, its cost, a bound on its gap to the optimum, and how it was found.

A plan for a crowd also has regrets: the excess cost for each person over their own best plan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from preceptor._base.checks import count_faults, is_number
from preceptor._base.extensions import from_extra
from preceptor._base.files import FaultCollector, read_text, write_text
from preceptor._base.numerics import ROUNDING, total_weight
from preceptor._base.progress import CONTRADICTION, Status
from preceptor._base.values import FloatArray, Value, frozen_array, plain
from preceptor._base.words import duration_in_words, html_table, labelled, percent
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.model.certificate import Certificate, LinearCertificate
from preceptor.model.policies import Policy
from preceptor.model.problem import Problem
from preceptor.model.sets import read_counts

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FORMAT = "preceptor-plan/1"
ALL_POLICIES, FIXED_SCHEDULES = "all policies", "schedules fixed in advance"
"""What a lower bound can hold for: `Plan.bound_holds_for`."""
OBJECTIVES = ("regret", "mean", "cvar")
CONTRADICTED = "none: the proven bound is above the best plan's cost, so one of them is wrong"


@dataclass(frozen=True, eq=False)
class Regrets(Value):
    """Costs and regrets of a plan for a crowd and of other policies, person by person.

    A regret is the excess cost of a policy over the best plan found for that person, as a share of
    the latter: 0.02 means 2% more than if their kind had been known.

    Attributes
    ----------
    people
        Names of the people.
    weights
        Probability of each person, shape (people,).
    policies
        Names of the policies compared; the first is the plan.
    costs
        Expected discounted losses, shape (policies, people).
    best
        Cost of the best plan found for each person, shape (people,).
    bounds
        Proven lower bounds for each person, shape (people,). A bound above `best` by more than
        rounding is dropped and set to 0.
    bound_kinds
        How each bound was proven, and for which policies if not for all.
    exact
        Whether a person's costs are exact, or approximate as `accuracy` says.
    accuracy
        Sentences on approximate costs.
    objective
        What the plan minimises: "regret", "mean" or "cvar".
    """

    people: tuple[str, ...]
    weights: FloatArray
    policies: tuple[str, ...]
    costs: FloatArray
    best: FloatArray
    bounds: FloatArray
    bound_kinds: tuple[str, ...]
    exact: tuple[bool, ...]
    accuracy: tuple[str, ...] = ()
    objective: str = "regret"

    def __post_init__(self) -> None:
        for name in ("weights", "costs", "best", "bounds"):
            self.set_fields(**{name: frozen_array(getattr(self, name))})
        for name in ("people", "policies", "bound_kinds", "exact", "accuracy"):
            self.set_fields(**{name: tuple(getattr(self, name))})
        wrong = self.bounds > self.best * (1.0 + CONTRADICTION)
        bounds = np.where(wrong, 0.0, np.minimum(self.bounds, self.best))
        kinds = zip(self.bound_kinds, wrong, strict=True)
        told = tuple(CONTRADICTED if false else kind for kind, false in kinds)
        self.set_fields(bounds=frozen_array(bounds), bound_kinds=told)

    @property
    def table(self) -> FloatArray:
        """Regrets of all policies, shape (policies, people)."""
        # No regret is negative, nor is there one for a person whose best plan costs nothing.
        return np.asarray(np.maximum(self.costs / self.best - 1.0, 0.0))

    @property
    def of_plan(self) -> dict[str, float]:
        """The plan's regret by name of the person."""
        return dict(zip(self.people, self.table[0].tolist(), strict=True))

    @property
    def worst(self) -> float:
        """The plan's largest regret."""
        return float(self.table[0].max())

    @property
    def mean(self) -> float:
        """The plan's regret, averaged over people by weight."""
        return float(self.weights @ self.table[0])

    def __getitem__(self, person: str) -> float:
        """The plan's regret for one person."""
        return self.of_plan[person]

    def __repr__(self) -> str:
        rows = [(name, f"{100 * regret:+.1f} %") for name, regret in self.of_plan.items()]
        return labelled(f"Regrets: at most {100 * self.worst:.1f} %", rows)


def read_fields(data: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """Fields of a plan from plain data; `known` are the names of its fields."""
    given = dict(data)
    named = given.pop("format", None)
    if named != FORMAT:
        raise InvalidFile(f"format: {named!r}, this version reads {FORMAT!r}")
    missing = [k for k in ("problem", "policy", "value", "lower_bound") if k not in given]
    if missing:
        raise InvalidFile(f"plan file: {', '.join(missing)} missing")
    gathered = FaultCollector()
    gathered.fault(*_number_faults(given))
    given["problem"] = gathered.read(_problem, given["problem"])
    given["policy"] = gathered.read(Policy.from_dict, given["policy"])
    if given["problem"] is not None and given["policy"] is not None:
        gathered.read(given["policy"].check, given["problem"])
    given["status"] = gathered.read(_status, given.get("status"))
    reach = given.setdefault("bound_holds_for", ALL_POLICIES)
    if reach not in (ALL_POLICIES, FIXED_SCHEDULES):
        allowed = f"{ALL_POLICIES!r} or {FIXED_SCHEDULES!r}"
        gathered.fault(f"bound_holds_for: {reach!r}, must be {allowed}")
    notes = given.get("notes", ())
    if not isinstance(notes, (list, tuple)):
        gathered.fault(f"notes: {notes!r}, must be a list of sentences")
    else:
        given["notes"] = tuple(notes)
    for name, read in (("certificate", _certificate), ("regrets", Regrets.from_dict)):
        if given.get(name) is not None:
            given[name] = gathered.read(read, given[name])
    if given["problem"] is not None:
        gathered.read(_read_before, given)
    unknown = given.keys() - known
    if gathered.errors and unknown:
        gathered.fault(f"Plan: unknown key {', '.join(map(repr, sorted(unknown)))}")
    gathered.raise_all()
    return given


def _number_faults(fields: Mapping[str, Any]) -> list[str]:
    """Faults of the numbers, each by itself and together."""
    numbers = ("value", "lower_bound", "seconds", "states", "compiled", "proved")
    wrong = [name for name in numbers if not is_number(fields.get(name, 0))]
    if not wrong and fields["lower_bound"] > fields["value"] * (1 + CONTRADICTION) + 1e-12:
        return [
            f"lower_bound: {fields['lower_bound']} is above the value {fields['value']}; "
            "the file was edited, solve the problem again"
        ]
    return [f"{name}: {fields[name]!r}, must be a number" for name in wrong]


def _problem(data: object) -> Problem:
    if not isinstance(data, Mapping):
        raise InvalidFile(f"problem: got {data!r}, expected a table")
    return Problem.from_dict(data)


def _status(given: object) -> Status:
    try:
        return Status(given)
    except ValueError:
        allowed = ", ".join(status.value for status in Status)
        raise InvalidFile(f"status: {given!r}, must be one of {allowed}") from None


def _read_before(fields: dict[str, Any]) -> None:
    """Check `seen_before` and `rounds_before`."""
    seen, rounds = fields.get("seen_before"), fields.get("rounds_before", 0)
    size = fields["problem"].size
    faults: list[str] = []
    if seen is not None:
        fields["seen_before"] = read_counts("seen_before", seen, faults, size)
    InvalidFile.raise_if(faults + count_faults(0, rounds_before=rounds))


def _certificate(data: object) -> Certificate | LinearCertificate:
    """Read either kind of certificate, told apart by its fields."""
    if not isinstance(data, Mapping):
        raise InvalidFile(f"certificate: got {data!r}, expected a table")
    return (Certificate if "potentials" in data else LinearCertificate).from_dict(data)


# Larger gaps are not reported as numbers.
_WIDE = 10.0


@dataclass(frozen=True, eq=False)
class Plan(Value):
    """The result of a solver: a policy, its cost, and a bound on its gap to the optimum.

    Attributes
    ----------
    problem
        The problem that was solved.
    policy
        What to show, round by round or person by person.
    value
        Expected discounted loss of `policy`; exact unless a note says otherwise.
    lower_bound
        No policy of the kind that `bound_holds_for` names costs less than this.
    status
        How the solver ended.
    method
        The name of the solver.
    seconds
        Run time without compilation: searching for plans (`explored`) and bounds (`proved`).
    states
        Number of states that the solver visited.
    reason
        Why this method was used.
    notes
        Remarks such as a tie, one sentence each.
    options
        Options of the solver.
    certificate
        Data from which `verify` can prove the bound again, if there are any.
    regrets
        For a crowd: the regret of each of its people relative to their own best plan.
    seen_before
        For a plan made in mid-course: the exposure counts of the person by then.
    rounds_before
        The number of rounds of their log by then.
    compiled
        Seconds of compilation, which happens once per machine and counts in no time limit.
    proved
        Seconds spent on the lower bound; 0 if finding the plan is the proof.
    bound_holds_for
        "all policies": those that choose each set before seeing the case, given everything shown,
        answered and observed before. Or "schedules fixed in advance": if people learn from
        outcomes, a policy that reacts to cases and outcomes may cost less than such a bound.

    Examples
    --------
    >>> import preceptor as pr
    >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    >>> plan = pr.solve(pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=9))
    >>> plan.policy.schedule(3), plan.gap
    ([(0,), (0,), (0,)], 0.0)
    """

    problem: Problem
    policy: Policy
    value: float
    lower_bound: float
    status: Status
    method: str
    seconds: float
    states: int = 0
    reason: str = ""
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    certificate: Certificate | LinearCertificate | None = None
    regrets: Regrets | None = None
    seen_before: tuple[int, ...] | None = None
    rounds_before: int = 0
    compiled: float = 0.0
    proved: float = 0.0
    bound_holds_for: str = ALL_POLICIES

    @property
    def explored(self) -> float:
        """Seconds spent searching for plans rather than bounds."""
        return max(self.seconds - self.proved, 0.0)

    @property
    def gap(self) -> float:
        """(value - lower_bound) / lower_bound: 0.02 means at most 2% above the optimum.

        The optimum among the policies that `bound_holds_for` names.
        """
        if self.value <= self.lower_bound:
            return 0.0
        return (self.value - self.lower_bound) / self.lower_bound if self.lower_bound else math.inf

    @property
    def exploration_length(self) -> int | None:
        """The paper's T_d: rounds before only one set is shown; None if that never happens.

        With a finite horizon: rounds up to the last change of set.
        """
        return self.policy.exploration_length

    def how_sure(self) -> str:
        """Status and gap in a few words; for a crowd, the largest regret."""
        if self.regrets is not None:
            if self.regrets.worst <= ROUNDING:
                return "no one was found to do better with an individual plan"
            return (
                f"no one loses more than {percent(self.regrets.worst)} beyond the best plan found "
                "for them"
            )
        if self.status is Status.OPTIMAL and self.gap <= ROUNDING:
            return f"no {self.bounded_plan} can do better"
        if not math.isfinite(self.gap):
            return "it is not known how much better another plan could be"
        if self.gap > _WIDE:
            return "found by search; the proven bound is far below"
        return f"at most {percent(self.gap)} above the best possible {self.bounded_plan}"

    @property
    def bounded_plan(self) -> str:
        """What the lower bound holds for, in sentences such as "no ... costs less"."""
        return "plan" if self.bound_holds_for == ALL_POLICIES else "schedule fixed in advance"

    def settled(self) -> Plan:
        """The plan with status and bound made consistent.

        A bound that the value attains makes the plan optimal. If the bound is above the value, one
        of them is wrong: then the bound is dropped, and a note says so.
        """
        problem, above = self.problem, self.lower_bound - self.value
        tabulated = problem.oracle.accuracy * total_weight(problem.discount, problem.horizon)
        if above > CONTRADICTION * abs(self.value) + tabulated:
            note = (
                f"The lower bound came out as {self.lower_bound:.6g}, above what this plan costs. "
                "One of them is wrong, so the bound was dropped."
            )
            proven = self.status in (Status.OPTIMAL, Status.WITHIN_TARGET)
            return replace(
                self,
                lower_bound=0.0,
                status=Status.BOUNDED if proven else self.status,
                certificate=None,
                notes=(*self.notes, note),
            )
        if -above <= ROUNDING * abs(self.lower_bound):
            bound = min(self.lower_bound, self.value)
            return replace(self, lower_bound=bound, status=Status.OPTIMAL)
        return self

    def __repr__(self) -> str:
        return labelled(f"Plan: {self.how_sure()}", self._rows())

    def _repr_html_(self) -> str:
        """For notebooks: the same rows as a table, and a timeline of what is shown."""
        from preceptor.report.schedule_view import timeline

        table = html_table(f"Plan: {self.how_sure()}", self._rows())
        picture = timeline(self) if any(self.policy.used_sets()) else ""
        return f'<div style="max-width: 45em">{table}{picture}</div>'

    def _rows(self) -> list[tuple[str, str]]:
        from preceptor.report.schedule_view import shown_in_words

        problem = self.problem
        per_case = self.value / total_weight(problem.discount, problem.horizon)
        ended = {
            Status.WITHIN_TARGET: ", within the target gap",
            Status.TIME_LIMIT: ", stopped by its time limit",
            Status.INTERRUPTED: ", interrupted",
        }
        return [
            *shown_in_words(self),
            (
                "loss",
                f"{self.value:.6g} in total, {per_case:.4g} per case on average"
                f"{f' ({problem.risk.in_words()})' if problem.is_binary else ''}; "
                f"lower bound {self.lower_bound:.6g}"
                f"{'' if self.bound_holds_for == ALL_POLICIES else f' for {self.bound_holds_for}'}",
            ),
            (
                "method",
                f"{self.method}, {duration_in_words(self.seconds)}{ended.get(self.status, '')}",
            ),
            ("problem", f"per case {problem.budget_in_words()}; {problem.time_in_words()}"),
        ]

    def explain(self) -> str:
        """The plan in words.

        Returns
        -------
        str
            What to show when, the cost, how certain it is, and the assumptions.

        Examples
        --------
        >>> import preceptor as pr
        >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"])
        >>> learner = pr.Learner([0.2, 1.3], pr.Geometric(1.1))
        >>> plan = pr.solve(pr.Problem(world, learner, 1, horizon=9))
        >>> "bmi" in plan.explain()
        True
        """
        from preceptor.report.words import explain

        return explain(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the schedule and the loss of each round.

        Parameters
        ----------
        path
            A file to write as well; its ending (.png, .pdf, .svg) determines the format.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        MissingExtra
            matplotlib is not installed.
        InvalidFile
            The file cannot be written.
        """
        from preceptor.report.plots import plot_plan

        return plot_plan(self, path)

    def losses(self, rounds: int | None = None) -> FloatArray:
        """Expected loss of each round, not discounted.

        Parameters
        ----------
        rounds
            How many. If left out: all of them; on an infinite horizon, until the rest has one per
            cent of the total weight.

        Returns
        -------
        array of shape (rounds,)
            In units of the risk; over all rounds its discounted sum is `value`.

        Raises
        ------
        InvalidInput
            More rounds than the problem has, or not an integer.

        Examples
        --------
        >>> import preceptor as pr
        >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
        >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=9)
        >>> pr.solve(problem).losses(3).round(4).tolist()
        [0.3914, 0.3385, 0.2996]
        """
        from preceptor.model.evaluation import losses

        return losses(self.problem, self.policy, rounds)

    def to_frame(self, rounds: int | None = None, *, by_person: bool = False) -> pd.DataFrame:
        """The plan as a table with one row per round.

        Columns: `round` (from 0); `shown`, the tests of the round by name, joined by " + ";
        `loss`, expected and not discounted; then for each test `count:NAME`, its exposure count
        before this round, and `belief:NAME`, the expected weight of the person in this round (for
        a test of several columns one each). Beliefs are NaN for a class of your own that only acts,
        and approximate for a Bayesian.

        Parameters
        ----------
        rounds
            How many; as for `losses`.
        by_person
            For a crowd: one block of rounds per person, named in a first column `person`, instead
            of the weighted average.

        Returns
        -------
        pandas.DataFrame
            With `by_person` False, the discounted sum of `loss` is `value`.

        Raises
        ------
        InvalidInput
            More rounds than the problem has, or not an integer.
        MissingExtra
            pandas is not installed.

        Examples
        --------
        >>> import preceptor as pr
        >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"])
        >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=9)
        >>> pr.solve(problem).to_frame(2).columns.to_list()
        ['round', 'shown', 'loss', 'count:bmi', 'count:bp', 'belief:bmi', 'belief:bp']
        """
        from preceptor.model.evaluation import course

        pandas = from_extra("pandas", "data", "A table of rounds")
        return pandas.DataFrame(course(self.problem, self.policy, rounds, by_person))

    def to_dict(self) -> dict[str, Any]:
        """The whole plan as plain data, including the problem.

        Returns
        -------
        dict
            Numbers, text, lists and tables: what a plan file holds.
        """
        # The order of the keys matters: studies store digests of plan files.
        return {
            "format": FORMAT,
            "problem": self.problem.to_dict(),
            "policy": self.policy.to_dict(),
            "value": self.value,
            "lower_bound": self.lower_bound,
            "bound_holds_for": self.bound_holds_for,
            "status": self.status.value,
            "method": self.method,
            "seconds": self.seconds,
            **{name: time for name in ("compiled", "proved") if (time := getattr(self, name))},
            "states": self.states,
            "reason": self.reason,
            "notes": list(self.notes),
            "options": plain(self.options),
            "certificate": plain(self.certificate),
            **({} if self.regrets is None else {"regrets": plain(self.regrets)}),
            **(
                {"seen_before": list(self.seen_before), "rounds_before": self.rounds_before}
                if self.seen_before is not None
                else {}
            ),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Plan:
        """Rebuild what `to_dict` gave.

        Parameters
        ----------
        data
            A plan as plain data.

        Returns
        -------
        Plan
            Equal to the one that was written.

        Raises
        ------
        InvalidFile
            Something is missing, unknown or contradictory.
        InvalidPolicy
            The problem does not allow what the policy shows.
        """
        return super().from_dict(read_fields(data, {each.name for each in fields(cls)}))

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan file.

        Parameters
        ----------
        path
            A JSON file that `save` wrote.

        Returns
        -------
        Plan
            What the file holds.

        Raises
        ------
        InvalidFile
            The file cannot be read; the message names it.
        """
        try:
            return cls.from_json(read_text(path))
        except InvalidInput as error:
            faults = [f if str(path) in f else f"{path}: {f}" for f in error.faults]
            raise type(error)(faults) from error

    def save(self, path: str | Path) -> None:
        """Write a plan file (JSON), whole or not at all.

        Parameters
        ----------
        path
            Where to write it.
        """
        write_text(path, self.to_json() + "\n")
