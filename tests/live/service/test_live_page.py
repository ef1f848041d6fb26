"""docs/live.md does what it says: all of its commands, in one shell, against a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.service.shell_pages import DOCS, play
from tests.test_docs import tidy

pytestmark = pytest.mark.full

SERVE = "preceptor serve --plan plan.json --trust-this-machine\n"


def test_the_page_runs_from_the_plan_to_the_log(tmp_path: Path) -> None:
    ran = play(DOCS / "live.md", tmp_path, SERVE, "--plan", "plan.json", needs=("curl",))
    shown = {each.command: tidy(each.shown) for each in ran if each.shown is not None}
    assert {each.command: tidy(each.printed) for each in ran if each.shown is not None} == shown
