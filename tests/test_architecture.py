"""The import rules of docs/architecture.md hold: its tables are read, not repeated here.

Imports count wherever they stand: at the top of a module, inside a function, or for type checkers
only. A name that is only imported for its type still ties two rooms together.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "preceptor"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


@dataclass(frozen=True)
class Import:
    """`importer` and `imported` are dotted names; our own come without "preceptor."."""

    importer: str
    imported: str
    lazy: bool
    for_types: bool
    ours: bool


def module_name(path: Path) -> str:
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache  # asked for by tests, not by those who only collect them
def imports_of(module: str) -> list[Import]:
    """Everything a module imports."""
    tree = ast.parse(MODULES[module].read_text("utf-8"))
    return [
        Import(module, _own(name), lazy, for_types, name.split(".")[0] == "preceptor")
        for name, lazy, for_types in _names(tree, lazy=False, for_types=False)
    ]


def _names(node: ast.AST, *, lazy: bool, for_types: bool) -> Iterator[tuple[str, bool, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue  # nothing is imported in there
        if isinstance(child, ast.Import):
            yield from ((alias.name, lazy, for_types) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute here"
            for alias in child.names:
                whole = f"{child.module}.{alias.name}"
                name = whole if _own(whole) in MODULES else str(child.module)
                yield name, lazy, for_types
        else:
            function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            types = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
            yield from _names(child, lazy=lazy or function, for_types=for_types or types)


def _own(name: str) -> str:
    return name.removeprefix("preceptor").removeprefix(".")


def room(module: str) -> str:
    return module.split(".")[0]


def rows(after: str) -> list[list[list[str]]]:
    """Code words in the cells of the first table after a heading or sentence."""
    text = PAGE.split(after, 1)[1]
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert table is not None
    lines = table.group().splitlines()[2:]
    return [[re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1]] for line in lines]


ALLOWED = {name: set(others) for [name], others in rows("## Rooms, and what may import what")}
ORDER = list(ALLOWED)
EXCEPTIONS = {(who[0], what[0]) for who, what, _ in rows("### Exceptions")}
CHECKERS = [(who, set(never)) for checkers, never, _ in rows("### Checkers") for who in checkers]


def between_rooms(module: str) -> list[Import]:
    return [
        found
        for found in imports_of(module)
        if found.ours
        and room(found.imported) != room(module)
        and (module, found.imported) not in EXCEPTIONS
    ]


def is_kernel(module: str) -> bool:
    return module.endswith("_kernels")


def test_every_room_has_its_row_and_every_row_a_room():
    assert {room(module) for module in MODULES if module} == set(ORDER)


def test_rows_name_only_rooms_above_them():
    for position, name in enumerate(ORDER):
        assert ALLOWED[name] <= set(ORDER[:position]), name


@pytest.mark.parametrize("name", ORDER)
def test_a_room_imports_exactly_what_its_row_names(name):
    inside = [module for module in MODULES if module and room(module) == name]
    used = {room(found.imported) for module in inside for found in between_rooms(module)}
    if name == "cli":
        used.discard("")  # the command line may use the package as its users do
    assert used == ALLOWED[name], "docs/architecture.md: the row and the imports differ"


def test_exceptions_are_lazy_and_each_is_still_needed():
    found = [each for module in MODULES for each in imports_of(module)]
    used = [each for each in found if (each.importer, each.imported) in EXCEPTIONS]
    assert all(each.lazy for each in used)
    assert {(each.importer, each.imported) for each in used} == EXCEPTIONS


def reach(module: str) -> set[str]:
    """Every module of ours that is imported, directly or through others."""
    seen, todo = set(), [module]
    while todo:
        here = todo.pop()
        if here in seen or here not in MODULES:
            continue
        seen.add(here)
        todo += [found.imported for found in imports_of(here) if found.ours]
    return seen


@pytest.mark.parametrize(("checker", "never"), CHECKERS, ids=[who for who, _ in CHECKERS])
def test_a_checker_shares_nothing_with_what_it_checks(checker, never):
    assert checker in MODULES
    shared = {module for module in reach(checker) if room(module) in never or module in never}
    assert not shared


def circles() -> list[set[str]]:
    """Groups of modules that reach each other, larger than one; type-only imports do not run."""
    edges = {
        module: {
            found.imported
            for found in imports_of(module)
            if found.ours and not found.for_types and found.imported in MODULES and found.imported
        }
        for module in MODULES
        if module
    }
    closed = {}
    for module in edges:
        seen, todo = set(), list(edges[module])
        while todo:
            here = todo.pop()
            if here not in seen:
                seen.add(here)
                todo += edges[here]
        closed[module] = seen
    return [
        {other for other in closed[module] if module in closed[other]}
        for module in closed
        if module in closed[module]
    ]


def test_there_is_no_knot():
    assert max((len(group) for group in circles()), default=0) <= 4


def test_the_picture_of_the_rooms_is_up_to_date():
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("make_architecture", ROOT / "docs" / "make_architecture.py")
    assert spec is not None
    assert spec.loader is not None
    drawing = module_from_spec(spec)
    spec.loader.exec_module(drawing)

    drawn = (ROOT / "docs" / "assets" / "rooms.svg").read_text("utf-8")
    assert drawn == drawing.picture(PACKAGE), "run: python docs/make_architecture.py"


def test_importing_the_package_loads_no_upper_room():
    first = [found for found in imports_of("") if not found.lazy and not found.for_types]
    assert not {room(found.imported) for found in first} & {
        *(
            "advice",
            "bots",
            "cli",
            "client",
            "explorer",
            "report",
            "service",
            "store",
            "theory",
            "web",
        )
    }


@pytest.mark.parametrize("module", [m for m in MODULES if is_kernel(m)])
def test_kernels_know_arrays_only(module):
    for found in imports_of(module):
        outside = found.imported in {"__future__", "math", "numpy"}
        assert outside or found.imported == "_base.jit" or is_kernel(found.imported), found


def test_compiled_code_is_loaded_when_it_is_needed():
    for module in MODULES:
        for found in imports_of(module):
            if room(found.imported) == "numba":
                assert module == "_base.jit"
            if found.ours and (is_kernel(found.imported) or found.imported == "_base.jit"):
                assert found.lazy or is_kernel(module), found
