"""`preceptor study open` and what follows it, by the command line."""

import json
import shutil
import sqlite3

import pytest

from preceptor.cli._app import app
from preceptor.live.store.database import Store
from preceptor.live.study.study import Study
from tests.commands import CliRunner
from tests.live.study.files import SMALL, small_file
from tests.live.study.played import play

RUNNER = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"})


def run(*arguments):
    return RUNNER.invoke(app, ["study", *(str(a) for a in arguments)])


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with a study that is open."""
    folder = tmp_path_factory.mktemp("prepared")
    opened = run("open", small_file(folder), "--database", folder / "live.db")
    assert opened.exit_code == 0, opened.stderr
    return folder


@pytest.fixture
def here(prepared, tmp_path, monkeypatch):
    """A copy of it, in which commands find the database."""
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRECEPTOR_DATABASE", str(tmp_path / "live.db"))
    return tmp_path


def test_from_open_to_export(here):
    registered = json.loads((here / "preregistration.json").read_text())
    assert registered["id"] == "two-tests"
    again = run("open", here / "study.toml")
    assert "nothing changed" in again.stderr
    with Store(str(here / "live.db")) as store:
        play(store, Study.load(here / "study.toml"), 4)
        play(store, Study.load(here / "study.toml"), 2, kind="bot")
    status = run("status", "--verify")
    assert status.exit_code == 0, status.stdout
    assert again.stdout.strip() in status.stdout
    assert "4 of 20 people have finished" in status.stdout
    assert "consistent" in status.stdout
    assert "Not counted: 2 bots." in status.stdout
    said = json.loads(run("status", "--json", "--kind", "bot").stdout)
    assert said["statuses"]["completed"] == 2

    refused = run("export")
    assert refused.exit_code == 2
    assert "preceptor study unblind two-tests --reason" in refused.stderr
    assert run("unblind", "--reason", " ").exit_code == 2
    assert run("unblind", "--reason", "all are there").exit_code == 0
    assert run("raise", "--people", 30, "--reason", "more money").exit_code == 0
    assert run("close", "--arm", "fixed", "--reason", "it hurts").exit_code == 0
    assert "reason: empty" in run("close").stderr.replace("--reason", "reason")
    assert run("close", "--reason", "enough").exit_code == 0
    assert "nothing changed" in run("close", "--reason", "enough").stderr
    assert run("raise", "--people", 40, "--reason", "again").exit_code == 2
    done = run("export", "--zip")
    assert done.exit_code == 0, done.stderr
    assert "Permutation test" in done.stdout
    assert (here / "two-tests-data.zip").exists()
    assert run("status", "--verify").exit_code == 0


def test_tampering_ends_with_one(here):
    with sqlite3.connect(here / "live.db") as raw:
        raw.execute("UPDATE study SET people = 5")
    raw.close()
    found = run("status", "--verify")
    assert found.exit_code == 1
    assert "people is 5, but the events make it 20" in found.stdout


@pytest.mark.parametrize(
    "words",
    [
        "status other",
        "status --kind robot",
        "status --database none.db",
        "links --people 2",
        "close --arm green --reason x",
        "raise --people 3 --reason x",
        "open missing.toml",
    ],
)
def test_what_makes_no_sense_is_refused(here, refuses, words):
    refuses("study", *words.split())


def test_the_registration_of_another_study_is_kept(here):
    other = here / "other.toml"
    other.write_text(SMALL.replace('id = "two-tests"', 'id = "other"'))
    refused = run("open", other)
    assert refused.exit_code == 2
    assert "contains study 'two-tests'" in refused.stderr
    assert json.loads((here / "preregistration.json").read_text())["id"] == "two-tests"


def test_links_lead_to_one_person_each(tmp_path, monkeypatch):
    monkeypatch.setenv("PRECEPTOR_DATABASE", str(tmp_path / "live.db"))
    text = SMALL.replace("[exclusions]", '[recruiting]\nentry = "links"\n\n[exclusions]')
    assert run("open", small_file(tmp_path, text)).exit_code == 0
    made = run("links", "--people", 3, "--address", "https://lab.example.org/")
    assert made.exit_code == 0, made.stderr
    lines = made.stdout.split()
    assert len(set(lines)) == 3
    assert all(line.startswith("https://lab.example.org/s/two-tests/p/") for line in lines)
    assert "3 have a link and have not started" in run("status").stdout


def test_a_draft_is_refused_and_leaves_nothing_behind(tmp_path):
    draft = small_file(tmp_path, SMALL.replace("lab@example.org", "[[your name]]"))
    refused = run("open", draft, "--database", tmp_path / "live.db")
    assert refused.exit_code == 2
    assert "[[your name]]: has to be filled in" in refused.stderr
    assert [each.name for each in tmp_path.iterdir()] == [draft.name]
