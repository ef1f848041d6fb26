"""Frozen values that compare by content and convert to plain data (JSON, TOML) and back.

Worlds, learners, budgets, risks, curves, policies, problems and plans are all *values*: validated
once when created, immutable, equal when their contents are, and unchanged by a round trip through
a file. A value is a dataclass; its fields are its data.
"""

from __future__ import annotations

import dataclasses
import json
from abc import ABC
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from preceptor._base.extensions import installed_extensions
from preceptor._base.files import parse_json
from preceptor.errors import InvalidFile, InvalidInput, NotSerializable

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_Answer = TypeVar("_Answer")
_MEMORY = "_remembered"
# Most fields hold these; checked first, because plans may list many thousands of sets.
_SIMPLE = frozenset((int, float, bool, str, type(None)))


def frozen_array(values: npt.ArrayLike, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """A private, read-only copy, so that a value cannot change after validation."""
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def plain(value: Any) -> Any:
    """Turn a field into plain data for JSON and TOML: numbers, text, lists and tables."""
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

    def set_fields(self, **values: Any) -> None:
        """Set fields of a value that is being made; for constructors.

        Parameters
        ----------
        **values
            By name of the field.
        """
        for name, value in values.items():
            object.__setattr__(self, name, value)

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
            if not _same(default_of(field), value):
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
            # Report the other faults too, so that a file need not be corrected one by one.
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
        """The fields are pickled, not what was computed from them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Freeze arrays again, since pickling does not keep that flag."""
        for item in state.values():
            if isinstance(item, np.ndarray):
                item.setflags(write=False)
        self.__dict__.update(state)


def remembered(value: Value, name: str, compute: Callable[[], _Answer]) -> _Answer:
    """Return `compute()`, computed once for this value.

    Values are immutable, so what follows from one can be cached. The cache is neither compared, nor
    written to files, nor pickled.
    """
    memory: dict[str, Any] = value.__dict__.setdefault(_MEMORY, {})
    if name not in memory:
        memory[name] = compute()
    answer: _Answer = memory[name]
    return answer


class Kind(Value, ABC):
    """A value of a family with several kinds (curves, budgets...), named by `kind` in files.

    Defining a subclass with a new `kind` registers it with the family, so a user's own curve or
    risk can be read back from a file like the built-in ones. Kinds of other installed packages are
    found through entry points (`_base/extensions.py`).
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
            if known is not None and not _redefines(cls, known):
                raise TypeError(
                    f"kind {cls.kind!r} is already used by {known.__name__} of "
                    f"{known.__module__}; choose another"
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
        name = kind if isinstance(kind, str) else ""
        # Loading extensions registers their kinds.
        faults = () if name in cls.registry else installed_extensions().faults
        if name not in cls.registry:
            known = ", ".join(cls.registry)
            unknown = f"{cls.family}: kind {kind!r} is not known; known are {known}"
            raise InvalidFile("; ".join((unknown, *faults)))
        fields = {key: value for key, value in data.items() if key != "kind"}
        rebuilt: Self = cls.registry[name].from_fields(fields)
        return rebuilt

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Rebuild this kind; override where the fields differ from the constructor's parameters.

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


def default_of(field: dataclasses.Field[Any]) -> Any:
    """The default of a dataclass field, `dataclasses.MISSING` if it has none."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _redefines(new: type, old: type) -> bool:
    """Whether this is the same class again: a cell run twice, or a module run as a script."""
    modules = {new.__module__, old.__module__}
    same_module = len(modules) == 1 or bool(modules & {"__main__", "__mp_main__"})
    return same_module and new.__qualname__ == old.__qualname__


def _same(left: Any, right: Any) -> bool:
    """Whether two fields are equal: numbers by value, everything else by type and content."""
    # NumPy would round the other side to its own precision; Python compares exactly.
    left = left.item() if isinstance(left, np.generic) else left
    right = right.item() if isinstance(right, np.generic) else right
    if type(left) in _SIMPLE and type(right) in _SIMPLE:
        is_number = {type(left), type(right)} == {int, float}
        return bool(left == right) and (is_number or type(left) is type(right))
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return bool(np.array_equal(left, right))
    if type(left) is not type(right):
        return False
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, Mapping):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return bool(left == right)


def _content(value: Any) -> Any:
    """Hashable content, equal whenever two fields are `_same`."""
    if type(value) in _SIMPLE:
        return value
    if isinstance(value, np.ndarray):
        # NumPy compares integers with floats as doubles, so a large one may equal several.
        as_doubles = value.astype(np.float64) if value.dtype.kind in "biuf" else value
        return value.shape, tuple(as_doubles.ravel().tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return tuple(map(_content, value))
    if isinstance(value, Mapping):
        return frozenset((key, _content(item)) for key, item in value.items())
    return value


def _first_missing(error: Exception) -> str:
    text = str(error).split("__init__() ", 1)[-1]
    if text.startswith("missing"):
        return f"{text.split(': ', 1)[-1]} missing"
    return text
