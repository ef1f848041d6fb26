"""Other outcomes, other results: yes or no, percent, categories, gaps, images, plans, German."""

from __future__ import annotations

import csv
import html
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import preceptor as pr
from preceptor.errors import InvalidInput
from preceptor.live.course.media import check_images, image_path
from preceptor.live.course.simulated import simulated_class
from preceptor.live.store.tables import NotFound
from tests.live.course.classroom import TraineeClient, course_in, teach, write_table

pytestmark = pytest.mark.full


def _image(path: Path, colour: str) -> None:
    Image.new("RGB", (8, 8), colour).save(path)


def test_yes_or_no(tmp_path: Path) -> None:
    write_table(tmp_path / "cases.csv", is_binary=True)
    site = teach(tmp_path, "--feedback", "contrast")
    ann = TraineeClient(site.address, "Ann")
    assert "of 100 cases are “ill”" in ann.text or "of 100 cases are “well”" in ann.text
    ann.next()
    assert ann.page.form is not None
    assert list(ann.page.form.choices["answer"]) == ["1", "0"]
    ann.send(422, do="answer")
    said = ann.answer("1")
    right = said.data["truth"] == "1.0"
    assert ("That was right." in ann.text) == right
    for _ in range(14):
        ann.next()
        ann.answer("0")
    assert site.stop() == 0


def test_percent(tmp_path: Path) -> None:
    write_table(tmp_path / "cases.csv", is_binary=True)
    site = teach(tmp_path, "--answer", "percent")
    bob = TraineeClient(site.address, "Bob")
    bob.next()
    bob.send(422, do="answer", answer="120")
    assert "is not between 0 and 100 percent" in bob.text
    told = bob.answer("70")
    assert told.data["said"] == "0.7"
    assert f"You gave the truth {70 if told.data['truth'] == '1.0' else 30}%." in bob.text
    assert site.stop() == 0


@pytest.mark.parametrize("answer", ["yes-no", "percent"])
def test_simulated_trainees_answer_yes_or_no(tmp_path: Path, answer: str) -> None:
    write_table(tmp_path / "cases.csv", is_binary=True)
    site = teach(tmp_path, "--answer", answer)
    each = simulated_class(course_in(tmp_path / "course.db"), site.address, ["Ada"])[0]
    page = each.join()
    while each.answers < 12:
        page = each.turn(page)
    each.http.close()
    assert site.stop() == 0


