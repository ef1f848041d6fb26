"""The options that say how a table is read, declared once for every command that reads one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import typer

from preceptor.cli._console import readable_errors
from preceptor.tables import Reading

_PANEL = "How the table (and a log beside it) is read"

# Options about how a file is written, not about what its values mean.
_ABOUT_FILES = ("sheet", "separator", "decimal", "encoding")

_HELP = {
    "sheet": ("NAME", "Sheet of a workbook, by name or number (default: the first)."),
    "separator": ("TEXT", "What separates cells: ',' ';' tab or '|' (default: detected)."),
    "decimal": ("TEXT", "The decimal mark: '.' or ',' (default: detected)."),
    "encoding": ("NAME", "Character encoding, e.g. utf-8 or cp1252 (default: detected)."),
    "missing": (
        "VALUE",
        "A value that stands for a missing one, e.g. 999 or -, or insulin=0 for one column; "
        "repeatable.",
    ),
    "positive": ("VALUE", "Which value of a two-valued outcome counts as yes (1), e.g. M."),
}

# Typer takes an option as the default of a parameter, too.
_OPTIONS = {
    name: inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=typer.Option(None, help=said, metavar=metavar, rich_help_panel=_PANEL),
        annotation=list[str] | None if name == "missing" else str | None,
    )
    for name, (metavar, said) in _HELP.items()
}


def typed(reading: Reading) -> list[str]:
    """What was said of a table as words of a command line."""
    words = []
    for name in _OPTIONS:
        value = getattr(reading, name)
        for each in value if name == "missing" else [value]:
            words += [] if each is None else [f"--{name}", str(each)]
    return words


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; it takes one argument `reading` made of them."""
    return _with_options(command, _OPTIONS)


def reads_log(command: Callable[..., None]) -> Callable[..., None]:
    """The same for a command that reads a log and no table: what values mean is no option."""
    return _with_options(command, {name: _OPTIONS[name] for name in _ABOUT_FILES})


def _with_options(
    command: Callable[..., None], options: Mapping[str, inspect.Parameter]
) -> Callable[..., None]:
    """Typer reads options off the signature, so the signature is where they are put."""
    own = inspect.signature(command, eval_str=True)
    kept = [each for each in own.parameters.values() if each.name != "reading"]
    parameters = [*kept, *options.values()]

    @functools.wraps(command)
    def with_reading(**given: Any) -> None:
        with readable_errors():
            said = {name: given.pop(name) for name in options}
            reading = Reading(**{name: each for name, each in said.items() if each is not None})
        command(reading=reading, **given)

    with_reading.__dict__["__signature__"] = own.replace(parameters=parameters)
    with_reading.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_reading
