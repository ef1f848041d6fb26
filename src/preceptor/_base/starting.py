"""Ctrl-C while the command is still being loaded: it ends at once and says nothing.

Loading takes a second or two, in which nothing has happened yet that somebody could want to keep.
An exception would come up in the middle of whatever is being imported and end in a page of names
that mean nothing to whoever pressed the keys. Only the `preceptor` command does this; a program
that imports the package keeps its own way with signals.
"""

from __future__ import annotations

import os
import signal
import sys

# What shells report of a program that was ended by Ctrl-C.
INTERRUPTED = 130
_COMMANDS = ("preceptor", "preceptor.cli")


def begin() -> None:
    """Before anything large is imported; does nothing unless this is the `preceptor` command."""
    if _is_the_command():
        _change(signal.default_int_handler, _leave)


def loaded() -> None:
    """From now on Ctrl-C is an exception again, with which commands know how to deal."""
    _change(_leave, signal.default_int_handler)


def _change(before: object, after: object) -> None:
    """Only what we expect to find is changed: where Ctrl-C is ignored, it stays so."""
    if signal.getsignal(signal.SIGINT) is before:
        try:
            signal.signal(signal.SIGINT, after)  # type: ignore[arg-type]
        except ValueError:  # only the main thread may
            return


def _is_the_command() -> bool:
    started = sys.orig_argv
    if "-m" in started[:-1] and started[started.index("-m") + 1] in _COMMANDS:
        return True
    name = os.path.basename(sys.argv[0]) if getattr(sys, "argv", None) else ""  # noqa: PTH119
    return name in ("preceptor", "preceptor.exe", "preceptor-script.py")


def _leave(signum: int, frame: object) -> None:
    os._exit(INTERRUPTED)
