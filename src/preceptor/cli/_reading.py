"""The options that say how a table is read, declared once for every command that reads one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from preceptor.cli._console import readable_errors
from preceptor.tables import Reading

_PANEL = "How the table (and a log beside it) is read"

# Options about how a file is written, not about what its values mean.
_ABOUT_FILES = ("sheet", "separator", "decimal", "encoding")

_OPTIONS: dict[str, Any] = {
    "sheet": Annotated[
        str | None,
        typer.Option(
            help="Sheet of a workbook, by name or number (default: the first).",
            metavar="NAME",
            rich_help_panel=_PANEL,
        ),
    ],
    "separator": Annotated[
        str | None,
        typer.Option(
            help="What stands between cells: ',' ';' tab or '|' (default: as it looks).",
            metavar="TEXT",
            rich_help_panel=_PANEL,
        ),
    ],
    "decimal": Annotated[
        str | None,
        typer.Option(
            help="What stands before decimals: '.' or ',' (default: as it looks).",
            metavar="TEXT",
            rich_help_panel=_PANEL,
        ),
    ],
    "encoding": Annotated[
        str | None,
        typer.Option(
            help="How letters are written, e.g. utf-8 or cp1252 (default: as it looks).",
            metavar="NAME",
            rich_help_panel=_PANEL,
        ),
    ],
    "missing": Annotated[
        list[str] | None,
        typer.Option(
            help="A value that stands for a missing one, e.g. 999 or -, or insulin=0 for one "
            "column; repeatable.",
            metavar="VALUE",
            rich_help_panel=_PANEL,
        ),
    ],
    "positive": Annotated[
        str | None,
        typer.Option(
            help="Which value of a two-valued outcome counts as yes (1), e.g. M.",
            metavar="VALUE",
            rich_help_panel=_PANEL,
        ),
    ],
}


def typed(reading: Reading) -> list[str]:
    """What was said of a table as words of a command line."""
    words = []
    for name in _OPTIONS:
        value = getattr(reading, name)
        for each in value if name == "missing" else [value]:
            words += [] if each is None else [f"--{name}", str(each)]
    return words


def _from_options(options: Mapping[str, Any]) -> Reading:
    return Reading(**{name: options[name] for name in _OPTIONS if options.get(name) is not None})


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; it takes one argument `reading` made of them."""
    return _with_options(command, _OPTIONS)


def reads_log(command: Callable[..., None]) -> Callable[..., None]:
    """The same for a command that reads a log and no table: what values mean is no option."""
    return _with_options(command, {name: _OPTIONS[name] for name in _ABOUT_FILES})


def _with_options(command: Callable[..., None], options: Mapping[str, Any]) -> Callable[..., None]:
    """Typer reads options off the signature, so the signature is where they are put."""
    own = inspect.signature(command, eval_str=True)
    kept = [each for each in own.parameters.values() if each.name != "reading"]
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(name, keyword, default=None, annotation=annotation)
        for name, annotation in options.items()
    ]

    @functools.wraps(command)
    def with_reading(**given: Any) -> None:
        with readable_errors():
            reading = _from_options({name: given.pop(name) for name in options})
        command(reading=reading, **given)

    with_reading.__dict__["__signature__"] = own.replace(parameters=[*kept, *added])
    with_reading.__annotations__ = {each.name: each.annotation for each in (*kept, *added)}
    return with_reading
