"""What all commands share: messages, readable errors, something that moves, checks of targets.

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 cannot be done (too large,
method does not apply), 2 wrong input, 130 stopped by Ctrl-C; 70 is an error of ours (`_net`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from preceptor._base.files import check_ending, check_writable, same_file
from preceptor._base.progress import Progress, Update
from preceptor._base.starting import INTERRUPTED
from preceptor.cli._net import in_words
from preceptor.cli._waiting import Waiting, known_so_far
from preceptor.errors import InvalidFile, InvalidInput, PreceptorError, UnknownMethod

# Options of the command that is running, by the name of the argument they set.
_OPTIONS: ContextVar[dict[str, str]] = ContextVar("options")
# A remark for whoever calls the library; parentheses may hold others once.
_FOR_PROGRAMMERS = re.compile(r"\s*\(in Python: (?:[^()]|\([^()]*\))*\)")
# Of an error: lines that are shown, and letters of a line.
_MOST_LINES, _LONGEST_LINE = 40, 2_000


def know_options(context: typer.Context) -> None:
    """Remember what the command that is about to run calls its arguments.

    Typer may carry a copy of click of its own, so click's current context cannot be asked.
    """
    command = getattr(context.command, "commands", {}).get(context.invoked_subcommand)
    parameters = [] if command is None else command.params
    longest = {each.name: max(each.opts, key=len) for each in parameters if each.opts}
    # An option may say its unit, which the argument does not.
    longest |= {name.removesuffix("_gb"): option for name, option in longest.items()}
    _OPTIONS.set({name: option for name, option in longest.items() if option.startswith("--")})


def say(text: str) -> None:
    """A message to the person, not part of the result."""
    typer.echo(text, err=True)


def note_all(*notes: str) -> None:
    """What was assumed, done or doubted, a line each, in the words of the command line."""
    for note in notes:
        say(in_options(f"Note: {note}"))


@contextmanager
def readable_errors() -> Iterator[None]:
    """Turn the library's errors into one block on stderr and an exit code."""
    try:
        yield
    except PreceptorError as error:
        note_all(*getattr(error, "__notes__", ()))
        fail(
            in_options(str(error)),
            code=2 if isinstance(error, (InvalidInput, UnknownMethod)) else 1,
        )
    except KeyboardInterrupt:
        say("Stopped.")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(in_words(error), code=2)


def in_options(message: str) -> str:
    """A message of the library in the words of the command line: arguments become options.

    The library begins a fault with the argument it is about and puts other arguments between
    backticks, or writes what to give as `method='search'`; where a command has an option of that
    name, the option is named instead. Remarks "(in Python: ...)" are left out.
    """
    message = _FOR_PROGRAMMERS.sub("", message)
    for name, option in _OPTIONS.get({}).items():
        message = re.sub(rf"^(  - )?{name}:", rf"\1{option}:", message, flags=re.MULTILINE)
        message = message.replace(f"`{name}`", option)
        message = re.sub(
            rf"(?<![\w.(-]){name}=(?:'([^'\s]*)'|\"([^\"\s]*)\"|([\w.]+))(?![\w(\[])",
            rf"{option} \1\2\3",
            message,
        )
    return message


def fail(message: str, *, code: int) -> None:
    """Print one error and leave with that exit code."""
    # Wrapped by the terminal, never by us, so that paths and numbers can be copied and searched.
    console = Console(stderr=True, soft_wrap=True)
    console.print(Text.assemble(("Error: ", "bold red"), _shortened(message)))
    raise typer.Exit(code)


def _shortened(message: str) -> str:
    """A value that fills pages is cut in the middle; nobody would read it."""
    lines = message.splitlines()
    if len(lines) > _MOST_LINES:
        more = f"  - and {len(lines) - _MOST_LINES} more"
        lines = [*lines[:_MOST_LINES], more]
    half = _LONGEST_LINE // 2
    return "\n".join(
        line if len(line) <= _LONGEST_LINE else f"{line[:half]} ... {line[-half:]}"
        for line in lines
    )


@contextmanager
def spinner(doing: str, *, keeps_best: bool = False) -> Iterator[Progress]:
    """Something that moves while the person waits, with what is known so far.

    Without a terminal it is a line now and then, once a stage has taken two seconds.

    `keeps_best` is for work that hands over what it has when it is interrupted.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        with Waiting(doing, lambda line: say(in_options(line))) as waiting:

            def hear(update: Update) -> None:
                if update.sentence:
                    say(in_options(update.sentence))
                waiting.heard(update)

            yield hear
        return
    hint = " (Ctrl-C stops and keeps the best so far)" if keeps_best else ""
    with console.status(f"{doing} ...{hint}") as status:

        def tell(update: Update) -> None:
            if update.sentence:
                say(in_options(update.sentence))
            status.update(", ".join([f"{doing}: {update.stage}", *known_so_far(update)]))

        yield tell


def check_target(
    path: Path, *read: Path | str | None, option: str = "", endings: tuple[str, ...] = ()
) -> None:
    """Refuse early what could not be written later, or would replace one of the files `read`.

    `option` says what to change, where the command has several files to write; `endings` are those
    that the name may have.
    """
    if any(other is not None and same_file(path, other) for other in read):
        remedy = f"change {option}" if option else "choose another name"
        raise InvalidFile(f"{path}: this command already uses that file; {remedy}")
    try:
        check_writable(path)
        if endings:
            check_ending(path, endings)
    except InvalidFile as error:
        raise InvalidFile(f"{error} ({option})" if option else str(error)) from None


def check_journal(path: Path, *read: Path | None, dry_run: bool) -> None:
    """Refuse early to add to anything but a journal of ours, and to add at all in a dry run."""
    from preceptor._base.journal import Journal

    if dry_run:
        raise InvalidInput("--resume: writes a file, --dry-run writes none; leave one of them out")
    check_target(path, *read, option="--resume")
    Journal(path).check()
