"""Draws which package imports which, as a matrix; run it after moving modules between packages.

A row is a package, a column what it imports, a number how many modules it imports from there.
Imports at the top of a module and inside functions count, those for type checkers do not. Where
imports go down only, every number is below the diagonal; exceptions above it are red.

usage: python docs/make_architecture.py [package [picture]]
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
CELL, LEFT, TOP = 22, 112, 104
Found = Mapping[str, Mapping[str, set[str]]]


def imports(package: Path) -> Found:
    """For each package, the modules that it imports from each other package."""
    files = {_module(package, path): path for path in sorted(package.rglob("*.py"))}
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, path in files.items():
        here = module.split(".")[0]
        if not here:
            continue
        found[here]  # a package that imports nothing has a row too
        for node in _running(ast.parse(path.read_text("utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                whole = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [n if n.removeprefix("preceptor.") in files else node.module for n in whole]
            for name in names:
                other = name.removeprefix("preceptor.")
                if name.startswith("preceptor.") and other.split(".")[0] != here:
                    found[here][other.split(".")[0]].add(other)
    return found


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only type checkers read."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from _running(child)


def order_on_the_page() -> list[str]:
    """Packages as the import table of the page lists them, lowest first."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = page.split("## What may import what", 1)[1].split("\n\n#", 1)[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def matrix(found: Found, order: Sequence[str]) -> tuple[list[str], int, int]:
    """The matrix as SVG elements, with its width and height."""
    size = CELL * len(order)
    parts = []
    for i, name in enumerate(order):
        y, x = TOP + CELL * i, LEFT + CELL * i
        if i % 2 == 0:
            parts.append(
                f'<rect x="0" y="{y}" width="{LEFT + size}" height="{CELL}" fill="#f4f4f4"/>'
            )
        parts.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="#bbbbbb"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 15}" text-anchor="end">{name}</text>')
        parts.append(f'<text transform="translate({x + 15} {TOP - 6}) rotate(-60)">{name}</text>')
    for i, name in enumerate(order):
        for j, other in enumerate(order):
            modules = found[name].get(other)
            if modules:
                x, y = LEFT + CELL * j, TOP + CELL * i
                colour = "#0072B2" if j < i else "#D55E00"
                parts.append(
                    f'<rect x="{x + 2}" y="{y + 2}" width="{CELL - 4}" height="{CELL - 4}" rx="3" '
                    f'fill="{colour}"/><text x="{x + CELL / 2:g}" y="{y + 15}" fill="#ffffff" '
                    f'text-anchor="middle">{len(modules)}</text>'
                )
    # Slanted names of the last columns reach beyond the cells.
    return parts, LEFT + size + 56, TOP + size + 8


def picture(package: Path) -> str:
    """The matrix of a package in the order of the page, as SVG text."""
    found = imports(package)
    order = [name for name in order_on_the_page() if name in found]
    parts, width, height = matrix(found, [*order, *sorted(set(found) - set(order))])
    return svg(parts, width, height, "Which package imports which: a matrix")


def svg(parts: Sequence[str], width: int, height: int, label: str) -> str:
    """An SVG document on a white ground."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12" role="img" aria-label="{label}">'
    )
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, ground, *parts, "</svg>"]) + "\n"


def _module(package: Path, path: Path) -> str:
    parts = list(path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def main() -> None:
    """Draw this checkout, or another one."""
    given = [Path(argument) for argument in sys.argv[1:]]
    package = given[0] if given else ROOT / "src" / "preceptor"
    target = given[1] if len(given) > 1 else ROOT / "docs" / "assets" / "packages.svg"
    target.write_text(picture(package), encoding="utf-8")


if __name__ == "__main__":
    main()
