"""JSON schemas of values, built from the fields of their classes.

A class says everything itself: types, defaults and what `_base/fields.py` adds to them, and its
docstring, whose first paragraph becomes the description. A field without default is required. A
family of kinds becomes a choice between the kinds in its registry.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from preceptor._base.fields import Dimensions, GoesWith, InFiles, Items, Limits, NotKind, OneOf
from preceptor._base.values import Kind, Value, plain
from preceptor.errors import NotSerializable

Schema = dict[str, Any]

_PLAIN_TYPES = {
    types.NoneType: "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
}
_KEYWORDS = {
    "at_least": "minimum",
    "at_most": "maximum",
    "above": "exclusiveMinimum",
    "below": "exclusiveMaximum",
}


def json_schema(
    cls: type[Value], includes: Callable[[type[Kind]], bool] = lambda kind: True
) -> Schema:
    """The JSON schema of what `cls` writes and reads; parts that are values are under `$defs`.

    `includes` says of each registered kind whether the schema should know it.
    """
    definitions = _Definitions(includes)
    table = definitions.table_of(cls)
    return table | {"$defs": definitions.found}


class _Definitions:
    """Collects one definition for every class that is met on the way."""

    def __init__(self, includes: Callable[[type[Kind]], bool]) -> None:
        self.found: dict[str, Schema] = {}
        self._includes = includes

    def table_of(self, cls: type[Value]) -> Schema:
        """The fields of a class as an object: required ones first, then the others."""
        hints = get_type_hints(cls, include_extras=True)
        fields = [field for field in dataclasses.fields(cls) if field.init]  # type: ignore[arg-type]
        fields.sort(key=lambda field: not _is_required(field))
        properties: dict[str, Schema] = {}
        required = [field.name for field in fields if _is_required(field)]
        if issubclass(cls, Kind):
            properties["kind"] = {"description": "Which kind this is.", "const": cls.kind}
            required.insert(0, "kind")
        together: dict[str, list[str]] = {}
        for field in fields:
            marks = getattr(hints[field.name], "__metadata__", ())
            text = [{"description": mark} for mark in marks if isinstance(mark, str)]
            try:
                rule = self._rule(hints[field.name])
            except NotSerializable as error:
                raise NotSerializable(f"{cls.__name__}.{field.name}: {error}") from None
            properties[field.name] = _merged(*text, rule, _default(field))
            partners = [mark.field for mark in marks if isinstance(mark, GoesWith)]
            if partners:
                together[field.name] = partners
        table = {
            "title": _words(cls.kind if issubclass(cls, Kind) else cls.__name__),
            "description": _summary(cls),
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
        return table | ({"dependentRequired": together} if together else {})

    def _rule(self, hint: Any, *marks: Any) -> Schema:
        """What a type allows; marks from further out also hold for the numbers within."""
        if get_origin(hint) is Annotated:
            inner, *own = get_args(hint)
            instead = [mark.type for mark in own if isinstance(mark, InFiles)]
            kept = [mark for mark in own if not isinstance(mark, InFiles)]
            return self._rule(instead[0] if instead else inner, *marks, *kept)
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            return _any_of([self._rule(option, *marks) for option in arguments])
        if origin is np.ndarray:
            return _array_rule(arguments[1], marks)
        if inspect.isclass(origin) and issubclass(origin, Mapping):
            items = self._rule(arguments[1], *_for_numbers(marks))
            return {"type": "object", "additionalProperties": items}
        if inspect.isclass(origin) and issubclass(origin, Sequence):
            return self._list_rule(hint, marks)
        if inspect.isclass(hint) and issubclass(hint, Value):
            return _merged(self._reference(hint), *map(_other_kind, marks))
        if hint in _PLAIN_TYPES:
            rule: Schema = {"type": _PLAIN_TYPES[hint]}
            return _merged(rule, *(_within(rule, mark) for mark in marks))
        raise NotSerializable(
            f"a schema cannot describe {hint!r}; say in `InFiles(...)` what files hold instead"
        )

    def _list_rule(self, hint: Any, marks: Sequence[Any]) -> Schema:
        """A list of any length, or a tuple with a type for each place."""
        arguments = get_args(hint)
        if get_origin(hint) is tuple and arguments[-1] is not Ellipsis:
            places = [self._rule(argument, *_for_numbers(marks)) for argument in arguments]
            alike = all(place == places[0] for place in places)
            items = {"items": places[0]} if alike else {"prefixItems": places}
            return {"type": "array", **items, "minItems": len(places), "maxItems": len(places)}
        rule: Schema = {"type": "array", "items": self._rule(arguments[0], *_for_numbers(marks))}
        for mark in marks:
            if isinstance(mark, Items):
                rule |= {"minItems": mark.at_least} if mark.at_least else {}
                rule |= {"uniqueItems": True} if mark.unique else {}
        return rule

    def _reference(self, cls: type[Value]) -> Schema:
        """Points to the definition of a class, which is made when it is first asked for."""
        name = _definition_name(cls)
        if name not in self.found:
            self.found[name] = {}  # so that a class may hold another one of its family
            is_family = issubclass(cls, Kind) and not cls.kind
            self.found[name] |= self._family(cls) if is_family else self.table_of(cls)
        return {"$ref": f"#/$defs/{name}"}

    def _family(self, cls: type[Any]) -> Schema:
        kinds = [kind for kind in cls.registry.values() if self._includes(kind)]
        return {
            "title": _words(cls.family),
            "description": _summary(cls),
            "oneOf": [self._reference(kind) for kind in kinds],
        }


def _definition_name(cls: type[Value]) -> str:
    """Kinds of different families may share a name, so theirs have the family's in it."""
    if issubclass(cls, Kind):
        return f"{cls.kind}-{cls.family}" if cls.kind else cls.family
    return _words(cls.__name__).lower().replace(" ", "-")


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


