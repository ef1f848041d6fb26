"""Pages whose commands are run as they stand against a real server."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.live.service.servers import start
from tests.test_docs import blocks, shell

DOCS = Path(__file__).parents[3] / "docs"
_ADDRESS = "http://127.0.0.1:8000"
_MARK = "--- next block ---"


@dataclass(frozen=True)
class Ran:
    """A block of commands, what the page says they print (None: nothing) and what they printed."""

    command: str
    shown: str | None
    printed: str


def in_process(folder: Path, commands: list[str]) -> list[str]:
    """What each block prints, line by line; our own commands need no new process each."""
    with contextlib.chdir(folder):
        return ["".join(map(shell, block.splitlines())) for block in commands]


def in_one_shell(folder: Path, commands: list[str]) -> list[str]:
    """What each block prints, in one shell that stops at the first command that fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"\necho '{_MARK}'\n".join(commands)],
        cwd=folder,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr
    return done.stdout.split(f"{_MARK}\n")


def play(
    page: Path,
    folder: Path,
    serve: str,
    *options: object,
    needs: tuple[str, ...],
    run: Callable[[Path, list[str]], list[str]] = in_one_shell,
) -> list[Ran]:
    """Run all blocks of a page; in place of `serve`, a server with these options is started."""
    for program in ("bash", *needs):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    everything = _blocks(page)
    [place] = [i for i, (command, _) in enumerate(everything) if command == serve]
    before, after = everything[:place], everything[place + 1 :]
    printed = run(folder, [command for command, _ in before])
    server = start(folder, *options)
    try:
        printed += run(folder, [c.replace(_ADDRESS, server.address) for c, _ in after])
    finally:
        assert server.stop() == 0
    return [Ran(*block, said) for block, said in zip([*before, *after], printed, strict=True)]


def _blocks(page: Path) -> list[tuple[str, str | None]]:
    """Commands, each with what they print if the page shows that."""
    found: list[tuple[str, str | None]] = []
    for block in blocks(page.read_text("utf-8")):
        if block.language == "text":
            found[-1] = (found[-1][0], block.text)
        elif block.language == "bash":
            found.append((block.text, None))
        else:
            assert block.language == "ini", "parts of study files, to read"
    return found
