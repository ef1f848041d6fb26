"""docs/studies.md does what it says: all of its commands, in one shell, against a real server."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.live.service.shell_pages import DOCS, Ran, in_process, play
from tests.test_docs import tidy

pytestmark = pytest.mark.full

PAGE = DOCS / "studies.md"


def timeless(text: str) -> str:
    """Without what differs from day to day, from version to version, and in the last digits."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "HASH", tidy(text))
    text = re.sub(r"\d{4}-\d\d-\d\d", "DAY", text)
    text = re.sub(r"[\d.]+ a minute", "SO MANY a minute", text)
    # Names are drawn anew in every export, and with them the order in which numbers are added up.
    return re.sub(r"-?\d+\.\d{6,}", lambda found: f"{float(found.group()):.6g}", text)


def played(folder: Path) -> list[Ran]:
    serve, options = (
        "preceptor serve --trust-this-machine\n",
        ("--database", "preceptor.db", "--rate", 0),
    )
    return play(PAGE, folder, serve, *options, needs=("sh", "perl"), run=in_process)


def test_the_page_runs_from_the_template_to_the_analysis(tmp_path: Path) -> None:
    for each in played(tmp_path):
        if each.shown is not None:
            assert timeless(each.printed) == timeless(each.shown), each.command


if __name__ == "__main__":  # put real outputs into the page
    import tempfile

    page = PAGE.read_text("utf-8")
    with tempfile.TemporaryDirectory() as made:
        for each in played(Path(made)):
            if each.shown is not None:
                block = f"```bash\n{each.command}```\n\n```text\n"
                old = f"{block}{each.shown}```"
                assert page.count(old) == 1, each.command
                page = page.replace(old, f"{block}{tidy(each.printed)}\n```")
    PAGE.write_text(page, "utf-8")
