"""The JSON schema of problem files, read off the classes."""

from __future__ import annotations

import sys
from typing import Any

from preceptor._base.schema import json_schema
from preceptor.model.risks import Risk
from preceptor.people.person import BY_SHOWINGS
from preceptor.problem.problem import FORMAT, Problem


def schema(*, own_kinds: bool = False) -> dict[str, Any]:
    """The JSON schema of problem files, built from the fields of the classes.

    Parameters
    ----------
    own_kinds
        Also allow curves, budgets, risks and losses that you have defined, not only those that come
        with the package.

    Returns
    -------
    dict
        A JSON schema as plain data, for editors and validators.

    Examples
    --------
    >>> sorted(schema()["required"])
    ['budget', 'learner', 'world']
    """
    table = json_schema(Problem, (lambda kind: True) if own_kinds else _comes_with_the_package)
    version = {"format": {"description": "Version of this file format.", "const": FORMAT}}
    table["properties"] = version | table["properties"]
    _allow_correlation(table["$defs"]["world"])
    # What is charged if nothing is said depends on the outcome.
    table["properties"]["risk"].pop("default", None)
    # A learner of no kind is the paper's.
    table["$defs"][f"{BY_SHOWINGS}-learner"]["required"].remove("kind")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:preceptor:schema:problem-1",
        **table,
        "title": "Preceptor problem",
        "allOf": _fitting_risks(),
        # Rounds without end must be discounted.
        "if": {"required": ["horizon"], "properties": {"horizon": {"type": "integer"}}},
        "else": {"properties": {"discount": {"exclusiveMaximum": 1}}},
    }


def _fitting_risks() -> list[dict[str, Any]]:
    """Risks of yes or no go with an outcome that is, and the others with a number."""
    yes_no = [name for name, risk in Risk.registry.items() if risk.is_binary]
    is_yes_no = {"properties": {"risk": {"properties": {"kind": {"enum": yes_no}}}}}
    has_outcome = {"properties": {"outcome": {"type": "object"}}, "required": ["outcome"]}
    given = {"required": ["risk"]}
    return [
        {"if": given | is_yes_no, "then": {"properties": {"world": has_outcome}}},
        {
            "if": given | {"not": is_yes_no},
            "then": {"properties": {"world": {"not": has_outcome}}},
        },
    ]


def _allow_correlation(world: dict[str, Any]) -> None:
    """Tell the schema of a world what `world_in` reads."""
    world["properties"]["correlation"] = {
        "description": "Instead of a covariance: variances of 1, and this between every two tests.",
        "type": "number",
        "exclusiveMinimum": -1,
        "exclusiveMaximum": 1,
    }
    world["required"].remove("covariance")
    world["oneOf"] = [{"required": ["covariance"]}, {"required": ["correlation"]}]


def _comes_with_the_package(cls: type) -> bool:
    """Whether a class is where it says it is: in a module of this package."""
    home = sys.modules.get(cls.__module__)
    return cls.__module__.startswith("preceptor.") and getattr(home, cls.__name__, None) is cls
