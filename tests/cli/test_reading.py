"""Tables and logs as people keep them, through the commands: what was assumed is on stderr."""

from __future__ import annotations

import json

import openpyxl
import pytest

import preceptor as pr
import preceptor.data
from preceptor.cli._options import beliefs_from, typed
from preceptor.cli._tables import read_named_numbers
from preceptor.data.opening import Reading
from preceptor.data.world_fitting import fit_source
from preceptor.errors import InvalidFile, InvalidInput
from tests.cli.conftest import RUNNER, app, no_traceback

QUICK = ("--outcome", "y", "--person", "by-showings", "--cases", 5, "--tests", 2)


@pytest.fixture
def europe(cases):
    """The same cases between semicolons and with decimal commas."""
    path = cases.with_name("europa.csv")
    path.write_text(cases.read_text().replace(",", ";").replace(".", ","), encoding="utf-16")
    return path


@pytest.fixture
def book(cases):
    made = openpyxl.Workbook()
    made.active.title = "Read me"
    sheet = made.create_sheet("Cases")
    lines = [line.split(",") for line in cases.read_text().split()]
    for line in (lines[0], *([float(cell) for cell in line] for line in lines[1:])):
        sheet.append(line)
    made.save(cases.with_name("cases.xlsx"))
    return cases.with_name("cases.xlsx")


def notes(result):
    return [line for line in result.stderr.splitlines() if line.startswith("Note: ")]


def test_plan_says_what_it_assumed_in_options(run, cases, europe):
    found = run("plan", europe, *QUICK, "--time-limit", 0.1, "--json", "--dry-run")
    assert notes(found)[0] == (
        "Note: europa.csv: read with semicolons between cells, decimal commas and letters in "
        "UTF-16; --file-format separator, --file-format decimal, --file-format encoding say "
        "otherwise"
    )
    world = json.loads(found.stdout)["plan"]["problem"]["world"]
    assert world["units"] == fit_source(cases, "y").world.to_dict()["units"]


@pytest.mark.parametrize(
    "words",
    [
        "--file-format separator=ab",
        "--file-format encoding=x",
        "--file-format decimal=, --file-format separator=,",
        "--file-format colour=red",
        "--file-format sheet=Cases",
    ],
)
@pytest.mark.parametrize("command", ["plan", "diagnose", "tutor"])
def test_options_that_make_no_sense(refuses, cases, command, words):
    name = ("--name", "ann") if command == "tutor" else ()
    refuses(command, cases, "--outcome", "y", *name, *words.split())


def test_a_session_reads_the_table_as_it_is_told(run, europe):
    odd = europe.with_name("odd.csv")
    odd.write_text(europe.read_text("utf-16").replace(";", "^"))
    words = ["tutor", "--name", "ann", "--rounds", 1, odd, *QUICK, "--file-format", "separator=^"]
    for case in ("Case 1", "Case 2"):
        done = RUNNER.invoke(app, [str(word) for word in (*words, "--missing", "-")], input="20\n")
        assert done.exit_code == 0, done.stderr
        note = "Note: odd.csv: read with decimal commas; --file-format decimal says otherwise"
        assert notes(done)[0] == note
        assert case in done.stdout


def test_a_block_for_the_cases_of_a_workbook(run, book):
    result = run(
        "diagnose", book, "--outcome", "y", "--file-format", "sheet=2", "--rounds", 16, "-k", 1
    )
    assert result.exit_code == 0, result.stderr
    assert "`" not in result.stderr
    missing = no_traceback(run("diagnose", book, "--outcome", "y", "--file-format", "sheet=Case"))
    assert "--file-format sheet is 'Case', must be one of 'Read me', 'Cases'" in missing


@pytest.mark.parametrize("command", ["plan", "diagnose", "fit"])
def test_what_was_assumed_is_said_also_where_a_file_is_refused(run, cases, book, command):
    said = (
        "Note: cases.xlsx: read with its first sheet, 'Read me' (others: 'Cases'); "
        "--file-format sheet says"
    )
    words = (book, "--outcome", "y") if command != "fit" else (book, "--data", cases)
    other = ("--outcome", "y") if command == "fit" else ()
    result = run(command, *words, *other)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.index(said) < result.stderr.index("Error: ")


def test_faults_met_while_reading_say_what_was_assumed_before(run, tmp_path):
    (tmp_path / "ragged.csv").write_text("a;b;y\n1,5;2,5;3\n1,5;2\n")
    result = run("plan", "ragged.csv", "--outcome", "y")
    assert notes(result) == [
        "Note: ragged.csv: read with semicolons between cells and decimal commas; "
        "--file-format separator, --file-format decimal say otherwise"
    ]
    assert "line 3: 2 cells, but the header has 3 columns" in result.stderr


