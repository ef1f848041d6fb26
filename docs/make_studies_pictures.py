"""The pictures of docs/participants.md and docs/studies.md: pages, as a browser draws them.

Those that the page shows are in docs/assets/studies; others are not kept.

    python docs/make_studies_pictures.py [folder]

Needs Chromium. Goes through the decisive experiment as a participant would, and looks at another
study, in which bots take part, as its owner would; their sites are thrown away at the end.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from preceptor.cli._serving import own_server, own_site
from preceptor.live.bots import StudyBots
from preceptor.live.store.database import Store
from preceptor.live.study.config import Instructions
from preceptor.live.study.opening import open_study
from preceptor.live.study.registration import template
from preceptor.live.study.study import Study
from preceptor.simulation.named import human_named

FOLDER = Path(__file__).parent / "assets" / "studies"
WIDE, PHONE = {"width": 640, "height": 560}, {"width": 320, "height": 568}
LARGE = {"width": 900, "height": 700}
OWNER = {
    "your name": "lab@example.org",
    "your institution": "the Example Institute",
    "amount": "3 euros through the site that led you here",
    "what happens": "everything that you have answered is erased",
    "where": "kept for ten years and published without names",
    "ethics": "the institute's review board, number 12-34",
    "what else": "Write to lab@example.org if you would like to hear what came out.",
}


def study(**outcome: Any) -> Study:
    """The decisive experiment, with something in place of what its owner has to write."""
    said = tomllib.loads(re.sub(r"\[\[([^\]\"]* [^\]\"]*)\]\]", _filled, template("decisive")))
    said["outcome"] |= outcome
    said["contact"] = "lab@example.org"
    return Study.from_dict(said)


def _filled(found: re.Match[str]) -> str:
    """What an owner might write where the template leaves it to them."""
    asked = " ".join(found.group(1).split())
    return next((text for begins, text in OWNER.items() if asked.startswith(begins)), "…")


# The right choice of each question of the quiz.
QUIZ = {
    str(number): str(question.right)
    for block in study().configuration.block
    if isinstance(block, Instructions)
    for number, question in enumerate(block.question)
}


class Walker:
    """A participant who takes a picture of each page that is new."""

    def __init__(self, page: Page, address: str, folder: Path, prefix: str = "") -> None:
        self.page, self.address, self.folder, self.prefix = page, address, folder, prefix
        self.taken: set[str] = set()

    def take(self, name: str) -> None:
        """One picture, once."""
        if name not in self.taken:
            self.taken.add(name)
            path = self.folder / f"{self.prefix}{name}.png"
            self.page.screenshot(path=path, full_page=True, animations="disabled")
            # Pages have few colours, and readers of the docs have to load them.
            Image.open(path).convert("RGB").quantize(48).save(path, optimize=True)

    def press(self, name: str) -> None:
        """A button; wait for the page that it leads to."""
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=name, exact=True).click()

    def begin(self) -> None:
        """Up to the first question of the quiz."""
        self.page.goto(self.address)
        self.take("landing")
        self.press("Begin")
        self.take("consent")
        self.page.locator("#agree").check()
        self.press("Continue")
        self.take("instructions")
        self.press("Continue")
        self.press("Continue")

    def quiz(self, **changed: str) -> None:
        """Answers by number of question."""
        for question, choice in (QUIZ | changed).items():
            self.page.locator(f"#question-{question}-{choice}").check()
        self.press("Continue")

    def step(self, answer: str) -> None:
        """Take a picture of a page and go on."""
        title = self.page.locator("h1").inner_text()
        page, kind = self.page, _kind(title)
        if page.locator("#answer").count():
            page.locator("#answer").fill("42" if "42" in page.inner_text("main") else answer)
            if "77" in page.inner_text("main"):
                page.locator("#answer").fill("77")
            if kind == "case" and "told" not in self.taken and "Plants" in page.inner_text("main"):
                self.take("case")
            elif kind != "case":
                self.take(kind)
            self.press("Answer")
        else:
            self.take(kind)
            with page.expect_navigation():
                page.locator("main form button").first.click()


def _kind(title: str) -> str:
    if title.startswith("Case"):
        return "told" if "outcome" in title else "case"
    known = {"A break": "break", "A short question": "check", "Thank you": "end"}
    return known.get(title, "debrief" if title.startswith("What this") else "block")


def whole(browser: Browser, address: str, folder: Path) -> None:
    """One participant from the first page to the last."""
    context = browser.new_context(viewport=WIDE, device_scale_factor=1, reduced_motion="reduce")
    walker = Walker(context.new_page(), address, folder)
    page = walker.page
    walker.begin()
    walker.take("quiz")
    walker.quiz(**{"1": "1"})
    walker.take("quiz-missed")
    walker.press("Continue")
    walker.press("Continue")
    walker.quiz()
    while page.locator("#code").count() == 0:
        if "case" in walker.taken and "error" not in walker.taken:
            other = context.new_page()
            other.goto(page.url)
            second = Walker(other, address, folder)
            page.locator("#answer, main form button").first.wait_for()
            if page.locator("#answer").count():
                page.locator("#answer").fill("about 100")
                walker.press("Answer")
                walker.take("error")
                other.locator("#answer").fill("99")
                second.press("Answer")
                page.locator("#answer").fill("101")
                walker.press("Answer")
                walker.take("elsewhere")
            other.close()
        walker.step("104")
    walker.take("end")
    context.close()


def others(browser: Browser, address: str, folder: Path) -> None:
    """A phone in the dark, the link to another device, and a participant who does not agree."""
    context = browser.new_context(viewport=PHONE, color_scheme="dark", has_touch=True)
    walker = Walker(context.new_page(), address, folder, "phone-")
    walker.begin()
    walker.quiz()
    while walker.page.locator("#said").count() == 0:
        walker.step("93")
    walker.take("told")
    walker.page.goto(f"{address}/link")
    walker.press("Show the address")
    # The address of a site that is gone by now; its picture shows where it stands.
    walker.page.locator("#address").evaluate(
        "e => e.textContent = 'https://studies.example.org/s/decisive/p/Jm3kT0x…'"
    )
    walker.take("link")
    walker.page.goto(f"{address}/withdraw")
    walker.take("withdraw")
    walker.press("Withdraw")
    walker.take("withdrawn")
    context.close()
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    page.goto(address)
    walker = Walker(page, address, folder)
    walker.press("Begin")
    walker.press("I do not want to take part")
    walker.take("no-consent")
    context.close()
    context = browser.new_context(viewport=WIDE)
    walker = Walker(context.new_page(), address, folder)
    walker.taken = {"landing", "consent", "instructions"}
    walker.begin()
    for _ in range(2):
        walker.quiz(**{"0": "1"})
        walker.press("Continue")
        walker.press("Continue")
    walker.quiz(**{"0": "1"})
    walker.take("screened-out")
    context.close()


def slider(browser: Browser, address: str, folder: Path) -> None:
    """A slider before and after it was touched."""
    context = browser.new_context(viewport=WIDE)
    walker = Walker(context.new_page(), address, folder)
    walker.taken = {"landing", "consent", "instructions"}
    walker.begin()
    walker.quiz()
    walker.press("Continue")
    walker.page.locator("#answer").wait_for()
    walker.take("slider-empty")
    for _ in range(7):
        walker.page.get_by_role("slider").press("ArrowRight")
    walker.take("slider")
    context.close()


def owner(browser: Browser, folder: Path) -> None:
    """The owner's pages of a study in which 20 bots took part, of whom some left."""
    said = re.sub(r"\[\[([^\]\"]* [^\]\"]*)\]\]", _filled, template("plan-or-fixed"))
    made = Study.from_dict(tomllib.loads(said))
    with tempfile.TemporaryDirectory() as kept:
        database = str(Path(kept) / "live.db")
        with Store(database) as store:
            open_study(store, made)
        with own_server(database) as address:
            human = human_named(made.problem, "delta-rule", 5.0)
            StudyBots(f"{address}/s/{made.id}", 20, human, drop_out=0.3).play(connections=2)
            there = f"{address}/studies/{made.id}"
            context = browser.new_context(viewport=LARGE, reduced_motion="reduce")
            walker = Walker(context.new_page(), address, folder, "owner-")
            for name in ("allocation", "participants", "check", "registration"):
                walker.page.goto(f"{there}/{name}?kind=bot")
                walker.take(name)
            for name, size in (("study", LARGE), ("phone", PHONE)):
                walker.page.set_viewport_size(size)
                walker.page.goto(f"{there}?kind=bot")
                walker.take(name)
            context.close()


def main(folder: Path) -> None:
    """All pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        with own_site(study()) as address:
            whole(browser, address, folder)
            others(browser, address, folder)
        with own_site(study(answer="slider")) as address:
            slider(browser, address, folder)
        owner(browser, folder)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
