"""Request bodies, as the OpenAPI document describes them, and sentences about those that fail.

Unknown fields are refused. Pydantic finds the faults ("Input should be a valid number"). Each
becomes a sentence in the form of all messages: the field, its value, what is allowed ("rate: 'x',
must be a valid number").
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, get_args, get_type_hints

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt

from preceptor._base.words import nearest

NAME = r"^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"
SHA256 = r"^[0-9a-f]{64}$"
# What the patterns allow, in words.
ALLOWED_NAMES = {
    NAME: "a name of 1 to 128 letters, digits and . _ : @ -, the first a letter or a digit",
    SHA256: "the SHA-256 of a plan file: 64 hexadecimal digits",
}


def _readable(text: str) -> str:
    if not all(each.isprintable() or each in "\n\t" for each in text):
        raise ValueError("must be text without control characters")
    return text


Text = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_readable)]
Name = Annotated[str, Field(pattern=NAME)]
Sha256 = Annotated[str, Field(pattern=SHA256)]
Count = Annotated[StrictInt, Field(ge=0, le=1_000_000_000)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Result = Annotated[Number | Text, Field(description="A number, or the level of a category.")]
Tests = Annotated[list[Text], Field(max_length=1000)]

Who = Annotated[str, Path(pattern=NAME, description="The caller's pseudonym for a person.")]
Which = Annotated[int, Path(ge=0, le=2_000_000_000, description="Number of the round, from 0.")]
Hash = Annotated[str, Path(pattern=SHA256, description="SHA-256 of the plan file.")]


class Body(BaseModel):
    """A request body; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Enrolment(Body):
    """An enrolment."""

    plan: Sha256 | None = Field(default=None, description="The plan; by default the service's.")
    policy: Literal["plan", "tutor"] = Field(
        default="plan",
        description="Follow the plan, or estimate from answers how the person learns and adapt.",
    )
    start: dict[Text, Count] | None = Field(
        default=None, description="Exposure count of each test at the start; by default 0."
    )
    cases: Name | None = Field(
        default=None,
        description="A list of cases that the service holds; by default the caller has them.",
    )
    is_bot: StrictBool = Field(default=False, description="Whether they are simulated.")


class Opening(Body):
    """A request to open a round."""

    available: Tests | None = Field(
        default=None, description="Tests that are available; by default all."
    )
    case: Text | None = Field(default=None, description="The caller's name for the case.")
    known: dict[Text, Result] | None = Field(
        default=None,
        description="Results of the case that a tutor may look at before it chooses, by test.",
    )
    feedback: StrictBool = Field(
        default=True, description="Whether the person will be told the outcome."
    )


class Shown(Body):
    """What the person actually saw."""

    tests: Tests | None = Field(default=None, description="By default as recommended.")
    values: dict[Text, Result] | None = Field(
        default=None, description="Results by test; omitted if the service holds the case."
    )
    reason: Text | None = Field(
        default=None, description="Why something other than the recommendation was shown."
    )


class Answered(Body):
    """The person's answer."""

    prediction: Number


class Truth(Body):
    """The outcome."""

    outcome: Number | None = Field(description="Null if it will never be known.")
    told: StrictBool = Field(default=True, description="Whether the person was told.")


class AdviceRequest(Body):
    """A request for advice without a stored person."""

    plan: Sha256 | None = Field(default=None, description="The plan; by default the service's.")
    counts: dict[Text, Count] = Field(
        default_factory=dict, description="Exposure count of each test."
    )
    round: Count | None = Field(default=None, description="Rounds they have had, if known.")
    available: Tests | None = Field(
        default=None, description="Tests that are available; by default all."
    )


class Case(Body):
    """One case that the service holds."""

    values: dict[Text, Result | None] = Field(description="Results by test; null where missing.")
    outcome: Number


class CaseUpload(Body):
    """A list of cases that people work through in order."""

    plan: Sha256 | None = Field(default=None, description="The plan whose tests they have.")
    cases: Annotated[list[Case], Field(min_length=1, max_length=100_000)]


