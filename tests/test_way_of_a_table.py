"""A table goes through few rooms, in the order that docs/architecture.md says."""

from __future__ import annotations

import os
import re
import sys
from itertools import groupby
from pathlib import Path
from types import FrameType

import pytest

import preceptor as pr

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "preceptor"
INSIDE = f"{PACKAGE}{os.sep}"
CONDUCTORS = {str(PACKAGE / "advice" / name) for name in ("advising.py", "advice.py")}
# What every room may use says nothing about where one is.
EVERYWHERE = {"_base", "errors", "__init__"}


def room_of(frame: FrameType) -> str | None:
    file = frame.f_code.co_filename
    if not file.startswith(INSIDE) or frame.f_code.co_name.startswith("<"):
        return None
    name = Path(file.removeprefix(INSIDE)).parts[0].removesuffix(".py")
    return None if name in EVERYWHERE else name


def rooms_entered(work) -> list[str]:
    """Rooms in the order in which the conductors in `advice` enter them, and themselves.

    What those rooms call in turn is their own business: whoever follows them need not
    open another door.
    """
    entered: list[str] = []

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        room = room_of(frame) if event == "call" else None
        if room is None:
            return
        caller = frame.f_back
        while caller is not None and room_of(caller) is None:
            caller = caller.f_back
        files = [each.f_code.co_filename for each in (frame, caller) if each is not None]
        if CONDUCTORS & set(files):
            entered.append(room)

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return [name for name, _ in groupby(entered)]


@pytest.fixture
def table(tmp_path):
    drawn = pr.World.equicorrelated([2.0, 1.0, -1.0], 0.5, 0.5).sample(60, rng=1)
    lines = [",".join(f"{v:.6f}" for v in (*row, y)) for row, y in zip(*drawn, strict=True)]
    path = tmp_path / "cases.csv"
    path.write_text("\n".join(["bmi,bp,age,y", *lines]) + "\n")
    return path


def test_the_way_is_short_and_as_the_page_says(table, tmp_path):
    def work() -> None:
        advice = pr.advise(table, "y", tests=1, half_life=1, cases=4, person="by-showings")
        advice.save(tmp_path / "plan.json", tmp_path / "report.html")

    work()  # whatever is loaded only once is loaded now
    way = rooms_entered(work)
    assert len(way) - 1 <= 15
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    written = page.split("### One table, step by step", 1)[1].split("\n##", 1)[0]
    line = re.search(r"^> (.*)$", written, re.MULTILINE)
    assert line is not None
    assert re.findall(r"`(\w+)`", line.group(1)) == way
