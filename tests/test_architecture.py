"""The import rules of docs/architecture.md hold: its tables are read, not repeated here.

Imports count at the top of a module and inside a function. Imports for type checkers only
(`if TYPE_CHECKING:`) do not run and do not count.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "preceptor"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
# Imported by the command line only: a library user never pays for them.
FOR_COMMANDS = {"live", "paper"}


@dataclass(frozen=True)
class Import:
    """`importer` and `imported` are dotted names; our own come without "preceptor."."""

    importer: str
    imported: str
    lazy: bool
    ours: bool


def module_name(path: Path) -> str:
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache  # when a test needs it, not when tests are collected
def imports_of(module: str) -> list[Import]:
    """Everything a module imports."""
    tree = ast.parse(MODULES[module].read_text("utf-8"))
    return [
        Import(module, _own(name), lazy, name.split(".")[0] == "preceptor")
        for name, lazy in _names(tree, lazy=False)
    ]


def _names(node: ast.AST, *, lazy: bool) -> Iterator[tuple[str, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue  # expressions import nothing
        if isinstance(child, ast.Import):
            yield from ((alias.name, lazy) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute here"
            for alias in child.names:
                whole = f"{child.module}.{alias.name}"
                yield whole if _own(whole) in MODULES else str(child.module), lazy
        elif not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from _names(child, lazy=lazy or function)


def _own(name: str) -> str:
    return name.removeprefix("preceptor").removeprefix(".")


def package_of(module: str) -> str:
    return module.split(".")[0]


def rows(after: str) -> list[list[list[str]]]:
    """Code words in the cells of the first table after a heading or sentence."""
    text = PAGE.split(after, 1)[1]
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert table is not None
    lines = table.group().splitlines()[2:]
    return [[re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1]] for line in lines]


ALLOWED = {name: set(others) for [name], others in rows("## What may import what")}
ORDER = list(ALLOWED)
EXCEPTIONS = {
    (f"{who[0]}", f"{imported}") for who, what, _ in rows("### Exceptions") for imported in what
}
CHECKERS = [(who, set(never)) for checkers, never, _ in rows("### Checkers") for who in checkers]


def between_packages(module: str) -> list[Import]:
    return [
        found
        for found in imports_of(module)
        if found.ours
        and package_of(found.imported) != package_of(module)
        and (module, found.imported) not in EXCEPTIONS
    ]


def is_kernel(module: str) -> bool:
    return module.endswith("_kernels")


def test_every_package_is_in_both_tables_in_the_same_order():
    listed = [name for [name], _ in rows("## Packages") if name != "__init__"]
    assert listed == ORDER
    assert {package_of(module) for module in MODULES if module} == set(ORDER)


def test_rows_name_only_packages_above_them():
    for position, name in enumerate(ORDER):
        assert ALLOWED[name] <= set(ORDER[:position]), name


@pytest.mark.parametrize("name", ORDER)
def test_a_package_imports_exactly_what_its_row_names(name):
    inside = [module for module in MODULES if module and package_of(module) == name]
    used = {package_of(found.imported) for module in inside for found in between_packages(module)}
    if name == "cli":
        used.discard("")  # the command line may use the package as its users do
    assert used == ALLOWED[name], "docs/architecture.md: the row and the imports differ"


def test_live_and_paper_are_imported_by_the_command_line_only():
    assert {name for name in ORDER if ALLOWED[name] & FOR_COMMANDS} == {"cli"}


def test_exceptions_are_inside_functions_and_each_is_still_needed():
    found = [each for module in MODULES for each in imports_of(module)]
    used = [each for each in found if (each.importer, each.imported) in EXCEPTIONS]
    assert all(each.lazy for each in used)
    assert {(each.importer, each.imported) for each in used} == EXCEPTIONS


def test_files_that_the_page_names_exist():
    named = [word for word in re.findall(r"`([^`\n]+)`", PAGE) if re.fullmatch(r"[\w./-]+", word)]
    files = [word for word in named if "/" in word]
    assert len(files) > 50
    assert not [word for word in files if not ((PACKAGE / word).exists() or (ROOT / word).exists())]


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
    inside = [module for module in MODULES if module == checker or package_of(module) == checker]
    assert inside
    reached = set().union(*map(reach, inside))
    assert not {module for module in reached if package_of(module) in never or module in never}


def circles() -> list[set[str]]:
    """Groups of more than one module, each of which imports all others, directly or not."""
    edges = {
        module: {
            found.imported
            for found in imports_of(module)
            if found.ours and found.imported in MODULES and found.imported
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


def test_import_cycles_are_small():
    assert max((len(group) for group in circles()), default=0) <= 4


def test_the_picture_of_the_packages_is_up_to_date():
    spec = spec_from_file_location("make_architecture", ROOT / "docs" / "make_architecture.py")
    assert spec is not None
    assert spec.loader is not None
    drawing = module_from_spec(spec)
    spec.loader.exec_module(drawing)

    drawn = (ROOT / "docs" / "assets" / "packages.svg").read_text("utf-8")
    assert drawn == drawing.picture(PACKAGE), "run: python docs/make_architecture.py"


def test_importing_preceptor_loads_the_lowest_packages_only():
    first = {
        package_of(found.imported) for found in imports_of("") if found.ours and not found.lazy
    }
    assert first <= set(ORDER[: ORDER.index("planning") + 1])


@pytest.mark.parametrize("module", [m for m in MODULES if is_kernel(m)])
def test_kernels_know_arrays_only(module):
    for found in imports_of(module):
        outside = found.imported in {"__future__", "math", "numpy", "typing"}
        assert outside or found.imported == "_base.jit" or is_kernel(found.imported), found


def test_compiled_code_is_loaded_when_it_is_needed():
    for module in MODULES:
        for found in imports_of(module):
            if package_of(found.imported) == "numba":
                assert module == "_base.jit"
            if found.ours and (is_kernel(found.imported) or found.imported == "_base.jit"):
                assert found.lazy or is_kernel(module), found
