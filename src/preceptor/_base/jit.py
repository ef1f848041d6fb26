"""Compile kernels with Numba: cached on disk, with a notice on stderr before compilation starts."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from preceptor._base.progress import UNCOUNTED

with UNCOUNTED.within():
    import numba
    from numba.core import event
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.registry import cpu_target

    # Numba would load this at the first kernel call, when a time limit may be running.
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Compilations(event.Listener):
    """Listens to Numba, which announces compilations (but not loads from its cache)."""

    def __init__(self) -> None:
        self._announced, self._depth, self._collected = False, 0, True

    def on_start(self, event: Any) -> None:
        UNCOUNTED.begin()
        if not self._announced:
            self._announced = True
            sys.stderr.write("preceptor: compiling kernels (first run only, about 20 s)\n")
        if self._depth == 0:
            # Garbage collection would take a tenth of the time and find nothing.
            self._collected = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._collected:
            gc.enable()
        UNCOUNTED.end()


event.register("numba:compile", _Compilations())


# Kernels are never called from C; leaving out that wrapper saves a tenth of the compile time.
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}


class _PastedCode(JITCodeLibrary):
    """Code that is only ever inlined into the kernels that call it.

    Those kernels are optimised and linked with everything inlined into them, so doing the same to
    the pieces first would be wasted: a fifth of all compile time.
    """

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Link the pieces that this one calls."""
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _InnerCompiler(Compiler):
    """Numba's compiler, stopping at code that can be inlined."""

    def __init__(
        self, typing: Any, target: Any, _own: Any, args: Any, returns: Any, flags: Any, names: Any
    ) -> None:  # fmt: skip
        flags.no_compile = True
        pasted = _PastedCode(target.codegen(), "pasted")
        super().__init__(typing, target, pasted, args, returns, flags, names)


# A function that only kernels call needs no Python wrapper; one that allocates no array needs no
# reference counting.
_INNER: dict[str, Any] = _OPTIONS | {"no_cpython_wrapper": True, "_nrt": False}
# Inlined code is cached on disk within its callers.
_PASTED: dict[str, Any] = _INNER | {"cache": False, "pipeline_class": _InnerCompiler}
# Inlining relies on internals of Numba: tested with 0.61 to 0.68, not used beyond. Seconds of
# processor time with it and with plain `njit`: a cold `preceptor solve examples/diabetes.toml`
# 48 and 57, a beam of 2,000 states for that problem 1.1 and 1.4.
_PASTES = numba.version_info.short < (0, 69)
if not _PASTES:
    warnings.warn(
        f"Numba {numba.__version__} is newer than the versions that kernels were tested with; they "
        "are compiled in its usual way, which takes longer and makes them slower",
        RuntimeWarning,
        stacklevel=2,
    )


def jit(function: _Function) -> _Function:
    """Compile for speed, keep the result on disk, release the interpreter lock while running."""
    compiled = _compiled(function, _OPTIONS)
    if compiled is function:  # compilation is disabled
        return function
    kept = compiled._cache
    load = kept.load_overload

    def load_uncounted(*arguments: Any) -> Any:
        with UNCOUNTED.within():
            return load(*arguments)

    kept.load_overload = load_uncounted
    return compiled  # type: ignore[no-any-return]


def inner_jit(function: _Function) -> _Function:
    """Compile a function that only kernels call and that allocates no arrays: compiles faster."""
    return _for_kernels(function, _PASTED if _PASTES else _INNER)


def hot_jit(function: _Function) -> _Function:
    """As `inner_jit`, for inner loops that take most of a solver's time.

    They are optimised by themselves before they are inlined, which takes longer to compile. Streams
    of sets, finite plans and the search are up to twice as fast that way, duals a fifth slower.
    """
    return _for_kernels(function, _INNER)


def _for_kernels(function: _Function, options: dict[str, Any]) -> _Function:
    compiled = _compiled(function, options)
    if compiled is function:
        return function

    def keep(result: Any) -> None:
        # Where Numba looks when a kernel calls this one (calls from Python look elsewhere).
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
    """Compile a small helper that is inlined into the kernels that call it."""
    return _compiled(function, _OPTIONS | {"inline": "always"})  # type: ignore[no-any-return]


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Numba's compiled function, whose disk cache is invalidated when any of its sources changes.

    Numba itself checks the file of the function alone. Kernels that it calls from other files are
    inlined into it, so the files of all kernels in its module's namespace count too, recursively.
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
    """The stamp of a file as Numba takes it; empty for code typed at a prompt."""
    try:
        found = Path(file).stat()
    except OSError:
        return frozenset()
    return frozenset({(module, found.st_mtime, found.st_size)})
