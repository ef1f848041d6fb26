"""What the fields of values may hold: checks of given values, and JSON schemas of files.

Annotations say of a field what its type does not: description, limits, shape, form in files. They
stand inside `Annotated` where the field is declared. A text is the field's description; the classes
below say the rest.

    >>> from typing import Annotated
    >>> threshold: Annotated[Positive, "Where it turns linear."] = 1.0

Constructors pass what they were given to `set_checked`, which reads numbers, texts and arrays by
these annotations and returns every fault; rules about several fields stay with their class.

Schemas come from types, defaults, annotations, and the first paragraph of the docstring, which
becomes the description. A field without default is required. A family of kinds becomes a choice
between the kinds in its registry.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
import re
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from preceptor._base.checks import is_count, is_number
from preceptor._base.values import FloatArray, Kind, Value, default_of, frozen_array, plain
from preceptor.errors import NotSerializable


@dataclass(frozen=True)
class Limits:
    """Bounds on a number, or on every number in a list, a table or an array."""

    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None

    def allow(self, number: Any) -> Any:
        """Whether a number is within the bounds; elementwise for an array."""
        rules = {
            operator.ge: self.at_least,
            operator.le: self.at_most,
            operator.gt: self.above,
            operator.lt: self.below,
        }
        kept = [rule(number, limit) for rule, limit in rules.items() if limit is not None]
        return functools.reduce(operator.and_, kept, np.isfinite(number))

    def of(self, noun: str) -> str:
        """The bounds in words: "a number from 0 to 1"."""
        if self.at_least is not None and self.at_most is not None:
            return f"{noun} from {self.at_least:g} to {self.at_most:g}"
        words = {"of at least": self.at_least, "above": self.above, "at most": self.at_most}
        parts = [f"{word} {at:g}" for word, at in words.items() if at is not None]
        parts += [] if self.below is None else [f"below {self.below:g}"]
        return f"{noun} {' and '.join(parts)}".strip()


@dataclass(frozen=True)
class Dimensions:
    """Dimensions of an array: 1 is a list of numbers, 2 a table; neither is empty."""

    number: int


@dataclass(frozen=True)
class Items:
    """The least number of items of a list, and whether all must differ."""

    at_least: int = 0
    unique: bool = False


class OneOf:
    """The values that a text may take."""

    def __init__(self, *words: str) -> None:
        self.words = words


@dataclass(frozen=True)
class InFiles:
    """The type in files, where the constructor accepts more than the field holds."""

    type: Any


@dataclass(frozen=True)
class NotKind:
    """A kind of the family that is not allowed here."""

    kind: str


@dataclass(frozen=True)
class GoesWith:
    """Another field that must be given along with this one."""

    field: str


NonNegative = Annotated[float, Limits(at_least=0)]
Positive = Annotated[float, Limits(above=0)]
Share = Annotated[float, Limits(at_least=0, at_most=1)]
Count = Annotated[int, Limits(at_least=1)]
Index = Annotated[int, Limits(at_least=0)]
Vector = Annotated[FloatArray, Dimensions(1)]
Matrix = Annotated[FloatArray, Dimensions(2)]


def set_checked(value: Value, **given: Any) -> list[str]:
    """Set fields of a frozen value that is being made; return a sentence for each fault.

    >>> @dataclass(frozen=True)
    ... class Price(Value):
    ...     euros: Positive
    >>> set_checked(Price(1.0), euros=-2)
    ['euros: -2, must be a number above 0']
    """
    faults: list[str] = []
    hints = _hints_of(type(value).__mro__)
    for name, item in given.items():
        object.__setattr__(value, name, checked(name, item, hints.get(name), faults))
    return faults


def faults_as_made(value: Value) -> list[str]:
    """Faults of a value from the constructor that dataclasses generate.

    Arrays are frozen, and NumPy's numbers become Python's.
    """
    faults: list[str] = []
    hints = _hints_of(type(value).__mro__)
    for name, given in list(vars(value).items()):
        item = checked(name, given, hints.get(name), faults)
        if isinstance(given, np.generic) or isinstance(item, np.ndarray):
            object.__setattr__(value, name, item)
    return faults


@functools.cache
def _hints_of(bases: tuple[type, ...]) -> dict[str, Any]:
    """Types of the fields of the first of these classes."""
    try:
        return get_type_hints(bases[0], include_extras=True)
    except NameError:  # a class made inside of a function: names there cannot be looked up
        return {}


def checked(name: str, item: Any, hint: Any, faults: list[str], marks: Sequence[Any] = ()) -> Any:
    """A given value as its annotation asks for, or with its fault added to `faults`.

    Values and tuples are returned as they are: their own constructors check them.
    """
    if get_origin(hint) is Annotated:
        inner, *own = get_args(hint)
        if any(isinstance(mark, InFiles) for mark in own):
            return item
        return checked(name, item, inner, faults, (*marks, *own))
    if get_origin(hint) in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not types.NoneType]
        if item is None and len(options) < len(get_args(hint)):
            return None
        is_list = isinstance(item, (list, tuple)) or getattr(item, "ndim", 0) > 0
        return checked(name, item, options[-1 if is_list else 0], faults, marks)
    dimensions = [mark.number for mark in marks if isinstance(mark, Dimensions)]
    limits = next((mark for mark in marks if isinstance(mark, Limits)), Limits())
    if get_origin(hint) is np.ndarray and dimensions:
        numbers = read_numbers(name, item, dimensions[0], faults)
        outside = [] if numbers is None else numbers[~limits.allow(numbers)].tolist()
        faults += [f"{name}: {each:g}, must be {limits.of('numbers')}" for each in outside[:1]]
        return frozen_array([] if numbers is None else numbers)
    words = next((mark.words for mark in marks if isinstance(mark, OneOf)), ())
    wanted = {
        float: limits.of("a number"),
        int: limits.of("a whole number"),
        bool: "true or false",
        str: " or ".join(map(repr, words)) or "a text",
    }
    number = is_count(item, -sys.maxsize) if hint is int else is_number(item)
    valid = {
        float: number and bool(limits.allow(item)),
        int: number and bool(limits.allow(item)),
        bool: isinstance(item, (bool, np.bool_)),
        str: item in words if words else isinstance(item, str),
    }
    if inspect.isclass(hint) and issubclass(hint, Value) and not isinstance(item, hint):
        faults.append(f"{name}: {item!r} is not a {hint.__name__}")
    if hint in wanted and not valid[hint]:
        faults.append(f"{name}: {item!r}, must be {wanted[hint]}")
        return item
    return hint(item) if hint in wanted else item


def read_numbers(
    name: str, values: npt.ArrayLike, ndim: int, faults: list[str]
) -> FloatArray | None:
    """An array with `ndim` dimensions, or None after adding its fault to `faults`."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        faults.append(f"{name}: cannot be read as numbers; give a list or array of numbers")
        return None
    if array.ndim != ndim or array.size == 0:
        wanted = "a list of n numbers" if ndim == 1 else "an n x n table of numbers"
        faults.append(f"{name}: shape {array.shape}, must be {wanted}")
        return None
    if not np.all(np.isfinite(array)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        spot = where[0] if ndim == 1 else where
        faults.append(
            f"{name}: {array[where]} at {spot}, must be finite "
            "(drop or impute missing cases before estimating)"
        )
        return None
    return array


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
    """The JSON schema of what `cls` writes and reads; nested values are under `$defs`.

    `includes` says for each registered kind whether the schema allows it.
    """
    definitions = _Definitions(includes)
    table = definitions.table_of(cls)
    return table | {"$defs": definitions.found}


class _Definitions:
    """Collects one definition for each class that occurs in a schema."""

    def __init__(self, includes: Callable[[type[Kind]], bool]) -> None:
        self.found: dict[str, Schema] = {}
        self._includes = includes

    def table_of(self, cls: type[Value]) -> Schema:
        """The fields of a class as an object schema, required ones first."""
        hints = get_type_hints(cls, include_extras=True)
        fields = [field for field in dataclasses.fields(cls) if field.init]  # type: ignore[arg-type]
        defaults = {field.name: default_of(field) for field in fields}
        required = [name for name, default in defaults.items() if default is dataclasses.MISSING]
        fields.sort(key=lambda field: field.name not in required)
        properties: dict[str, Schema] = {}
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
            properties[field.name] = _merged(*text, rule)
            if field.name not in required:
                properties[field.name]["default"] = plain(defaults[field.name])
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
        """The schema of a type; outer annotations also hold for the numbers within."""
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
        """A list of any length, or a tuple with a type for each position."""
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
        """A reference to the definition of a class, which is made on first use."""
        name = _definition_name(cls)
        if name not in self.found:
            self.found[name] = {}  # a class may refer to its own family
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
    """The key under `$defs`; kinds of different families may share a name, so it has both."""
    if issubclass(cls, Kind):
        return f"{cls.kind}-{cls.family}" if cls.kind else cls.family
    return _words(cls.__name__).lower().replace(" ", "-")


def _array_rule(dtype: Any, marks: Sequence[Any]) -> Schema:
    """Numbers nested in as many lists as the array has dimensions."""
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
    """Annotations that also hold inside a list; the others are about the list itself."""
    return [mark for mark in marks if isinstance(mark, Limits)]


def _within(rule: Schema, mark: Any) -> Schema:
    """What an annotation adds to the schema of a number or a text."""
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
    """One of several schemas; a plain type or null becomes one schema with two types."""
    others = [rule for rule in rules if rule != {"type": "null"}]
    if len(others) == 1 and len(rules) == 2 and "type" in others[0] and "enum" not in others[0]:
        return others[0] | {"type": [others[0]["type"], "null"]}
    return {"anyOf": rules}


def _merged(*parts: Schema) -> Schema:
    return functools.reduce(operator.or_, parts, {})


def _words(name: str) -> str:
    """Turn "power-law" or "PowerLaw" into "Power law"."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("-", " ")
    return apart[:1].upper() + apart[1:].lower()


def _summary(cls: type) -> str:
    """The first paragraph of the docstring as one line."""
    return " ".join(inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].split())
