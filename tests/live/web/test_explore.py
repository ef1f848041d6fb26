"""The explorer in a real browser: sliders, links, keyboard, no JavaScript, other screens."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.body_fat import TABLE
from tests.live.service.servers import start
from tests.live.web.browsing import PHONE, axe, is_within, press

SAVING = ".saving"


def timeline(page: Page) -> str:
    return page.locator("#timeline").inner_html()


def move(page: Page, name: str, value: float) -> None:
    """As a hand would: to that share of the slider's way."""
    page.get_by_label(name, exact=True).fill(str(value))


def rest(page: Page) -> None:
    """Until the proof has come."""
    expect(page.locator("#result")).to_have_attribute("data-proven", "yes")


@pytest.fixture
def page(visitor) -> Page:
    made = visitor()
    made.goto("/explore")
    return made


def test_dragging_a_slider_changes_the_picture_and_the_link_restores_it(page, visitor):
    before = timeline(page)
    slider = page.get_by_label("Half-life", exact=True)
    box = slider.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.1, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=5)
    page.mouse.up()
    expect(page.locator("output[for=half_life]")).to_have_text(
        re.compile(r"^(2|3)\d[.\d]* showings$")
    )
    expect(page).to_have_url(re.compile("half_life=[23]"))
    rest(page)
    after = timeline(page)
    assert after != before
    address = page.locator("#link").inner_text()
    assert page.url == address
    other = visitor()
    other.goto(address)
    rest(other)
    assert timeline(other) == after
    assert slider.input_value() == other.get_by_label("Half-life", exact=True).input_value()


def test_proof_and_people_come_when_sliders_rest(page):
    expect(page.locator("#result")).to_have_attribute("data-proven", "no")
    rest(page)
    expect(page.locator("#losing")).to_be_visible()
    expect(page.locator("#proof")).to_contain_text("Lower bound")
    expect(page.locator(SAVING)).to_contain_text(
        re.compile(r"At most 0\.0\d*% above the best possible plan")
    )
    expect(page.locator("#losing tbody tr")).to_have_count(9)
    expect(page.locator("#losing tr.worst")).to_have_count(1)
    expect(page.locator("#status")).to_contain_text("saves")


def test_next_move_does_not_wait_for_a_proof(page, visitor):
    """A slider that moves on while a proof is under way gets its own answer, and its own proof."""
    visitor.forgive("htmx:(afterRequest|sendAbort)")  # what htmx says of a proof that it gave up
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    with page.expect_request("**/explore/proof*"):
        move(page, "Correlation", 0.5)
    with page.expect_response("**/explore/result*"):
        move(page, "Correlation", 0.2)
    rest(page)
    expect(page).to_have_url(re.compile("correlation=0.2"))
    last = [url for url in asked if "/explore/proof" in url][-1]
    assert "correlation=0.2" in last


def test_keyboard_is_enough(page):
    before = page.locator(SAVING).inner_text()
    page.get_by_label("Correlation", exact=True).focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("output[for=correlation]")).to_have_text("0.5")
    expect(page.locator(SAVING)).not_to_have_text(before)
    page.keyboard.press("Tab")
    expect(page.get_by_label("Half-life", exact=True)).to_be_focused()
    page.keyboard.press("End")
    expect(page).to_have_url(re.compile("half_life=60"))


def test_all_of_it_works_without_javascript(visitor):
    page = visitor(javascript=False)
    page.goto("/explore")
    before = timeline(page)
    page.get_by_label("Cases", exact=True).fill("40")
    page.get_by_label("it ends").check()
    press(page, "Draw the plan")
    assert "cases=40" in page.url
    assert "ends=yes" in page.url
    assert timeline(page) != before
    expect(page.locator("output[for=cases]")).to_have_text("40 cases")
    expect(page.get_by_text("Copy the link")).to_be_hidden()
    press(page, "See who would lose")
    expect(page.locator("#losing")).to_be_visible()
    expect(page.locator("#result")).to_have_attribute("data-proven", "yes")


