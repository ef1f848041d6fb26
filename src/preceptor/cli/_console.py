"""What all commands share: messages, readable errors, something that moves, checks of targets.

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 cannot be done (too large,
method does not apply), 2 wrong input, 130 stopped by Ctrl-C, 70 an error of the program.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from preceptor._base.files import check_ending, check_writable, same_file
from preceptor._base.progress import Progress, Update
from preceptor.errors import InvalidFile, InvalidInput, PreceptorError, UnknownMethod

# As shells report Ctrl-C, and as `sysexits.h` has it for an error of the program.
INTERRUPTED, UNFORESEEN = 130, 70
_SHOW = "PRECEPTOR_TRACEBACK"
# Options of the command that is running, by the name of the argument they set.
_OPTIONS: ContextVar[dict[str, str]] = ContextVar("options")
# A remark for whoever calls the library; parentheses may hold others once.
_FOR_PROGRAMMERS = re.compile(r"\s*\(in Python: (?:[^()]|\([^()]*\))*\)")
# Of an error: lines that are shown, and letters of a line.
_MOST_LINES, _LONGEST_LINE = 40, 2_000
# Without a terminal, seconds until work that takes long says so, and the longest pause after that.
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0


def run(command: Callable[[], object]) -> None:
    """Run the command and leave with its exit code; what nobody foresaw ends in a sentence."""
    for stream in (sys.stdout, sys.stderr):
        # Letters that a stream cannot show are spelled out.
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    code: object = 0
    try:
        try:
            command()
        except SystemExit as leaving:
            code = leaving.code
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:
        code = _answer(error)
    sys.exit(code)  # type: ignore[arg-type]


def _answer(error: BaseException) -> int:
    """Say what happened; gives the exit code."""
    sentence, code = _in_sentence(error)
    with contextlib.suppress(OSError, ValueError):
        if os.environ.get(_SHOW):
            traceback.print_exception(error)
        if sentence:
            print(sentence, file=sys.stderr, flush=True)
    if isinstance(error, OSError) and error.filename is None:
        # Nobody reads stdout any more, or it is full: what is still to be written would fail again.
        with contextlib.suppress(Exception):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _in_sentence(error: BaseException) -> tuple[str, int]:
    if isinstance(error, KeyboardInterrupt):
        return "Stopped.", INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return "", 1
    if isinstance(error, OSError):
        return f"Error: {in_words(error)}", 1
    if isinstance(error, MemoryError):
        ask = "ask for less (fewer tests, people, cases or samples)"
        return f"Error: not enough memory for this; {ask}. {_SHOW}=1 shows where it happened.", 1
    what = f"{type(error).__name__}: {str(error)[:300]}".splitlines()[0]
    return (
        f"Error: something happened that should not have ({what}). Please report it, with the "
        f"command and, if you may, the files; {_SHOW}=1 shows more to put in the report.",
        UNFORESEEN,
    )


def in_words(error: OSError) -> str:
    """What the system says, with the file if it has one."""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "standard output: cannot be written, the disk is full"
    return str(error.strerror or error)


def echo_json(data: Any) -> None:
    """A result as JSON; in ASCII where stdout cannot show other letters."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    typer.echo(json.dumps(data, indent=2, ensure_ascii=not encoding.startswith("utf")))


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

    Without a terminal it is a line now and then, at growing intervals, as work reports.

    `keeps_best` is for work that hands over what it has when it is interrupted.
    """
    console = Console(stderr=True)
    said, pause = time.monotonic(), _FIRST_PAUSE
    hint = " (Ctrl-C stops and keeps the best so far)" if keeps_best else ""
    status = console.status(f"{doing} ...{hint}") if console.is_terminal else None

    def tell(update: Update) -> None:
        nonlocal said, pause
        if update.sentence:
            say(in_options(update.sentence))
        line = ", ".join([f"{doing}: {update.stage}", *_known_so_far(update)])
        if status is not None:
            status.update(line)
        elif time.monotonic() - said >= pause:
            said, pause = time.monotonic(), min(2.0 * pause, _LONGEST_PAUSE)
            say(in_options(line))

    with status or contextlib.nullcontext():
        yield tell


def _known_so_far(update: Update) -> list[str]:
    """What an update knows, a few words each."""
    parts = []
    if update.done is not None:
        parts.append(f"{update.done:.0%}")
    if update.value is not None:
        parts.append(f"best {update.value:.6g}")
    if update.lower_bound is not None:
        parts.append(f"lower bound {update.lower_bound:.6g}")
    if update.gap is not None:
        parts.append(f"gap {100 * update.gap:.3g}%")
    return parts


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


def report_proof(words: str, *, holds: bool) -> None:
    """Say that a proof holds; a plan whose proof fails is not given out."""
    if not holds:
        fail(f"this plan does not hold. {words} Please report this", code=1)
    say(f"Checked again, and it holds. {words}")
