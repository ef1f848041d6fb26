"""What a run has already computed, kept so that a killed run can go on.

One line of JSON for each finished cell, appended and flushed as soon as it is there. Numbers are
written so that reading them gives the same bits. A line that was cut off by a kill is dropped.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from preceptor._base.files import for_owner, naming
from preceptor.errors import InvalidFile

_KEYS = frozenset(("by", "cell", "rows"))
# How every line begins; all that a run killed in its very first line may have left.
_BEGINNING = b'{"by": "'


class Journal:
    """An append-only file of finished cells; what a cell holds is plain data.

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
        """Refuse what cannot be a journal, so that nothing is added to anybody else's file."""
        if not self.path.parent.is_dir():
            raise InvalidFile(f"{self.path.parent}: no such folder; make it first")
        if self.path.is_dir():
            raise InvalidFile(f"{self.path}: is a folder, must be a file")
        if self.path.exists() and not self.path.is_file():
            raise InvalidFile(f"{self.path}: is no regular file; name a file that is not there yet")
        if self.path.exists() and not self._is_ours():
            raise InvalidFile(f"{self.path}: is not a journal; name a file that does not exist yet")

    def read(self, fingerprint: str) -> dict[str, Any]:
        """Answers by cell, of those that were computed in the same way."""
        self.check()
        known = {}
        for line in self._whole_lines():
            try:
                entry = json.loads(line)
                if entry["by"] == fingerprint:
                    known[entry["cell"]] = entry["rows"]
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # not ours, or damaged: that cell is computed again
        return known

    def write(self, fingerprint: str, cell: str, rows: Any) -> None:
        """Add one cell."""
        line = json.dumps({"by": fingerprint, "cell": cell, "rows": rows})
        self._drop_torn_line()
        # A new one is its owner's alone: cells may be named after people.
        with naming(self.path), open(self.path, "a", encoding="utf-8", opener=for_owner) as file:
            file.write(line + "\n")

    def remove(self) -> None:
        """Forget everything."""
        self.path.unlink(missing_ok=True)

    def _is_ours(self) -> bool:
        """Whether the file is empty, or its first line is that of a journal."""
        with self.path.open("rb") as file:
            line = file.readline()
        if not line.endswith(b"\n"):
            return line.startswith(_BEGINNING) or _BEGINNING.startswith(line)
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):  # not JSON, or not even text
            return False
        return isinstance(entry, dict) and entry.keys() >= _KEYS

    def _whole_lines(self) -> list[str]:
        if not self.path.exists():
            return []
        # What is not text is not ours; the line it is in is passed over like any other.
        *lines, _torn = self.path.read_text("utf-8", "surrogateescape").split("\n")
        return lines

    def _drop_torn_line(self) -> None:
        """Before the first addition: what a killed run left half-written is not a cell."""
        if getattr(self, "_checked", False) or not self.path.exists():
            return
        self.check()
        whole = "".join(f"{line}\n" for line in self._whole_lines())
        with self.path.open("r+", encoding="utf-8") as file:
            file.truncate(len(whole.encode("utf-8", "surrogateescape")))
        self._checked = True


def code_of(function: Callable[..., Any]) -> str:
    """A digest that changes when answers could: with the function's own module, or the package."""
    inner = _innermost(function)
    try:
        own = inspect.getsource(sys.modules[inner.__module__])
    except (OSError, TypeError):  # typed into a notebook, or not written in Python
        own = inner.__code__.co_code.hex() if hasattr(inner, "__code__") else repr(inner)
    return hashlib.sha256((own + package_code()).encode()).hexdigest()[:16]


def named(function: Callable[..., Any]) -> str:
    """What the function is called."""
    return str(_innermost(function).__qualname__)


def _innermost(function: Callable[..., Any]) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


@functools.cache
def package_code() -> str:
    """A digest of all our sources, so that nothing old is taken for new after a change."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
