"""Run one function on many items; a journal of finished ones lets a killed run resume.

Each finished cell is one line of JSON, appended and flushed at once. Numbers are written so that
reading them gives the same bits. A line that was cut off by a kill is dropped.

Answers come in the order of the items. They do not depend on the executor, on how items are
batched, or on whether a journal already held some of them.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from preceptor._base.files import naming, owner_only_opener
from preceptor._base.parallel import Executor, Serial
from preceptor._base.progress import Progress, report
from preceptor.errors import InvalidFile, InvalidInput

# How every line begins: a run killed while writing its first line leaves a part of this.
_BEGINNING = b'{"by": "'


class Journal:
    """An append-only file of finished cells, each of which holds plain data.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> journal = Journal(Path(folder.name) / "run.jsonl")
    >>> journal.write("version 1", "cell a", [{"value": 0.1 + 0.2}])
    >>> journal.read("version 1"), journal.read("version 2")
    ({'cell a': [{'value': 0.30000000000000004}]}, {})
    >>> folder.cleanup()
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def check(self) -> None:
        """Refuse a file that is not a journal, so that nothing is appended to other files."""
        if not self.path.parent.is_dir():
            raise InvalidFile(f"{self.path.parent}: no such folder; make it first")
        if self.path.is_dir():
            raise InvalidFile(f"{self.path}: is a folder, must be a file")
        if self.path.exists() and not (self.path.is_file() and self._is_ours()):
            raise InvalidFile(f"{self.path}: is not a journal; name a file that does not exist yet")

    def read(self, fingerprint: str) -> dict[str, Any]:
        """Entries by cell, of those written with the same fingerprint."""
        self.check()
        known = {}
        for line in self._whole_lines():
            try:
                entry = json.loads(line)
                if entry["by"] == fingerprint:
                    known[entry["cell"]] = entry["rows"]
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # damaged: that cell is computed again
        return known

    def write(self, fingerprint: str, cell: str, rows: Any) -> None:
        """Append one cell."""
        line = json.dumps({"by": fingerprint, "cell": cell, "rows": rows})
        self._drop_torn_line()
        # A new file is readable by its owner only: cells may be named after participants.
        with (
            naming(self.path),
            open(self.path, "a", encoding="utf-8", opener=owner_only_opener) as file,
        ):
            file.write(line + "\n")

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)

    def _is_ours(self) -> bool:
        """Whether the file begins like a journal; it may be empty or cut off."""
        with self.path.open("rb") as file:
            start = file.read(len(_BEGINNING))
        return _BEGINNING.startswith(start)

    def _whole_lines(self) -> list[str]:
        if not self.path.exists():
            return []
        # A line that is not UTF-8 is skipped like any other damaged line.
        *lines, _torn = self.path.read_text("utf-8", "surrogateescape").split("\n")
        return lines

    def _drop_torn_line(self) -> None:
        """Before the first write, drop a line that a killed run left unfinished."""
        if getattr(self, "_checked", False) or not self.path.exists():
            return
        self.check()
        with self.path.open("rb+") as file:
            file.truncate(file.read().rfind(b"\n") + 1)
        self._checked = True


def code_digest(function: Callable[..., Any]) -> str:
    """A digest of the function's module and the package; answers may change only if it does."""
    inner = _innermost(function)
    try:
        own = inspect.getsource(sys.modules[inner.__module__])
    except (OSError, TypeError):  # defined in a notebook, or not written in Python
        own = inner.__code__.co_code.hex() if hasattr(inner, "__code__") else repr(inner)
    return hashlib.sha256((own + package_code()).encode()).hexdigest()[:16]


def fingerprint_of(function: Callable[..., Any]) -> str:
    """The function's name and the digest of its code."""
    return f"{_innermost(function).__qualname__} code {code_digest(function)}"


def _innermost(function: Callable[..., Any]) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


