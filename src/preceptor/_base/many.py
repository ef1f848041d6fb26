"""One function for many items, wherever they are run; what is finished is not run again.

Answers come in the order of the items and do not depend on where they were worked out, on how
items were put together, or on whether a journal already had some of them.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from preceptor._base.executors import Executor, Serial
from preceptor._base.journal import Journal, code_of, named
from preceptor._base.progress import Progress, report
from preceptor.errors import InvalidInput

Item = TypeVar("Item")


def run_many(
    function: Callable[[Any], Any],
    items: Iterable[Item],
    *,
    executor: Executor | None = None,
    journal: str | Path | Journal | None = None,
    key: Callable[[Item], str] | None = None,
    fingerprint: str | None = None,
    pack: Callable[[Any], Any] | None = None,
    unpack: Callable[[Any], Any] | None = None,
    progress: Progress | None = None,
    chunk: int = 1,
    together: bool = False,
    noun: str = "items",
) -> list[Any]:
    """What the function gives for each item.

    Parameters
    ----------
    function
        Pure, and known to other processes by its name (or a `partial` of such a function).
    items
        What it takes.
    executor
        Where it is run; here if left out.
    journal
        A file that keeps what is finished: a run that was stopped goes on from there.
    key
        A text for each item that covers whatever the answer depends on; needed with a journal.
    fingerprint
        Kept answers are used only if this is the same. Left out: the name of the function, its
        code and the package's; what a `partial` adds to the function belongs into the keys.
    pack
        Turns an answer into plain data for the journal, or into None if it is not to be kept. Left
        out: answers are plain data as JSON knows it.
    unpack
        The reverse. What was damaged may raise `InvalidInput` and is worked out again.
    progress
        Called with an `Update` whenever something is finished.
    chunk
        How many items travel at once; those that take milliseconds travel better in company.
    together
        The function takes a list of items and gives a list of answers, because items share work.
        What they share may save time only: answers must not depend on the company.
    noun
        What items are called in progress.

    Returns
    -------
    list
        Answers in the order of the items.

    Raises
    ------
    InvalidInput
        A journal without keys.
    InvalidFile
        A journal in a folder that is not there, or a file that is not a journal.

    Examples
    --------
    >>> run_many(abs, [-3, 4, -5], chunk=2)
    [3, 4, 5]
    """
    todo = list(items)
    total = len(todo)
    book = _Book(journal, key, fingerprint, function, pack, unpack)
    keys = book.keys_of(todo)
    answers = book.known(keys)
    kept = len(answers)
    if kept:
        report(progress, f"{kept:,} of {total:,} {noun}", done=kept / total)
    missing = [index for index in range(total) if index not in answers]
    chunks = [missing[start : start + chunk] for start in range(0, len(missing), chunk)]
    # Executors give batches back as they were handed in, so what a batch is can be looked up.
    batches = [[todo[index] for index in some] for some in chunks]
    place = {id(batch): some for batch, some in zip(batches, chunks, strict=True)}
    work = function if together else functools.partial(_one_by_one, function)
    began = time.perf_counter()
    for batch, found in (Serial() if executor is None else executor).run(work, batches):
        for index, answer in zip(place[id(batch)], found, strict=True):
            answers[index] = answer
            book.write(keys[index], answer)
        rate = (len(answers) - kept) / max(time.perf_counter() - began, 1e-9)
        stage = f"{len(answers):,} of {total:,} {noun}, {rate:.3g}/s"
        report(progress, stage, done=len(answers) / total)
    return [answers[index] for index in range(total)]


def chunk_for(items: int, executor: Executor, most: int) -> int:
    """At most `most` at once, and so few that each of several workers gets two chunks or more."""
    if executor.workers == 1:
        return most
    return max(1, min(most, items // (2 * executor.workers)))


def _one_by_one(function: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    return [function(item) for item in items]


class _Book:
    """The journal with everything needed to use it; without one, nothing is kept."""

    def __init__(
        self,
        journal: str | Path | Journal | None,
        key: Callable[[Any], str] | None,
        fingerprint: str | None,
        function: Callable[..., Any],
        pack: Callable[[Any], Any] | None,
        unpack: Callable[[Any], Any] | None,
    ) -> None:
        self.key, self.pack, self.unpack = key, pack, unpack
        self.journal = Journal(journal) if isinstance(journal, (str, Path)) else journal
        self.fingerprint = fingerprint or ""
        if self.journal is None:
            return
        if key is None:
            raise InvalidInput("key: missing; a journal needs a text for each item")
        self.journal.check()
        if fingerprint is None:
            self.fingerprint = f"{named(function)} code {code_of(function)}"

    def keys_of(self, items: Sequence[Any]) -> list[str]:
        if self.journal is None or self.key is None:
            return [""] * len(items)
        return [self.key(item) for item in items]

    def known(self, keys: Sequence[str]) -> dict[int, Any]:
        if self.journal is None:
            return {}
        kept = self.journal.read(self.fingerprint)
        answers = {}
        for index, key in enumerate(keys):
            if key in kept:
                try:
                    answers[index] = self.unpack(kept[key]) if self.unpack else kept[key]
                except InvalidInput:
                    continue
        return answers

    def write(self, key: str, answer: Any) -> None:
        if self.journal is None:
            return
        packed = self.pack(answer) if self.pack else answer
        if packed is not None or self.pack is None:
            self.journal.write(self.fingerprint, key, packed)