def _default(field: dataclasses.Field[Any]) -> Schema:
    if field.default is not dataclasses.MISSING:
        return {"default": plain(field.default)}
    if field.default_factory is not dataclasses.MISSING:
        return {"default": plain(field.default_factory())}
    return {}


def _array_rule(dtype: Any, marks: Sequence[Any]) -> Schema:
    """A list of numbers, or of lists of them, as deep as the array has dimensions."""
    item = get_args(dtype)[0]
    rule: Schema = {"type": "integer" if issubclass(item, np.integer) else "number"}
    rule = _merged(rule, *(_within(rule, mark) for mark in marks))
    dimensions = [mark.number for mark in marks if isinstance(mark, Dimensions)]
    if not dimensions:
        raise NotSerializable("an array of unknown shape; say Vector or Matrix")
    for _ in range(dimensions[0]):
        rule = {"type": "array", "items": rule, "minItems": 1}
    return rule


def _for_numbers(marks: Sequence[Any]) -> list[Limits]:
    """What holds for everything inside a list; the rest is said of this list only."""
    return [mark for mark in marks if isinstance(mark, Limits)]


def _within(rule: Schema, mark: Any) -> Schema:
    """What a mark adds to the rule of a number or a text."""
    if isinstance(mark, Limits) and rule["type"] in ("integer", "number"):
        given = dataclasses.asdict(mark).items()
        return {_KEYWORDS[name]: limit for name, limit in given if limit is not None}
    if isinstance(mark, OneOf) and rule["type"] == "string":
        return {"enum": list(mark.words)}
    return {}


def _other_kind(mark: Any) -> Schema:
    if isinstance(mark, NotKind):
        return {"not": {"required": ["kind"], "properties": {"kind": {"const": mark.kind}}}}
    return {}


def _any_of(rules: list[Schema]) -> Schema:
    """One of several rules; with nothing but null beside it, a rule stays readable."""
    others = [rule for rule in rules if rule != {"type": "null"}]
    if len(others) == 1 and len(rules) == 2 and "type" in others[0] and "enum" not in others[0]:
        return others[0] | {"type": [others[0]["type"], "null"]}
    return {"anyOf": rules}


def _merged(*parts: Schema) -> Schema:
    whole: Schema = {}
    for part in parts:
        whole |= part
    return whole


def _words(name: str) -> str:
    """E.g. "power-law" and "PowerLaw" as "Power law"."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("-", " ")
    return apart[:1].upper() + apart[1:].lower()


def _summary(cls: type) -> str:
    """The first paragraph of the docstring, in one line."""
    return " ".join(inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].split())
