"""What was assumed about a file, in one sentence that names what would say otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from preceptor._base.words import listed
from preceptor.errors import InvalidInput

_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}


@dataclass
class Assumed:
    """Collects what was not plain while a file was read."""

    path: Path
    parts: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def add(self, what: str, option: str) -> None:
        """Something that was taken for granted, and the argument that would say otherwise."""
        self.parts.append(what)
        if option not in self.options:
            self.options.append(option)

    def separator(self, sign: str) -> None:
        """What stands between cells."""
        self.add(f"{_SEPARATORS.get(sign, repr(sign))} between cells", "separator")

    def say(self, sentence: str) -> None:
        """Something else that was done, as a sentence of its own."""
        self.said.append(f"{self.path.name}: {sentence}")

    @contextmanager
    def beside_faults(self) -> Iterator[None]:
        """Faults that are met say also what was assumed before, which may be what is wrong."""
        try:
            yield
        except InvalidInput as error:
            raise error.beside(self.notes) from None

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence about what was assumed, if anything was, and those beside it."""
        if not self.parts:
            return tuple(self.said)
        others = ", ".join(f"`{option}`" for option in self.options)
        verb = "says" if len(self.options) == 1 else "say"
        first = f"{self.path.name}: read with {listed(self.parts)}; {others} {verb} otherwise"
        return (first, *self.said)
