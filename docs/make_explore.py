"""Takes the pictures of `docs/explore.md`: python docs/make_explore.py (needs chromium).

Starts the explorer on body fat, looks at its pages with a browser as readers would, and writes what
it sees to `docs/assets/explore`, in few colours so that the files stay small.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

ASSETS = Path(__file__).with_name("assets") / "explore"
TABLE = Path(__file__).parents[1] / "tests" / "body_fat" / "body_fat.csv"
EXPLORE = ("explore", TABLE.name, "--outcome", "brozek", "--drop", "siri", "--drop", "density")
WIDE = {"viewport": {"width": 1200, "height": 1000}}
COLOURS = 160
PATIENCE = 120_000


@contextmanager
def running(*arguments: str) -> Iterator[str]:
    """The address of a command that serves pages as long as they are needed."""
    command = [sys.executable, "-m", "preceptor", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=TABLE.parent) as process:
        assert process.stderr is not None
        for line in process.stderr:
            found = re.search(r"Listening at (http://\S+)", line)
            if found:
                break
        try:
            yield found.group(1)
        finally:
            process.terminate()


def visit(browser: Browser, address: str, **look: object) -> Page:
    """A page of the explorer whose proof, and who would lose, have come."""
    page = browser.new_page(**look)
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    expect(page.locator("#losing")).to_be_visible(timeout=PATIENCE)
    return page


def keep(name: str, png: bytes) -> None:
    """Write a picture in few colours."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    small = image.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    path = ASSETS / f"{name}.png"
    small.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def main() -> None:
    ASSETS.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with running("serve", "--port", "0", "--database", f"{folder}/live.db") as address:
            page = browser.new_page(**WIDE)
            page.goto(address)
            keep("start", page.screenshot(clip={"x": 0, "y": 0, "width": 1200, "height": 560}))
        with running(*EXPLORE, "--no-browser") as address:
            look_around(browser, address)
        browser.close()


def look_around(browser: Browser, address: str) -> None:
    """The explorer's pages, one after the other."""
    page = visit(browser, f"{address}/explore?preset=two-tests", **WIDE)
    keep("two-tests", page.screenshot())
    page = visit(browser, f"{address}/explore?preset=own&half_life=10", **WIDE)
    keep("body-fat", page.screenshot())
    keep("people", page.locator("#people").screenshot())
    keep("take", page.locator("#take").screenshot())
    phone = {"viewport": {"width": 320, "height": 640}, "color_scheme": "dark"}
    page = visit(browser, f"{address}/explore?preset=five-tests", **phone)
    page.locator("#result").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#result').scrollIntoView()")
    keep("phone", page.screenshot())
    page = browser.new_page(**WIDE)
    page.goto(f"{address}/explore?half_life=fast&tests=9")
    keep("refused", page.screenshot(clip={"x": 0, "y": 0, "width": 1200, "height": 260}))


if __name__ == "__main__":
    main()
