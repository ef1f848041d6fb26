"""Pages for people: what they load, what they say when something is wrong, and to whom."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from preceptor.live.web.headers import POLICY
from tests.live.web.browsing import PHONE, axe, is_within

LOOKS = [{}, {"size": PHONE}, {"dark": True}, {"javascript": False}]


@pytest.mark.parametrize("look", LOOKS, ids=["wide", "phone", "dark", "without JavaScript"])
def test_first_page_leads_to_the_explorer(visitor, look):
    page = visitor(**look)
    page.goto("/")
    expect(page.get_by_role("link", name="Explore plans")).to_have_attribute("href", "/explore")
    assert page.locator("html").get_attribute("lang") == "en"
    if look.get("javascript", True):
        axe(page)
        assert is_within(page)


@pytest.mark.smoke
def test_keyboard_reaches_the_main_part_first(visitor):
    page = visitor()
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to main content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_watch_sees_what_a_page_must_not_do(visitor):
    """The fixture itself: blocked scripts and requests to elsewhere are noticed."""
    page = visitor()
    page.goto("/")
    with page.expect_console_message(lambda message: "CSP violation" in message.text):
        page.evaluate("document.body.append(new Image())")
        page.evaluate("document.body.lastChild.src = 'http://elsewhere.invalid/picture'")
    assert any("CSP violation" in said for said in visitor.said)
    visitor.said.clear()
    visitor.left.clear()


def test_pages_have_strict_headers(site):
    answer = site.http.get("/", headers={"Accept": "text/html"})
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "style=" not in answer.text
    assert "<script>" not in answer.text


def test_files_are_kept_only_under_their_present_name(site):
    page = site.http.get("/").text
    (named,) = re.findall(r'href="(/static/site\.css\?v=\w+)"', page)
    assert "immutable" in site.http.get(named).headers["cache-control"]
    for other in ("/static/site.css", "/static/site.css?v=0"):
        answer = site.http.get(other)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.headers.get_list("cache-control") == ["no-cache"]
    assert site.http.get("/static/..%2Fpages.py").status_code == 404


def test_browsers_get_pages_and_programs_get_problems(site):
    page = site.http.get("/nowhere", headers={"Accept": "text/html"})
    assert page.status_code == 404
    assert "There is no such page" in page.text
    assert page.headers["content-security-policy"] == POLICY
    for path, accept in (("/nowhere", "*/*"), ("/v1/people/nobody", "text/html")):
        problem = site.http.get(path, headers={"Accept": accept})
        assert problem.status_code == 404
        assert problem.headers["content-type"] == "application/problem+json"


def test_forms_that_are_too_long_are_refused(site):
    answer = site.http.post("/", content=b"x" * 70_000, headers={"Accept": "text/html"})
    assert answer.status_code == 413
    assert "65,536 bytes" in answer.text
