"""The pictures of docs/teach.md: every page of a course, as a browser draws it.

    python docs/make_teach_pictures.py [folder]

Needs Chromium. Teaches the built-in example to simulated trainees and to one who is photographed,
on a site of its own that is thrown away at the end.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from preceptor.live.course.course import course_of, read
from preceptor.live.course.simulated import simulated_class
from preceptor.live.store.database import Store

FOLDER = Path(__file__).parent / "assets" / "teach"
SHOWN = set(
    re.findall(
        r"assets/teach/([\w-]+)\.png", (Path(__file__).parent / "teach.md").read_text("utf-8")
    )
)
WIDE, PHONE = {"width": 640, "height": 560}, {"width": 320, "height": 568}
CLASS = {"width": 1280, "height": 900}
# Cases that the simulated trainees have answered before the pictures are taken.
CASES = 35


@contextmanager
def site(folder: Path, *arguments: str) -> Iterator[str]:
    """A course of its own; gives its address."""
    said = folder / "said.txt"
    command = [sys.executable, "-m", "preceptor", "teach", "--port", "0", "--rate", "0"]
    if "--demo" not in arguments:
        command.append("--trust-this-machine")
    with said.open("w") as file:
        serving = subprocess.Popen([*command, *arguments], stderr=file, cwd=folder)
    try:
        while not (found := re.search(r"Listening at (\S+)", said.read_text())):
            assert serving.poll() is None, said.read_text()
            time.sleep(0.1)
        yield found.group(1)
    finally:
        serving.terminate()
        serving.wait()


def take(page: Page, folder: Path, name: str, **clip: float) -> None:
    """One picture, if the page shows it; `clip` limits it to a part."""
    if name not in SHOWN:
        return
    path = folder / f"{name}.png"
    part = {"clip": {"x": 0.0, "width": float(CLASS["width"]), **clip}} if clip else {}
    page.screenshot(path=path, full_page=True, animations="disabled", **part)
    # Pages have few colours, and readers of the docs have to load them.
    Image.open(path).convert("RGB").quantize(48).save(path, optimize=True)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def trainee(page: Page, address: str, folder: Path, prefix: str = "") -> None:
    """Join, answer up to the first check, look at the progress."""
    page.goto(f"{address}/c")
    take(page, folder, f"{prefix}join")
    page.locator("#answer").fill("Gil" if not prefix else "Hal")
    press(page, "Join")
    take(page, folder, f"{prefix}welcome")
    press(page, "First case")
    for number, typed in enumerate([160, 95, 180, 210, 120, 150, 90, 140, 200], start=1):
        if number == 1:
            page.locator("#answer").fill("a lot")
            press(page, "Answer")
            take(page, folder, f"{prefix}error")
        if number == 2:
            take(page, folder, f"{prefix}case")
        page.locator("#answer").fill(str(typed))
        press(page, "Answer")
        if number == 2:
            take(page, folder, f"{prefix}told")
        press(page, "Next case")
    take(page, folder, f"{prefix}check")
    page.locator("#answer").fill("150")
    press(page, "Answer")
    take(page, folder, f"{prefix}recorded")
    press(page, "Next case")
    page.get_by_role("link", name="Your progress").click()
    take(page, folder, f"{prefix}progress")
    page.get_by_role("link", name="Continue on another device").click()
    press(page, "Show the address")
    take(page, folder, f"{prefix}link")


def main(folder: Path) -> None:
    """Take all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium")
    assert chromium is not None, "needs Chromium"
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as kept:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with site(Path(kept), "--feedback", "contrast") as address:
            with Store(f"{kept}/course.db") as store:
                course = course_of(*store.read(read))
            for each in simulated_class(course, address):
                shown = each.join()
                while each.answers < CASES:
                    shown = each.turn(shown)
                each.turn(shown)
                each.http.close()
            page = browser.new_page(viewport=WIDE)
            trainee(page, address, folder)
            phone = browser.new_context(viewport=PHONE, color_scheme="dark").new_page()
            trainee(phone, address, folder, "phone-")
            teacher = browser.new_page(viewport=CLASS)
            teacher.goto(f"{address}/class")
            settings = teacher.get_by_role("heading", name="Settings").bounding_box()
            whole = teacher.evaluate("document.documentElement.scrollHeight")
            assert settings is not None
            middle = settings["y"] - 16.0
            take(teacher, folder, "class", y=0.0, height=middle)
            take(teacher, folder, "class-settings", y=middle, height=whole - middle)
            press(teacher, "Make a sheet of links")
            take(teacher, folder, "links")
            teacher.goto(f"{address}/class")
            press(teacher, "Pause")
            page.goto(f"{address}/c/now")
            page.locator("#answer").fill("150")
            press(page, "Answer")
            take(page, folder, "paused")
        for name, more in {
            "german": ["--language", "de"],
            "slider": ["--answer", "slider"],
        }.items():
            inside = Path(kept) / name
            inside.mkdir()
            with site(inside, *more) as address:
                page.goto(f"{address}/c")
                page.locator("#answer").fill("Gil")
                page.locator("main button").click()
                page.locator("main button").click()
                take(page, folder, name)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
