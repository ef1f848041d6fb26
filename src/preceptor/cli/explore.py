"""`preceptor explore`: explore plans interactively in the browser."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import preceptor.cli._options as _options
from preceptor._base.files import parse_json, read_text
from preceptor.cli._app import BriefCommand, app, examples
from preceptor.cli._console import argument, option, say, spinner
from preceptor.cli._options import reads_table, typed
from preceptor.cli._serving import Port, listening, need_extra
from preceptor.data.opening import Reading
from preceptor.errors import InvalidInput

if TYPE_CHECKING:
    from preceptor.live.explorer.ground import Ground

_EXAMPLES = examples(
    "preceptor explore",
    "preceptor explore cases.csv --outcome y",
    "preceptor explore plan.json --no-browser --port 8001",
)
_PROBLEMS = (".toml", ".json")


@app.command(cls=BriefCommand, epilog=_EXAMPLES)
@reads_table
def explore(
    source: Annotated[
        Path | None,
        argument(
            "Table of cases, problem file or plan file (default: built-in examples).",
            "[TABLE|PROBLEM|PLAN]",
        ),
    ] = None,
    outcome: _options.Outcome = None,
    drop: _options.Drop = None,
    port: Port = 0,
    browser: Annotated[
        bool | None,
        option(
            "Open the page in the browser (default: if called from a terminal).",
            "--open/--no-browser",
            show_default=False,
        ),
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Explore with sliders what a plan shows, what it saves and who would lose by it.

    The page is served to this machine only, and nothing is stored. Ctrl-C stops it.
    """
    need_extra()
    from preceptor.live.service.app import address_of, run
    from preceptor.live.web.site import make_explorer

    own = None if source is None else _ground(source, outcome, drop or [], reading)
    made = listening("127.0.0.1", port)
    address = address_of(made)
    say(f"Listening at {address} (Ctrl-C stops)")
    if sys.stdin.isatty() if browser is None else browser:
        # The socket queues connections until the server accepts them.
        import webbrowser

        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    run(make_explorer(own), made)


def _ground(source: Path, outcome: str | None, drop: list[str], reading: Reading) -> Ground:
    from preceptor.live.explorer.ground import ground_of_problem, ground_of_table
    from preceptor.model.plan import Plan
    from preceptor.model.problem import Problem

    if source.suffix.lower() not in _PROBLEMS:
        with spinner("estimating"):
            return ground_of_table(
                source, outcome, drop=drop, reading=reading, options=typed(reading)
            )
    given = {"--outcome": outcome, "--drop": drop or None}
    InvalidInput.raise_if(
        f"{name}: is about tables, but {source} is a problem or a plan; leave it out"
        for name, value in given.items()
        if value is not None
    )
    if source.suffix.lower() == ".json" and "policy" in parse_json(read_text(source), source):
        return ground_of_problem(Plan.load(source).problem, source.name)
    return ground_of_problem(Problem.load(source), source.name)
