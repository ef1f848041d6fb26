"""One way to compile: cached on disk, and a word on stderr when compiling makes somebody wait."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from preceptor._base.deadline import UNCOUNTED

with UNCOUNTED.within():
    import numba
    from numba.core import event
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.registry import cpu_target

    # What Numba would load when the first kernel is called, while a clock is running.
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Compilations(event.Listener):
    """Numba announces a real compilation (not a load from its cache) before it starts."""

    def __init__(self) -> None:
        self._said, self._depth, self._collected = False, 0, True

    def on_start(self, event: Any) -> None:
        UNCOUNTED.begin()
        if not self._said:
            self._said = True
            sys.stderr.write("preceptor: compiling, once per machine; this takes some seconds\n")
        if self._depth == 0:
            # A tenth of the time would go into looking for garbage among what is still needed.
            self._collected = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._collected:
            gc.enable()
        UNCOUNTED.end()


event.register("numba:compile", _Compilations())


# Nobody calls kernels from C; without that door a tenth of the compiling is saved.
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}


class _PastedCode(JITCodeLibrary):
    """Code that is only ever pasted into the kernels that call it.

    They are optimised and made executable with all that is pasted into them, so doing the same to
    the pieces first would be a fifth of all compiling, for nothing.
    """

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Gather the pieces that this one calls."""
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _InnerCompiler(Compiler):
    """Numba's compiler, ending with code that can be pasted."""

    def __init__(
        self, typing: Any, target: Any, _own: Any, args: Any, returns: Any, flags: Any, names: Any
    ) -> None:  # fmt: skip
        flags.no_compile = True
        pasted = _PastedCode(target.codegen(), "pasted")
        super().__init__(typing, target, pasted, args, returns, flags, names)


# What only kernels call needs no door to Python, and what makes no array no count of its users.
_INNER: dict[str, Any] = _OPTIONS | {"no_cpython_wrapper": True, "_nrt": False}
# What is pasted is kept on disk within its callers.
_PASTED: dict[str, Any] = _INNER | {"cache": False, "pipeline_class": _InnerCompiler}
# Pasting leans on how Numba is made inside: tried with 0.61 and 0.68, left out beyond them. Seconds
# of processor time with it and with plain `njit` alone: a cold `preceptor solve
# examples/diabetes.toml` 48 and 57, a beam of 2,000 states for that problem 1.1 and 1.4.
_PASTES = numba.version_info.short < (0, 69)
if not _PASTES:
    warnings.warn(
        f"Numba {numba.__version__} is newer than those that kernels were tried with; they are "
        "compiled in its usual way, which takes longer and makes them slower",
        RuntimeWarning,
        stacklevel=2,
    )


def jit(function: _Function) -> _Function:
    """Compile for speed, keep the result on disk, release the interpreter lock while running."""
    compiled = _compiled(function, _OPTIONS)
    if compiled is function:  # told to compile nothing
        return function
    kept = compiled._cache
    load = kept.load_overload

    def load_uncounted(*arguments: Any) -> Any:
        with UNCOUNTED.within():
            return load(*arguments)

    kept.load_overload = load_uncounted
    return compiled  # type: ignore[no-any-return]


def inner_jit(function: _Function) -> _Function:
    """The same for what only kernels call and what makes no arrays, which is sooner compiled."""
    return _without_door(function, _PASTED if _PASTES else _INNER)


def hot_jit(function: _Function) -> _Function:
    """As `inner_jit`, for inner loops that take most of a solver's time.

    They are optimised by themselves before they are pasted, which takes longer to compile. Streams
    of sets, finite plans and the search are up to twice as fast that way, duals a fifth slower.
    """
    return _without_door(function, _INNER)


def _without_door(function: _Function, options: dict[str, Any]) -> _Function:
    compiled = _compiled(function, options)
    if compiled is function:
        return function

    def keep(result: Any) -> None:
        # Where Numba looks when a kernel calls this one; it looks elsewhere when Python does.
        if result.entry_point is None:
            result = result._replace(entry_point=object())
            target = compiled.targetctx
            target.insert_user_function(result.entry_point, result.fndesc, [result.library])
        compiled.overloads[tuple(result.signature.args)] = result

    def refuse(*_arguments: Any, **_named: Any) -> None:
        raise TypeError(f"{function.__name__}: only kernels can call this kernel")

    compiled.add_overload, compiled._compile_for_args = keep, refuse
    return compiled  # type: ignore[no-any-return]


def inline_jit(function: _Function) -> _Function:
    """For small helpers of other kernels, pasted into their callers."""
    return _compiled(function, _OPTIONS | {"inline": "always"})  # type: ignore[no-any-return]


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Numba's compiled function, which is discarded from disk when any of its sources changes.

    Numba looks at the file of the function alone. What it calls in other files is pasted into it,
    so files of all kernels that its module knows are looked at too, and those that they know.
    """
    compiled: Any = numba.njit(**options)(function)
    if compiled is function:
        return function
    sources = _own_source(function.__module__, function.__code__.co_filename)
    for each in function.__globals__.values():
        if type(each) is type(compiled):
            sources |= getattr(each, "sources", frozenset())
    compiled.sources = sources
    if options["cache"]:
        file = compiled._cache._cache_file
        file._source_stamp = (file._source_stamp, tuple(sorted(sources)))
    return compiled


@cache
def _own_source(module: str, file: str) -> frozenset[tuple[str, float, int]]:
    """What changes with a file, as Numba looks at it; nothing for what is typed at a prompt."""
    try:
        found = Path(file).stat()
    except OSError:
        return frozenset()
    return frozenset({(module, found.st_mtime, found.st_size)})
