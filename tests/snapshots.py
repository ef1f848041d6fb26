"""Whole outputs, kept in text files beside the tests that compare with them.

A test asks for the fixture `snapshot` and calls `snapshot("plan", text)`: the text has to be what
`snapshots/plan.txt` in the test's folder holds under the test's name. After a change that is meant
to change what is printed, `make snapshots` writes the files anew; review the difference in git.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

_HEAD = re.compile(r"^#### (.+)\n", re.MULTILINE)


def sections(path: Path) -> dict[str, str]:
    """The texts of a file by the tests that they belong to."""
    parts = _HEAD.split(path.read_text("utf-8")) if path.exists() else [""]
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def compare(path: Path, name: str, text: str, *, update: bool) -> None:
    """Fail unless the file holds this text under this name, or make it do so."""
    text = "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n\n"
    kept = sections(path)
    if update and kept.get(name) != text:
        path.parent.mkdir(exist_ok=True)
        kept[name] = text
        path.write_text("".join(f"#### {key}\n{kept[key]}" for key in sorted(kept)), "utf-8")
    elif not update:
        assert name in kept, f"{path} has no {name!r}; if it is new: make snapshots"
        assert text == kept[name], f"{path.name} says otherwise; if this is meant: make snapshots"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-snapshots", action="store_true", help="keep what is printed now")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Only tests that keep something are run to renew it."""
    if config.getoption("--update-snapshots"):
        items[:] = [item for item in items if "snapshot" in getattr(item, "fixturenames", ())]


@pytest.fixture
def snapshot(request: pytest.FixtureRequest):
    """Compare a text with the one that is kept for this test in the file of this name."""
    update, before = request.config.getoption("--update-snapshots"), Counter()

    def check(file: str, text: str) -> None:
        before[file] += 1
        again = f" ({before[file]})" if before[file] > 1 else ""
        path = request.path.parent / "snapshots" / f"{file}.txt"
        compare(path, request.node.name + again, text, update=update)

    return check
