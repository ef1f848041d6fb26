"""`preceptor teach`: what it prints, how it continues, what it refuses; the terminal as well."""

import re

import pytest

from preceptor.live.store import courses, rounds
from preceptor.live.store.database import Store
from tests.cli.conftest import RUNNER, app


@pytest.fixture
def teach(run, cases, monkeypatch):
    """Start a course, without serving it."""
    monkeypatch.setattr("preceptor.live.service.app.run", lambda app, made: made.close())
    monkeypatch.setattr("logging.disable", lambda level: None)

    def start(*options, table=(cases, "--outcome", "y", "--tests", 2)):
        return run("teach", *table, "--port", 0, *options)

    return start


def test_it_prints_two_links_and_a_code_and_continues(teach):
    made = teach()
    assert made.exit_code == 0, made.stderr
    assert "Cases: 60 cases; a new course" in made.stderr
    # Even here the teacher needs the printed link: a proxy's calls come from this machine too.
    link = r"Teacher: http://127\.0\.0\.1:\d+/studies/enter\?back=/class&secret=[\w-]{20,}\n"
    assert re.search(link, made.stderr)
    trusted = teach("--trust-this-machine").stderr
    assert re.search(r"Teacher: http://127\.0\.0\.1:\d+/class\n", trusted)
    refused = teach("--trust-this-machine", "--address", "https://class.example.org")
    assert refused.exit_code == 2
    assert re.search(r"Trainees: http://127\.0\.0\.1:\d+/c\n", made.stderr)
    assert "▄▄▄▄▄" in made.stderr
    assert "the same course" in teach("--language", "de").stderr
    # Without a table it goes on with the course that is there.
    assert teach(table=()).exit_code == 0


def test_a_mistake_leaves_no_database_behind(teach, cases, tmp_path):
    for table in ((cases, "--outcome", "z"), ("none.csv", "--outcome", "y")):
        assert teach(table=table).exit_code == 2
        assert not (tmp_path / "course.db").exists()
    assert "has no course" not in teach().stderr


def test_another_table_or_other_options_are_refused(teach, cases):
    assert teach().exit_code == 0
    refused = teach(table=(cases, "--outcome", "y", "--tests", 1))
    assert refused.exit_code == 2
    assert "--tests: differs from when this course was started" in refused.stderr
    cases.write_text(cases.read_text().replace("100", "101"))
    assert "cases: differs" in teach().stderr
    assert teach("--database", "other.db").exit_code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--answer", "guess"], "--answer: 'guess', must be one of number"),
        (["--answer", "percent"], "is answered by number or slider"),
        (["--feedback", "much"], "--feedback: 'much', must be truth or contrast"),
        (["--language", "fr"], "--language: 'fr', must be one of de, en"),
        (["--show", "bmi"], "--show: 'bmi', must be TEST=COLUMN"),
        (["--show", "bmi=photo"], "--show: the table has no column 'photo'"),
        (["--show", "sex=age"], "--show: 'sex' is not a test"),
        (["--database", "mysql://x/y"], "must be the path of a file or postgresql"),
    ],
)
def test_what_makes_no_sense_is_refused(teach, options, said):
    refused = teach(*options)
    assert refused.exit_code in (1, 2)
    assert said in refused.stderr


def test_too_few_cases_are_refused_before_anything_is_stored(teach, cases, tmp_path):
    cases.write_text("\n".join(cases.read_text().splitlines()[:16]) + "\n")
    refused = teach()
    assert refused.exit_code == 2
    assert "must be at least 20" in refused.stderr
    with Store(str(tmp_path / "course.db")) as store:
        assert store.read(courses.look_up) is None


def test_images_need_their_folder(teach, cases, tmp_path):
    lines = cases.read_text().splitlines()
    lines = [f"{lines[0]},photo", *(f"{line},{i}.png" for i, line in enumerate(lines[1:]))]
    cases.write_text("\n".join(lines) + "\n")
    assert "name their folder" in teach("--show", "bmi=photo").stderr
    (tmp_path / "images").mkdir()
    refused = teach("--show", "bmi=photo", "--media", tmp_path / "images").stderr
    assert "'0.png' is no image" in refused


def test_the_terminal_has_the_same_session(teach, tmp_path):
    assert teach().exit_code == 0
    words = ["tutor", "--course", "course.db", "--name", "ann"]
    first = RUNNER.invoke(app, [*words, "--rounds", "2"], input="20\n21\n")
    assert first.exit_code == 0, first.stderr
    assert first.stdout.count("It was") == 2
    again = RUNNER.invoke(app, words, input="19\nq\n")
    assert "Welcome back, ann: 2 cases so far." in again.stdout
    with Store(str(tmp_path / "course.db")) as store:
        there = store.read(courses.everyone)
        assert [each.name for each in there] == ["ann"]
        played = store.read(lambda c: rounds.all_of(c, there[0].id))
    assert [each.prediction for each in played] == [20.0, 21.0, 19.0, None]
    assert "case" in RUNNER.invoke(app, [*words, "--rounds", "7"], input="20\n" * 7).stdout
    check = RUNNER.invoke(app, words, input="20\nq\n")
    assert "Case 11" in check.stdout
    refused = RUNNER.invoke(app, [*words, "--tests", "2"], input="")
    assert "the course says so already" in refused.stderr
    assert RUNNER.invoke(app, ["tutor", "--course", "none.db", "--name", "a"]).exit_code == 2
