"""docs/studies.md does what it says: all of its commands, in one shell, against a real server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.servers import start
from tests.test_docs import blocks, tidy

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"
SERVE = "preceptor study serve\n"
ADDRESS = "http://127.0.0.1:8000"
MARK = "--- next block ---"


def shown_blocks() -> list[tuple[str, str | None]]:
    """Commands, each with what they print if the page shows that."""
    found: list[tuple[str, str | None]] = []
    for block in blocks(PAGE.read_text("utf-8")):
        if block.language == "text":
            found[-1] = (found[-1][0], block.text)
        else:
            assert block.language == "bash"
            found.append((block.text, None))
    return found


def timeless(text: str) -> str:
    """Without what differs from day to day, from version to version, and in the last digits."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "HASH", tidy(text))
    text = re.sub(r"\d{4}-\d\d-\d\d", "DAY", text)
    text = re.sub(r"[\d.]+ a minute", "SO MANY a minute", text)
    # Names are drawn anew in every export, and with them the order in which numbers are added up.
    return re.sub(r"-?\d+\.\d{6,}", lambda found: f"{float(found.group()):.6g}", text)


def run(folder: Path, *commands: str) -> list[str]:
    """What each block prints, in one shell that stops at the first command that fails."""
    script = f"\necho '{MARK}'\n".join(commands)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr
    return done.stdout.split(f"{MARK}\n")


def played(folder: Path) -> list[tuple[str, str | None, str]]:
    """Each block, with what the page shows and with what was printed."""
    everything = shown_blocks()
    [place] = [i for i, (text, _) in enumerate(everything) if text == SERVE]
    before, after = everything[:place], everything[place + 1 :]
    printed = run(folder, *(text for text, _ in before))
    server = start(folder, "--database", "preceptor.db", "--rate", 0)
    try:
        printed += run(folder, *(text.replace(ADDRESS, server.address) for text, _ in after))
    finally:
        assert server.stop() == 0
    return [(*block, said) for block, said in zip([*before, *after], printed, strict=True)]


def test_the_page_runs_from_the_template_to_the_analysis(tmp_path: Path) -> None:
    for program in ("bash", "perl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    for command, expected, said in played(tmp_path):
        if expected is not None:
            assert timeless(said) == timeless(expected), command


if __name__ == "__main__":  # put real outputs into the page
    import tempfile

    page = PAGE.read_text("utf-8")
    with tempfile.TemporaryDirectory() as made:
        for command, expected, said in played(Path(made)):
            if expected is not None:
                old = f"```bash\n{command}```\n\n```text\n{expected}```"
                assert page.count(old) == 1, command
                page = page.replace(old, f"```bash\n{command}```\n\n```text\n{tidy(said)}\n```")
    PAGE.write_text(page, "utf-8")
