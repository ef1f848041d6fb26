"""What a run has already computed, kept so that a killed run can go on.

One line of JSON for each finished cell, appended and flushed as soon as it is there. Numbers are
written so that reading them gives the same bits. A line that was cut off by a kill is dropped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Journal:
    """An append-only file of finished cells.

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

    def read(self, fingerprint: str) -> dict[str, list[dict[str, Any]]]:
        """Rows by cell, of those that were computed in the same way."""
        known = {}
        for line in self._whole_lines():
            try:
                entry = json.loads(line)
                if entry["by"] == fingerprint:
                    known[entry["cell"]] = entry["rows"]
            except (ValueError, KeyError, TypeError):
                continue  # not ours, or damaged: that cell is computed again
        return known

    def write(self, fingerprint: str, cell: str, rows: list[dict[str, Any]]) -> None:
        """Add one cell."""
        line = json.dumps({"by": fingerprint, "cell": cell, "rows": rows})
        self._drop_torn_line()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def remove(self) -> None:
        """Forget everything."""
        self.path.unlink(missing_ok=True)

    def _whole_lines(self) -> list[str]:
        if not self.path.exists():
            return []
        *lines, _torn = self.path.read_text("utf-8").split("\n")
        return lines

    def _drop_torn_line(self) -> None:
        """Before the first addition: what a killed run left half-written is not a cell."""
        if getattr(self, "_checked", False) or not self.path.exists():
            return
        whole = "".join(f"{line}\n" for line in self._whole_lines())
        with self.path.open("r+", encoding="utf-8") as file:
            file.truncate(len(whole.encode("utf-8")))
        self._checked = True