def test_axe_finds_nothing_serious_on_any_screen(visitor):
    page = visitor()
    page.goto("/explore?preset=two-tests&half_life=3&cases=10&ends=yes&proof=yes")
    expect(page.locator("#losing")).to_be_visible()
    axe(page)
    page.emulate_media(color_scheme="dark")
    axe(page)
    page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    axe(page)
    assert is_within(page)


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/explore?half_life=fast", "half_life: &#39;fast&#39;, must be a number from 1 to 60"),
        ("/explore?preset=three-tests", "preset: &#39;three-tests&#39; is not known"),
        ("/explore?preset=own", "preset: &#39;own&#39; is not known"),
        ("/explore?preset=diabetes&correlation=0.5", "correlation: is not known"),
    ],
)
def test_addresses_that_do_not_fit_are_refused(site, path, fault):
    page = site.http.get(path, headers={"Accept": "text/html"})
    assert page.status_code == 422
    assert fault in page.text
    part = site.http.get(path.replace("explore", "explore/result"), headers={"HX-Request": "true"})
    assert part.status_code == 422
    assert fault in part.text
    assert "<html" not in part.text
    assert part.headers["hx-reswap"] == "innerHTML"


def test_other_sites_cannot_call_through_a_browser(site):
    answer = site.http.get("/explore", headers={"Host": "elsewhere.example"})
    assert answer.status_code == 403


def test_too_many_requests_are_refused(site):
    answers = [site.http.get("/explore?half_life=x").status_code for _ in range(90)]
    assert answers[0] == 422
    assert answers[-1] == 429


def explored(tmp_path, table, outcome, *drop):
    """`preceptor explore` with a table."""
    dropped = [word for column in drop for word in ("--drop", column)]
    given = [table, "--outcome", outcome, *dropped, "--no-browser"]
    return start(tmp_path, *given, ready=False, command="explore")


def test_command_explores_a_table(visitor, tmp_path):
    running = explored(tmp_path, TABLE, "brozek", "siri", "density")
    try:
        page = visitor(address=running.address)
        page.goto("/")
        expect(page).to_have_url(re.compile("preset=own"))
        expect(page.get_by_role("heading", name="body_fat.csv")).to_be_visible()
        move(page, "Half-life", 10)
        expect(page.locator("output[for=half_life]")).to_have_text("10 showings")
        expect(page).to_have_url(re.compile("half_life=10"))
        rest(page)
        expect(page.get_by_text("No link can hold a table of your own")).to_be_visible()
        expect(page.locator("#command")).to_contain_text(
            "body_fat.csv --outcome brozek --drop siri --drop density"
        )
        other = visitor(address=running.address)
        other.goto(page.url)
        expect(other.locator("output[for=half_life]")).to_have_text("10 showings")
        for each in visitor.contexts:
            each.close()
    finally:
        assert running.stop() == 0, running.log.read_text()


@pytest.mark.full
def test_words_of_a_table_stay_words(tmp_path):
    """What stands in a file never becomes a part of the page."""
    rows = [f"{i % 7},{(i * 5) % 11},{i % 7 + 0.3 * (i % 3)}" for i in range(40)]
    path = tmp_path / "<b>x<b>.csv"
    path.write_text("\n".join(['<script>a</script>,"b"" onload=x",y', *rows]) + "\n")
    running = explored(tmp_path, path, "y")
    try:
        text = running.http.get("/explore?preset=own", timeout=60.0).text
        assert "<script>a" not in text
        assert "<b>x" not in text
        assert "&lt;script&gt;a" in text
    finally:
        assert running.stop() == 0, running.log.read_text()


@pytest.mark.full
def test_service_without_an_explorer(tmp_path):
    running = start(tmp_path, "--database", tmp_path / "live.db", "--no-explorer")
    try:
        assert running.http.get("/explore").status_code == 404
        assert "/explore" not in running.http.get("/").text
    finally:
        assert running.stop() == 0, running.log.read_text()
