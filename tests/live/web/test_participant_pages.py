"""Participants with a real browser: by keyboard, without JavaScript, on a phone, in two tabs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Page, expect

import preceptor as pr
from preceptor.live.store.database import Store
from preceptor.live.study.study import Study
from tests.live.service.servers import LEARNER, WORLD, Server, start
from tests.live.study.opened import open_study, small_study
from tests.live.study.test_answers_with_more import with_confidence
from tests.live.study.test_delay import BLOCKS as DELAYED
from tests.live.study.test_survey import with_survey
from tests.live.web.browsing import PHONE, Visitors, axe, follow, is_within, press

LIMITS = {"unit": "points", "low": -10, "high": 10}


def _yes_no(risk: pr.YesNoRisk) -> dict[str, object]:
    world = pr.World(
        WORLD.coefficients, WORLD.covariance, names=WORLD.names, outcome=pr.Binary(0.4)
    )
    return pr.Problem(world, LEARNER, 2, horizon=8, risk=risk).to_dict()


def _study(**changes: Any) -> Study:
    """The small study, open to anybody who has its address."""
    return small_study(recruiting={"parameter": None}, **changes)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A site with a study for each way to answer."""
    folder = tmp_path_factory.mktemp("study")
    with Store(str(folder / "live.db")) as store:
        open_study(store, _study())
        open_study(store, _study(id="slider", outcome={"answer": "slider", **LIMITS}))
        decides = {"problem": _yes_no(pr.Decision()), "outcome": {"unit": "", "name": "Ill"}}
        open_study(store, _study(id="decides", **decides))
        open_study(store, _study(id="sure", block=with_confidence()))
        open_study(store, _study(id="survey", block=with_survey()))
        open_study(store, _study(id="later", block=DELAYED))
        percent = {"problem": _yes_no(pr.Brier()), "outcome": {"unit": "", "name": "Ill"}}
        open_study(store, _study(id="percent", **percent))
    running = start(folder, "--database", folder / "live.db", "--rate", 0)
    yield running
    assert running.stop() == 0, running.log.read_text()


def heading(page: Page) -> str:
    return page.locator("h1").inner_text()


def go_on(page: Page) -> None:
    """Fill in whatever a page asks, with the mouse, and send it."""
    title = heading(page)
    if title == "Consent":
        page.get_by_label("I have read this").check()
        return press(page, "Continue")
    if title == "A few questions":
        page.get_by_label("A score").check()
        page.get_by_label("Results").check()
        return press(page, "Continue")
    if page.locator("#answer").count():
        page.locator("#answer").fill("7")
        return press(page, "Answer")
    return press(page, "Finish" if title.startswith("What this study") else "Continue")


def to_the_end(page: Page, look=lambda page: None) -> list[str]:
    """From Begin to the code; `look` is called on every page."""
    page.goto("/s/small")
    look(page)
    press(page, "Begin")
    seen = [heading(page)]
    while seen[-1] != "Thank you":
        look(page)
        go_on(page)
        seen.append(heading(page))
    look(page)
    expect(page.locator("#code")).to_have_text("DONE-1")
    return seen


def test_from_the_link_to_the_code_every_kind_of_page_is_readable(visitor: Visitors):
    page = visitor()
    known: set[str] = set()

    def look(page: Page) -> None:
        kind = re.sub(r"\d+", "", heading(page))
        if kind not in known:
            axe(page)
        known.add(kind)
        before = page.locator("main").inner_html()
        page.reload()
        assert page.locator("main").inner_html() == before

    assert len(to_the_end(page, look)) == 17
    back = page.get_by_role("link", name="Return to the site you came from")
    expect(back).to_have_attribute("href", "https://recruiter.example/back?cc=DONE-1")


def test_the_same_without_javascript_on_a_dark_phone(visitor: Visitors):
    """Nobody has to scroll sideways, and there is never much to choose from."""
    page = visitor(javascript=False, size=PHONE, dark=True)

    def look(page: Page) -> None:
        assert is_within(page), heading(page)
        assert page.locator("input:visible, button:visible").count() <= 6

    assert len(to_the_end(page, look)) == 17
    page.goto("/s/small/withdraw")
    assert is_within(page)