@functools.cache
def package_code() -> str:
    """A digest of all sources of the package, so that a change makes old entries invalid."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


Item = TypeVar("Item")


def run_many(
    function: Callable[[Any], Any],
    items: Iterable[Item],
    *,
    executor: Executor | None = None,
    journal: str | Path | None = None,
    key: Callable[[Item], str] | None = None,
    pack: Callable[[Any], Any] | None = None,
    unpack: Callable[[Any], Any] | None = None,
    progress: Progress | None = None,
    chunk: int = 1,
    together: bool = False,
    noun: str = "items",
) -> list[Any]:
    """Call the function on each item.

    Parameters
    ----------
    function
        Pure, and importable by name in other processes (or a `partial` of such a function).
    items
        Its arguments.
    executor
        Where it runs; in this process if left out.
    journal
        A file that keeps finished answers, so that a run that was stopped can resume. Answers are
        used only while the function's name, its module and the package's code stay the same; what
        a `partial` adds to the function belongs into the keys.
    key
        A text for each item that covers everything the answer depends on; needed with a journal.
    pack
        Turns an answer into plain data for the journal, or into None if it is not to be kept. Left
        out: answers are plain JSON data.
    unpack
        The reverse. It may raise `InvalidInput` for a damaged entry, which is then run again.
    progress
        Called with an `Update` whenever a batch is finished.
    chunk
        How many items are sent to a worker at once; worth raising if one takes milliseconds.
    together
        The function takes a list of items and returns a list of answers, because items share work.
        Sharing may save time only: an answer must not depend on the other items.
    noun
        What items are called in progress reports.

    Returns
    -------
    list
        Answers in the order of the items.

    Raises
    ------
    InvalidInput
        A journal without keys.
    InvalidFile
        A journal in a folder that does not exist, or a file that is not a journal.

    Examples
    --------
    >>> run_many(abs, [-3, 4, -5], chunk=2)
    [3, 4, 5]
    """
    todo = list(items)
    total = len(todo)
    answers: dict[int, Any] = {}
    book, keys, fingerprint = None, [""] * total, ""
    if journal is not None:
        if key is None:
            raise InvalidInput("key: missing; a journal needs a text for each item")
        book, keys, fingerprint = Journal(journal), [*map(key, todo)], fingerprint_of(function)
        answers = _known(book.read(fingerprint), keys, unpack)
    kept = len(answers)
    if kept:
        report(progress, f"{kept:,} of {total:,} {noun}", done=kept / total)
    missing = [index for index in range(total) if index not in answers]
    chunks = [missing[start : start + chunk] for start in range(0, len(missing), chunk)]
    # Executors return the batch objects they were given, so each is looked up by its identity.
    batches = [[todo[index] for index in some] for some in chunks]
    place = {id(batch): some for batch, some in zip(batches, chunks, strict=True)}
    work = function if together else functools.partial(_one_by_one, function)
    began = time.perf_counter()
    for batch, found in (Serial() if executor is None else executor).run(work, batches):
        for index, answer in zip(place[id(batch)], found, strict=True):
            answers[index] = answer
            if book is not None:
                packed = pack(answer) if pack else answer
                if packed is not None:
                    book.write(fingerprint, keys[index], packed)
        rate = (len(answers) - kept) / max(time.perf_counter() - began, 1e-9)
        stage = f"{len(answers):,} of {total:,} {noun}, {rate:.3g}/s"
        report(progress, stage, done=len(answers) / total)
    return [answers[index] for index in range(total)]


def chunk_for(items: int, executor: Executor, most: int) -> int:
    """A chunk of at most `most` items that leaves each of several workers two chunks or more."""
    if executor.workers == 1:
        return most
    return max(1, min(most, items // (2 * executor.workers)))


def _one_by_one(function: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    return [function(item) for item in items]


def _known(
    kept: dict[str, Any], keys: list[str], unpack: Callable[[Any], Any] | None
) -> dict[int, Any]:
    """Answers that a journal holds, by the position of their item."""
    answers = {}
    for index, key in enumerate(keys):
        if key in kept:
            try:
                answers[index] = unpack(kept[key]) if unpack else kept[key]
            except InvalidInput:
                continue
    return answers
