"""Participants without a browser: they read pages and send forms, as a browser would."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import uuid4

import httpx

from preceptor.live.bot_pages import ReadPage, read_page
from tests.live.service.servers import caller

# What gets somebody through a page of the small study.
GOOD = {
    "Consent": {"agree": "yes", "choice": "yes"},
    "A few questions": {"question-0": "1", "question-1": "2"},
    "A short question": {"answer": "7"},
}


@dataclass
class Somebody:
    """One browser: cookies of its own, and the page that it shows."""

    address: str
    study: str = "small"
    http: httpx.Client = field(init=False)
    answer: httpx.Response = field(init=False)

    def __post_init__(self) -> None:
        headers = {"Accept": "text/html"}
        self.http = caller(self.address, follow_redirects=True, headers=headers)

    @property
    def page(self) -> ReadPage:
        """What they see."""
        return read_page(self.answer.text)

    @property
    def text(self) -> str:
        """The page as it was sent."""
        return self.answer.text

    @property
    def title(self) -> str:
        """Its heading."""
        return self.page.title

    @property
    def stage(self) -> int | None:
        """The step that it asks about."""
        return self.page.stage

    def get(self, path: str = "/now") -> Somebody:
        """Load a page of the study."""
        self.answer = self.http.get(f"/s/{self.study}{path}")
        return self

    def post(self, path: str = "/now", **form: str) -> Somebody:
        """Send a form of one's own making."""
        self.answer = self.http.post(f"/s/{self.study}{path}", data=form)
        return self

    def join(self, recruiter: str | None = None) -> Somebody:
        """Press Begin, under a name that the recruiter gave."""
        return self.post("", recruiter=uuid4().hex if recruiter is None else recruiter)

    def fill(self, **given: str) -> Somebody:
        """Fill in the form of the page and send it."""
        form = self.page.form
        assert form is not None, self.text
        self.answer = self.http.post(form.action, data=form.filled(**given))
        return self

    def skip_outcome(self) -> Somebody:
        """As somebody would who reads well: agrees, is right in the quiz, answers 1.5."""
        title = self.title
        given = GOOD.get(title)
        if given is None:
            given = {"answer": "1.5"} if _asks(self.page) else {}
        return self.fill(**given)

    def until(self, title: str, most: int = 60) -> Somebody:
        """Go on until a page has this heading."""
        for _ in range(most):
            if self.title.startswith(title):
                return self
            self.skip_outcome()
        raise AssertionError(f"{title!r} never came; {self.title!r} is here")

    def close(self) -> None:
        """Close the browser."""
        self.http.close()


def _asks(page: ReadPage) -> bool:
    return page.form is not None and "answer" in page.form.values | page.form.choices
