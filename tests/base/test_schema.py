"""Schemas from fields: what a class says of itself is what its schema allows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import pytest
from jsonschema import Draft202012Validator

from preceptor._base.schema import (
    Count,
    Dimensions,
    GoesWith,
    Index,
    InFiles,
    Items,
    Limits,
    Matrix,
    NonNegative,
    NotKind,
    OneOf,
    Positive,
    Share,
    Vector,
    json_schema,
)
from preceptor._base.values import FloatArray, IntArray, Kind, Value
from preceptor.errors import NotSerializable


def schema_of(hint: Any) -> dict[str, Any]:
    """The schema of a class with one field of that type, which has no default."""

    @dataclass(frozen=True, eq=False)
    class OneField(Value):
        """Holds one thing."""

        thing: int

    OneField.__annotations__["thing"] = hint
    return json_schema(OneField)


@dataclass(frozen=True, eq=False)
class Shape(Kind):
    """A shape.

    This paragraph is for programmers.
    """

    family: ClassVar[str] = "shape"

    colour: Annotated[str, OneOf("red", "blue"), "Of its line."] = field(
        default="red", kw_only=True
    )


@dataclass(frozen=True, eq=False)
class Circle(Shape):
    """All points that are
    equally far from one.
    """

    kind: ClassVar[str] = "circle"

    radius: Positive


@dataclass(frozen=True, eq=False)
class NestedShape(Shape):
    """One shape in another."""

    kind: ClassVar[str] = "nested-shape"

    inner: Annotated[Shape, NotKind("nested-shape")]
    area: float = field(default=0.0, init=False)


@dataclass(frozen=True, eq=False)
class PictureFrame(Value):
    """A frame."""

    shapes: tuple[Shape, ...]
    width: Annotated[float | None, GoesWith("height"), "In inches."] = None
    height: Annotated[float | None, GoesWith("width")] = None
    first: Shape = field(default_factory=lambda: Circle(1.0))


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (bool, [True], [1, "x", None]),
        (int, [-1, 0], [0.5, True, "1", None, []]),
        (float, [-1, 0.5], [True, "1", None, []]),
        (str, ["", "x"], [1, None]),
        (float | None, [None, 1.0], ["x", []]),
        (Share, [0, 0.5, 1], [-0.1, 1.1]),
        (Positive, [0.1], [0, -1]),
        (NonNegative, [0, 3.5], [-0.1]),
        (Count, [1, 7], [0, 1.5]),
        (Annotated[int, Limits(above=1, below=4)], [2, 3], [1, 4]),
        (Annotated[int | None, Limits(at_least=2)], [None, 2], [1]),
        (Annotated[str, OneOf("a", "b")], ["a"], ["c", 1]),
        (Annotated[str, OneOf("a", "b")] | None, ["a", None], ["c", 1]),
        (Vector, [[1.0], [1, 2.5]], [[], 1.0, [[1.0]], ["x"], None]),
        (Matrix, [[[1.0]], [[1, 2], [3, 4]]], [[], [[]], [1.0], None]),
        (Matrix | None, [[[1.0]], None], [[1.0]]),
        (Annotated[IntArray, Dimensions(1)], [[1, 2]], [[0.5], []]),
        (Annotated[Vector, Limits(at_least=0)], [[0, 1]], [[0, -1]]),
        (Annotated[float | Vector, Limits(at_least=0)], [0, [1]], [-1, [-1], []]),
        (tuple[int, ...], [[], [1, 2]], [[0.5], 1]),
        (list[str], [[], ["a"]], [[1]]),
        (tuple[Positive, Positive], [[1, 2]], [[1], [1, 2, 3], [0, 1]]),
        (tuple[str, int], [["a", 1]], [["a"], [1, "a"], ["a", 1, 2]]),
        (Annotated[tuple[int, ...], Items(1, unique=True)], [[1, 2]], [[], [1, 1]]),
        (Annotated[tuple[tuple[int, ...], ...], Items(at_least=1)], [[[]]], [[], [1]]),
        (dict[str, Index], [{}, {"a": 0}], [{"a": -1}, [0]]),
        (Annotated[dict[str, tuple[int, ...]], Limits(at_least=0)], [{"a": []}], [{"a": [-1]}]),
        (Annotated[Any, InFiles(str | Count)], ["a", 1], [0, None]),
        (Circle, [{"kind": "circle", "radius": 1}], [{"radius": 1}, {"kind": "circle"}, 1]),
        (PictureFrame, [{"shapes": []}], [{}, {"shapes": [], "shape": 1}]),
    ],
)
def test_types_and_what_is_said_of_them(hint, good, bad):
    validator = Draft202012Validator(schema_of(hint))
    validator.check_schema(validator.schema)
    assert all(validator.is_valid({"thing": item}) for item in good)
    assert not any(validator.is_valid({"thing": item}) for item in bad)
    assert not validator.is_valid({})


def test_the_whole_schema_of_a_small_class():
    schema = json_schema(PictureFrame)
    assert list(schema["$defs"]) == ["shape", "circle-shape", "nested-shape-shape"]
    assert schema["title"] == "Picture frame"
    assert schema["description"] == "A frame."
    assert schema["required"] == ["shapes"]
    assert schema["dependentRequired"] == {"width": ["height"], "height": ["width"]}
    assert schema["properties"] == {
        "shapes": {"type": "array", "items": {"$ref": "#/$defs/shape"}},
        "width": {"description": "In inches.", "type": ["number", "null"], "default": None},
        "height": {"type": ["number", "null"], "default": None},
        "first": {"$ref": "#/$defs/shape", "default": {"kind": "circle", "radius": 1.0}},
    }
    assert schema["$defs"]["shape"] == {
        "title": "Shape",
        "description": "A shape.",
        "oneOf": [{"$ref": "#/$defs/circle-shape"}, {"$ref": "#/$defs/nested-shape-shape"}],
    }
    circle = schema["$defs"]["circle-shape"]
    assert circle["description"] == "All points that are equally far from one."
    assert list(circle["properties"]) == ["kind", "radius", "colour"]
    assert circle["required"] == ["kind", "radius"]
    assert circle["additionalProperties"] is False


def test_a_kind_may_hold_another_but_not_one_that_is_ruled_out():
    validator = Draft202012Validator(json_schema(NestedShape))
    circle = {"kind": "circle", "radius": 2.0, "colour": "blue"}
    nested = {"kind": "nested-shape", "inner": circle}
    assert validator.is_valid(nested)
    assert validator.is_valid(NestedShape(Circle(2.0)).to_dict())
    assert not validator.is_valid(nested | {"area": 1.0})  # which follows from the others
    assert not validator.is_valid({"kind": "nested-shape", "inner": nested})
    assert not validator.is_valid({"kind": "nested-shape", "inner": circle | {"colour": "grey"}})


def test_kinds_can_be_left_out():
    schema = json_schema(PictureFrame, includes=lambda kind: kind is Circle)
    assert list(schema["$defs"]) == ["shape", "circle-shape"]


@pytest.mark.parametrize("hint", [Any, object, complex, FloatArray, set[int]])
def test_what_no_file_can_hold_is_reported_by_name(hint):
    with pytest.raises(NotSerializable, match=r"^OneField\.thing: "):
        schema_of(hint)
