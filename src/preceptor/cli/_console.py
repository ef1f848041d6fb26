"""Shared by all commands: messages, readable errors, progress, checks of output paths.

Results go to stdout, everything else to stderr. Exit codes: 0 success, 1 cannot be done (too large,
method does not apply), 2 invalid input, 130 interrupted by Ctrl-C, 70 internal error.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from preceptor._base.files import check_ending, check_writable, same_file
from preceptor._base.progress import Progress, Update
from preceptor.errors import InvalidFile, InvalidInput, PreceptorError, UnknownMethod

if TYPE_CHECKING:
    from preceptor.proofs.verify import Verification

# As shells report Ctrl-C, and EX_SOFTWARE of sysexits.h.
INTERRUPTED, INTERNAL_ERROR = 130, 70
_SHOW = "PRECEPTOR_TRACEBACK"
# Errors of standard output: its disk is full, or its reader has gone.
_OF_STREAMS = (errno.ENOSPC, errno.EDQUOT, errno.EPIPE)
# Option names of the running command, keyed by the parameter they set.
_OPTIONS: ContextVar[dict[str, str]] = ContextVar("options")
# Keys of options that take KEY=VALUE, by option.
_KEYS: dict[str, tuple[str, ...]] = {}
# A remark for callers of the Python API; may contain one level of nested parentheses.
_FOR_PROGRAMMERS = re.compile(r"\s*\(in Python: (?:[^()]|\([^()]*\))*\)")
# An error message is cut to this many lines of this many characters.
_MOST_LINES, _LONGEST_LINE = 40, 2_000
# Without a terminal: seconds before the first progress line, and the longest interval after it.
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0


def run(command: Callable[[], object]) -> None:
    """Run a command and exit with its code; unexpected errors become one sentence."""
    for stream in (sys.stdout, sys.stderr):
        # Characters that a stream cannot encode are escaped.
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
        code = _report(error)
    sys.exit(code)  # type: ignore[arg-type]


def _report(error: BaseException) -> int:
    """Print what happened and return the exit code."""
    sentence, code = _in_sentence(error)
    with contextlib.suppress(OSError, ValueError):
        if os.environ.get(_SHOW):
            traceback.print_exception(error)
        if sentence:
            print(sentence, file=sys.stderr, flush=True)
    if isinstance(error, OSError) and error.filename is None:
        # stdout is closed or its disk is full: flushing the rest at exit would fail again.
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
        remedy = "try fewer tests, people, cases or samples"
        return f"Error: out of memory; {remedy}. {_SHOW}=1 shows where it happened.", 1
    what = f"{type(error).__name__}: {str(error)[:300]}".splitlines()[0]
    return (
        f"Error: internal error ({what}). Please report it with the command and, if possible, the "
        f"files; {_SHOW}=1 prints a traceback to include.",
        INTERNAL_ERROR,
    )


def in_words(error: OSError) -> str:
    """The operating system's message, with the file name if there is one."""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if error.errno in _OF_STREAMS:
        return "standard output: cannot be written, the disk is full"
    return str(error.strerror or error)


