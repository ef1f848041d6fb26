"""`preceptor reproduce`: run the paper's experiments and compare with its statements."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import preceptor.cli._options as _options
from preceptor.cli import _console
from preceptor.cli._app import app, examples

_EXAMPLES = examples(
    "preceptor reproduce",
    "preceptor reproduce --quick",
    "preceptor reproduce stationary --draws 200 --rho 0:0.99:40",
    "preceptor reproduce stationary --assume alpha=1.3 --assume horizon=200",
    "preceptor reproduce --cluster tcp://127.0.0.1:8786",
)

_ASSUMED = ("alpha", "discount", "floor", "imputation", "tests", "budget", "horizon")
_COLOURS = {"agrees": "green", "holds": "green", "compatible": "cyan", "differs": "red"}


@app.command(epilog=_EXAMPLES)
def reproduce(
    experiments: Annotated[
        list[str] | None, _console.argument("Experiments to run (default: all).", "EXPERIMENT")
    ] = None,
    draws: Annotated[
        int | None, _console.option("Random draws per setting (default: as in the paper).")
    ] = None,
    rho: Annotated[
        str | None,
        _console.option("Correlations: first:last:count, or a list with commas.", metavar="A:B:N"),
    ] = None,
    assume: Annotated[
        list[str] | None,
        _console.keyed_option(
            "Change an assumption of the paper; repeatable. alpha=1.3: a showing divides an error "
            "by this; discount=0.9 per round; floor=0.1: share of the squared error that learning "
            "never removes; imputation=0 (knows correlations) to 1 (ignores them), or linear or "
            "cubic on sampled cases; tests=5; budget=2, 'at most 2' or 'exactly 2' per round; "
            "horizon=200 rounds.",
            "--assume",
            _ASSUMED,
        ),
    ] = None,
    quick: Annotated[bool, _console.option("Coarse settings; takes seconds.", "--quick")] = False,
    seed: Annotated[int, _console.option("Random seed.", min=0)] = 0,
    workers: Annotated[
        int | None, _console.option("Local processes (default: one per core).", min=1)
    ] = None,
    cluster: Annotated[
        str | None, _console.option("Run on a Dask cluster: the address of its scheduler.")
    ] = None,
    output: Annotated[
        Path, _console.option("Folder for data, figures and report.", "--output", "-o")
    ] = Path("reproduction"),
    as_json: _options.AsJson = False,
) -> None:
    """Run the paper's experiments and write data (Parquet), figures (PNG, PDF) and a report.

    An interrupted run resumes when started again with the same output folder. With a changed
    assumption, results are not compared with the paper's.
    """
    from preceptor._base.parallel import connect
    from preceptor.paper.experiment import Assumptions, Scale, parse_range
    from preceptor.paper.reproduction import find, time_in_words
    from preceptor.paper.reproduction import reproduce as run_all

    changed = _console.keyed_values("--assume", assume)
    assumed = Assumptions(**{key: _number_or_text(value) for key, value in changed.items()})
    scale = Scale(draws, None if rho is None else parse_range(rho), quick, seed, assumed)
    for experiment in find(experiments or ()):
        for unused in experiment.unused(scale):
            _console.say(f"Note: {experiment.name} does not vary --{unused}")
    client = None if cluster is None else connect(cluster).client
    try:
        with _console.spinner("reproducing") as tell:
            results = run_all(
                experiments or (),
                output=output,
                scale=scale,
                workers=workers,
                client=client,
                tell=lambda name: lambda now: tell(now._replace(stage=f"{name}, {now.stage}")),
            )
    except KeyboardInterrupt:
        _console.say("Stopped. Finished work is kept; the same command resumes from there.")
        raise typer.Exit(_console.INTERRUPTED) from None
    finally:
        if client is not None:
            client.close()
    if as_json:
        typer.echo((output / "report.json").read_text("utf-8"), nl=False)
        return
    from rich.table import Table

    console = Console(soft_wrap=False)
    for result in results:
        table = Table(title=result.experiment.title, title_justify="left", title_style="bold")
        for column in ("statement", "paper", "ours", ""):
            table.add_column(column, overflow="fold")
        for finding in result.findings:
            colour = _COLOURS.get(finding.verdict.value, "dim")
            verdict = f"[{colour}]{finding.verdict.value}[/{colour}]"
            table.add_row(finding.claim, finding.paper, finding.ours, verdict)
        console.print(table)
    _console.say(time_in_words(results))
    _console.say(f"Wrote data, figures and report.md to {output}")


def _number_or_text(text: str) -> Any:
    """A whole number, another number, or the text itself."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
