"""Visitors with a real browser, and what must never happen to them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
)

# Milliseconds that a browser waits for something, on a machine that is busy with other tests.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)
WIDE, PHONE = (1200, 900), (320, 640)
_GRAVE = ("serious", "critical")
# A page says which of its parts was blocked, whatever its console says.
_WATCH = """addEventListener('securitypolicyviolation', event => {
  console.error(`CSP violation: ${event.violatedDirective} ${event.blockedURI}`)
})"""

_ABORTED = ("htmx:sendAbort", "htmx:afterRequest")


@dataclass
class Visitors:
    """Makes visitors of one site: `visitors(javascript=False, size=PHONE, dark=True)`.

    Whatever a browser complained about, and every request to another origin, is written down;
    `must_be_clean` is called when a test ends.
    """

    browser: Browser
    address: str
    contexts: list[BrowserContext] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    forgiven: list[str] = field(default_factory=list)

    def __call__(
        self,
        *,
        javascript: bool = True,
        size: tuple[int, int] = WIDE,
        dark: bool = False,
        address: str | None = None,
    ) -> Page:
        """A page of somebody new, without cookies; relative addresses are those of the site."""
        context = self.browser.new_context(
            base_url=address or self.address,
            java_script_enabled=javascript,
            viewport={"width": size[0], "height": size[1]},
            has_touch=size == PHONE,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
        )
        self.contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.add_init_script(_WATCH)
        origin = urlsplit(address or self.address).netloc

        def asked(request: Request) -> None:
            asked_of = urlsplit(request.url)
            if asked_of.scheme != "data" and asked_of.netloc != origin:
                self.left.append(request.url)

        context.on("request", asked)
        context.on("console", self._heard)
        context.on("weberror", lambda error: self.said.append(f"error: {error.error}"))
        return context.new_page()

    def _heard(self, message: ConsoleMessage) -> None:
        # htmx says so where a slider that moves on aborts what was asked for before.
        if message.text.startswith(_ABORTED):
            return
        if message.type in ("error", "warning", "assert"):
            self.said.append(f"{message.type}: {message.text}")

    def forgive(self, pattern: str) -> None:
        """A complaint that a test brings about itself, such as `status of 400`."""
        self.forgiven.append(pattern)

    def must_be_clean(self) -> None:
        """Close all pages; nothing was blocked, nothing failed, nothing left the origin."""
        for context in self.contexts:
            context.close()  # again, where a test has done so
        said = [
            each for each in self.said if not any(re.search(one, each) for one in self.forgiven)
        ]
        assert not said, said
        assert not self.left, f"requests left the origin: {self.left}"


def press(page: Page, name: str) -> None:
    """Click a button that sends a form, and wait until the page it leads to has loaded.

    A click by itself returns as soon as the new page begins to arrive.
    """
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()


def follow(page: Page, name: str) -> None:
    """Click a link, and wait until the page it leads to has loaded."""
    with page.expect_navigation():
        page.get_by_role("link", name=name).click()


def axe(page: Page) -> None:
    """Fails on what axe-core finds serious or critical."""
    found = Axe().run(page).response["violations"]
    grave = [
        f"{each['id']}: {each['help']} at {[node['target'] for node in each['nodes']]}"
        for each in found
        if each["impact"] in _GRAVE
    ]
    assert not grave, "\n".join(grave)


def is_within(page: Page) -> bool:
    """Whether the page is no wider than its window: nobody has to scroll sideways."""
    root = "document.documentElement"
    return bool(page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth"))