def echo_json(data: Any) -> None:
    """Print a result as JSON, in ASCII if stdout is not UTF-8."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    typer.echo(json.dumps(data, indent=2, ensure_ascii=not encoding.startswith("utf")))


class Commands(TyperGroup):
    """A group of commands: their errors are one block on stderr, in the names of their options."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, and record the names of its options for `in_options`.

        Typer may bundle its own copy of click, so click's current context cannot be used.
        """
        found = super().resolve_command(ctx, args)
        parameters = getattr(found[1], "params", ())
        longest = {each.name: max(each.opts, key=len) for each in parameters if each.opts}
        # The option names a unit that the parameter does not.
        longest |= {name.removesuffix("_gb"): flag for name, flag in longest.items()}
        for flag in list(longest.values()):
            longest |= {key: f"{flag} {key}" for key in _KEYS.get(flag, ())}
        _OPTIONS.set({name: flag for name, flag in longest.items() if flag.startswith("--")})
        return found

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with readable_errors():
            try:
                return super().invoke(ctx)
            except typer.BadParameter as refused:
                refused.message = _RANGE.sub(_must_be, refused.message)
                raise


# How Typer says that a number is out of range.
_RANGE = re.compile(r"Input should be (greater|less) than or equal to (\S+)")


def _must_be(said: re.Match[str]) -> str:
    return f"must be at {'least' if said[1] == 'greater' else 'most'} {said[2]}"


def option(
    said: str, *flags: str, words: Sequence[str] = (), panel: str | None = None, **given: Any
) -> Any:
    """An option and its help; `words` are its usual values, options with a `panel` are details."""
    if words:
        given = {"metavar": "|".join(words), "autocompletion": lambda: list(words), **given}
    return typer.Option(*flags, help=said, rich_help_panel=panel, **given)


def keyed_option(said: str, flag: str, keys: Sequence[str], *, panel: str | None = None) -> Any:
    """An option that takes KEY=VALUE for some keys, and may be repeated; see `keyed_values`."""
    _KEYS[flag] = tuple(keys)
    return option(said, flag, metavar="KEY=VALUE", panel=panel)


def keyed_values(flag: str, given: Sequence[str] | None) -> dict[str, str]:
    """The values of a `keyed_option` by key."""
    found = dict(pair.partition("=")[::2] for pair in given or ())
    InvalidInput.raise_if(
        f"{flag}: {key + '=' + value!r}, must be KEY=VALUE with one of {', '.join(_KEYS[flag])}"
        for key, value in found.items()
        if key not in _KEYS[flag] or not value
    )
    return found


def argument(said: str, name: str | None = None) -> Any:
    """An argument and its help."""
    return typer.Argument(help=said, metavar=name, show_default=False)


def show(data: Callable[[], Any], words: Callable[[], str], *, as_json: bool) -> None:
    """Print a result as JSON or in words."""
    if as_json:
        echo_json(data())
    else:
        typer.echo(words())


def say(text: str) -> None:
    """Print a message to stderr; it is not part of the result."""
    typer.echo(text, err=True)


def note_all(*notes: str) -> None:
    """Print warnings and assumptions, one per line, in terms of command-line options."""
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
    except OSError as error:
        if error.filename is None and error.errno in _OF_STREAMS:  # `run` reports it
            raise
        fail(in_words(error), code=2)


def in_options(message: str) -> str:
    """Translate a library message into command-line terms: arguments become options.

    Library messages start with the argument at fault and name other arguments in backticks or
    as `method='search'`; where the command has an option of that name, the option replaces it.
    Keys of an option that takes KEY=VALUE stay so. Remarks "(in Python: ...)" are dropped.
    """
    message = _FOR_PROGRAMMERS.sub("", message)
    for name, option in _OPTIONS.get({}).items():
        message = re.sub(rf"^(  - )?{name}:", rf"\1{option}:", message, flags=re.MULTILINE)
        message = message.replace(f"`{name}`", option)
        message = re.sub(
            rf"(?<![\w.(-]){name}=(?:'([^'\s]*)'|\"([^\"\s]*)\"|([\w.]+))(?![\w(\[])",
            rf"{option}{'=' if ' ' in option else ' '}\1\2\3",
            message,
        )
    return message


def fail(message: str, *, code: int) -> None:
    """Print an error and exit with that code."""
    # Soft wrapping keeps paths and numbers intact for copying and searching.
    console = Console(stderr=True, soft_wrap=True)
    console.print(Text.assemble(("Error: ", "bold red"), _shortened(message)))
    raise typer.Exit(code)


def _shortened(message: str) -> str:
    """Limit the number of lines, and cut long lines in the middle."""
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
    """Show progress while work runs; without a terminal, print a line at growing intervals.

    `keeps_best` is for work that returns its best result so far when interrupted.
    """
    console = Console(stderr=True)
    said, pause = time.monotonic(), _FIRST_PAUSE
    hint = " (Ctrl-C stops and keeps the best result so far)" if keeps_best else ""
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
    """The fields of an update that are set, in a few words each."""
    told = {
        "{:.0%}": update.done,
        "best {:.6g}": update.value,
        "lower bound {:.6g}": update.lower_bound,
        "gap {:.3g}%": None if update.gap is None else 100.0 * update.gap,
    }
    return [words.format(number) for words, number in told.items() if number is not None]


def check_target(
    path: Path | None, *read: Path | str | None, option: str = "", endings: tuple[str, ...] = ()
) -> None:
    """Fail early if `path` is given and cannot be written or would overwrite an input `read`.

    `option` names the option to change when a command writes several files; `endings` lists the
    allowed suffixes.
    """
    if path is None:
        return
    if any(other is not None and same_file(path, other) for other in read):
        remedy = f"change {option}" if option else "choose another name"
        raise InvalidFile(f"{path}: this command already uses that file; {remedy}")
    try:
        check_writable(path)
        if endings:
            check_ending(path, endings)
    except InvalidFile as error:
        raise InvalidFile(f"{error} ({option})" if option else str(error)) from None


def report_proof(proof: Verification) -> None:
    """Report that a proof holds; exit if it does not."""
    if not proof.ok:
        fail(f"verification failed. {proof.in_words()} Please report this", code=1)
    say(f"Verified. {proof.in_words()}")
