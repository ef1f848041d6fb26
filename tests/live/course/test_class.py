"""The teacher's side: who may see it, what it changes, what it downloads; hostile visitors."""

from __future__ import annotations

import io
import json
import re
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas
import pytest

from preceptor.live.course.lesson import CourseTutors
from preceptor.live.course.progress import standing
from preceptor.live.service.guides import PlanCache
from preceptor.live.store import courses, rounds
from preceptor.live.store.checking import check
from preceptor.live.store.database import Store
from tests.live.course.classroom import TraineeClient, course_in, teach, write_table
from tests.live.service.servers import Server, caller
from tests.live.study.psych_ds import psych_ds_faults


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_table(tmp_path / "cases.csv")
    return tmp_path


@pytest.fixture
def site(folder: Path) -> Iterator[Server]:
    running = teach(folder)
    yield running
    assert running.stop() == 0, running.log.read_text()


def do(site: Server, **given: str) -> str:
    """Send a form of the class page."""
    answer = site.http.post("/class", data=given, follow_redirects=True)
    assert answer.status_code == 200, answer.text
    return answer.text


def id_of(site: Server, name: str) -> str:
    found = re.search(rf'value="([0-9a-f]+)">{name}</option>', site.http.get("/class").text)
    assert found is not None
    return found.group(1)


def test_pause_pace_and_end(site: Server) -> None:
    ann = TraineeClient(site.address, "Ann")
    ann.next()
    do(site, do="pause")
    ann.answer("100")
    assert "The course is paused" in ann.text
    assert ann.page.form is None
    do(site, do="resume")
    ann.now()
    do(site, do="settings", picks="cases", pace="2")
    ann.next()
    ann.answer("101")
    assert "You have done all 2 cases" in ann.text
    do(site, do="settings", picks="tests", pace="")
    assert ann.now().form is not None
    do(site, do="end")
    assert ann.now().title == "The course has ended"
    assert "You have done 2 cases" in ann.text
    late = TraineeClient(site.address)
    late.take(late.http.post("/c", data={"name": "Late"}))
    assert late.page.title == "This course has ended"
    do(site, do="resume")
    ann.now()
    assert ann.next().title == "Case 3"


def test_what_the_tutor_picks_can_be_switched(site: Server, folder: Path) -> None:
    bob = TraineeClient(site.address, "Bob")
    bob.next()
    bob.answer("100")
    do(site, do="settings", picks="tests", pace="")
    bob.next()
    bob.answer("100")
    with Store(str(folder / "course.db")) as store:
        played = store.read(lambda c: rounds.all_of(c, courses.everyone(c)[0].id))
    assert [each.opened_with["picks"] for each in played] == ["cases", "tests"]
    course = course_in(folder / "course.db")
    assert played[1].case_number == course.row_at(1, played[1].person)
    refused = site.http.post("/class", data={"do": "settings", "picks": "plan", "pace": ""})
    assert refused.status_code == 422


def test_add_remove_and_erase(site: Server, folder: Path) -> None:
    do(site, do="add", names="Cem\n  Dora  Lee\n\ncem\nEve")
    sheet = site.http.post("/class/links").text
    links = dict(re.findall(r"<strong>([^<]+)</strong><br><code>([^<]+)</code>", sheet))
    assert list(links) == ["Cem", "Dora Lee", "Eve"]
    clients = {}
    for name, link in links.items():
        client = clients[name] = TraineeClient(site.address)
        client.take(client.http.get(link))
        assert f"personal link of {name}" in client.text
        client.send()
        client.next()
        client.answer("100")
    do(site, do="remove", who=id_of(site, "Cem"))
    assert clients["Cem"].http.get("/c/now").url.path == "/c"
    assert TraineeClient(site.address).http.get(links["Cem"]).status_code == 404
    dora = id_of(site, "Dora Lee")
    assert site.http.post("/class", data={"do": "erase", "who": dora}).status_code == 422
    do(site, do="erase", who=dora, sure="yes")
    assert clients["Dora Lee"].http.get("/c/now").url.path == "/c"
    assert "Dora" not in site.http.get("/class").text
    with Store(str(folder / "course.db")) as store:
        assert [each.name for each in store.read(courses.everyone)] == ["Cem", "Eve"]
        found = store.read(lambda c: check(c, PlanCache().columns_of))
        assert found.faults == ()
        assert found.rounds == 2
    assert clients["Eve"].now().title == "Case 1: the truth"


