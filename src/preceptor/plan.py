"""A plan: what to show, what it costs, how far from the best it can be, and how it was found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preceptor._base.checks import is_number
from preceptor._base.files import read_text, write_text
from preceptor._base.progress import Status
from preceptor._base.values import Value, plain
from preceptor.certificate import Certificate
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.policies import Policy
from preceptor.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = "preceptor-plan/1"


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
        Exact expected discounted loss of `policy`.
    lower_bound
        No policy whatsoever costs less than this.
    status
        How the solver ended.
    method
        The name of the solver.
    seconds
        How long it took.
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
    certificate: Certificate | None = None

    @property
    def gap(self) -> float:
        """(value - lower_bound) / lower_bound: 0.02 means at most 2% above the best achievable."""
        if self.value <= self.lower_bound:
            return 0.0
        return (self.value - self.lower_bound) / self.lower_bound if self.lower_bound else math.inf

    @property
    def exploration_length(self) -> int | None:
        """The paper's T_d: rounds before one set is all that is shown; None if that never happens.

        With a finite horizon: rounds up to the last change of set.
        """
        return self.policy.exploration_length

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
            "status": self.status.value,
            "method": self.method,
            "seconds": self.seconds,
            "states": self.states,
            "reason": self.reason,
            "notes": list(self.notes),
            "options": plain(self.options),
            "certificate": plain(self.certificate),
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
        fields = dict(data)
        given = fields.pop("format", None)
        if given != FORMAT:
            raise InvalidFile(f"format: {given!r}, this version reads {FORMAT!r}")
        missing = [k for k in ("problem", "policy", "value", "lower_bound") if k not in fields]
        if missing:
            raise InvalidFile(f"plan file: {', '.join(missing)} missing")
        if not isinstance(fields["problem"], Mapping):
            raise InvalidFile(f"problem: got {fields['problem']!r}, expected a table")
        numbers = ("value", "lower_bound", "seconds", "states")
        wrong = [name for name in numbers if not is_number(fields.get(name, 0))]
        InvalidFile.raise_if(f"{name}: {fields[name]!r}, must be a number" for name in wrong)
        if fields["lower_bound"] > fields["value"] * (1 + 1e-9) + 1e-12:
            raise InvalidFile(
                f"lower_bound: {fields['lower_bound']} is above the value {fields['value']}; "
                "the file was changed, solve the problem again"
            )
        fields["problem"] = Problem.from_dict(fields["problem"])
        fields["policy"] = Policy.from_dict(fields["policy"])
        fields["policy"].check(fields["problem"])
        try:
            fields["status"] = Status(fields.get("status"))
        except ValueError:
            allowed = ", ".join(status.value for status in Status)
            status = fields.get("status")
            raise InvalidFile(f"status: {status!r}, must be one of {allowed}") from None
        notes = fields.get("notes", ())
        if not isinstance(notes, (list, tuple)):
            raise InvalidFile(f"notes: {notes!r}, must be a list of sentences")
        fields["notes"] = tuple(notes)
        if fields.get("certificate") is not None:
            fields["certificate"] = Certificate.from_dict(fields["certificate"])
        return super().from_dict(fields)

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
