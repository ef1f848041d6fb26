"""What people get wrong: one clear sentence, exit code 2, nothing on stdout, no file."""

import os

import pytest

from tests.cli.conftest import no_traceback

TABLE = "bmi,bp,y\n1,2,3\n2,1,4\n3,5,6\n5,3,7\n4,4,5\n6,8,9\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cases.csv").write_text(TABLE)
    (tmp_path / "folder.csv").mkdir()
    return tmp_path


def refuse(run, folder, complaint, *arguments, code=2):
    before = sorted(folder.rglob("*"))
    result = run(*arguments)
    message = no_traceback(result)
    assert result.exit_code == code, message
    assert complaint in message
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (TABLE.replace("3,5,6", "3,five,6"), "column 'bp', row 3 (line 4"),
        (TABLE.replace("3,5,6", "3,five,6"), "'five' is not a number"),
        (TABLE.replace("3,5,6", "3,5,six"), "'six' is not a number"),
        (TABLE.replace("3,5,6", "3,inf,6"), "column 'bp', row 3 (line 4"),
        (TABLE.replace("3,5,6", "3,5,-inf"), "column 'y', row 3 (line 4"),
        (TABLE.replace("3,5,6", "3,5"), "line 4: 2 cells, but the header has 3"),
        (TABLE.replace("3,5,6", "3,5,6,7"), "line 4: 4 cells, but the header has 3"),
        (TABLE.replace("bmi,bp", "bmi,bmi"), "column 'bmi' is there twice"),
        ("bmi,bp,y\n1,2,3\n4,5,6\n", "rows: 2"),
        ("bmi,bp,y\n", "no rows"),
        ("", "is empty"),
        ("y\n1\n2\n3\n", "no columns of tests"),
        (TABLE.replace("y", "z"), "outcome 'y': no such column"),
        ("bmi,bp,y\n1,2,3\n1,2,3\n", "nothing to predict"),
    ],
)
def test_bad_tables(run, folder, table, complaint):
    (folder / "cases.csv").write_text(table)
    refuse(run, folder, complaint, "plan", "cases.csv", "--outcome", "y")
    refuse(run, folder, "cases.csv", "plan", "cases.csv", "--outcome", "y")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["missing.csv", "--outcome", "y"], "missing.csv: no such file"),
        (["folder.csv", "--outcome", "y"], "is a folder"),
        (["cases.xyz", "--outcome", "y"], "must end in .csv"),
        (["cases.csv"], "--outcome: say which column"),
        (["cases.csv", "--outcome", "z"], "no such column; there are bmi, bp, y"),
        (["cases.csv", "--outcome", "y", "--drop", "weight"], "'weight', no such column"),
        (["cases.csv", "--outcome", "y", "--tests", "9"], "only 2"),
        (["cases.csv", "--outcome", "y", "--half-life", "-1"], "half-life: -1"),
        (["cases.csv", "--outcome", "y", "--cases", "0.5"], "--cases: 0.5"),
        (["cases.csv", "--outcome", "y", "--cases", "0"], "--cases: 0, must be"),
        (["cases.csv", "--outcome", "y", "--about", "-3"], "--about: -3, must be"),
        (["cases.csv", "--outcome", "y", "--cases", "nan"], "--cases: nan"),
        (["cases.csv", "--outcome", "y", "--about", "9", "--cases", "9"], "give one of them"),
        (["cases.csv", "--outcome", "y", "--beliefs", "guess"], "zero, equal, marginal"),
        (["cases.csv", "--outcome", "y", "--beliefs", "no.csv"], "no.csv: no such file"),
        (["cases.csv", "--outcome", "y", "--limit", "3"], "give --costs"),
        (["cases.csv", "--outcome", "y", "--costs", "no.csv"], "no.csv: no such file"),
        (["cases.csv", "--outcome", "y", "--participant", "ann"], "give --learner"),
        (["cases.csv", "--outcome", "y", "--learner", "no.json"], "no.json: no such file"),
        (
            ["cases.csv", "--outcome", "y", "--learner", "x.json", "--half-life", "2"],
            "leave out --half-life",
        ),
        (["--outcome", "bmi"], "--outcome: that of diabetes is 'progression'"),
        (["cases.csv", "--outcome", "y", "--output", "nowhere/plan.json"], "no such folder"),
        (["cases.csv", "--outcome", "y", "--output", "folder.csv"], "is a folder"),
        (["cases.csv", "--outcome", "y", "--report", "nowhere/r.html"], "no such folder"),
        (["cases.csv", "--outcome", "y", "--report", "folder.csv"], "is a folder"),
        (["cases.csv", "--outcome", "y", "--tests", "0"], "--tests"),
        (["cases.csv", "--outcome", "y", "--time-limit", "-1"], "--time-limit"),
    ],
)
def test_bad_requests(run, folder, arguments, complaint):
    (folder / "cases.xyz").write_text(TABLE)
    refuse(run, folder, complaint, "plan", *arguments)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("c.csv", "name,cost\nbmi,1\n", "--costs: none for bp"),
        ("c.csv", "name,cost\nbmi,1\nbp,cheap\n", "c.csv, line 3, column 'cost': 'cheap'"),
        (
            "c.csv",
            "name,cost\nbmi,1\nbp,1\nbb,1\n",
            "--costs: 'bb' is not known",
        ),
        ("c.csv", "name,cost\nbmi,1\nbp,1\nbp,2\n", "line 4: test 'bp' appears twice"),
        ("c.csv", "name,cost\nbmi,9\nbp,9\n", "below the cheapest test"),
        ("c.csv", "name,cost\nbmi,-1\nbp,1\n", "at least 0"),
        ("c.csv", "name,cost\nbmi,inf\nbp,1\n", "'inf' is not a number"),
        ("c.csv", "test,cost\nbmi,1\n", "must have name and cost"),
        ("c.csv", "", "must have name and cost"),
        ("c.json", '{"bmi": 1', "c.json: not valid JSON"),
        ("c.json", "[1, 2]", "must be a JSON object"),
        ("c.json", '{"bmi": {"kost": 1}}', "'kost' is not one of cost, price"),
    ],
)
def test_bad_costs(run, folder, name, text, complaint):
    (folder / name).write_text(text)
    arguments = ("plan", "cases.csv", "--outcome", "y", "--costs", name, "--limit", 3)
    refuse(run, folder, complaint, *arguments)