def test_the_class_page_sends_only_what_has_changed(site: Server) -> None:
    first = site.http.get("/class").text
    version = re.search(r"seen=([0-9a-f]+)", first)
    assert version is not None
    assert site.http.get(f"/class/now?seen={version.group(1)}").status_code == 204
    TraineeClient(site.address, "Fay")
    changed = site.http.get(f"/class/now?seen={version.group(1)}")
    assert changed.status_code == 200
    assert "Fay" in changed.text
    assert "has not begun" in changed.text


def test_what_comes_next_is_what_comes(site: Server) -> None:
    def announced() -> tuple[str, ...]:
        found = re.findall(r"(?:a check, )?case \d+: [^;<]+", site.http.get("/class").text)
        return tuple(found)

    ivy = TraineeClient(site.address, "Ivy")
    for number in range(11):
        before = announced()
        assert len(before) == 1
        assert before[0].startswith("a check") == (number == 9)
        ivy.next()
        assert announced() == before
        assert set(before[0].split(": ")[1].split(", ")) == set(ivy.page.results)
        ivy.answer("100")
    do(site, do="pause")
    assert "has to wait" in site.http.get("/class").text


def test_downloads(site: Server, folder: Path, tmp_path: Path) -> None:
    gil = TraineeClient(site.address, "=Gil")
    for number in range(11):
        gil.next()
        gil.answer(str(100 + number))
    book = site.http.get("/class/course.xlsx")
    sheets = pandas.read_excel(io.BytesIO(book.content), sheet_name=None, engine="openpyxl")
    assert sheets["trainees"]["trainee"].tolist() == ["'=Gil"]
    cases = sheets["cases"]
    assert cases["answer"].tolist() == [100.0 + number for number in range(11)]
    assert cases["is_check"].tolist() == [number == 9 for number in range(11)]
    with Store(str(folder / "course.db")) as store:
        played = store.read(lambda c: rounds.all_of(c, courses.everyone(c)[0].id))
    assert cases["outcome"].tolist() == [each.outcome for each in played]
    shown = [dict(zip(each.shown, each.values, strict=True)) for each in played]
    for i, row in cases[["bmi", "bp", "age", "hdl"]].iterrows():
        assert row.dropna().to_dict() == shown[i]
    archive = zipfile.ZipFile(io.BytesIO(site.http.get("/class/course.zip").content))
    archive.extractall(tmp_path / "out")
    assert psych_ds_faults(tmp_path / "out" / "course") == []
    text = "".join(each.read_text() for each in (tmp_path / "out").rglob("*") if each.is_file())
    assert "Gil" not in text
    said = json.loads((tmp_path / "out" / "course" / "dataset_description.json").read_text())
    assert said["name"] == "Cases"


def test_the_page_says_what_the_library_computes(site: Server, folder: Path) -> None:
    hal = TraineeClient(site.address, "Hal")
    for _ in range(22):
        hal.next()
        hal.answer("100")
    course = course_in(folder / "course.db")
    with Store(str(folder / "course.db")) as store:
        trainee = store.read(courses.everyone)[0]
        played = store.read(lambda c: rounds.all_of(c, trainee.id))
    tutor = CourseTutors(course).of(trainee.id, played)
    found = standing(course, trainee, tutor, played)
    text = site.http.get("/class").text
    first, last = found.curve.alone[0][1], found.curve.alone[-1][1]
    assert f"{last:.2f} (from {first:.2f})" in text
    # A trainee who always says the same weighs every test that matters too little.
    assert found.wrong
    assert all(abs(each.share) < 0.5 for each in found.wrong)
    assert "of the weight it deserves" in text


