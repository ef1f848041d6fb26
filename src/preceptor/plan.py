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
    """What every solver returns.

    `value` is the exact expected discounted loss of `policy`; no policy whatsoever goes below
    `lower_bound`. `reason` says why this method was used, `notes` what a careful reader should
    know (a tie, say), `states` how many states the solver looked at.
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
        """(value - lower_bound) / lower_bound: 0.02 means at most 2% above the best possible."""
        if self.value <= self.lower_bound:
            return 0.0
        return (self.value - self.lower_bound) / self.lower_bound if self.lower_bound else math.inf

    @property
    def exploration_length(self) -> int | None:
        """The paper's T_d: rounds before one set is shown for ever; None if that never happens.

        With a finite horizon: rounds up to the last change of set.
        """
        return self.policy.exploration_length

    def explain(self) -> str:
        """The plan in words."""
        from preceptor.report.words import explain

        return explain(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the schedule and the loss of each round; also write it to `path` if given."""
        from preceptor.report.plots import plot_plan

        return plot_plan(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Plain data with everything in it, the problem too."""
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
        """Rebuild what `to_dict` gave."""
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
        """Read a plan file (JSON)."""
        try:
            return cls.from_json(read_text(path))
        except InvalidInput as error:
            faults = [f if str(path) in f else f"{path}: {f}" for f in error.faults]
            raise type(error)(faults) from error

    def save(self, path: str | Path) -> None:
        """Write a plan file (JSON), whole or not at all."""
        write_text(path, self.to_json() + "\n")
