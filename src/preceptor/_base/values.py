"""Frozen values that compare by content and go to plain data (JSON, TOML) and back.

Worlds, learners, budgets, risks, curves, policies, problems and plans are all *values*: they are
checked once when made, never change, are equal when their contents are, and survive a trip
through a file. A class takes part by being a dataclass; its fields are its data.
"""

from __future__ import annotations

import dataclasses
import json
from abc import ABC
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from preceptor._base.parsing import parse_json
from preceptor.errors import InvalidFile, InvalidInput, NotSerializable

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_Answer = TypeVar("_Answer")
_MEMORY = "_remembered"
# Most of what fields hold; asked first, because plans may list many thousands of sets.
_SIMPLE = frozenset((int, float, bool, str, type(None)))


def frozen_array(values: npt.ArrayLike, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """A private, read-only copy, so that nobody can change a value after it was checked."""
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def plain(value: Any) -> Any:
    """Turn a field into what JSON and TOML know: numbers, text, lists and tables."""
    if isinstance(value, Value):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise NotSerializable(
        f"{value!r} cannot be written to a file: only numbers, text and arrays can. "
        "Keep such an object in Python, or use a built-in curve, risk or policy."
    )


class Value:
    """Mixin for frozen dataclasses: equality by content, `to_dict`/`from_dict`, JSON."""

    def to_dict(self) -> dict[str, Any]:
        """The fields that differ from their default, as plain data.

        Returns
        -------
        dict
            Numbers, text, lists and tables, for JSON or TOML.

        Raises
        ------
        NotSerializable
            A field holds a Python function.
        """
        data: dict[str, Any] = {}
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if not _is_default(field, value):
                data[field.name] = plain(value)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], /) -> Self:
        """Rebuild from plain data; unknown keys are reported by name.

        Parameters
        ----------
        data
            What `to_dict` gave.

        Returns
        -------
        Self
            Equal to what was written.

        Raises
        ------
        InvalidFile
            A key is missing or unknown.
        InvalidInput
            Values that make no sense.
        """
        known = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
        faults = []
        unknown = sorted(str(name) for name in set(data) - set(known))
        if unknown:
            faults.append(
                f"{cls.__name__}: unknown key {', '.join(map(repr, unknown))}; "
                f"it takes {', '.join(known)}"
            )
        try:
            # What else is wrong is said too, so that nobody mends a file fault by fault.
            rebuilt = cls(**{name: value for name, value in data.items() if name in known})
        except InvalidInput as error:
            if not faults:
                raise
            faults += error.faults
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidFile([*faults, f"{cls.__name__}: {_first_missing(error)}"]) from error
        InvalidFile.raise_if(faults)
        return rebuilt

    def to_json(self, *, indent: int | None = 2) -> str:
        """JSON text. Numbers are written so that reading them back gives the same bits.

        Parameters
        ----------
        indent
            Spaces by which to indent; None for a single line.

        Returns
        -------
        str
            What `from_json` reads.
        """
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Parameters
        ----------
        text
            JSON text that holds an object.

        Returns
        -------
        Self
            Equal to what was written.

        Raises
        ------
        InvalidFile
            The text is not JSON, or a key is missing or unknown.
        """
        return cls.from_dict(parse_json(text))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            _same(getattr(self, field.name), getattr(other, field.name))
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
        )

    def __hash__(self) -> int:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return hash((type(self), *(_content(getattr(self, field.name)) for field in fields)))

    def __getstate__(self) -> dict[str, Any]:
        """What travels to other processes: the fields, not what was worked out from them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What arrived is as frozen as what was sent; arrays forget that on the way."""
        for item in state.values():
            if isinstance(item, np.ndarray):
                item.setflags(write=False)
        self.__dict__.update(state)


def remembered(value: Value, name: str, work_out: Callable[[], _Answer]) -> _Answer:
    """What `work_out` gives, worked out once for this value.

    Values never change, so what follows from one stays true; it is kept beside the fields, and
    neither compared, nor written, nor sent to other processes.
    """
    memory: dict[str, Any] = value.__dict__.setdefault(_MEMORY, {})
    if name not in memory:
        memory[name] = work_out()
    answer: _Answer = memory[name]
    return answer


class Kind(Value, ABC):
    """A value that is one of several kinds (a curve, a budget...), named by `kind` in a file.

    Every subclass with a `kind` of its own enters the family's registry by being defined, so a
    user's own curve or risk can be read back from a file like the built-in ones.
    """

    kind: ClassVar[str] = ""
    family: ClassVar[str] = ""
    registry: ClassVar[dict[str, type[Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("family"):
            cls.registry = {}
        elif cls.__dict__.get("kind"):
            known = cls.registry.get(cls.kind)
            if known is not None and known.__qualname__ != cls.__qualname__:
                raise TypeError(
                    f"kind {cls.kind!r} is already used by {known.__name__}; choose another"
                )
            cls.registry[cls.kind] = cls

    def to_dict(self) -> dict[str, Any]:
        """The kind, then the fields."""
        return {"kind": self.kind, **super().to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Find the class by its `kind`, then rebuild it."""
        if not isinstance(data, Mapping):
            raise InvalidFile(f"{cls.family}: got {data!r}, expected a table with a 'kind'")
        kind = data.get("kind", cls.kind)
        target = cls.registry.get(kind) if isinstance(kind, str) else None
        if target is None:
            raise InvalidFile(
                f"{cls.family}: kind {kind!r} is not known; known are {', '.join(cls.registry)}"
            )
        fields = {key: value for key, value in data.items() if key != "kind"}
        rebuilt: Self = target.from_fields(fields)
        return rebuilt

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Rebuild this very kind; override it where fields and constructor differ.

        Parameters
        ----------
        fields
            Plain data without the `kind`.

        Returns
        -------
        Self
            Equal to what was written.
        """
        return super().from_dict(fields)


def _is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    if field.default is not dataclasses.MISSING:
        return _same(field.default, value)
    if field.default_factory is not dataclasses.MISSING:
        return _same(field.default_factory(), value)
    return False


def _same(left: Any, right: Any) -> bool:
    """Whether two fields hold the same: numbers by value, everything else by type and content."""
    if type(left) is type(right) and type(left) in _SIMPLE:
        return bool(left == right)
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return bool(np.array_equal(left, right))
    if _is_plain_number(left) and _is_plain_number(right):
        return bool(_as_python(left) == _as_python(right))
    if type(left) is not type(right):
        return False
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return bool(left == right)


def _content(value: Any) -> Any:
    """Something hashable that is equal whenever two fields are `_same`."""
    if type(value) in _SIMPLE:
        return value
    if isinstance(value, np.ndarray):
        return value.shape, _content_of_array(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return tuple(map(_content, value))
    if isinstance(value, Mapping):
        return frozenset((key, _content(item)) for key, item in value.items())
    return value


def _content_of_array(array: npt.NDArray[Any]) -> tuple[Any, ...]:
    # NumPy compares whole numbers with others as doubles, so large ones may be equal to several.
    if array.dtype.kind in "biuf":
        array = array.astype(np.float64)
    return tuple(array.ravel().tolist())


def _is_plain_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _as_python(number: Any) -> Any:
    """NumPy would first round the other side to its own precision; Python compares exactly."""
    return number.item() if isinstance(number, np.generic) else number


def _first_missing(error: Exception) -> str:
    text = str(error).split("__init__() ", 1)[-1]
    if text.startswith("missing"):
        return f"{text.split(': ', 1)[-1]} missing"
    return text