def test_others_need_the_teachers_token(folder: Path) -> None:
    site = teach(folder, "--host", "0.0.0.0", "--address", "https://class.example.org")
    said = site.log.read_text()
    assert "plain text over http" in said
    assert "Trainees: https://class.example.org/c" in said
    token = re.search(r"shown once: (\S+)", said)
    assert token is not None
    with caller(site.address.replace("0.0.0.0", "127.0.0.1"), follow_redirects=True) as http:
        for path in ("/class", "/class/now", "/class/course.xlsx", "/class/course.zip"):
            assert http.get(path).url.path == "/studies/enter"
        assert http.post("/class", data={"do": "end"}).url.path == "/studies/enter"
        assert http.post("/class/links").url.path == "/studies/enter"
        assert http.post("/c", data={"name": "Bot", "kind": "bot"}).status_code == 401
        form = {"token": token.group(1), "back": "/class"}
        entered = http.post("/studies/enter", data=form, follow_redirects=False)
        assert entered.headers["location"] == "/class"
        cookie = entered.headers["set-cookie"]
        assert "Secure" in cookie, "it is for the proxy's https only"
        page = http.get("/class", headers={"Cookie": cookie.partition(";")[0]})
        assert page.url.path == "/class"
        assert "https://class.example.org/c" in page.text
    assert site.stop() == 0
    again = teach(folder, "--host", "0.0.0.0")
    assert "shown once" not in again.log.read_text()
    assert "shown before" in again.log.read_text()
    assert again.stop() == 0


HOSTILE = ["", " ", "\u202eevil", "a\x00b", "x" * 61, "\n"]


def test_hostile_names(site: Server) -> None:
    for name in HOSTILE:
        client = TraineeClient(site.address)
        client.take(client.http.post("/c", data={"name": name}), 422)
    markup = "<script>alert(1)</script>"
    TraineeClient(site.address, markup)
    TraineeClient(site.address, "'; DROP TABLE person; --")
    TraineeClient(site.address, "{{ 7 * 7 }}")
    text = site.http.get("/class").text
    assert markup not in text
    assert "&lt;script&gt;" in text
    assert "{{ 7 * 7 }}" in text
    assert "DROP TABLE" in text


def test_forged_forms_change_nothing(site: Server, folder: Path) -> None:
    ivy, jan = TraineeClient(site.address, "Ivy"), TraineeClient(site.address, "Jan")
    ivy.next()
    jan.next()
    form = ivy.page.form
    assert form is not None
    stolen = form.filled(do="answer", answer="1")
    # Another trainee's form, none, and steps that are not there.
    jan.take(jan.http.post("/c/now", data=stolen))
    assert "out of date" in jan.text
    jan.take(jan.http.post("/c/now", data={"do": "answer", "answer": "1", "step": "0"}))
    for step in ("1", "99999", "-1", "-5", "1e3", "x", "9" * 400, ""):
        jan.now()
        assert jan.page.form is not None
        data = {**jan.page.form.filled(answer="1", do="answer"), "step": step}
        jan.take(jan.http.post("/c/now", data=data))
        assert jan.page.title == "Case 1"
        jan.take(jan.http.post("/c/now", data={**data, "do": "next"}))
        assert jan.page.title == "Case 1"
    with Store(str(folder / "course.db")) as store:
        for each in store.read(courses.everyone):
            played = store.read(lambda c, who=each.id: rounds.all_of(c, who))
            assert [one.prediction for one in played] == [None]
    for cookie in ("x", "../../etc", "a" * 5000):
        client = TraineeClient(site.address)
        assert client.http.get("/c/now", headers={"cookie": f"trainee={cookie}"}).url.path == "/c"
    for path in ("/c/p/none", "/c/p/..%2f..", "/c/media/0/0", "/c/media/x/y"):
        assert TraineeClient(site.address).http.get(path).status_code in (200, 404, 422)
    elsewhere = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
    for path in ("/class", "/class/links", "/c"):
        answer = site.http.post(path, data={"do": "end", "name": "x"}, headers=elsewhere)
        assert answer.status_code == 403
    for data in ({"do": "erase", "who": "none", "sure": "yes"}, {"do": "remove", "who": ""}):
        assert site.http.post("/class", data=data).status_code == 404
    assert site.http.post("/class", data={"do": "fly"}).status_code == 422
    assert site.http.post("/class", data={"do": "add", "names": "a\n" * 300}).status_code == 422


@pytest.mark.full
def test_the_demonstration_moves_and_keeps_nothing(tmp_path: Path) -> None:
    site = teach(tmp_path, "--demo", table=False)
    cells: list[str] = []
    while len(cells) < 6 or "0" in cells:  # until all six have answered
        text = site.http.get("/class").text
        cells = re.findall(r"\(simulated\)</small></th><td class=\"number\">(\d+)", text)
        time.sleep(0.2)
    assert len(cells) == 6
    assert site.stop() == 0
    assert not (tmp_path / "course.db").exists()
    kept = re.search(r"kept in (\S+)", site.log.read_text())
    assert kept is not None
    assert not Path(kept.group(1)).exists()
