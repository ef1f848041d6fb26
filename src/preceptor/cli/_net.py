"""The net under all commands: whatever nobody foresaw ends in a sentence, not in a traceback.

Also what every command needs of its streams: a terminal that knows few letters, a reader that
leaves early, a disk that is full.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from preceptor._base.starting import INTERRUPTED

# As `sysexits.h` has it: an error of the program, not of whoever uses it.
UNFORESEEN = 70
_SHOW = "PRECEPTOR_TRACEBACK"
_PACKAGE = Path(__file__).parents[1]


def run(command: Callable[[], object]) -> None:
    """Run the command and leave with its exit code, whatever happens."""
    spell_out()
    code: object = 0
    try:
        command()
        _flush()
    except SystemExit as leaving:
        code = leaving.code
        try:
            _flush()
        except OSError as error:
            code = _answer(error)
    except BaseException as error:  # that is what a net is for
        code = _answer(error)
    sys.exit(code)  # type: ignore[arg-type]


def _flush() -> None:
    if sys.stdout is not None:  # nobody who closed it wants to hear anything
        sys.stdout.flush()


def spell_out() -> None:
    r"""Letters that a stream cannot show become \u03c3 and the like, which JSON reads back."""
    codecs.register_error("preceptor", _spelled)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="preceptor")  # type: ignore[union-attr]


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    units = wrong.encode("utf-16-be", "surrogatepass")
    pairs = (units[i : i + 2].hex() for i in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs), error.end


def _answer(error: BaseException) -> int:
    """Say what happened; gives the exit code."""
    if os.environ.get(_SHOW):
        with contextlib.suppress(OSError, ValueError):
            traceback.print_exception(error)
    if isinstance(error, KeyboardInterrupt):
        return _say("Stopped.", INTERRUPTED)
    if isinstance(error, BrokenPipeError):
        _silence()
        return 1
    if isinstance(error, OSError):
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            _silence()
        return _say(f"Error: {in_words(error)}", 1)
    if isinstance(error, MemoryError):
        return _say(
            "Error: not enough memory for this; ask for less (fewer tests, people, cases or "
            f"samples). {_SHOW}=1 shows where it happened.",
            1,
        )
    what = str(error).strip().splitlines()
    first = f": {what[0][:300]}" if what else ""
    return _say(
        f"Error: something happened that should not have ({type(error).__name__} in "
        f"{_place(error.__traceback__)}{first}). Please report it, with the command and, if you "
        f"may, the files; {_SHOW}=1 shows more to put in the report.",
        UNFORESEEN,
    )


def in_words(error: OSError) -> str:
    """What the system says, with the file if it has one."""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    try:
        Path.cwd()
    except OSError:
        return "the folder that you are in is not there any more; change to another one"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "standard output: cannot be written, the disk is full"
    return str(error.strerror or error)


def _place(trace: TracebackType | None) -> str:
    """The innermost place of ours."""
    places = [
        (Path(frame.filename), frame.lineno)
        for frame in traceback.extract_tb(trace)
        if _PACKAGE in Path(frame.filename).parents
    ]
    if not places:
        return "a library"
    path, line = places[-1]
    return f"{path.relative_to(_PACKAGE).as_posix()}, line {line}"


def _say(sentence: str, code: int) -> int:
    with contextlib.suppress(Exception):
        print(sentence, file=sys.stderr, flush=True)
    return code


def _silence() -> None:
    """Nobody listens any more: what is still waiting to be written would only fail again."""
    with contextlib.suppress(Exception):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
