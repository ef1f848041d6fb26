"""A plan: what to show, what it costs, how far from the best it can be, and how it was found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preceptor._base.discounting import total_weight
from preceptor._base.files import read_text, write_text
from preceptor._base.notebook import html_table
from preceptor._base.progress import CONTRADICTION, Status
from preceptor._base.values import FloatArray, Value, plain
from preceptor._base.words import in_seconds, labelled, percent
from preceptor.certificate import Certificate, LinearCertificate
from preceptor.errors import InvalidInput, MissingExtra
from preceptor.plan.in_brief import shown_in_words, timeline
from preceptor.plan.reading import ALL_POLICIES, FORMAT, read_fields
from preceptor.policies import Policy
from preceptor.problem import Problem
from preceptor.regrets import Regrets

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Gaps above this say nothing that a reader could use.
_WIDE = 10.0
# Gaps up to this are rounding: bounds take some of it off themselves.
ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class Plan(Value):
    """What every solver returns: what to show, what it costs, and how far from the best it can be.

    Attributes
    ----------
    problem
        What was solved.
    policy
        What to show, round by round or person by person.
    value
        Expected discounted loss of `policy`: exact unless a note says otherwise.
    lower_bound
        No policy of the kind that `bound_holds_for` names costs less than this.
    status
        How the solver ended.
    method
        The name of the solver.
    seconds
        How long it took, without compiling: looking for plans (`explored`) and for bounds
        (`proved`).
    states
        How many states the solver looked at.
    reason
        Why this method was used.
    notes
        What a careful reader should know (a tie, say), a sentence each.
    options
        What the solver was told.
    certificate
        What the bound leaves behind so that `verify` can prove it again, where there is such a
        thing.
    regrets
        For a crowd: what the plan costs each of its people beyond their own best plan.
    seen_before
        Where somebody was planned for in the middle of things: how often they had been shown each
        column by then.
    rounds_before
        And how many rounds of their log that was.
    compiled
        Seconds of compiling, which happens once per machine and counts in no limit.
    proved
        Seconds spent on the lower bound. 0 where finding the plan is the proof.
    bound_holds_for
        "all policies": those that choose each set before the case is looked at, by whatever was
        shown, answered and true before. Or "schedules fixed in advance": where people learn from
        outcomes, a policy that follows how cases and outcomes come may cost less than such a bound.

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
        """Seconds spent looking for plans: all that were not spent on the bound."""
        return max(self.seconds - self.proved, 0.0)

    @property
    def gap(self) -> float:
        """(value - lower_bound) / lower_bound: 0.02 means at most 2% above the best possible.

        The best possible of what `bound_holds_for` names.
        """
        if self.value <= self.lower_bound:
            return 0.0
        return (self.value - self.lower_bound) / self.lower_bound if self.lower_bound else math.inf

    @property
    def exploration_length(self) -> int | None:
        """The paper's T_d: rounds before one set is all that is shown; None if that never happens.

        With a finite horizon: rounds up to the last change of set.
        """
        return self.policy.exploration_length

    def how_sure(self) -> str:
        """Status and gap in a few words; for a crowd, what the worst off loses."""
        if self.regrets is not None:
            if self.regrets.worst <= ROUNDING:
                return "nobody was found to do better with a plan of their own"
            return (
                f"nobody loses more than {percent(self.regrets.worst)} beyond the best plan found "
                "for them"
            )
        if self.status is Status.OPTIMAL and self.gap <= ROUNDING:
            return f"no {self.bounded_plan} can do better"
        if not math.isfinite(self.gap):
            return "how much better another plan could be is not known"
        if self.gap > _WIDE:
            return "found by search; what is proven leaves room for much better plans"
        return f"at most {percent(self.gap)} above the best possible {self.bounded_plan}"

    @property
    def bounded_plan(self) -> str:
        """What the lower bound speaks of, for sentences: "no ... costs less"."""
        return "plan" if self.bound_holds_for == ALL_POLICIES else "schedule fixed in advance"

    def settled(self) -> Plan:
        """The plan as its numbers allow.

        A bound that the value reaches makes it optimal. A bound above the value is wrong, or the
        value is: then nothing is proven, and a note says so.
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
        table = html_table(f"Plan: {self.how_sure()}", self._rows())
        return f"<div>{table}{timeline(self.problem, self.policy)}</div>"

    def _rows(self) -> list[tuple[str, str]]:
        problem = self.problem
        per_case = self.value / total_weight(problem.discount, problem.horizon)
        ended = {
            Status.WITHIN_TARGET: ", as close as was asked for",
            Status.TIME_LIMIT: ", stopped by its time limit",
            Status.INTERRUPTED: ", interrupted",
        }
        return [
            *shown_in_words(self.problem, self.policy),
            (
                "loss",
                f"{self.value:.6g} in total, {per_case:.4g} per case on average"
                f"{f' ({problem.risk.in_words()})' if problem.is_binary else ''}; "
                f"lower bound {self.lower_bound:.6g}"
                f"{'' if self.bound_holds_for == ALL_POLICIES else f' for {self.bound_holds_for}'}",
            ),
            ("method", f"{self.method}, {in_seconds(self.seconds)}{ended.get(self.status, '')}"),
            ("problem", f"per case {problem.budget_in_words()}; {problem.time_in_words()}"),
        ]

    def explain(self) -> str:
        """The plan in words.

        Returns
        -------
        str
            What to show when, what that costs, how sure it is, and what was assumed.

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
            Where to write the picture too; its ending (.png, .pdf, .svg) decides the format.

        Returns
        -------
        matplotlib.figure.Figure
            The picture.

        Raises
        ------
        MissingExtra
            matplotlib is not installed.
        InvalidFile
            The picture cannot be written there.
        """
        from preceptor.report.plots import plot_plan

        return plot_plan(self, path)

    def losses(self, rounds: int | None = None) -> FloatArray:
        """Expected loss of each round, not discounted.

        Parameters
        ----------
        rounds
            How many. If left out: all of them; without a horizon, until what comes after weighs one
            per cent of the whole.

        Returns
        -------
        array of shape (rounds,)
            In units of the risk; over all rounds its discounted sum is `value`.

        Raises
        ------
        InvalidInput
            More rounds than the problem has, or no whole number.

        Examples
        --------
        >>> import preceptor as pr
        >>> world = pr.World.equicorrelated([1.0, 0.8], 0.8)
        >>> problem = pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, horizon=9)
        >>> pr.solve(problem).losses(3).round(4).tolist()
        [0.3914, 0.3385, 0.2996]
        """
        from preceptor.evaluation.course import losses

        return losses(self.problem, self.policy, rounds)

    def to_frame(self, rounds: int | None = None, *, by_person: bool = False) -> pd.DataFrame:
        """The plan as a table with a row for each round.

        Columns: `round` (from 0); `shown`, the tests of the round by name, joined by " + ";
        `loss`, expected and not discounted; then for each test `count:NAME`, how often it was shown
        before this round, and `belief:NAME`, the weight that the person is expected to give it in
        this round (for a test of several columns one for each of them). Somebody whose weights
        nobody knows (a class of your own that only acts) has NaN there; those of a Bayesian are
        approximate.

        Parameters
        ----------
        rounds
            How many; as for `losses`.
        by_person
            For a crowd: one block of rounds for each of its people, named in a first column
            `person`, instead of their average by how likely each is.

        Returns
        -------
        pandas.DataFrame
            With `by_person` False, `loss` is what adds up to `value`.

        Raises
        ------
        InvalidInput
            More rounds than the problem has, or no whole number.
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
        try:
            import pandas
        except ImportError:
            raise MissingExtra("pandas", "data", "A table of rounds") from None
        from preceptor.evaluation.course import course

        return pandas.DataFrame(course(self.problem, self.policy, rounds, by_person))

    def to_dict(self) -> dict[str, Any]:
        """Plain data with everything in it, the problem too.

        Returns
        -------
        dict
            Numbers, text, lists and tables: what a plan file holds.
        """
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
            **self._before(),
        }

    def _before(self) -> dict[str, Any]:
        """What was before the plan, as plain data; nothing for somebody new."""
        if self.seen_before is None:
            return {}
        return {"seen_before": list(self.seen_before), "rounds_before": self.rounds_before}

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
