"""Kernels that only kernels can call, for tests that want to call them all the same.

Compiled, such a kernel (`inner_jit`) has no door to Python. Tests run it, and what it calls, as
plain Python; compiled it is tested through its callers.
"""

from __future__ import annotations

from types import FunctionType, ModuleType
from typing import Any


def door(kernel: Any) -> Any:
    """The kernel itself where Python may call it, else the same as plain Python."""
    options = getattr(kernel, "targetoptions", {})
    return as_python(kernel) if options.get("no_cpython_wrapper") else kernel


def as_python(kernel: Any) -> Any:
    """A kernel and all kernels that it calls, as plain Python."""
    function = getattr(kernel, "py_func", None)
    if function is None:
        return kernel
    known = function.__globals__
    names = {name: as_python(known[name]) for name in function.__code__.co_names if name in known}
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__)


class Doors:
    """A module of kernels, each with a door."""

    def __init__(self, kernels: ModuleType) -> None:
        self._kernels = kernels

    def __getattr__(self, name: str) -> Any:
        return door(getattr(self._kernels, name))
