"""docs/live.md does what it says: all of its commands, in one shell, against a real server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.servers import start
from tests.test_docs import blocks, tidy

PAGE = Path(__file__).parents[2] / "docs" / "live.md"
SERVE = "preceptor serve --plan plan.json\n"
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


def test_the_page_runs_from_the_plan_to_the_log(tmp_path):
    for program in ("bash", "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    everything = shown_blocks()
    [place] = [i for i, (text, _) in enumerate(everything) if text == SERVE]
    run(tmp_path, *(text for text, _ in everything[:place]))
    server = start(tmp_path, "--plan", "plan.json")
    try:
        after = everything[place + 1 :]
        printed = run(tmp_path, *(text.replace(ADDRESS, server.address) for text, _ in after))
    finally:
        assert server.stop() == 0
    assert len(printed) == len(after)
    shown = {text: tidy(expected) for text, expected in after if expected is not None}
    got = {text: tidy(said) for (text, _), said in zip(after, printed, strict=True)}
    assert {text: got[text] for text in shown} == shown
