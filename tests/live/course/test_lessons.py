"""A trainee's way through a course, without a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.course.classroom import TraineeClient, course_in, teach, write_table
from tests.live.service.servers import Server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("course")
    write_table(made / "cases.csv")
    return made


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Server]:
    running = teach(folder)
    yield running
    assert running.stop() == 0, running.log.read_text()


def test_a_case_is_shown_answered_and_told(site: Server, folder: Path) -> None:
    ann = TraineeClient(site.address, "Ann")
    assert ann.page.title == "Welcome, Ann"
    page = ann.next()
    assert page.title == "Case 1"
    assert len(page.results) == 2
    course = course_in(folder / "course.db")
    columns = [course.problem.world.labels.index(name) for name in page.results]
    rows = [
        row
        for row in course.teaching.tolist()
        if course.values[row, columns].tolist() == list(page.results.values())
    ]
    assert rows, "the results are those of a case that may be taught"
    page = ann.answer("104,5")
    assert page.data["said"] == "104.5"
    assert float(page.data["truth"]) in course.outcomes[rows].tolist()
    assert page.title == "Case 1: the truth"


def test_every_tenth_case_is_a_check_on_a_case_set_aside(site: Server, folder: Path) -> None:
    course = course_in(folder / "course.db")
    bob = TraineeClient(site.address, "Bob")
    for number in range(1, 12):
        page = bob.next()
        is_check = number == 10
        assert page.title == (f"Case {number}: a check" if is_check else f"Case {number}")
        if is_check:
            check = course.checks[0]
            assert check.row not in course.teaching
            expected = dict(
                zip(
                    course.problem.world.name_of(check.shown),
                    course.values[check.row, list(check.shown)].tolist(),
                    strict=True,
                )
            )
            assert page.results == expected
        page = bob.answer("100")
        assert ("truth" in page.data) == (not is_check)
    assert bob.now().title == "Case 11: the truth"


def test_reload_double_click_and_second_tab_change_nothing(site: Server) -> None:
    cem = TraineeClient(site.address, "Cem")
    first = cem.page.form
    assert first is not None
    cem.next()
    shown = cem.page.results
    case = cem.page.form
    assert case is not None
    cem.take(cem.http.post(first.action, data=first.filled(do="next")))  # a double click
    assert (cem.page.title, cem.page.results) == ("Case 1", shown)
    assert cem.now().results == shown
    cem.answer("90")
    cem.take(cem.http.post(case.action, data=case.filled(do="answer", answer="90")))
    assert "The first answer counts" not in cem.text
    cem.take(cem.http.post(case.action, data=case.filled(do="answer", answer="91")))
    assert "The first answer counts" in cem.text
    assert cem.page.data["said"] == "90.0"
    cem.take(cem.http.post(case.action, data=case.filled(do="answer", answer="x")))
    assert "The first answer counts" in cem.text


def test_an_answer_that_cannot_be_read_is_asked_for_again(site: Server) -> None:
    dan = TraineeClient(site.address, "Dan")
    dan.next()
    for typed in ("", "a lot", "1e9", "nan", "1,234.5.6", "<script>alert(1)</script>"):
        dan.send(422, do="answer", answer=typed)
        assert dan.page.title == "Case 1"
        assert "<script>alert" not in dan.text
    assert dan.answer("100").title == "Case 1: the truth"


def test_the_same_command_continues(folder: Path, site: Server, tmp_path: Path) -> None:
    eve = TraineeClient(site.address, "Eve")
    eve.next()
    shown = eve.page.results
    cookie = dict(eve.http.cookies)
    again = teach(folder)
    later = TraineeClient(again.address)
    later.http.cookies.update(cookie)
    assert later.now().results == shown
    assert later.answer("101").title == "Case 1: the truth"
    assert again.stop() == 0
    assert "the same course" in again.log.read_text()
    assert eve.now().data["said"] == "101.0"


def test_joining_twice_with_one_form_joins_once(site: Server) -> None:
    gil = TraineeClient(site.address)
    gil.take(gil.http.get("/c"))
    form = gil.page.form
    assert form is not None
    # The browser may drop the cookie of the first response when the button is pressed again.
    for _ in range(2):
        gil.http.cookies.clear()
        gil.take(gil.http.post("/c", data=form.filled(name="Gil")))
        assert gil.page.title == "Welcome, Gil"
    short = TraineeClient(site.address)
    short.take(short.http.post("/c", data={"name": "Hal", "key": "x"}))
    assert len(dict(short.http.cookies)["trainee"]) == 43


def test_a_name_is_taken_once_and_a_personal_link_leads_back(site: Server) -> None:
    fay = TraineeClient(site.address, "Fay")
    fay.next()
    shown = fay.page.results
    other = TraineeClient(site.address)
    other.take(other.http.post("/c", data={"name": "  fAY "}), 409)
    assert "has joined already" in other.text
    fay.take(fay.http.get("/c/link"))
    fay.send()
    found = re.search(r"http://\S+/c/p/[\w-]+", fay.text)
    assert found is not None
    phone = TraineeClient(site.address)
    phone.take(phone.http.get(found.group()))
    assert "personal link of Fay" in phone.text
    phone.send()
    assert phone.page.results == shown
