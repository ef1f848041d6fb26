"""What a field says of itself beyond its type: a sentence, limits, shapes, how files write it.

It is said where the field is declared, inside `Annotated`, and read by whoever describes files
(`_base/schema.py`). Text is the field's description; the classes below say the rest.

    >>> from typing import Annotated
    >>> threshold: Annotated[Positive, "Where it turns linear."] = 1.0

Nothing here checks anything: classes check themselves when they are made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from preceptor._base.values import FloatArray


@dataclass(frozen=True)
class Limits:
    """Where a number lies, or every number within a list, a table or an array."""

    at_least: float | None = None
    at_most: float | None = None
    above: float | None = None
    below: float | None = None


@dataclass(frozen=True)
class Dimensions:
    """Of an array: 1 is a list of numbers, 2 a table of them. None of them is empty."""

    number: int


@dataclass(frozen=True)
class Items:
    """What holds for a list: how many items there are at least, and whether all differ."""

    at_least: int = 0
    unique: bool = False


class OneOf:
    """The words that a text may be."""

    def __init__(self, *words: str) -> None:
        self.words = words


@dataclass(frozen=True)
class InFiles:
    """The type that files have instead, where the constructor takes more than the field holds."""

    type: Any


@dataclass(frozen=True)
class NotKind:
    """A kind of the family that may not stand here."""

    kind: str


@dataclass(frozen=True)
class GoesWith:
    """Another field, without which this one may not be given."""

    field: str


NonNegative = Annotated[float, Limits(at_least=0)]
Positive = Annotated[float, Limits(above=0)]
Share = Annotated[float, Limits(at_least=0, at_most=1)]
Count = Annotated[int, Limits(at_least=1)]
Index = Annotated[int, Limits(at_least=0)]
Vector = Annotated[FloatArray, Dimensions(1)]
Matrix = Annotated[FloatArray, Dimensions(2)]