def test_categories_and_gaps(tmp_path: Path) -> None:
    drawn = np.random.default_rng(1)
    with (tmp_path / "cases.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["grade", "age", "bp", "y"])
        for i in range(80):
            grade, age, bp = "ABC"[i % 3], drawn.normal(50, 9), drawn.normal(120, 15)
            y = 10 * (i % 3) + 0.5 * age + 0.1 * bp + drawn.normal()
            writer.writerow([grade, f"{age:.0f}", "" if i % 4 == 0 else f"{bp:.0f}", f"{y:.1f}"])
    site = teach(tmp_path)
    course = course_in(tmp_path / "course.db")
    each = simulated_class(course, site.address, ["Cem"])[0]
    page = each.join()
    while each.answers < 22:
        page = each.turn(page)
        assert all(
            isinstance(page.results[test], str) == (test == "grade") for test in page.results
        )
    each.http.close()
    assert np.isnan(course.values).any()
    assert site.stop() == 0


def test_images_are_shown_in_place_of_numbers(tmp_path: Path) -> None:
    write_table(tmp_path / "cases.csv", images=True)
    folder = tmp_path / "images"
    folder.mkdir()
    for i, colour in enumerate(("red", "green", "blue")):
        _image(folder / f"case{i}.png", colour)
    site = teach(tmp_path, "--show", "bmi=file", "--media", folder)
    dan = TraineeClient(site.address, "Dan")
    number = 0
    dan.next()
    while "/c/media/" not in dan.text:
        dan.answer("100")
        dan.next()
        number += 1
    assert f'src="/c/media/{number}/0"' in dan.text
    assert ".png" not in dan.text
    assert "bmi" not in dan.page.results
    got = dan.http.get(f"/c/media/{number}/0")
    assert got.headers["content-type"] == "image/png"
    assert got.content in [each.read_bytes() for each in folder.iterdir()]
    # Rounds of the future, tests that are not shown, other trainees, other paths.
    for path in (f"{number + 1}/0", f"{number}/1", f"{number}/9", "-1/0"):
        assert dan.http.get(f"/c/media/{path}").status_code == 404
    assert dan.http.get("/c/media/0/..%2f..%2fcases.csv").status_code in (404, 422)
    eve = TraineeClient(site.address, "Eve")
    assert eve.http.get(f"/c/media/{number}/0").status_code == 404
    unknown = TraineeClient(site.address)
    assert "image" not in unknown.http.get(f"/c/media/{number}/0").headers["content-type"]
    assert site.stop() == 0


def test_text_in_place_of_numbers(tmp_path: Path) -> None:
    table = write_table(tmp_path / "cases.csv")
    lines = table.read_text().splitlines()
    noted = [f"{line},<b>note</b> {i}." for i, line in enumerate(lines[1:])]
    table.write_text("\n".join([f"{lines[0]},report", *noted]) + "\n")
    site = teach(tmp_path, "--show", "bmi=report")
    course = course_in(tmp_path / "course.db")
    ann = TraineeClient(site.address, "Ann")
    ann.next()
    while "bmi" not in ann.page.results:
        ann.answer("100")
        ann.next()
    said = str(ann.page.results["bmi"])
    assert said.startswith("<b>note</b> ")
    assert html.escape(said) in ann.text
    # It is the text of this case, and the number behind it is in no page.
    row = int(said.split()[1].rstrip("."))
    other = next(name for name in ann.page.results if name != "bmi")
    column = course.problem.world.labels.index(other)
    assert course.values[row, column] == ann.page.results[other]
    assert repr(float(course.values[row, 0])) not in ann.text.split("</dl>")[0]
    assert site.stop() == 0


def test_images_outside_the_folder_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    folder.mkdir()
    _image(tmp_path / "secret.png", "red")
    _image(folder / "mine.png", "red")
    (folder / "note.txt").write_text("text")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    assert image_path(folder, "mine.png").name == "mine.png"
    outside = [
        "../secret.png",
        str(tmp_path / "secret.png"),
        "link.png",
        "note.txt",
        "none.png",
        "",
    ]
    for name in outside:
        with pytest.raises(NotFound):
            image_path(folder, name)
    with pytest.raises(InvalidInput, match=r"'\.\./secret\.png' is no image"):
        check_images(folder, ["mine.png", None, "../secret.png"])


def test_a_fixed_plan_is_followed(tmp_path: Path) -> None:
    table = write_table(tmp_path / "cases.csv")
    advice = pr.advise(table, "y", tests=2, person="by-showings", time_limit=1.0)
    advice.plan.save(tmp_path / "plan.json")
    site = teach(tmp_path, table, "--outcome", "y", "--plan", tmp_path / "plan.json", table=False)
    fay = TraineeClient(site.address, "Fay")
    schedule = advice.plan.policy.schedule(9)
    for shown in schedule:
        page = fay.next()
        assert set(page.results) == set(advice.plan.problem.world.name_of(shown))
        fay.answer("100")
    assert site.stop() == 0


def test_german(tmp_path: Path) -> None:
    write_table(tmp_path / "cases.csv")
    site = teach(tmp_path, "--language", "de")
    gil = TraineeClient(site.address, "Gil")
    assert gil.page.title == "Willkommen, Gil"
    assert gil.next().title == "Fall 1"
    assert 'lang="de"' in gil.text
    gil.answer("104,5")
    assert ">104,5<" in gil.text
    assert "Klasse:" in gil.http.get("/class").text
    assert site.stop() == 0
