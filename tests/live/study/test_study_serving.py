"""`preceptor serve` and `study preview`: who finds what where, and what is left at the end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.live.service.servers import Forked, sign_in
from tests.live.study.files import SMALL, small_file
from tests.live.study.played import opened

pytestmark = pytest.mark.full

PATIENCE = 60.0


class Running:
    """A command that serves until it is told to stop; with an environment of its own if asked."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.log = folder / f"{arguments[0]}.log"
        self.log.touch()
        self.process: Forked | subprocess.Popen[bytes]
        if not environment:
            self.process = Forked(self.log, folder, [*arguments])
            return
        command = [sys.executable, "-m", "preceptor", *arguments]
        own = {**os.environ, **environment}
        with self.log.open("w") as file:
            self.process = subprocess.Popen(
                command, stdout=file, stderr=subprocess.STDOUT, env=own, cwd=folder
            )

    def says(self, pattern: str) -> re.Match[str]:
        """What it says, once it says so."""
        end = time.monotonic() + PATIENCE
        while (found := re.search(pattern, self.log.read_text())) is None:
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.02)
        return found

    def stop(self) -> int:
        """As systemd would."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def test_everybody_is_told_where_to_go(tmp_path: Path) -> None:
    opened(tmp_path)[0].close()
    running = Running(tmp_path, "serve", "--database", "live.db", "--port", "0")
    try:
        address = running.says(r"Listening at (http://\S+)").group(1)
        participants = running.says(r"Participants: (\S+)").group(1)
        owner = running.says(r"Owner, to sign in once: (\S+)").group(1)
        assert participants == f"{address}/s/two-tests"
        assert "Begin" in httpx.get(participants, timeout=PATIENCE).text
        assert owner.startswith(f"{address}/studies/enter?")
        with sign_in(owner) as http:
            assert http.get("/studies").status_code == 200
    finally:
        assert running.stop() == 0


def test_a_preview_leaves_nothing_behind(tmp_path: Path) -> None:
    there = tmp_path / "tmp"
    there.mkdir()
    small_file(tmp_path, SMALL.replace("lab@example.org", "[[your name]]"))
    running = Running(tmp_path, "study", "preview", "study.toml", "--no-browser", TMPDIR=str(there))
    try:
        link = running.says(r"(http://\S+/s/two-tests/p/\S+)").group(1)
        assert httpx.get(link, timeout=PATIENCE).status_code == 200
        owner = running.says(r"Owner, to sign in once: (\S+)").group(1)
        with sign_in(owner) as http:
            assert "Previews (1)" in http.get("/studies/two-tests").text
        assert not (tmp_path / "preceptor.db").exists()
        assert list(there.glob("preceptor-*/preview.db"))
    finally:
        assert running.stop() == 0
    assert not list(there.glob("preceptor-*"))
