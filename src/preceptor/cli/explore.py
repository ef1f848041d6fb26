"""`preceptor explore`: a page on which one sees what a plan does, in the browser."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import preceptor.cli._options as _options
from preceptor._base.files import read_text
from preceptor._base.parsing import parse_json
from preceptor.cli._app import app, examples
from preceptor.cli._console import readable_errors, say, spinner
from preceptor.cli._reading import reads_table, typed
from preceptor.cli._serving import listening, need_extra
from preceptor.errors import InvalidInput
from preceptor.tables import Reading

if TYPE_CHECKING:
    from preceptor.explorer import Ground

_EXAMPLES = examples(
    "preceptor explore",
    "preceptor explore cases.csv --outcome y",
    "preceptor explore plan.json --no-browser --port 8001",
)
_PROBLEMS = (".toml", ".json")


@app.command(epilog=_EXAMPLES)
@reads_table
def explore(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TABLE|PROBLEM|PLAN]",
            help="A table of cases, a problem file or a plan file (default: the examples).",
            show_default=False,
        ),
    ] = None,
    outcome: _options.Outcome = None,
    unit: _options.Unit = None,
    drop: _options.Drop = None,
    port: Annotated[int, typer.Option(help="0 takes any that is free.", min=0, max=65535)] = 0,
    browser: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-browser",
            help="Open the page in the browser (default: if called from a terminal).",
            show_default=False,
        ),
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Move sliders and see what a plan shows, what it saves, and who would lose by it.

    The page is served to this machine only, and nothing is kept. Ctrl-C ends it.
    """
    with readable_errors():
        need_extra()
        from preceptor.service.serving import address_of, run
        from preceptor.web.site import make_explorer

        own = None if source is None else _ground(source, outcome, unit, drop or [], reading)
        made = listening("127.0.0.1", port)
        address = address_of(made)
        say(f"Listening at {address} (Ctrl-C stops)")
        if sys.stdin.isatty() if browser is None else browser:
            # Connections wait until the server takes them, so nobody has to wait for it here.
            import webbrowser

            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        run(make_explorer(own), made)


def _ground(
    source: Path, outcome: str | None, unit: str | None, drop: list[str], reading: Reading
) -> Ground:
    from preceptor.explorer.ground import ground_of_problem, ground_of_table
    from preceptor.plan import Plan
    from preceptor.problem import Problem

    if source.suffix.lower() not in _PROBLEMS:
        with spinner("estimating"):
            return ground_of_table(
                source, outcome, unit=unit, drop=drop, reading=reading, options=typed(reading)
            )
    given = {"--outcome": outcome, "--unit": unit, "--drop": drop or None}
    InvalidInput.raise_if(
        f"{name}: is about tables, but {source} is a problem or a plan; leave it out"
        for name, value in given.items()
        if value is not None
    )
    if source.suffix.lower() == ".json" and "policy" in parse_json(read_text(source), source):
        return ground_of_problem(Plan.load(source).problem, source.name)
    return ground_of_problem(Problem.load(source), source.name)