def test_costs_need_a_limit_and_exclude_a_number(run, folder):
    (folder / "c.csv").write_text("name,cost\nbmi,1\nbp,1\n")
    base = ("plan", "cases.csv", "--outcome", "y", "--costs", "c.csv")
    refuse(run, folder, "--limit: say what", *base)
    refuse(run, folder, "--tests: costs decide", *base, "--limit", 3, "--tests", 2)
    (folder / "p.csv").write_text("name,price\nbmi,1\n")
    refuse(run, folder, "--limit: needs costs to add up", *base[:-1], "p.csv", "--limit", 3)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "l.json: not valid JSON"),
        ("{}", "`preceptor fit` writes such files"),
        ('{"format": "preceptor-learner/2"}', "tests, scales, person missing"),
        (
            '{"format": "preceptor-learner/2", "tests": ["a", "b"], "scales": [1, 1], "person": '
            '{"initial": [0, 0], "curves": {"kind": "geometric", "alpha": 1.1}}}',
            "about the tests a, b, but the table has bmi, bp",
        ),
        (
            '{"format": "preceptor-learner/2", "tests": ["bmi", "bp"], "scales": [1, 1], "person":'
            ' {"initial": [0, 0], "curves": {"kind": "magic"}}}',
            "'magic' is not known",
        ),
    ],
)
def test_bad_learners(run, folder, text, complaint):
    (folder / "l.json").write_text(text)
    refuse(run, folder, complaint, "plan", "cases.csv", "--outcome", "y", "--learner", "l.json")


