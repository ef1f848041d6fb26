"""What all commands share: messages, readable errors, something that moves, checks of targets.

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 cannot be done (too large,
method does not apply), 2 wrong input.
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

from preceptor._base.files import check_writable
from preceptor._base.progress import Progress, Update
from preceptor.errors import InvalidFile, InvalidInput, PreceptorError, UnknownMethod

# Options of the command that is running, by the name of the argument they set.
_OPTIONS: ContextVar[dict[str, str]] = ContextVar("options")


def know_options(context: typer.Context) -> None:
    """Remember what the command that is about to run calls its arguments.

    Typer may carry a copy of click of its own, so click's current context cannot be asked.
    """
    command = getattr(context.command, "commands", {}).get(context.invoked_subcommand)
    parameters = [] if command is None else command.params
    longest = {each.name: max(each.opts, key=len) for each in parameters if each.opts}
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
        fail(
            in_options(str(error)),
            code=2 if isinstance(error, (InvalidInput, UnknownMethod)) else 1,
        )
    except BrokenPipeError:
        raise
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), code=2)


def in_options(message: str) -> str:
    """A message of the library in the words of the command line: arguments become options.

    The library begins a fault with the argument it is about and puts other arguments between
    backticks; where a command has an option of that name, the option is named instead.
    """
    for name, option in _OPTIONS.get({}).items():
        message = re.sub(rf"^(  - )?{name}:", rf"\1{option}:", message, flags=re.MULTILINE)
        message = message.replace(f"`{name}`", option)
    return message


def fail(message: str, *, code: int) -> None:
    """Print one error and leave with that exit code."""
    # Wrapped by the terminal, never by us, so that paths and numbers can be copied and searched.
    console = Console(stderr=True, soft_wrap=True)
    console.print(Text.assemble(("Error: ", "bold red"), message))
    raise typer.Exit(code)


@contextmanager
def spinner(doing: str, *, keeps_best: bool = False) -> Iterator[Progress]:
    """Something that moves while the person waits, with what is known so far; on a terminal.

    `keeps_best` is for work that hands over what it has when it is interrupted.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda update: say(in_options(update.sentence)) if update.sentence else None
        return
    hint = " (Ctrl-C stops and keeps the best so far)" if keeps_best else ""
    with console.status(f"{doing} ...{hint}") as status:

        def tell(update: Update) -> None:
            if update.sentence:
                say(in_options(update.sentence))
            parts = [f"{doing}: {update.stage}"]
            if update.done is not None:
                parts.append(f"{update.done:.0%}")
            if update.value is not None:
                parts.append(f"best {update.value:.6g}")
            if update.lower_bound is not None:
                parts.append(f"lower bound {update.lower_bound:.6g}")
            if update.gap is not None:
                parts.append(f"gap {100 * update.gap:.3g}%")
            status.update(", ".join(parts))

        yield tell


def check_target(path: Path, *read: Path | str | None, option: str = "") -> None:
    """Refuse early what could not be written later, or would replace one of the files `read`.

    `option` says what to change, where the command has several files to write.
    """
    taken = {Path(other).resolve() for other in read if other is not None}
    if path.resolve() in taken:
        remedy = f"change {option}" if option else "choose another name"
        raise InvalidFile(f"{path}: this command already uses that file; {remedy}")
    try:
        check_writable(path)
    except InvalidFile as error:
        raise InvalidFile(f"{error} ({option})" if option else str(error)) from None


def check_journal(path: Path, *read: Path | None, dry_run: bool) -> None:
    """Refuse early to add to anything but a journal of ours, and to add at all in a dry run."""
    from preceptor._base.journal import Journal

    if dry_run:
        raise InvalidInput("--resume: writes a file, --dry-run writes none; leave one of them out")
    check_target(path, *read, option="--resume")
    Journal(path).check()