def test_decimal_commas_that_were_ruled_out_name_the_option(run, europe):
    said = no_traceback(run("plan", europe, "--outcome", "y", "--file-format", "decimal=."))
    assert "has a decimal comma" in said
    assert "read_csv" not in said


def test_names_are_compared_without_capitals_and_blanks(run, cases, tmp_path):
    (tmp_path / "c.csv").write_text("name,cost\nBMI,2\nBp ,1\n")
    (tmp_path / "b.csv").write_text("name,weight\nBMI,0.5\n")
    words = ("--costs", "c.csv", "--limit", 2, "--beliefs", "b.csv")
    quick = ("--person", "by-showings", "--cases", 4, "--time-limit", 0.1, "--no-report")
    result = run("plan", cases, "--outcome", " Y", "--drop", "AGE", *words, *quick)
    assert result.exit_code == 0, result.stderr
    plan = pr.Plan.load("plan.json")
    assert plan.problem.world.labels == ("bmi", "bp")
    assert plan.problem.world.units.outcome == "y"
    assert plan.problem.budget == pr.Knapsack([2.0, 1.0], 2.0)
    asked = run("next", "plan.json", "--available", " Bp,BP")
    assert "--available: 'Bp' and 'BP' are the same" in asked.stderr
    assert "show bp" in run("next", "plan.json", "--available", " Bp").stdout.lower()


def test_names_that_could_be_two_are_asked_for(run, cases):
    text = cases.read_text().replace("bmi,bp,age,y", "bp,BP,age,y")
    cases.write_text(text)
    said = no_traceback(run("plan", cases, "--outcome", "y", "--drop", "Bp"))
    assert "--drop: 'Bp', could be 'bp' or 'BP'; write it as in the table" in said
    said = no_traceback(run("plan", cases, "--outcome", "Bp"))
    assert "outcome 'Bp': could be 'bp' or 'BP'" in said


@pytest.mark.parametrize("command", ["fit", "diagnose"])
def test_logs_say_it_too(run, cases, command, monkeypatch):
    def stop(*given, **options):
        raise InvalidInput("stopped here")

    monkeypatch.setattr("preceptor.learners.learner_estimator.fit_learner", stop)
    monkeypatch.setattr("preceptor.learners.kind_posterior.read_log", stop)
    log = cases.with_name("log.txt")
    log.write_text("Participant;round;BMI;bp;age;prediction\nann;1;100,5;;0;19,5\n")
    words = ("fit", log) if command == "fit" else ("diagnose", "--read", log)
    result = run(*words, "--data", cases, "--outcome", "y")
    assert "stopped here" in result.stderr
    assert notes(result)[-1] == (
        "Note: log.txt: read with semicolons between cells and decimal commas; "
        "--file-format separator, --file-format decimal say otherwise"
    )
    said = run(*words, "--data", cases, "--outcome", "y", "--file-format", "decimal=.")
    assert "'19,5' is not a number" in said.stderr


def test_readings_are_typed_as_options_and_fit_logs(tmp_path):
    reading = Reading(sheet="A", separator=";", missing=["9"], positive="M")
    words = "--file-format sheet=A --file-format separator=; --missing 9 --positive M"
    assert typed(reading) == words.split()
    assert reading.for_log(tmp_path / "log.csv") == Reading(separator=";")
    assert reading.for_log(tmp_path / "log.xlsx") == Reading(sheet="A", separator=";")


def test_names_and_numbers_from_any_table(tmp_path, capsys):
    found = {"cost": {"bmi": 1.5, "bp": 1000.0}, "price": {"bmi": 0.25}}
    path = tmp_path / "costs.csv"
    path.write_text("Name;Cost;Price;\nbmi;1,5;0,25;\nbp;1.000,0;;\n;;;\n", encoding="cp1252")
    assert read_named_numbers(path, ("cost", "price")) == found
    assert capsys.readouterr().err == (
        "Note: costs.csv: read with semicolons between cells and decimal commas\n"
    )
    book = openpyxl.Workbook()
    for row in (["name", "cost", "price"], ["bmi", 1.5, 0.25], ["bp", 1000, None]):
        book.active.append(row)
    book.save(tmp_path / "costs.xlsx")
    assert read_named_numbers(tmp_path / "costs.xlsx", ("cost", "price")) == found
    assert capsys.readouterr().err == ""
    book.active["A1"], book.active["B1"] = "name", "weight"
    book.save(tmp_path / "b.xlsx")
    assert beliefs_from(str(tmp_path / "b.xlsx")) == {"bmi": 1.5, "bp": 1000.0}
    with pytest.raises(InvalidFile, match="has columns name, weight, price, must have name and"):
        read_named_numbers(tmp_path / "b.xlsx", ("cost",))
    path.write_text("name,cost\nbmi,much\n")
    with pytest.raises(InvalidFile, match="line 2, column 'cost': 'much' is not a number"):
        read_named_numbers(path, ("cost",))
