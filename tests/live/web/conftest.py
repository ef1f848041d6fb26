"""A site that tests of a file share, and browsers that visit it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.live.service.servers import Server, start
from tests.live.web.browsing import Visitors


# Of a module, not of a session: while it is open, no other test of the process could run an event
# loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium as Debian ships it."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs a browser; install it: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One site for all tests of a file, on SQLite, without tokens."""
    folder = tmp_path_factory.mktemp("site")
    running = start(folder, "--database", folder / "live.db", "--rate", 0)
    yield running
    assert running.stop() == 0, running.log.read_text()


@pytest.fixture
def visitor(browser: Browser, site: Server) -> Iterator[Visitors]:
    """Makes visitors of the site; when the test ends, none of them may have had to complain."""
    made = Visitors(browser, site.address)
    yield made
    made.must_be_clean()
