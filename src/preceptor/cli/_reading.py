"""The options that say how a table is read, declared once for every command that reads one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from preceptor.tables import Reading

_PANEL = "How the table is read"

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
            help="Which value of a two-valued outcome counts as 1, e.g. M or yes.",
            metavar="VALUE",
            rich_help_panel=_PANEL,
        ),
    ],
}


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; it takes one argument `reading` made of them.

    Typer reads options off the signature, so the signature is where they are put.
    """
    own = inspect.signature(command, eval_str=True)
    kept = [each for each in own.parameters.values() if each.name != "reading"]
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(name, keyword, default=None, annotation=annotation)
        for name, annotation in _OPTIONS.items()
    ]

    @functools.wraps(command)
    def with_reading(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in _OPTIONS}
        chosen["missing"] = chosen["missing"] or ()
        command(reading=Reading(**chosen), **given)

    with_reading.__dict__["__signature__"] = own.replace(parameters=[*kept, *added])
    with_reading.__annotations__ = {each.name: each.annotation for each in (*kept, *added)}
    return with_reading
