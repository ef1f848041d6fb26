"""Participants that are programs: a page comes as one line of JSON, and one line answers it.

A program sees what a person sees: heading, text, results, fields of the form, and the outcome once
it is told. It does not learn its arm, nor what is hidden. Each participant has a separate process,
which begins with the first page and ends after the last.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from preceptor.errors import InvalidInput
from preceptor.live.bot_pages import ReadPage

# Named numbers of a page that participants see, too.
_TOLD = ("said", "truth", "code")
# Of what a program wrote to stderr, and of an answer that makes no sense: characters in a message.
_SHOWN, _LAST_LINES = 300, 20


@dataclass(frozen=True)
class BotProgram:
    """A command that takes part in a study.

    Attributes
    ----------
    command
        The program and its arguments.
    seconds
        Time for the answer to a page.
    """

    command: tuple[str, ...]
    seconds: float = 60.0

    def start(self, who: str) -> RunningProgram:
        """Start it for a participant, whose name errors mention."""
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            raise InvalidInput(f"human: {self.command[0]!r} cannot be run: {error}") from None
        return RunningProgram(who, self.seconds, process)


@dataclass
class RunningProgram:
    """The process of one participant."""

    who: str
    seconds: float
    process: subprocess.Popen[bytes]
    _lines: queue.SimpleQueue[bytes] = field(default_factory=queue.SimpleQueue)
    _errors: deque[bytes] = field(default_factory=lambda: deque(maxlen=_LAST_LINES))

    def __post_init__(self) -> None:
        self._threads = [
            threading.Thread(target=read, daemon=True) for read in (self._listen, self._look)
        ]
        for each in self._threads:
            each.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(b"")

    def _look(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            self._errors.extend(lines)

    def fill(self, page: ReadPage) -> dict[str, str]:
        """Ask the program what to fill in on a page.

        Parameters
        ----------
        page
            With a form.

        Returns
        -------
        dict of str to str
            Values by name of the field.

        Raises
        ------
        InvalidInput
            The program has ended, takes too long, or its answer makes no sense.
        """
        self.tell(page)
        try:
            line = self._lines.get(timeout=self.seconds)
        except queue.Empty:
            raise self._failed(page, f"gave no answer within {self.seconds:g} s") from None
        if not line:
            raise self._ended(page)
        assert page.form is not None
        try:
            said = json.loads(line) if line.strip() else None
            return filled(page.form.fields, said)
        except ValueError as error:
            text = line.decode(errors="replace").strip()[:_SHOWN]
            raise self._failed(page, f"answered {text!r}: {error}") from None

    def tell(self, page: ReadPage) -> None:
        """Send a page."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(as_data(page)).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise self._ended(page) from None

    def stop(self) -> None:
        """End the process: by closing its input, or by force."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
            self.process.wait(timeout=min(self.seconds, 5.0))
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        # A child that the program has left behind may keep these open.
        for each in self._threads:
            each.join(timeout=1.0)

    def _ended(self, page: ReadPage) -> InvalidInput:
        code = self.process.wait()
        self._threads[1].join(timeout=1.0)  # all that it wrote has been read
        return self._failed(page, f"ended with code {code}")

    def _failed(self, page: ReadPage, what: str) -> InvalidInput:
        said = b"".join(self._errors).decode(errors="replace").strip()[-_SHOWN:]
        wrote = f"; it wrote: {said}" if said else ""
        return InvalidInput(f"{self.who}: at the page {page.title!r} the program {what}{wrote}")


def as_data(page: ReadPage) -> dict[str, Any]:
    """A page as plain data.

    Parameters
    ----------
    page
        As read.

    Returns
    -------
    dict
        `title`; `text`; `results` by label; `told`, named numbers; and `fields`: for each of them
        its choices, as words by value, or None for one to type into. None on the last page.
    """
    return {
        "title": page.title,
        "text": page.text,
        "results": page.results,
        "told": {name: page.data[name] for name in _TOLD if name in page.data},
        "fields": None if page.stage is None or page.form is None else page.form.fields,
    }


def filled(fields: Mapping[str, Mapping[str, str] | None], said: Any) -> dict[str, str]:
    """Values for a form from what a program said.

    Parameters
    ----------
    fields
        As in `as_data`.
    said
        Values by field; where there is one field, its value is enough. None and False leave a field
        empty, True ticks a box.

    Returns
    -------
    dict of str to str
        Values as a browser sends them.

    Raises
    ------
    ValueError
        Not one of the fields, or not one of its choices.

    Examples
    --------
    >>> filled({"answer": None}, 104.5)
    {'answer': '104.5'}
    >>> filled({"agree": {"yes": "I agree"}, "choice": {"yes": "Continue"}}, {"agree": True})
    {'agree': 'yes'}
    """
    if not isinstance(said, Mapping):
        if len(fields) != 1 and said is not None:
            raise ValueError(f"must be an object with {', '.join(fields) or 'none'}")
        said = dict.fromkeys(fields, said)
    values = {}
    for name, value in said.items():
        if name not in fields:
            raise ValueError(f"has no field {name!r}; there are {', '.join(fields) or 'none'}")
        choices = fields[name]
        if value is None or value is False:
            continue
        if value is True and choices is not None:
            value = next(iter(choices))
        if not isinstance(value, (str, int, float)):
            raise ValueError(f"{name} must be a number or a text")
        text = value if isinstance(value, str) else repr(value)
        if choices is not None and text not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}")
        values[name] = text
    return values
