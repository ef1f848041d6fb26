"""What is wrong with a request that does not fit its description, a sentence each.

Pydantic finds the faults ("Input should be a valid number"). Each becomes a sentence of the form
that all messages have: the field, its value, what is allowed ("rate: 'x', must be a valid number").
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args, get_type_hints

from preceptor._base.words import nearest
from preceptor.service.schemas import ALLOWED_NAMES, Body

_Said = Mapping[str, Any]
# How pydantic begins to say what is allowed.
_SHOULD = re.compile(r"^\w+ should\b")
# Parts of a place that pydantic adds for itself: where a request has its body, which of several
# kinds was tried.
_OUTER = ("body", "path", "query")
_KINDS = ("float", "str", "constrained-str", "int", "[key]", "nullable")
# What callers would call a part of the path.
_IN_PATHS = {"who": "person", "number": "round", "sha256": "plan"}
# Letters of a value that are worth repeating, and sentences of one answer.
_LONGEST, _MOST = 120, 20


def sentences(faults: Sequence[_Said], known: Sequence[str]) -> list[str]:
    """One sentence a fault; `known` are the fields that the body may have.

    A value of which two kinds are allowed fails twice, once for each: that is one sentence.
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
    """Fields of the body that an endpoint takes; empty if it takes none."""
    for hint in get_type_hints(endpoint).values():
        for each in (hint, *get_args(hint)):
            if isinstance(each, type) and issubclass(each, Body):
                return list(each.model_fields)
    return []


def _where(fault: _Said) -> str:
    # Names that callers chose are among them, so whatever would move a cursor is spelt.
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
    # Quoted as in every other sentence; what JSON calls true and null is called so here.
    if isinstance(given, bytes):
        given = given.decode(errors="replace")
    text = repr(given) if isinstance(given, str) else json.dumps(given, default=repr)
    return f"{text if len(text) <= _LONGEST else text[:_LONGEST] + ' ...'}, "


def _joined(allowed: Sequence[str]) -> str:
    """must be a, must be b: must be a or b."""
    if len(allowed) > 1 and all(each.startswith("must be ") for each in allowed):
        return "must be " + " or ".join(each.removeprefix("must be ") for each in allowed)
    return "; ".join(allowed)


def _allowed(fault: _Said, known: Sequence[str]) -> str:
    if isinstance(fault.get("input"), bytes):
        return "must be sent with Content-Type: application/json"
    match fault["type"]:
        case "missing":
            return "missing, must be there"
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
