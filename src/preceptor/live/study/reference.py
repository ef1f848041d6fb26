"""The schema of study files, and the reference page that is made from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from preceptor.live.study.config import Configuration

_INTRO = """\
# Reference of the study file

All tables and keys of a study file, made from its schema (`python docs/make_study_reference.py`).
`preceptor schema study` prints the schema for editors. [Studies](studies.md) says how to use them.
Keys without a default are required. A key that is not here is refused, with the nearest one.

The problem is a file next to it (`problem = "problem.toml"`) or a table `[problem]`; see
[Files](files.md)."""


def study_schema() -> dict[str, Any]:
    """The JSON schema of study files."""
    made = Configuration.model_json_schema()
    about = "Name of a problem file, or its content (see `preceptor schema`)."
    problem = {"anyOf": [{"type": "string"}, {"type": "object"}], "description": about}
    properties = {**made["properties"], "problem": problem}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **made,
        "title": "Preceptor study",
        "description": "A study with participants.",
        "properties": properties,
        "required": [*made["required"], "problem"],
    }


def reference() -> str:
    """The reference page as Markdown."""
    schema = Configuration.model_json_schema()
    lines = [_INTRO, "", "## The file itself", "", *_table(schema, schema)]
    for heading, part in _parts(schema, schema, ""):
        lines += ["", f"## {heading}", "", part["description"], "", *_table(part, schema)]
    return "\n".join(lines) + "\n"


def _parts(
    part: Mapping[str, Any], schema: Mapping[str, Any], path: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """All tables below a table, each with its heading."""
    for key, value in part["properties"].items():
        for brackets, kind, found in _tables_of(value, schema):
            name = f"{path}{key}" + (".NAME" if brackets == "NAME" else "")
            is_list = brackets == "list"
            heading = f"`[[{name}]]`" if is_list else f"`[{name}]`"
            yield heading + (f' with `kind = "{kind}"`' if kind else ""), found
            yield from _parts(found, schema, f"{name}.")


def _tables_of(
    value: Mapping[str, Any], schema: Mapping[str, Any], brackets: str = "one"
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Tables that a value may be: how they are written, their kind, and their schema."""
    for each in (value, *value.get("anyOf", ())):
        if "$ref" in each:
            found = _resolved(each, schema)
            yield brackets, _kind(found), found
        elif "oneOf" in each:
            for one in each["oneOf"]:
                found = _resolved(one, schema)
                yield brackets, _kind(found), found
        elif "items" in each:
            yield from _tables_of(each["items"], schema, "list")
        elif isinstance(each.get("additionalProperties"), dict):
            yield from _tables_of(each["additionalProperties"], schema, "NAME")


def _resolved(value: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema["$defs"][value["$ref"].rsplit("/", 1)[1]]
    return found


def _kind(found: Mapping[str, Any]) -> str:
    return str(found["properties"].get("kind", {}).get("const", ""))


def _table(part: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    lines = ["| key | value | default | meaning |", "| --- | --- | --- | --- |"]
    for key, value in part["properties"].items():
        is_needed = key in part.get("required", ())
        default = "" if is_needed else _default(value.get("default"))
        about = value.get("description", "")
        cells = (f"`{key}`", _value(value), default, about)
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return lines


def _default(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, dict):
        return "as below" if value else "none"
    return f"`{json.dumps(value, ensure_ascii=False)}`" if value not in ([], "") else "empty"


def _value(value: Mapping[str, Any]) -> str:
    """What a value may be, in words."""
    if "anyOf" in value:
        kinds = [_value(each) for each in value["anyOf"] if each.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if "const" in value:
        return f"`{json.dumps(value['const'])}`"
    if "enum" in value:
        return ", ".join(f"`{json.dumps(each)}`" for each in value["enum"])
    if "$ref" in value or "oneOf" in value:
        return "table"
    match value.get("type"):
        case "array":
            inner = _value(value["items"])
            return "tables" if inner == "table" else f"list of: {inner}"
        case "object":
            return "table"
        case "boolean":
            return "true or false"
        case "integer" | "number" as kind:
            name = "whole number" if kind == "integer" else "number"
            return f"{name}{_range(value)}"
    return "date" if value.get("format") == "date" else "text"


_LIMITS = {
    "minimum": "from",
    "exclusiveMinimum": "above",
    "maximum": "to",
    "exclusiveMaximum": "below",
}


def _range(value: Mapping[str, Any]) -> str:
    said = [f"{word} {value[key]:,}" for key, word in _LIMITS.items() if key in value]
    return f" {' '.join(said)}" if said else ""
