"""Write the table of methods into `planning.md`, from the records of the solvers.

python docs/make_methods.py            after a change of a solver's summary, options or proof
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from preceptor.planning.solver import Solver
from preceptor.planning.solvers import SOLVERS

ROOT = Path(__file__).parents[1]
BEGIN = "<!-- methods: written by docs/make_methods.py -->\n"
END = "<!-- methods: end -->\n"


def full_table() -> str:
    """Method, what it does, what it proves, and its options."""
    return _table(
        ("method", "what it does", "what it proves", "options"), map(_row, SOLVERS.values())
    )


# Every page with a table, and what makes it.
PAGES = {ROOT / "docs" / "planning.md": full_table}


def between_markers(text: str) -> str:
    """The table that a page has now."""
    return text.split(BEGIN, 1)[1].split(END, 1)[0]


def with_table(text: str, table: str) -> str:
    """The page with another table between its markers, and nothing else changed."""
    before, rest = text.split(BEGIN, 1)
    return before + BEGIN + table + END + rest.split(END, 1)[1]


def _row(solver: Solver) -> tuple[str, ...]:
    options = ", ".join(f"`{name}`" for name in solver.options)
    return f"`{solver.name}`", solver.summary.rstrip("."), solver.proves, options


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads)]
    lines += [tuple(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    for page, make in PAGES.items():
        text = page.read_text("utf-8")
        page.write_text(with_table(text, make()), encoding="utf-8")
        print(f"wrote {page.relative_to(ROOT)}")
