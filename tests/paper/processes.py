"""Starting commands, waiting for something to happen, and ending what was started, by its id."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]


def start(*arguments: object, folder: Path) -> subprocess.Popen[str]:
    """`python ARGUMENTS` in the background; what it says goes to `folder/said`."""
    found = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])  # workers need tests
    environment = {**os.environ, "PYTHONPATH": found, "NO_COLOR": "1", "COLUMNS": "100"}
    with (folder / "said").open("a") as said:
        return subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            stdout=said,
            stderr=said,
            text=True,
            cwd=folder,
            env=environment,
        )


def preceptor(*arguments: object, folder: Path, seconds: float = 60.0):
    """The command, to its end."""
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-m", "preceptor", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=seconds,
        check=False,
    )


def wait_until(what: Callable[[], bool], seconds: float = 30.0, every: float = 0.002) -> bool:
    """Whether it became true in that time."""
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(every)
    return True


def is_over(process: psutil.Process) -> bool:
    """Ended, but perhaps not yet reaped."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def end(process: subprocess.Popen[str]) -> None:
    """End one process that we started, and wait for it."""
    if process.poll() is None:
        process.kill()
    process.wait(10)
