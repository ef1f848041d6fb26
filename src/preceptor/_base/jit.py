"""One way to compile: cached on disk, and a word on stderr when compiling makes somebody wait."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from preceptor._base.deadline import UNCOUNTED

with UNCOUNTED.within():
    import numba
    from numba.core import event

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _SayOnce(event.Listener):
    """Numba announces a real compilation (not a load from its cache) before it starts."""

    said = False

    def on_start(self, event: Any) -> None:
        UNCOUNTED.begin()
        if not _SayOnce.said:
            _SayOnce.said = True
            sys.stderr.write("preceptor: compiling, once per machine; this takes some seconds\n")

    def on_end(self, event: Any) -> None:
        UNCOUNTED.end()


event.register("numba:compile", _SayOnce())


# Nobody calls kernels from C; without that door a tenth of the compiling is saved.
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}


def jit(function: _Function) -> _Function:
    """Compile for speed, keep the result on disk, release the interpreter lock while running."""
    compiled: Any = numba.njit(**_OPTIONS)(function)
    return compiled  # type: ignore[no-any-return]


def inline_jit(function: _Function) -> _Function:
    """For small helpers of other kernels, pasted into their callers."""
    compiled: Any = numba.njit(**_OPTIONS, inline="always")(function)
    return compiled  # type: ignore[no-any-return]
