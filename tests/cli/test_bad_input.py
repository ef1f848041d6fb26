"""What people get wrong: one clear sentence, exit code 2, nothing on stdout, no file.

The sentences are in `snapshots/`, a file for each command.
"""

import os
import sys

import pytest

from tests.cli.conftest import no_traceback

TABLE = "bmi,bp,y\n1,2,3\n2,1,4\n3,5,6\n5,3,7\n4,4,5\n6,8,9\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cases.csv").write_text(TABLE)
    (tmp_path / "folder.csv").mkdir()
    return tmp_path


BAD_TABLES = {
    "word for a test": TABLE.replace("3,5,6", "3,five,6"),
    "word for an outcome": TABLE.replace("3,5,6", "3,5,six"),
    "infinite test": TABLE.replace("3,5,6", "3,inf,6"),
    "infinite outcome": TABLE.replace("3,5,6", "3,5,-inf"),
    "short line": TABLE.replace("3,5,6", "3,5"),
    "long line": TABLE.replace("3,5,6", "3,5,6,7"),
    "column twice": TABLE.replace("bmi,bp", "bmi,bmi"),
    "two rows": "bmi,bp,y\n1,2,3\n4,5,6\n",
    "no rows": "bmi,bp,y\n",
    "empty": "",
    "no tests": "y\n1\n2\n3\n",
    "no outcome": TABLE.replace("y", "z"),
    "always the same": "bmi,bp,y\n1,2,3\n1,2,3\n",
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(refuses, folder, name):
    (folder / "cases.csv").write_text(BAD_TABLES[name])
    refuses("plan", "cases.csv", "--outcome", "y")


@pytest.mark.parametrize(
    "words",
    [
        "missing.csv --outcome y",
        "folder.csv --outcome y",
        "cases.xyz --outcome y",
        "cases.csv",
        "cases.csv --outcome z",
        "cases.csv --outcome y --drop weight",
        "cases.csv --outcome y --tests 9",
        "cases.csv --outcome y --half-life -1",
        "cases.csv --outcome y --cases 0.5",
        "cases.csv --outcome y --cases 0",
        "cases.csv --outcome y --about -3",
        "cases.csv --outcome y --cases nan",
        "cases.csv --outcome y --about 9 --cases 9",
        "cases.csv --outcome y --beliefs guess",
        "cases.csv --outcome y --beliefs no.csv",
        "cases.csv --outcome y --limit 3",
        "cases.csv --outcome y --costs no.csv",
        "cases.csv --outcome y --participant ann",
        "cases.csv --outcome y --learner no.json",
        "cases.csv --outcome y --learner x.json --half-life 2",
        "--outcome bmi",
        "cases.csv --outcome y --output nowhere/plan.json",
        "cases.csv --outcome y --output folder.csv",
        "cases.csv --outcome y --report nowhere/r.html",
        "cases.csv --outcome y --report folder.csv",
        "cases.csv --outcome y --tests 0",
        "cases.csv --outcome y --time-limit -1",
    ],
)
def test_bad_requests(refuses, folder, words):
    (folder / "cases.xyz").write_text(TABLE)
    refuses("plan", *words.split())


BAD_COSTS = {
    "one missing": ("c.csv", "name,cost\nbmi,1\n"),
    "word": ("c.csv", "name,cost\nbmi,1\nbp,cheap\n"),
    "unknown test": ("c.csv", "name,cost\nbmi,1\nbp,1\nbb,1\n"),
    "test twice": ("c.csv", "name,cost\nbmi,1\nbp,1\nbp,2\n"),
    "all too dear": ("c.csv", "name,cost\nbmi,9\nbp,9\n"),
    "negative": ("c.csv", "name,cost\nbmi,-1\nbp,1\n"),
    "infinite": ("c.csv", "name,cost\nbmi,inf\nbp,1\n"),
    "another header": ("c.csv", "test,cost\nbmi,1\n"),
    "empty": ("c.csv", ""),
    "half of an object": ("c.json", '{"bmi": 1'),
    "list": ("c.json", "[1, 2]"),
    "another key": ("c.json", '{"bmi": {"kost": 1}}'),
}


@pytest.mark.parametrize("fault", BAD_COSTS)
def test_bad_costs(refuses, folder, fault):
    name, text = BAD_COSTS[fault]
    (folder / name).write_text(text)
    refuses("plan", "cases.csv", "--outcome", "y", "--costs", name, "--limit", 3)


def test_costs_need_a_limit_and_exclude_a_number(refuses, folder):
    (folder / "c.csv").write_text("name,cost\nbmi,1\nbp,1\n")
    base = ("plan", "cases.csv", "--outcome", "y", "--costs", "c.csv")
    refuses(*base)
    refuses(*base, "--limit", 3, "--tests", 2)
    (folder / "p.csv").write_text("name,price\nbmi,1\n")
    refuses(*base[:-1], "p.csv", "--limit", 3)


LEARNER = '{"format": "preceptor-learner/2", "tests": ["%s", "bp"], "scales": [1, 1], "person": '
BAD_LEARNERS = {
    "empty": "",
    "another file": "{}",
    "only a format": '{"format": "preceptor-learner/2"}',
    "other tests": LEARNER % "a"
    + '{"initial": [0, 0], "curves": {"kind": "geometric", "alpha": 1.1}}}',
    "unknown curve": LEARNER % "bmi" + '{"initial": [0, 0], "curves": {"kind": "magic"}}}',
}


@pytest.mark.parametrize("fault", BAD_LEARNERS)
def test_bad_learners(refuses, folder, fault):
    (folder / "l.json").write_text(BAD_LEARNERS[fault])
    refuses("plan", "cases.csv", "--outcome", "y", "--learner", "l.json")


LOG = "participant,round,shown,values,prediction,outcome\n"


BAD_LOGS = {
    "empty": "",
    "unknown test": "ann,1,height,3,4,5\n",
    "round twice": "ann,1,bmi,3,4,5\nann,1,bmi,3,4,5\n",
    "word for a result": "ann,1,bmi,tall,4,5\n",
    "word for an answer": "ann,1,bmi,3,much,5\n",
    "infinite answer": "ann,1,bmi,3,inf,5\n",
    "one result for two tests": "ann,1,bmi;bp,3,4,5\n",
}


@pytest.mark.parametrize("fault", BAD_LOGS)
def test_bad_logs(refuses, folder, fault):
    (folder / "log.csv").write_text(LOG + BAD_LOGS[fault])
    refuses("fit", "log.csv", "--data", "cases.csv", "--outcome", "y")


@pytest.mark.parametrize(
    "words",
    [
        "fit no.csv --data cases.csv --outcome y",
        "fit folder.csv --data cases.csv --outcome y",
        "fit log.doc --data cases.csv --outcome y",
        "fit log.csv --columns round --data cases.csv",
        "fit log.csv --columns round=trial --data cases.csv --outcome y",
        "fit log.csv --output nowhere/l.json",
        "next no.json",
        "simulate no.json",
        "simulate no.json --human martian",
        "simulate no.json --human all --log x.csv",
        "simulate no.json --people 0",
        "simulate no.json --log nowhere/x.csv",
        "examples --write cars",
        "examples --write diabetes --output nowhere/x.csv",
        "explain folder.csv",
    ],
)
def test_bad_requests_of_other_commands(refuses, folder, words):
    (folder / "log.csv").write_text(LOG + "ann,1,bmi,3,4,5\n")
    refuses(*words.split())


def test_a_folder_that_only_seems_writable_is_found_at_once(refuses, folder, monkeypatch):
    def refused(*_):
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("preceptor._base.files.secrets.token_hex", refused)
    monkeypatch.setattr("pandas.read_csv", lambda *_, **__: pytest.fail("read in vain"))
    refuses("plan", "cases.csv", "--outcome", "y")


@pytest.mark.parametrize(
    "text",
    [
        '{"bmj": 3}',
        '{"bmi": -1}',
        '{"bmi": 1.5}',
        '{"bmi": "often"}',
        '{"bmi": true}',
        '["bmi"]',
    ],
)
def test_bad_counts(refuses, plan_file, tmp_path, text):
    (tmp_path / "counts.json").write_text(text)
    refuses("next", "plan.json", "--shown", "counts.json")


def test_an_unwritable_folder_is_found_before_the_table_is_read(refuses, folder, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    monkeypatch.setattr("pandas.read_csv", lambda *_, **__: pytest.fail("read in vain"))
    refuses("plan", "cases.csv", "--outcome", "y")


def test_a_plan_is_not_left_behind_when_the_report_fails(run, folder, monkeypatch):
    def broken(*_, **__):
        raise OSError(28, "No space left on device", "report.html")

    monkeypatch.setattr("preceptor.report.html.render_report", broken)
    arguments = ("--half-life", 1, "--cases", 4)
    result = run("plan", "cases.csv", "--outcome", "y", *arguments)
    assert result.exit_code == 2
    assert "report.html: No space left on device" in no_traceback(result)
    assert not (folder / "plan.json").exists()


def test_a_plan_whose_proof_fails_is_not_given_out(refuses, folder, monkeypatch):
    from preceptor.proofs.verify import Verification

    broken = Verification(1.0, False, 0.0, True, "by this test", independent=True)
    monkeypatch.setattr(sys.modules["preceptor.proofs.verify"], "verify", lambda plan: broken)
    arguments = ("--outcome", "y", "--half-life", 1, "--cases", 4, "--verify")
    refuses("plan", "cases.csv", *arguments)


def test_nothing_that_was_read_is_overwritten(tmp_path):
    from preceptor.cli._app import app
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
