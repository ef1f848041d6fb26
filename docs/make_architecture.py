"""Draws which room imports which, as a matrix: run it after moving things between rooms.

A row is a room, a column what it imports, a number how many modules are imported from there. In a
house where imports go down only, everything lies below the diagonal; what lies above it is red.

usage: python docs/make_architecture.py [package [picture]]
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
CELL, LEFT, TOP = 22, 112, 104


def imports(package: Path) -> dict[str, dict[str, set[str]]]:
    """For each room, from which rooms it imports which modules; wherever the import stands."""
    files = {_module(package, path): path for path in sorted(package.rglob("*.py"))}
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, path in files.items():
        room = module.split(".")[0]
        if not room:
            continue
        found[room]  # a room that imports nothing has a row too
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                whole = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [n if n.removeprefix("preceptor.") in files else node.module for n in whole]
            for name in names:
                other = name.removeprefix("preceptor.")
                if name.startswith("preceptor.") and other.split(".")[0] != room:
                    found[room][other.split(".")[0]].add(other)
    return found


def order_on_the_page() -> list[str]:
    """Rooms as the table of the page lists them, lowest first."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    table = page.split("## Rooms, and what may import what", 1)[1].split("\n\n##", 1)[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


def picture(package: Path, order: Sequence[str] | None = None) -> str:
    """The matrix as SVG text."""
    found = imports(package)
    rooms = [name for name in (order or order_on_the_page()) if name in found]
    rooms += sorted(set(found) - set(rooms))
    size = CELL * len(rooms)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + size + 8} {TOP + size + 8}" '
        'font-family="sans-serif" font-size="12" role="img" '
        'aria-label="Which room imports which: a matrix">',
        f'<rect width="{LEFT + size + 8}" height="{TOP + size + 8}" fill="#ffffff"/>',
    ]
    for i, name in enumerate(rooms):
        y, x = TOP + CELL * i, LEFT + CELL * i
        if i % 2 == 0:
            parts.append(
                f'<rect x="0" y="{y}" width="{LEFT + size}" height="{CELL}" fill="#f4f4f4"/>'
            )
        parts.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="#bbbbbb"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 15}" text-anchor="end">{name}</text>')
        parts.append(f'<text transform="translate({x + 15} {TOP - 6}) rotate(-60)">{name}</text>')
    for i, name in enumerate(rooms):
        for j, other in enumerate(rooms):
            modules = found[name].get(other)
            if modules:
                x, y = LEFT + CELL * j, TOP + CELL * i
                colour = "#0072B2" if j < i else "#D55E00"
                parts.append(
                    f'<rect x="{x + 2}" y="{y + 2}" width="{CELL - 4}" height="{CELL - 4}" rx="3" '
                    f'fill="{colour}"/><text x="{x + CELL / 2:g}" y="{y + 15}" fill="#ffffff" '
                    f'text-anchor="middle">{len(modules)}</text>'
                )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _module(package: Path, path: Path) -> str:
    parts = list(path.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def main() -> None:
    """Draw our own rooms, or those of another checkout."""
    given = [Path(argument) for argument in sys.argv[1:]]
    package = given[0] if given else ROOT / "src" / "preceptor"
    target = given[1] if len(given) > 1 else ROOT / "docs" / "assets" / "rooms.svg"
    target.write_text(picture(package), encoding="utf-8")


if __name__ == "__main__":
    main()
