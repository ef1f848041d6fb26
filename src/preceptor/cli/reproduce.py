"""`preceptor reproduce`: the paper's experiments, with what it says beside what we find."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

import preceptor.cli._options as _options
from preceptor.cli._app import app, examples
from preceptor.cli._console import INTERRUPTED, readable_errors, say, spinner

_Number = TypeVar("_Number", int, float)

_EXAMPLES = examples(
    "preceptor reproduce",
    "preceptor reproduce --quick",
    "preceptor reproduce stationary --draws 200 --rho 0:0.99:40",
    "preceptor reproduce stationary --alpha 1.3 --horizon 200",
    "preceptor reproduce --cluster tcp://127.0.0.1:8786",
)


_COLOURS = {"agrees": "green", "holds": "green", "compatible": "cyan", "differs": "red"}


def _changed(help: str, metavar: str | None = None) -> Any:
    """An option that changes an assumption of the paper."""
    panel = "Change an assumption of the paper"
    return typer.Option(help=help, metavar=metavar, rich_help_panel=panel)


@app.command(epilog=_EXAMPLES)
def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(metavar="EXPERIMENT", help="Which experiments to run (default: all)."),
    ] = None,
    draws: Annotated[
        int | None, typer.Option(help="Random draws per setting (default: as in the paper).")
    ] = None,
    rho: Annotated[
        str | None,
        typer.Option(
            help="Correlations: first:last:count, or a list with commas.", metavar="A:B:N"
        ),
    ] = None,
    alpha: Annotated[float | None, _changed("What a showing divides an error by.")] = None,
    discount: Annotated[float | None, _changed("What a case one round later is worth.")] = None,
    floor: Annotated[
        float | None, _changed("Share of the squared error that learning never removes.")
    ] = None,
    imputation: Annotated[
        str | None,
        _changed(
            "How hidden tests are filled in: 0 (knowing how tests go together) to 1 (as average); "
            "linear or cubic on sampled cases.",
            "SHARE|WORD",
        ),
    ] = None,
    tests: Annotated[int | None, _changed("How many tests there are.")] = None,
    budget: Annotated[
        str | None, _changed("How many may be shown: 2, 'at most 2' or 'exactly 2'.", "K")
    ] = None,
    horizon: Annotated[int | None, _changed("How many rounds are planned.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A coarse pass that takes seconds.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of all draws.", min=0)] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Local processes (default: one per core).", min=1)
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Run on a Dask cluster: the address of its scheduler.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for data, figures and report.")
    ] = Path("reproduction"),
    as_json: _options.AsJson = False,
) -> None:
    """Run the paper's experiments and write data (Parquet), figures (PNG, PDF) and a report.

    A stopped run resumes when it is started again with the same output folder. With an assumption
    changed, numbers are not comparable with the paper's and nothing is judged.
    """
    with readable_errors():
        from preceptor._base.executors import connect
        from preceptor.experiments.assumptions import Assumptions
        from preceptor.experiments.experiment import Scale, parse_range
        from preceptor.experiments.reproduction import find
        from preceptor.experiments.reproduction import reproduce as run_all
        from preceptor.experiments.written import time_in_words

        assume = Assumptions(
            alpha=alpha,
            discount=discount,
            floor=floor,
            imputation=_number_or_text(float, imputation),
            tests=tests,
            budget=_number_or_text(int, budget),
            horizon=horizon,
        )
        scale = Scale(draws, None if rho is None else parse_range(rho), quick, seed, assume)
        for experiment in find(experiments or ()):
            for option in experiment.unused(scale):
                say(f"Note: {experiment.name} does not vary --{option}")
        client = None if cluster is None else connect(cluster).client
        try:
            with spinner("reproducing") as tell:
                results = run_all(
                    experiments or (),
                    output=output,
                    scale=scale,
                    workers=workers,
                    client=client,
                    tell=lambda name: lambda now: tell(now._replace(stage=f"{name}, {now.stage}")),
                )
        except KeyboardInterrupt:
            say("Stopped. Finished work is kept; the same command resumes from there.")
            raise typer.Exit(INTERRUPTED) from None
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
    say(time_in_words(results))
    say(f"Wrote data, figures and report.md to {output}")


def _number_or_text(kind: type[_Number], text: str | None) -> _Number | str | None:
    """What an option means that takes a number or words."""
    try:
        return None if text is None else kind(text)
    except ValueError:
        return text
