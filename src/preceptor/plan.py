"""A plan: what to show, what it costs, how far from the best it can be, and how it was found."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from preceptor._checks import is_number
from preceptor._value import Value, plain
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.multiplicative.certificate import Certificate
from preceptor.policies import Policy
from preceptor.problem.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from preceptor.verification import Verification

FORMAT = "preceptor-plan/1"


class Status(enum.Enum):
    """How a solver ended."""

    OPTIMAL = "optimal"
    """No policy is better by more than rounding, or the tolerance that was asked for."""
    BOUNDED = "bounded"
    """Nothing was proven optimal, but `gap` says how far off this can be at most."""
    TIME_LIMIT = "time limit"
    """As BOUNDED; there was more to try when the time was up."""
    INTERRUPTED = "interrupted"
    """As BOUNDED; somebody stopped it. The plan is the best found until then."""


class Update(NamedTuple):
    """What a long solver tells its caller now and then; None where it does not know."""

    stage: str
    done: float | None = None
    value: float | None = None
    lower_bound: float | None = None

    @property
    def gap(self) -> float | None:
        """(value - lower_bound) / lower_bound as far as both are known."""
        if self.value is None or not self.lower_bound:
            return None
        return max(self.value - self.lower_bound, 0.0) / self.lower_bound


Progress = Callable[[Update], None]


def report(
    progress: Progress | None,
    stage: str,
    *,
    done: float | None = None,
    value: float | None = None,
    lower_bound: float | None = None,
) -> None:
    """Tell the caller, if there is one."""
    if progress is not None:
        progress(Update(stage, done, value, lower_bound))


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

    def verify(self, problem: Problem | None = None, *, slack: float = 1e-7) -> Verification:
        """Prove the value and the lower bound again, slowly and independently of the solvers.

        `slack` is the relative allowance for rounding in the proof of each round.
        """
        from preceptor.verification import verify

        return verify(self, self.problem if problem is None else problem, slack=slack)

    def explain(self) -> str:
        """The plan in words."""
        from preceptor.report.words import explain

        return explain(self)

    def plot(self, path: str | Path | None = None) -> Figure:
        """Draw the schedule and the loss of each round; also write it to `path` if given."""
        from preceptor.report.plots import plot_plan

        return plot_plan(self, path)

    def to_data(self) -> dict[str, Any]:
        """Plain data with everything in it, the problem too."""
        return {
            "format": FORMAT,
            "problem": self.problem.to_data(),
            "policy": self.policy.to_data(),
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
    def from_data(cls, data: Mapping[str, Any]) -> Plan:
        """Rebuild what `to_data` gave."""
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
        fields["problem"] = Problem.from_data(fields["problem"])
        fields["policy"] = Policy.from_data(fields["policy"])
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
            fields["certificate"] = Certificate.from_data(fields["certificate"])
        return super().from_data(fields)

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan file (JSON)."""
        from preceptor.files import read_text

        try:
            return cls.from_json(read_text(path))
        except InvalidInput as error:
            faults = [f if str(path) in f else f"{path}: {f}" for f in error.faults]
            raise type(error)(faults) from error

    def save(self, path: str | Path) -> None:
        """Write a plan file (JSON), whole or not at all."""
        from preceptor.files import write_text

        write_text(path, self.to_json() + "\n")
