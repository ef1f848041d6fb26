"""What is wrong with a file, gathered part by part, so that all of it is heard at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from preceptor.errors import InvalidFile, InvalidInput

_Read = TypeVar("_Read")


class Gathered:
    """Reads parts one by one and keeps what is wrong until all were read.

    >>> gathered = Gathered()
    >>> gathered.fault("value: 'x', must be a number")
    >>> print(gathered.read(InvalidInput.raise_if, ["k: 0, must be at least 1"]))
    None
    >>> gathered.raise_all()
    Traceback (most recent call last):
    preceptor.errors.InvalidFile: 2 problems found:
      - value: 'x', must be a number
      - k: 0, must be at least 1
    """

    def __init__(self) -> None:
        self.errors: list[InvalidInput] = []

    def read(self, reader: Callable[..., _Read], *given: object) -> _Read | None:
        """What the reader makes of it; None if it refused."""
        try:
            return reader(*given)
        except InvalidInput as error:
            self.errors.append(error)
            return None

    def fault(self, *sentences: str) -> None:
        """Something that is wrong with the file itself."""
        self.add(sentences)

    def add(self, sentences: Iterable[str], kind: type[InvalidInput] = InvalidFile) -> None:
        """Faults of one kind, if there are any."""
        found = list(sentences)
        if found:
            self.errors.append(kind(found))

    def raise_all(self) -> None:
        """All of it in one message, each fault once."""
        if not self.errors:
            return
        kinds = {type(error) for error in self.errors}
        kind = kinds.pop() if len(kinds) == 1 else InvalidFile
        raise kind(list(dict.fromkeys(f for error in self.errors for f in error.faults)))
