"""The pictures of docs/studies.md: the owner's pages while simulated people take part.

    python docs/make_owner_pictures.py [folder]

Needs Chromium. Fifty bots go through a study on a site of its own that is thrown away at the end.
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from preceptor.cli._serving import own_site
from preceptor.live.bots import StudyBots
from preceptor.live.study.registration import template
from preceptor.live.study.study import Study
from preceptor.simulation.named import human_named

FOLDER = Path(__file__).parent / "assets" / "studies"
WIDE, PHONE = {"width": 900, "height": 900}, {"width": 320, "height": 640}


def study() -> Study:
    """A plan against the best fixed set, with nothing left to write."""
    text = re.sub(r"\[\[([^\]\"]* [^\]\"]*)\]\]", "as agreed", template("plan-or-fixed"))
    return Study.from_dict(tomllib.loads(text) | {"contact": "lab@example.org"})


def take(page: Page, name: str, folder: Path, *, whole: bool = True) -> None:
    """One picture, of the whole page or of what a window shows of it."""
    path = folder / f"owner-{name}.png"
    page.screenshot(path=path, full_page=whole, animations="disabled")
    # Pages have few colours, and readers of the docs have to load them.
    Image.open(path).convert("RGB").quantize(48).save(path, optimize=True)


def main(folder: Path) -> None:
    """All pictures."""
    made = study()
    with own_site(made) as address, sync_playwright() as playwright:
        human = human_named(made.problem, None, 6.0)
        StudyBots(address, 30, human, drop_out=0.15).play(4)
        StudyBots(address, 20, human, prefix="late-", drop_out=0.9).play(4)
        site = f"{urlsplit(address).scheme}://{urlsplit(address).netloc}/studies"
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport=WIDE)
        page.goto(f"{site}/{made.id}?kind=bot")
        take(page, "study", folder)
        page.goto(f"{site}/{made.id}/allocation?kind=bot")
        page.set_viewport_size({"width": 900, "height": 600})
        take(page, "allocation", folder, whole=False)
        page.goto(f"{site}/{made.id}/check")
        take(page, "check", folder)
        page.goto(f"{site}/{made.id}/registration")
        page.set_viewport_size({"width": 900, "height": 1100})
        take(page, "registration", folder, whole=False)
        phone = browser.new_page(viewport=PHONE, color_scheme="dark", has_touch=True)
        phone.goto(f"{site}/{made.id}?kind=bot")
        take(phone, "phone", folder, whole=False)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
