"""What a plan file says, checked: every fault is found before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from preceptor._base.checks import is_count, is_number
from preceptor._base.gathering import Gathered
from preceptor._base.progress import CONTRADICTION, Status
from preceptor.certificate import Certificate, LinearCertificate
from preceptor.errors import InvalidFile
from preceptor.policies import Policy
from preceptor.problem import Problem
from preceptor.regrets import Regrets

FORMAT = "preceptor-plan/1"
ALL_POLICIES, FIXED_SCHEDULES = "all policies", "schedules fixed in advance"
"""What a lower bound can hold for: `Plan.bound_holds_for`."""


def read_fields(data: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """Fields of a plan from plain data; `known` are those that there are."""
    given = dict(data)
    named = given.pop("format", None)
    if named != FORMAT:
        raise InvalidFile(f"format: {named!r}, this version reads {FORMAT!r}")
    missing = [k for k in ("problem", "policy", "value", "lower_bound") if k not in given]
    if missing:
        raise InvalidFile(f"plan file: {', '.join(missing)} missing")
    gathered = Gathered()
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
    """Numbers that are none, or that contradict each other."""
    numbers = ("value", "lower_bound", "seconds", "states", "compiled", "proved")
    wrong = [name for name in numbers if not is_number(fields.get(name, 0))]
    if not wrong and fields["lower_bound"] > fields["value"] * (1 + CONTRADICTION) + 1e-12:
        return [
            f"lower_bound: {fields['lower_bound']} is above the value {fields['value']}; "
            "the file was changed, solve the problem again"
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
    """Check what was before the plan."""
    seen, rounds = fields.get("seen_before"), fields.get("rounds_before", 0)
    size = fields["problem"].size
    faults = []
    if seen is not None:
        counts = seen if isinstance(seen, (list, tuple)) else ()
        if len(counts) != size or not all(is_count(count, least=0) for count in counts):
            faults.append(f"seen_before: {seen!r}, must be {size} whole numbers of at least 0")
        fields["seen_before"] = tuple(counts)
    if not is_count(rounds, least=0):
        faults.append(f"rounds_before: {rounds!r}, must be a whole number of at least 0")
    InvalidFile.raise_if(faults)


def _certificate(data: object) -> Certificate | LinearCertificate:
    """Either kind, told apart by what it holds."""
    if not isinstance(data, Mapping):
        raise InvalidFile(f"certificate: got {data!r}, expected a table")
    return (Certificate if "potentials" in data else LinearCertificate).from_dict(data)