LOG = "participant,round,shown,values,prediction,outcome\n"


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ("", "the log is empty"),
        ("ann,1,height,3,4,5\n", "test 'height' is not known"),
        ("ann,1,bmi,3,4,5\nann,1,bmi,3,4,5\n", "round 1"),
        ("ann,1,bmi,tall,4,5\n", "line 2, column 'values'"),
        ("ann,1,bmi,3,much,5\n", "line 2, column 'prediction'"),
        ("ann,1,bmi,3,inf,5\n", "line 2, column 'prediction'"),
        ("ann,1,bmi;bp,3,4,5\n", "1 values for 2 shown tests"),
    ],
)
def test_bad_logs(run, folder, rows, complaint):
    (folder / "log.csv").write_text(LOG + rows)
    arguments = ("fit", "log.csv", "--data", "cases.csv", "--outcome", "y")
    refuse(run, folder, complaint, *arguments)
    refuse(run, folder, "log.csv", *arguments)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["fit", "no.csv", "--data", "cases.csv", "--outcome", "y"], "no.csv: no such file"),
        (["fit", "folder.csv", "--data", "cases.csv", "--outcome", "y"], "is a folder"),
        (["fit", "log.doc", "--data", "cases.csv", "--outcome", "y"], "must end in .csv"),
        (["fit", "log.csv", "--columns", "round", "--data", "cases.csv"], "must be OURS=THEIRS"),
        (
            ["fit", "log.csv", "--columns", "round=trial", "--data", "cases.csv", "--outcome", "y"],
            "there is no column 'trial'",
        ),
        (["fit", "log.csv", "--output", "nowhere/l.json"], "no such folder"),
        (["next", "no.json"], "no.json: no such file"),
        (["simulate", "no.json"], "no.json: no such file"),
        (["simulate", "no.json", "--human", "martian"], "paper, lms, bayes"),
        (["simulate", "no.json", "--human", "all", "--log", "x.csv"], "name it with --human"),
        (["simulate", "no.json", "--people", "0"], "--people"),
        (["simulate", "no.json", "--log", "nowhere/x.csv"], "no such folder"),
        (["examples", "--write", "cars"], "there is diabetes"),
        (["examples", "--write", "diabetes", "--output", "nowhere/x.csv"], "no such folder"),
        (["explain", "folder.csv"], "is a folder"),
    ],
)
def test_bad_requests_of_other_commands(run, folder, arguments, complaint):
    (folder / "log.csv").write_text(LOG + "ann,1,bmi,3,4,5\n")
    refuse(run, folder, complaint, *arguments)


def test_a_folder_that_only_seems_writable_is_found_at_once(run, folder, monkeypatch):
    def refused(*_):
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("preceptor._base.files._neighbour", refused)
    monkeypatch.setattr("pandas.read_csv", lambda *_, **__: pytest.fail("read in vain"))
    complaint = "plan.json: cannot be written there; choose another folder"
    refuse(run, folder, complaint, "plan", "cases.csv", "--outcome", "y")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"bmj": 3}', "did you mean 'bmi'?"),
        ('{"bmi": -1}', "whole number of at least 0"),
        ('{"bmi": 1.5}', "whole number of at least 0"),
        ('{"bmi": "often"}', "'often' is not a number"),
        ('{"bmi": true}', "True is not a number"),
        ('["bmi"]', "must be a JSON object"),
    ],
)
def test_bad_counts(run, plan_file, tmp_path, text, complaint):
    (tmp_path / "counts.json").write_text(text)
    refuse(run, tmp_path, complaint, "next", "plan.json", "--shown", "counts.json")


def test_an_unwritable_folder_is_found_before_the_table_is_read(run, folder, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    monkeypatch.setattr("pandas.read_csv", lambda *_, **__: pytest.fail("read in vain"))
    refuse(run, folder, "may not write", "plan", "cases.csv", "--outcome", "y")


def test_a_plan_is_not_left_behind_when_the_report_fails(run, folder, monkeypatch):
    def broken(*_, **__):
        raise OSError(28, "No space left on device", "report.html")

    monkeypatch.setattr("preceptor.report.html.render_report", broken)
    arguments = ("--half-life", 1, "--cases", 4)
    result = run("plan", "cases.csv", "--outcome", "y", *arguments)
    assert result.exit_code == 2
    assert "report.html: No space left on device" in no_traceback(result)
    assert not (folder / "plan.json").exists()


def test_a_plan_whose_proof_fails_is_not_given_out(run, folder, monkeypatch):
    from preceptor.verification.verify import Verification

    broken = Verification(1.0, False, 0.0, True, "by this test", independent=True)
    monkeypatch.setattr("preceptor.verification.verify", lambda plan: broken)
    arguments = ("--outcome", "y", "--half-life", 1, "--cases", 4, "--verify")
    refuse(run, folder, "DOES NOT HOLD", "plan", "cases.csv", *arguments, code=1)


def test_nothing_that_was_read_is_overwritten(tmp_path):
    from preceptor.cli import app
    from tests.body_fat import TABLE
    from tests.commands import CliRunner

    table = tmp_path / "cases.csv"
    table.write_bytes(TABLE.read_bytes())
    before = table.read_bytes()
    runner = CliRunner(env={"NO_COLOR": "1"})
    for target in (["-o", str(table)], ["-o", "same.json", "--report", "same.json"]):
        result = runner.invoke(app, ["plan", str(table), "--outcome", "brozek", *target])
        assert result.exit_code == 2
        assert "this command already uses that file; choose another name" in result.stderr
    assert table.read_bytes() == before
