"""The import rules of docs/architecture.md hold: its tables are read, not repeated here."""

from __future__ import annotations

import ast
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
    ours: bool


def module_name(path: Path) -> str:
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_of(module: str) -> list[Import]:
    """Everything a module imports at run time, at its top or within functions."""
    tree = ast.parse(MODULES[module].read_text("utf-8"))
    return [
        Import(module, _own(name), lazy, name.split(".")[0] == "preceptor")
        for name, lazy in _names(tree, lazy=False)
    ]


def _names(node: ast.AST, *, lazy: bool) -> Iterator[tuple[str, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from ((alias.name, lazy) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute here"
            for alias in child.names:
                whole = f"{child.module}.{alias.name}"
                yield (whole if _own(whole) in MODULES else str(child.module)), lazy
        else:
            inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from _names(child, lazy=lazy or inside)


def _own(name: str) -> str:
    return name.removeprefix("preceptor").removeprefix(".")


def layer(module: str) -> str:
    return module.split(".")[0]


def rows(after: str) -> list[list[list[str]]]:
    """Code words in the cells of the first table after a heading or sentence."""
    text = PAGE.split(after, 1)[1]
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert table is not None
    lines = table.group().splitlines()[2:]
    return [[re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1]] for line in lines]


ALLOWED = {name: set(others) for [name], others in rows("## Layers, and what may import what")}
EXCEPTIONS = {(who[0], what[0]) for who, what, _ in rows("### Exceptions")}


def is_exception(found: Import) -> bool:
    return any(
        found.importer == who and (found.imported == what or found.imported.startswith(f"{what}."))
        for who, what in EXCEPTIONS
    )


def is_kernel(module: str) -> bool:
    return module.endswith("_kernels")


def test_every_layer_has_its_row():
    layers = {layer(module) for module in MODULES if module}
    assert layers == set(ALLOWED), "docs/architecture.md: add or remove a row of the first table"


@pytest.mark.parametrize("module", [module for module in MODULES if module])
def test_layers_import_only_what_their_row_names(module):
    for found in imports_of(module):
        if not found.ours or is_exception(found) or layer(found.imported) == layer(module):
            continue
        if found.imported == "":
            assert layer(module) == "cli", f"{module} imports the whole package"
        else:
            assert layer(found.imported) in ALLOWED[layer(module)], f"{module}: {found.imported}"


def test_exceptions_are_lazy_and_still_needed():
    used = [found for module in MODULES for found in imports_of(module) if is_exception(found)]
    assert all(found.lazy for found in used)
    assert {who for who, _ in EXCEPTIONS} == {found.importer for found in used}


def test_nobody_imports_the_command_line():
    outside = [module for module in MODULES if layer(module) != "cli"]
    assert not [f for module in outside for f in imports_of(module) if layer(f.imported) == "cli"]


def test_importing_the_package_imports_no_report_and_no_theory():
    assert not [f for f in imports_of("") if layer(f.imported) in {"cli", "report", "theory"}]


@pytest.mark.parametrize("module", [m for m in MODULES if is_kernel(m)])
def test_kernels_know_arrays_only(module):
    for found in imports_of(module):
        outside = found.imported in {"__future__", "math", "numpy"}
        assert outside or found.imported == "_jit" or is_kernel(found.imported), found


def test_compiled_code_is_loaded_when_it_is_needed():
    for module in MODULES:
        for found in imports_of(module):
            if layer(found.imported) == "numba":
                assert module == "_jit"
            if found.ours and (is_kernel(found.imported) or found.imported == "_jit"):
                assert found.lazy or is_kernel(module), found