_Said = Mapping[str, Any]
# How pydantic words what is allowed.
_SHOULD = re.compile(r"^\w+ should\b")
# Parts of a location that pydantic adds: the part of the request, the type of a union it tried.
_OUTER = ("body", "path", "query")
_KINDS = ("float", "str", "constrained-str", "int", "[key]", "nullable")
# What callers call the parameters of the path.
_IN_PATHS = {"who": "person", "number": "round", "sha256": "plan"}
# Characters of a value that are repeated, and sentences in one response, at most.
_LONGEST, _MOST = 120, 20


def sentences(faults: Sequence[_Said], known: Sequence[str]) -> list[str]:
    """One sentence per fault; `known` are the fields that the body may have.

    A value that fails both types of a union gets one sentence.
    """
    said: dict[str, list[str]] = {}
    values: dict[str, str] = {}
    for fault in faults:
        where = _where(fault)
        allowed = _allowed(fault, known)
        said.setdefault(where, [])
        if allowed not in said[where]:
            said[where].append(allowed)
        values.setdefault(where, _value(fault))
    found = [f"{where}: {values[where]}{_joined(allowed)}" for where, allowed in said.items()]
    more = [f"body: {len(found) - _MOST:,} more faults"] if len(found) > _MOST else []
    return found[:_MOST] + more


def fields_of(endpoint: Callable[..., Any]) -> list[str]:
    """Fields of the body of an endpoint; empty if it has none."""
    for hint in get_type_hints(endpoint).values():
        for each in (hint, *get_args(hint)):
            if isinstance(each, type) and issubclass(each, Body):
                return list(each.model_fields)
    return []


def _where(fault: _Said) -> str:
    # Some were chosen by callers, so control characters are escaped.
    parts = [repr(str(part))[1:-1][:_LONGEST] for part in fault["loc"]]
    if fault["type"] == "json_invalid":
        return "body"
    if parts[0] == "path":
        return _IN_PATHS.get(parts[-1], parts[-1])
    parts = parts[1:] if parts[0] in _OUTER else parts
    if len(parts) > 1 and (parts[-1] in _KINDS or parts[-1].startswith("function-")):
        parts = parts[:-1]
    return ".".join(parts) or "body"


def _value(fault: _Said) -> str:
    if fault["type"] in ("missing", "json_invalid", "extra_forbidden"):
        return ""
    given = fault["input"]
    # Quoted as in all messages; true and null are spelled as in JSON.
    if isinstance(given, bytes):
        given = given.decode(errors="replace")
    text = repr(given) if isinstance(given, str) else json.dumps(given, default=repr)
    return f"{text if len(text) <= _LONGEST else text[:_LONGEST] + ' ...'}, "


def _joined(allowed: Sequence[str]) -> str:
    """Join alternatives: "must be a" and "must be b" become "must be a or b"."""
    if len(allowed) > 1 and all(each.startswith("must be ") for each in allowed):
        return "must be " + " or ".join(each.removeprefix("must be ") for each in allowed)
    return "; ".join(allowed)


def _allowed(fault: _Said, known: Sequence[str]) -> str:
    if isinstance(fault.get("input"), bytes):
        return "must be sent with Content-Type: application/json"
    match fault["type"]:
        case "missing":
            return "missing"
        case "extra_forbidden":
            return _unknown(fault, known)
        case "json_invalid":
            return f"is not JSON ({fault['ctx']['error']})"
        case "string_pattern_mismatch":
            pattern = fault["ctx"]["pattern"]
            return f"must be {ALLOWED_NAMES.get(pattern, f'text of the form {pattern}')}"
    return _SHOULD.sub("must", fault["msg"].removeprefix("Value error, "))


def _unknown(fault: _Said, known: Sequence[str]) -> str:
    if len(fault["loc"]) != 2 or not known:
        return "is not known; leave it out"
    near = nearest(str(fault["loc"][-1]), known)
    meant = "" if near is None else f"did you mean {near!r}? "
    return f"is not known; {meant}there are {', '.join(known)}"