def enter(page: Page) -> None:
    """Press Enter on what has the keyboard, and wait for the next step."""
    step = page.locator("input[name=step]")
    before = step.input_value()
    expect(page.locator("button:focus, input:focus")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(step).not_to_have_value(before)


def test_the_keyboard_is_enough(visitor: Visitors):
    """Enter sends; what is asked for has the keyboard already."""
    page = visitor()
    page.goto("/s/small")
    # A page may be there a moment before its button has the keyboard.
    expect(page.get_by_role("button", name="Begin")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Consent")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.locator("#agree:focus").count():
            break
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    for _ in range(2):
        expect(page.locator("h1")).to_have_text("Instructions")
        enter(page)
    expect(page.locator("h1")).to_have_text("A few questions")
    expect(page.locator("input[type=radio]:focus")).to_have_count(1)
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Results")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Case 1 of 1")
    while heading(page) != "What this study was about":
        if page.locator("#answer").count():
            expect(page.locator("#answer")).to_be_focused()
            page.keyboard.type("7")
        enter(page)
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.locator("button:focus").count():
            break
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Thank you")


def test_errors_are_summed_up_and_tied_to_their_field(visitor: Visitors):
    visitor.forgive("status of 422")
    page = visitor()
    page.goto("/s/small")
    press(page, "Begin")
    press(page, "Continue")
    expect(page.get_by_role("alert")).to_contain_text("Tick the box")
    axe(page)
    for _ in range(3):
        go_on(page)
    press(page, "Continue")
    axe(page)
    page.get_by_role("link", name="Question 2 has no answer yet.").click()
    assert page.url.endswith("#question-1")
    go_on(page)
    page.locator("#answer").fill("about 7")
    press(page, "Answer")
    expect(page.get_by_role("alert")).to_contain_text("“about 7” is no number")
    expect(page.locator("#answer")).to_have_value("about 7")
    expect(page.locator("#answer")).to_have_attribute("aria-invalid", "true")
    assert page.title().startswith("Error: ")
    axe(page)


def test_two_tabs_and_the_back_button(visitor: Visitors):
    first = visitor()
    first.goto("/s/small")
    press(first, "Begin")
    while heading(first) != "Case 1 of 3":
        go_on(first)
    second = first.context.new_page()
    second.goto("/s/small/now")
    assert second.locator("#results").inner_text() == first.locator("#results").inner_text()
    go_on(first)
    second.locator("#answer").fill("3")
    press(second, "Answer")
    expect(second.get_by_role("status")).to_contain_text("answered already")
    expect(second.locator("#said")).to_have_text("7.0 points")
    axe(second)
    press(second, "Continue")
    press(first, "Continue")
    expect(first.locator("h1")).to_have_text("A short question")
    first.go_back()  # pages are not kept, so this is where the study is
    expect(first.locator("h1")).to_have_text("A short question")
    go_on(second)
    first.locator("#answer").fill("5")
    press(first, "Answer")
    expect(first.locator("h1")).to_have_text("Case 2 of 3")
    go_on(second)
    first.locator("#answer").fill("5")
    press(first, "Answer")
    expect(first.get_by_role("status")).to_contain_text("The study has moved on")


def test_a_double_click_answers_once(visitor: Visitors):
    page = visitor()
    page.goto("/s/small")
    press(page, "Begin")
    while heading(page) != "Case 1 of 3":
        go_on(page)
    page.locator("#answer").fill("2,5")
    page.get_by_role("button", name="Answer").dblclick(no_wait_after=True)
    expect(page.locator("h1")).to_have_text("Case 1 of 3: the outcome")
    expect(page.locator("#said")).to_have_text("2.5 points")


def at_first_case(page: Page, study: str) -> None:
    page.goto(f"/s/{study}")
    press(page, "Begin")
    while not heading(page).startswith("Case"):
        go_on(page)


def test_a_slider_starts_empty_and_shows_its_value(visitor: Visitors):
    visitor.forgive("status of 422")
    page = visitor(size=PHONE)
    at_first_case(page, "slider")
    slider, field = page.get_by_role("slider"), page.locator("#answer")
    expect(field).to_have_value("")
    expect(slider).to_have_attribute("aria-valuetext", "no answer yet")
    axe(page)
    assert is_within(page)
    press(page, "Answer")
    expect(page.get_by_role("alert")).to_contain_text("the field is empty")
    slider.press("ArrowRight")
    expect(field).to_have_value("0.1")
    box = slider.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(field).to_have_value(re.compile("0.[01]"))
    field.fill("-3,5")
    expect(slider).to_have_value("-3.5")
    field.fill("30")
    press(page, "Answer")
    expect(page.get_by_role("alert")).to_contain_text("from −10 to 10")
    page.locator("#answer").fill("3")
    press(page, "Answer")
    expect(page.locator("h1")).not_to_have_text("Case 1 of 1")


def test_yes_or_no_and_percent(visitor: Visitors):
    visitor.forgive("status of 422")
    page = visitor()
    at_first_case(page, "decides")
    press(page, "Answer")
    expect(page.get_by_role("alert")).to_contain_text("Choose one of the two answers")
    axe(page)
    page.get_by_label("Yes").check()
    press(page, "Answer")  # the practice case
    press(page, "Continue")
    page.get_by_label("Yes").check()
    press(page, "Answer")
    expect(page.locator("#said")).to_have_text("Yes")
    expect(page.locator(".lead")).to_contain_text(re.compile("right"))
    page = visitor(javascript=False)
    at_first_case(page, "percent")
    expect(page.get_by_role("slider")).to_have_count(0)
    page.get_by_label("How likely: Ill").fill("70,5")
    press(page, "Answer")
    press(page, "Continue")
    page.get_by_label("How likely: Ill").fill("70,5")
    press(page, "Answer")
    expect(page.locator("#said")).to_have_text("70.5%")


def test_confidence_and_time_come_with_an_answer(visitor: Visitors, site: Server):
    visitor.forgive("status of 422")
    page = visitor(size=PHONE)
    at_first_case(page, "sure")
    go_on(page)  # practice does not ask
    press(page, "Continue")
    axe(page)
    assert is_within(page)
    page.locator("#answer").fill("7")
    press(page, "Answer")
    expect(page.get_by_role("alert")).to_contain_text("Choose how sure you are.")
    expect(page.locator("#answer")).to_have_value("7")
    axe(page)
    before = float(page.locator("input[name=elapsed]").input_value())
    page.get_by_label("7: completely").check()
    with page.expect_request("**/now") as sent:
        press(page, "Answer")
    form = dict(parse_qsl(sent.value.post_data or ""))
    assert float(form["elapsed"]) >= before >= 0.0
    assert form["confidence"] == "7"
    expect(page.locator("#said")).to_have_text("7.0 points")


@pytest.mark.parametrize("javascript", [True, False])
def test_a_survey_by_keyboard_on_a_phone(visitor: Visitors, javascript: bool):
    visitor.forgive("status of 422")
    page = visitor(javascript=javascript, size=PHONE)
    page.goto("/s/survey")
    press(page, "Begin")
    go_on(page)
    expect(page.locator("h1")).to_have_text("About you")
    assert is_within(page)
    if javascript:  # axe is a script
        axe(page)
    press(page, "Continue")
    expect(page.get_by_role("alert").get_by_role("link")).to_have_count(3)
    if javascript:
        axe(page)
    assert is_within(page)
    page.get_by_role("alert").get_by_role("link").first.click()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.get_by_label("Nurse")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("2", exact=True)).to_be_checked()
    expect(page.get_by_label("5: fully")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.type("42")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Instructions")


def test_the_page_that_says_when_to_come_back_is_readable(visitor: Visitors):
    page = visitor(size=PHONE)
    page.goto("/s/later")
    press(page, "Begin")
    for _ in range(2):  # training
        page.locator("#answer").fill("7")
        press(page, "Answer")
        press(page, "Continue")
    page.locator("#answer").fill("7")
    press(page, "Answer")
    expect(page.get_by_role("heading", name="A week later")).to_be_visible()
    expect(page.get_by_text("Your place is kept until")).to_be_visible()
    expect(page.get_by_role("button")).to_have_count(0)
    axe(page)
    assert is_within(page)
    link = page.get_by_role("main").get_by_role("link")
    expect(link).to_have_attribute("href", "/s/later/link")


def test_withdrawal_asks_once_and_is_done(visitor: Visitors):
    page = visitor()
    at_first_case(page, "small")
    follow(page, "Withdraw")
    axe(page)
    follow(page, "Continue with the study")
    expect(page.locator("h1")).to_have_text("Case 1 of 1")
    follow(page, "Continue on another device")
    press(page, "Show the address")
    axe(page)
    other = visitor()
    other.goto(page.locator("#address").inner_text())
    axe(other)
    press(other, "Continue")
    expect(other.locator("h1")).to_have_text("Case 1 of 1")
    assert "/p/" not in other.url
    follow(page, "Withdraw")
    press(page, "Withdraw")
    expect(page.locator("h1")).to_have_text("You have withdrawn")
    axe(page)
    assert page.context.cookies() == []
    other.reload()
    expect(other.locator("h1")).to_have_text("Guess the score")
