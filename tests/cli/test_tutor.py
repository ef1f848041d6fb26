"""`preceptor tutor`: whole sessions through a pipe, that end anywhere and go on."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import preceptor as pr
from preceptor.cli import _session as _asking
from preceptor.cli._session import Quantity
from preceptor.data.log import Log
from preceptor.learners.simulated_tutoring import LOOKS
from tests.cli.conftest import RUNNER, app, no_traceback

# One kind and few cases ahead: planned in no time.
ALONE = ("--person", "by-showings", "--cases", 5, "--tests", 2)
ANSWERS = ["20", "19.5", "22", "18", "21.25", "20.5"]


@pytest.fixture
def teach(run, cases):
    """A session with these lines typed into it."""

    def session(*lines, options=(), name="ann", begin=ALONE, table=(cases, "--outcome", "y")):
        words = ["tutor", *table, *begin, "--name", name, *options]
        typed = "".join(f"{line}\n" for line in lines)
        return RUNNER.invoke(app, [str(word) for word in words], input=typed)

    return session


TESTS = ["bmi", "bp", "age"]


def rows_of(log, table="cases.csv"):
    """Rows of the table that these rounds were about: outcomes are all different."""
    outcomes = pd.read_csv(table)["y"].tolist()
    return [outcomes.index(outcome) for outcome in log.outcome.tolist()]


def done(result):
    assert result.exit_code == 0, result.stderr
    return result.stdout


def told(text):
    """What people read, without the greeting and the summary."""
    return [line for line in text.splitlines() if line.startswith(("Case", "  ", "It was"))]


def test_a_session_shows_asks_tells_and_keeps(teach, run, cases, tmp_path):
    text = done(teach(*ANSWERS, options=("--rounds", 6)))
    frame = pd.read_csv(cases)
    log = Log.read("ann.csv", TESTS)
    assert log.prediction.tolist() == [float(answer) for answer in ANSWERS]
    assert log.rounds.tolist() == [1, 2, 3, 4, 5, 6]
    assert log.told.all()
    assert not np.isnat(log.when).any()
    rows = rows_of(log)
    assert len(set(rows)) == 6
    for i, row in enumerate(rows):
        for j, test in enumerate(log.names):
            if log.shown[i, j]:
                assert log.values[i, j] == frame[test][row]
                assert f"{frame[test][row]:g}" in text
        off = abs(log.prediction[i] - log.outcome[i])
        assert f"It was {log.outcome[i]:.6g}: you were {off:.4g} too" in text
    assert "ann: 6 rounds." in text
    assert "How you seem to learn:" in text
    assert {p.name for p in tmp_path.iterdir()} == {"cases.csv", "ann.csv"}


@pytest.mark.few(1)
@pytest.mark.parametrize("looks", ["pool", "case", "nothing"])
def test_what_is_shown_is_what_a_tutor_advises_who_sees_the_same_log(teach, run, cases, looks):
    text = done(teach("why", *ANSWERS, options=("--rounds", 6, "--looks", looks)))
    log = Log.read("ann.csv", TESTS)
    assert run("plan", cases, "--outcome", "y", *ALONE, "--no-report").exit_code == 0
    tutor = pr.Tutor(pr.Plan.load("plan.json").problem)
    frame = pd.read_csv(cases)
    order = np.random.default_rng([0, 0]).permutation(len(frame))
    table = frame.loc[order, TESTS].to_numpy(), frame.loc[order, "y"].to_numpy()
    for i, shown in enumerate(map(tuple, map(np.flatnonzero, log.shown))):
        if looks == "pool":
            advised = tutor.recommendation(pool=pr.learners.CasePool(*table))
            position = advised.case
        else:
            known = table[0][i] if looks == "case" else None
            advised, position = tutor.recommendation(case=known), i
        assert advised.shown == shown
        assert table[1][position] == log.outcome[i]
        assert i > 0 or advised.reason in " ".join(text.split())
        values = log.values[i, list(shown)]
        tutor = tutor.after(shown, values, log.prediction[i], log.outcome[i], position)


def test_training_ends_with_cases_that_are_not_picked(teach, cases):
    """They come in random order, with tests as the trainee will see them later."""
    text = done(teach(*["20"] * 30))
    assert "expect to be wrong more often than usual" in text
    assert "ann: 25 rounds." in text
    assert text.index("Case 20\n") < text.index("The last 5 cases come as they are.")
    assert text.index("The last 5 cases come as they are.") < text.index("Case 21\n")
    words = " ".join(text.split())
    assert re.search(r"the tests explain \d+% of the variance of y in them, and \d+% in", words)
    rows = rows_of(Log.read("ann.csv", TESTS))
    assert len(set(rows)) == 25
    order = np.random.default_rng([0, 0]).permutation(60).tolist()
    assert rows[20:] == [row for row in order if row not in rows[:20]][:5]
    best = done(teach(*["20"] * 30, name="bob", options=("--alone", "best", "--rounds", 20)))
    assert "bob: 20 rounds." in best
    assert len({tuple(row) for row in Log.read("bob.csv", TESTS).shown[15:].tolist()}) == 1


def test_a_word_that_is_not_one_of_those_to_look_at_is_named(teach):
    refused = no_traceback(teach("20", options=("--looks", "all")))
    assert f"--looks: 'all', must be one of {', '.join(LOOKS)}" in refused


def test_beliefs_of_the_machine_are_not_shown_unless_asked_for(teach):
    silent = done(teach("20", "19", options=("--rounds", 2)))
    assert "because" not in silent
    asked = done(teach("why", "20", name="bob", options=("--rounds", 1)))
    assert "because" in asked


def test_it_ends_anywhere_and_goes_on_as_if_it_had_not(teach):
    whole = done(teach(*ANSWERS, options=("--rounds", 6), name="whole"))
    log = Log.read("whole.csv", TESTS)
    for answered in range(6):
        name = f"cut{answered}"
        first = done(teach(*ANSWERS[:answered], name=name))
        assert f"Case {answered + 1}" in first  # that was on the screen when the line was cut
        second = done(teach(*ANSWERS[answered:], name=name, options=("--rounds", 6 - answered)))
        assert ("Welcome back" in second) == (answered > 0)
        assert told(second)[-3:] == told(whole)[-3:]
        assert second.split("How you seem to learn")[1] == whole.split("How you seem to learn")[1]
        other = Log.read(f"{name}.csv", TESTS)
        assert np.array_equal(log.values, other.values, equal_nan=True)
        assert log.prediction.tolist() == other.prediction.tolist()
    assert "cut5: 6 rounds, 1 of them now." in second


def test_a_truth_that_is_not_kept_is_not_told(teach, monkeypatch):
    done(teach("20"))

    def broken(self, path, **_):
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Log, "write", broken)
        failed = teach("21")
    assert failed.exit_code == 2
    assert "No space left" in failed.stderr
    assert "It was" not in failed.stdout.split("Case 2")[1]
    assert "Case 2" in done(teach())


def test_all_is_on_the_disk_whenever_somebody_types(teach, monkeypatch, tmp_path):
    """What a killed process leaves behind is what its file holds while it waits."""
    path, kept, read = tmp_path / "ann.csv", [], _asking.read_line

    def waiting(prompt):
        kept.append(path.read_bytes() if path.exists() else b"")
        return read(prompt)

    with monkeypatch.context() as patch:
        patch.setattr(_asking, "read_line", waiting)
        done(teach("20", "21", options=("--rounds", 3)))
    assert [len(content.splitlines()) for content in kept] == [0, 2, 3]
    path.write_bytes(kept[2])
    assert "Case 3" in done(teach("22.5", options=("--rounds", 1)))
    assert Log.read("ann.csv", TESTS).prediction.tolist() == [20.0, 21.0, 22.5]


@pytest.mark.full  # a process of its own has to load everything
def test_killed_in_a_terminal_while_somebody_types(teach, cases, tmp_path):
    pty = pytest.importorskip("pty")
    options = [str(word) for word in (cases, "--outcome", "y", *ALONE, "--name", "ann")]
    command = [sys.executable, "-m", "preceptor", "tutor", *options]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path)
    os.close(theirs)
    os.write(ours, b"20\n21\n2")
    heard = b""
    while not re.search(rb"Case 3.*Your prediction", heard, re.DOTALL):
        heard += os.read(ours, 4096)
    process.kill()
    process.wait()
    os.close(ours)
    assert len(Log.read(tmp_path / "ann.csv", TESTS)) == 2
    text = done(teach("22.5", options=("--rounds", 1)))
    assert "Case 3" in text
    assert Log.read("ann.csv", TESTS).prediction.tolist() == [20.0, 21.0, 22.5]


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("abc", "'abc' is not a number; type a plain number such as 12.5, or q to stop."),
        ("", "Nothing was typed"),
        ("1,234", "'1,234' could be 1.234 or 1234; write one of them"),
        ("25 %", "'25 %' is not a number"),
        ("nan", "'nan' is not a number"),
        ("inf", "is not a number"),
        ("1_000", "is not a number"),
        ("4000", "4000 looks like a typo"),
        ("?", "q     stop"),
    ],
)
def test_rubbish_is_asked_for_again(teach, typed, word):
    text = done(teach(typed, "20", options=("--rounds", 1)))
    assert word in text
    assert text.count("Your prediction: ") == 2
    assert Log.read("ann.csv", TESTS).prediction.tolist() == [20.0]


@pytest.mark.parametrize("typed", ["19,5", " 19.5 ", "+19.5"])
def test_decimal_points_and_commas_are_alike(teach, typed):
    done(teach(typed, options=("--rounds", 1)))
    assert Log.read("ann.csv", TESTS).prediction.tolist() == [19.5]


def test_a_slip_that_is_meant_counts_when_repeated(teach):
    done(teach("4000", "-4000", "-4000", options=("--rounds", 1)))
    assert Log.read("ann.csv", TESTS).prediction.tolist() == [-4000.0]


@pytest.mark.parametrize("word", ["q", "Q", "quit"])
def test_q_stops(teach, word):
    text = done(teach("20", word, "30"))
    assert "ann: 1 round." in text


def test_nothing_is_kept_of_no_rounds(teach, tmp_path):
    assert "No rounds yet." in done(teach("q"))
    assert [p.name for p in tmp_path.iterdir()] == ["cases.csv"]


def test_files_that_make_no_sense_are_refused(teach, tmp_path):
    (tmp_path / "ann.csv").write_text("participant,round\nann,1\n")
    assert "ann.csv" in no_traceback(teach("20"))
    (tmp_path / "ann.csv").unlink()
    refused = no_traceback(teach(options=("--log", "a.txt")))
    assert "ends in '.txt', must end in .csv, .jsonl, .ndjson or .parquet (--log)" in refused
    assert "add --log" in no_traceback(teach(name="../ann"))
    assert "already uses that file" in no_traceback(teach(options=("--log", "cases.csv")))


def meanwhile(monkeypatch, act):
    """Something happens while somebody sits before their first case."""
    read, before = _asking.read_line, [act]

    def waiting(prompt):
        while before:
            before.pop()()
        return read(prompt)

    monkeypatch.setattr(_asking, "read_line", waiting)


@pytest.mark.parametrize("begun", [False, True])
def test_two_sessions_on_one_log_lose_nothing(teach, monkeypatch, begun):
    if begun:
        done(teach("20"))
    inner = []

    def other():
        # The lines that are typed belong to whoever asks: keep ours while the other one runs.
        stdin = sys.stdin
        inner.append(teach("21", "22", options=("--rounds", 2)))
        sys.stdin = stdin

    with monkeypatch.context() as patch:
        meanwhile(patch, other)
        refused = teach("30", "31")
    assert inner[0].exit_code == 0
    assert refused.exit_code == 2
    assert "Traceback" not in refused.stderr
    said = " ".join(refused.stderr.split())
    assert "ann.csv: was changed by another program during this session" in said
    assert "It was" not in refused.stdout.split("Case")[-1]
    kept = [20.0] * begun + [21.0, 22.0]
    assert Log.read("ann.csv", TESTS).prediction.tolist() == kept
    done(teach("23", options=("--rounds", 1)))  # and it goes on


def test_a_log_with_columns_that_would_be_lost_is_refused(teach, tmp_path):
    done(teach("20", name="bob", options=("--log", "all.csv")))
    header, row = (tmp_path / "all.csv").read_text().splitlines()
    noted = f"{header},comment,bmi\n{row},tired,3\n"
    (tmp_path / "all.csv").write_text(noted)
    refused = no_traceback(teach("20", options=("--log", "all.csv")))
    assert "all.csv has other columns (comment, bmi), which would be lost" in refused
    assert "use another file for --log" in refused
    assert (tmp_path / "all.csv").read_text() == noted
    # A column for each test is another way to write the same.
    frame = Log.read("all.csv", TESTS).to_frame()
    frame.to_csv(tmp_path / "all.csv", index=False)
    done(teach("20", options=("--log", "all.csv")))
    assert Log.read("all.csv", TESTS).prediction.tolist() == [20.0, 20.0]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--log", "no/ann.csv"), "no: no such folder; make it first (--log)"),
        (("--log", "cases.csv/ann.csv"), "cases.csv: is not a folder (--log)"),
        (("--name", "cases"), "already uses that file; change --log or --name"),
    ],
)
def test_files_that_cannot_be_written_are_found_at_once(teach, options, word):
    assert word in no_traceback(teach("20", options=options))


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs such a folder")
def test_a_folder_in_which_nothing_can_be_made_is_found_at_once(teach):
    refused = no_traceback(teach("20", options=("--log", "/proc/ann.csv")))
    assert "/proc" in refused
    assert "choose another folder" in refused
    assert "--log" in refused


def test_people_are_told_how_to_answer_yes_or_no(teach, run, tmp_path):
    frame = pd.read_csv(tmp_path / "cases.csv")
    frame["y"] = (frame["y"] > 20).astype(int)
    frame.to_csv(tmp_path / "ill.csv", index=False)
    table = (tmp_path / "ill.csv", "--outcome", "y")
    text = done(teach("0.7", "yes", table=table))
    assert "Predict y of each case from what you see: yes or no.\n" in text.split("Case 1")[0]
    assert "'0.7' is no answer; type yes or no, or q to stop." in text
    assert "It was yes: right." in text or "It was no: a false alarm." in text
    # Other risks come with a plan of the table.
    planned = ("--plan", "plan.json")
    quick = (*ALONE, "--time-limit", 0.1, "--no-report")
    done(run("plan", *table, *quick, "--risk", "brier"))
    stated = done(teach("70%", name="eve", table=table, begin=planned))
    assert "yes or no, or a probability such as 0.7 or 70%.\n" in stated.split("Case 1")[0]
    assert "you gave that 70%" in stated or "you gave that 30%" in stated
    done(run("plan", *table, *quick, "--as-number"))
    number = done(teach("0.7", name="dan", table=table, begin=planned))
    assert "Predict y of each case from what you see. The average is" in number


def test_a_plan_says_whom_to_teach(teach, run, cases):
    done(run("plan", cases, "--outcome", "y", *ALONE, "--no-report"))
    planned = ("--plan", "plan.json")
    assert told(done(teach("20", begin=planned))) == told(done(teach("20", name="bob")))
    refused = no_traceback(teach("20", begin=planned, options=("--tests", 1)))
    assert "--tests: already given by the plan" in refused
    refused = no_traceback(teach("20", begin=planned, options=("--drop", "age")))
    assert "--plan: its tests (bmi, bp, age) are not those of the table (bmi, bp)" in refused


def test_people_share_a_log(teach, tmp_path):
    shared = ("--log", "all.jsonl")
    done(teach("20", options=shared))
    done(teach("21", "22", name="bob", options=shared))
    done(teach("23", options=shared))
    log = Log.read("all.jsonl", TESTS)
    assert log.for_participant("ann").prediction.tolist() == [20.0, 23.0]
    assert log.for_participant("bob").prediction.tolist() == [21.0, 22.0]


def test_clocks_that_are_set_back_do_no_harm(teach, tmp_path):
    done(teach("20"))
    path = tmp_path / "ann.csv"
    path.write_text(re.sub(r"20\d\d-\d\d-\d\d", "2999-01-01", path.read_text()))
    done(teach("21"))
    log = Log.read("ann.csv", TESTS)
    assert log.when.tolist()[0] == log.when.tolist()[1]


def test_cases_come_once_until_they_are_used_up(teach, tmp_path):
    lines = (tmp_path / "cases.csv").read_text().splitlines()
    small = tmp_path / "small.csv"
    small.write_text("\n".join(lines[:8]) + "\n")
    answers = [str(20 + i / 8) for i in range(9)]
    table = (small, "--outcome", "y")
    text = done(teach(*answers, table=table, options=("--rounds", 9, "--looks", "nothing")))
    rows = rows_of(Log.read("ann.csv", TESTS))
    assert sorted(rows[:7]) == list(range(7))
    assert len(set(rows[7:])) == 2
    assert text.count("All cases have been used") == 1
    options = ("--looks", "nothing", "--seed", 1)
    other = done(teach(*answers, table=table, name="bob", options=options))
    again = rows_of(Log.read("bob.csv", TESTS))
    assert again != rows
    assert "Case 10" in other
    # Cases at the edges of the table are never picked, so those that are come again sooner.
    picked = done(teach(*answers, table=table, name="eve"))
    often = np.bincount(rows_of(Log.read("eve.csv", TESTS)))
    assert picked.count("All cases have been used") == often.max() - 1
    assert set(often.tolist()) <= {0, often.max(), often.max() - 1}


@pytest.mark.parametrize("looks", ["case", "nothing"])
def test_gaps_are_gone_round_and_categories_are_read_as_words(teach, run, tmp_path, looks):
    frame = pd.read_csv(tmp_path / "cases.csv")
    frame["site"] = np.array(["north", "south", "west"])[np.arange(60) % 3]
    frame["y"] += 8.0 * (frame["site"] == "south")
    frame.loc[::2, "bmi"] = np.nan
    frame.loc[5, "y"] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    table = (tmp_path / "gaps.csv", "--outcome", "y")
    begin = ("--person", "by-showings", "--cases", 5, "--looks", looks)
    text = done(teach(*["20"] * 8, table=table, begin=begin))
    done(run("plan", *table, "--person", "by-showings", "--cases", 5, "--no-report"))
    log = Log.read("ann.csv", pr.Plan.load("plan.json").problem.world)
    known = frame[frame["y"].notna()].reset_index(drop=True)
    rows = [known["y"].tolist().index(outcome) for outcome in log.outcome.tolist()]
    seen = set()
    for i, place in enumerate(rows):
        row = known.loc[place]
        for j in np.flatnonzero(log.shown[i]):
            name = log.names[j]
            seen.add(name)
            if "=" in name:
                assert log.values[i, j] == float(row["site"] == name.split("=")[1])
                assert f"site {row['site']}" in " ".join(text.split())
            else:
                assert log.values[i, j] == row[name]
    assert any("=" in name for name in seen)
    gaps = known.loc[rows, "bmi"].isna()
    assert gaps.any()
    assert not gaps.all()


def test_from_a_session_to_a_learner(teach, run, cases, tmp_path):
    """The log is what `preceptor fit` reads, dates and all."""
    rng = np.random.default_rng(0)
    answers = [f"{20 + rng.normal():.2f}" for _ in range(14)]
    done(teach(*answers, options=("--rounds", 14)))
    fitted = run("fit", "ann.csv", "--data", cases, "--outcome", "y", "--dry-run")
    assert "14 answers of 1 participant." in fitted.stdout
    # Whoever answers at random is read, but no learner is made of it.
    assert fitted.exit_code == 1
    assert "answers are not related to the tests" in fitted.stderr


def test_a_crowd_is_followed_and_a_page_written(teach, tmp_path):
    begin = ("--cases", 5, "--tests", 1)
    options = ("--rounds", 9, "--report", "run.html")
    text = done(teach(*["20"] * 9, begin=begin, options=options))
    assert "Typically off by" in text
    assert re.search(r"How you seem to learn:\n +\d+%  ", text)
    page = (tmp_path / "run.html").read_text("utf-8")
    assert "ann after 9 rounds" in page


def test_the_built_in_example_has_units(teach):
    drop = [word for name in ("sex", "total cholesterol", "LDL", "HDL", "cholesterol ratio",
                              "triglycerides") for word in ("--drop", name)]  # fmt: skip
    result = teach("150", table=drop, begin=ALONE)
    text = done(result)
    assert "Predict progression score of each case" in text
    assert any(f" {unit} (average " in text for unit in ("years", "kg/m²", "mg/dl"))
    assert "mmHg; average" in text or "blood pressure" not in text


def test_the_truth_is_told_exactly():
    asked = Quantity("y", 0.0, 20.0)
    assert asked.verdict(12.5, 12.5) == "It was 12.5: exactly right."
    assert asked.verdict(10.0, 12.5) == "It was 12.5: you were 2.5 too low."
    assert asked.verdict(13.0, 12.5) == "It was 12.5: you were 0.5 too high."
