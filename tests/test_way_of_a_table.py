"""`advise` calls the modules that docs/architecture.md lists, in that order."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from types import FrameType

import pytest

import preceptor as pr

ROOT = Path(__file__).parents[1]
INSIDE = f"{ROOT / 'src' / 'preceptor'}{os.sep}"
ADVISING = "advice/advising.py"
# Every module may use these, and they say nothing about the way of a table.
EVERYWHERE = ("_base/", "errors.py", "__init__.py")
# A value whose attributes are read, not a step.
RESULT = "data/world_estimate.py"


def module_of(frame: FrameType) -> str | None:
    file = frame.f_code.co_filename
    if not file.startswith(INSIDE) or frame.f_code.co_name.startswith("<"):
        return None
    name = Path(file.removeprefix(INSIDE)).as_posix()
    return None if name.startswith(EVERYWHERE) or name.endswith("__init__.py") else name


def modules_called(work) -> list[str]:
    """Modules that `advice/advising.py` calls, in the order of the last call to each.

    The last, because options are checked before anything else happens.
    """
    called: list[str] = []

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        module = module_of(frame) if event == "call" else None
        if module is None:
            return
        caller = frame.f_back
        while caller is not None and module_of(caller) is None:
            caller = caller.f_back
        if caller is not None and module_of(caller) == ADVISING:
            called.append(module)

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return [name for name in dict.fromkeys(called[::-1]) if name not in (ADVISING, RESULT)][::-1]


@pytest.fixture
def table(tmp_path):
    drawn = pr.World.equicorrelated([2.0, 1.0, -1.0], 0.5, 0.5).sample(60, rng=1)
    lines = [",".join(f"{v:.6f}" for v in (*row, y)) for row, y in zip(*drawn, strict=True)]
    path = tmp_path / "cases.csv"
    path.write_text("\n".join(["bmi,bp,age,y", *lines]) + "\n")
    return path


def test_a_table_passes_the_modules_that_the_page_lists(table):
    def work() -> None:
        options = {"tests": 1, "half_life": 1, "cases": 4, "person": "by-showings"}
        pr.advise(table, "y", **options, simple=2, verify=True)

    work()  # imports happen now, so that they are not recorded
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    section = page.split("### A table", 1)[1].split("\n#", 1)[0]
    assert re.findall(r"^\d\. `([\w/.]+)`", section, re.MULTILINE) == modules_called(work)
