"""Trainees and a teacher with a real browser: on a phone, without JavaScript, in a full class."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from preceptor.live.course.simulated import simulated_class
from tests.live.course.classroom import course_in, teach, write_table
from tests.live.service.servers import Server
from tests.live.web.browsing import PHONE, Visitors, axe, follow, is_within, press
from tests.live.web.conftest import browser, visitor

__all__ = ["browser", "visitor"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("course")
    write_table(made / "cases.csv", 200, images=True)
    (made / "images").mkdir()
    for i, colour in enumerate(("red", "green", "blue")):
        Image.new("RGB", (90, 60), colour).save(made / "images" / f"case{i}.png")
    return made


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Server]:
    running = teach(
        folder, "--show", "hdl=file", "--media", folder / "images", "--feedback", "contrast"
    )
    yield running
    assert running.stop() == 0, running.log.read_text()


def heading(page: Page) -> str:
    return page.locator("h1").inner_text()


def looked_at(page: Page) -> None:
    """What must hold of every page."""
    expect(page.locator("h1")).to_be_visible()
    page.wait_for_load_state()
    assert is_within(page), heading(page)
    axe(page)


def join(page: Page, name: str) -> None:
    page.goto("/c")
    page.locator("#answer").fill(name)
    press(page, "Join")


@pytest.mark.parametrize("dark", [False, True])
def test_from_joining_to_a_check_on_a_phone(visitor: Visitors, dark: bool) -> None:
    page = visitor(size=PHONE, dark=dark)
    page.goto("/c")
    looked_at(page)
    page.locator("#answer").fill(f"Ann {dark}")
    press(page, "Join")
    looked_at(page)
    press(page, "First case")
    for number in range(1, 10):
        assert heading(page) == f"Case {number}"
        if number == 1:
            looked_at(page)
            assert page.locator(".strip .mark").count() >= 1
            press(page, "Answer")
            assert "Type a number" in page.locator(".faults").inner_text()
            looked_at(page)
            visitor.forgive("status of 422")
        page.locator("#answer").fill("98,5")
        press(page, "Answer")
        assert heading(page) == f"Case {number}: the truth"
        if number == 1:
            looked_at(page)
        press(page, "Next case")
    assert heading(page) == "Case 10: a check"
    page.locator("#answer").fill("98.5")
    press(page, "Answer")
    assert heading(page) == "Your answer is recorded"
    looked_at(page)
    assert page.locator("#truth").count() == 0
    follow(page, "Your progress")
    expect(page.locator("figure svg")).to_be_visible()
    looked_at(page)


def test_without_javascript_by_keyboard_and_on_another_device(visitor: Visitors) -> None:
    page = visitor(javascript=False)
    page.goto("/c")
    expect(page.locator("#answer")).to_be_focused()
    page.keyboard.type("Bob")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Welcome, Bob")
    expect(page.get_by_role("button", name="First case")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Case 1")
    expect(page.locator("#answer")).to_be_focused()
    page.keyboard.type("101")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Case 1: the truth")
    expect(page.get_by_role("button", name="Next case")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Case 2")
    shown = page.locator("#results dt").all_inner_texts()
    follow(page, "Continue on another device")
    press(page, "Show the address")
    address = page.locator("#address").inner_text()
    phone = visitor(size=PHONE, javascript=False)
    phone.goto(address)
    press(phone, "Continue")
    assert heading(phone) == "Case 2"
    assert phone.locator("#results dt").all_inner_texts() == shown
    phone.locator("#answer").fill("90")
    press(phone, "Answer")
    page.goto("/c/now")
    assert heading(page) == "Case 2: the truth"


def test_two_tabs_back_and_reload(visitor: Visitors) -> None:
    page = visitor()
    page.goto("/c")
    page.locator("#answer").fill("Cem")
    page.get_by_role("button", name="Join").dblclick()
    expect(page.locator("h1")).to_have_text("Welcome, Cem")
    press(page, "First case")
    other = page.context.new_page()
    other.goto("/c/now")
    page.locator("#answer").fill("100")
    press(page, "Answer")
    other.locator("#answer").fill("55")
    press(other, "Answer")
    assert "The first answer counts" in other.locator(".study-note").first.inner_text()
    assert other.locator("#said").get_attribute("value") == "100.0"
    page.go_back()
    assert heading(page) == "Case 1: the truth"
    page.reload()
    assert page.locator("#said").get_attribute("value") == "100.0"
    press(page, "Next case")
    press(other, "Next case")
    assert heading(page) == heading(other) == "Case 2"
    assert page.locator("#results").inner_text() == other.locator("#results").inner_text()
    page.locator("#answer").fill("77")
    page.get_by_role("button", name="Answer").dblclick()
    expect(page.locator("#said")).to_have_attribute("value", "77.0")


def test_an_image_in_place_of_a_number(visitor: Visitors) -> None:
    page = visitor(size=PHONE)
    join(page, "Dan")
    press(page, "First case")
    for _ in range(30):
        if page.locator("img.shown").count():
            break
        page.locator("#answer").fill("100")
        press(page, "Answer")
        press(page, "Next case")
    page.wait_for_load_state()
    image = page.locator("img.shown")
    assert image.get_attribute("alt") == "hdl of this case"
    assert image.evaluate("image => image.naturalWidth") == 90
    looked_at(page)


def test_the_class_page_moves_while_thirty_trainees_answer(
    visitor: Visitors, site: Server, folder: Path
) -> None:
    names = [f"Trainee {i}" for i in range(30)]
    made = simulated_class(course_in(folder / "course.db"), site.address, names)

    def play(each: object) -> None:
        page = each.join()  # type: ignore[attr-defined]
        while each.answers < 4:  # type: ignore[attr-defined]
            page = each.turn(page)  # type: ignore[attr-defined]
        each.http.close()  # type: ignore[attr-defined]

    teacher = visitor()
    teacher.goto("/class")
    teacher.evaluate("window.stays = true")
    threads = [threading.Thread(target=play, args=[each]) for each in made]
    for each in threads:
        each.start()
    rows = teacher.locator("table.class tbody tr", has_text=re.compile(r"Trainee \d+"))
    expect(rows).to_have_count(30)
    for each in threads:
        each.join()
    cells = [f"Trainee {i} (simulated)" for i in range(30)]
    for name in cells:
        row = teacher.locator("table.class tbody tr", has=teacher.get_by_text(name, exact=True))
        expect(row.locator("td").first).to_have_text("4")
    assert teacher.evaluate("window.stays") is True  # it was never loaded again
    axe(teacher)
    press(teacher, "Make a sheet of links")
    assert teacher.locator(".sheet .qr").count() >= 30
    axe(teacher)


def test_the_teacher_pauses_and_goes_on(visitor: Visitors) -> None:
    page, teacher = visitor(), visitor(dark=True)
    join(page, "Eve")
    teacher.goto("/class")
    axe(teacher)
    press(teacher, "Pause")
    expect(teacher.get_by_text("trainees get no new cases")).to_be_visible()
    page.goto("/c/now")
    assert heading(page) == "The course is paused"
    looked_at(page)
    press(teacher, "Go on")
    # Without anything that the trainee does.
    expect(page.get_by_role("button", name="First case")).to_be_visible()


def test_slider_and_german(visitor: Visitors, folder: Path, tmp_path: Path) -> None:
    write_table(tmp_path / "cases.csv")
    german = teach(tmp_path, "--language", "de", "--answer", "slider")
    page = visitor(size=PHONE, address=german.address)
    page.goto("/c")
    assert page.locator("html").get_attribute("lang") == "de"
    page.locator("#answer").fill("Fay")
    press(page, "Teilnehmen")
    press(page, "Erster Fall")
    slider = page.get_by_role("slider")
    assert slider.get_attribute("aria-valuetext") == "noch keine Antwort"
    looked_at(page)
    slider.focus()
    page.keyboard.press("ArrowRight")
    press(page, "Antworten")
    assert heading(page) == "Fall 1: was zutraf"
    looked_at(page)
    page.goto("/class")
    assert heading(page).startswith("Klasse")
    page.context.close()
    assert german.stop() == 0
