"""`preceptor tutor`: whole sessions through a pipe, that end anywhere and go on."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import preceptor as pr
from preceptor.cli import _asking
from preceptor.cli._session import Session
from preceptor.logs import Log
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


@pytest.fixture(scope="module")
def a_state(tmp_path_factory):
    """A state after two rounds, as text."""
    world = pr.World.equicorrelated([1.0, 0.5], 0.5, 0.1, names=["bmi", "bp"])
    tutor = pr.Tutor(pr.Problem(world, pr.Learner([0.2, 1.3], pr.Geometric(1.1)), 1, 0.9))
    session = Session("ann", 0, {"path": "cases.csv"}, {"outcome": "y"}, tutor)
    for row in range(2):
        session = session.after(row, (row,), [1.0], 0.5, 0.7, "because")
    path = tmp_path_factory.mktemp("state") / "ann.json"
    session.save(path)
    return path.read_text()


def done(result):
    assert result.exit_code == 0, result.stderr
    return result.stdout


def told(text):
    """What people read, without the greeting and the summary."""
    return [line for line in text.splitlines() if line.startswith(("Case", "  ", "It was"))]


def test_a_session_shows_asks_tells_and_keeps(teach, cases, tmp_path):
    text = done(teach(*ANSWERS, options=("--rounds", 6)))
    frame = pd.read_csv(cases)
    log = Log.read("ann.csv", ["bmi", "bp", "age"])
    state = Session.load(tmp_path / "ann.json")
    assert log.prediction.tolist() == [float(answer) for answer in ANSWERS]
    assert log.rounds.tolist() == [1, 2, 3, 4, 5, 6]
    assert log.told.all()
    assert not np.isnat(log.when).any()
    rows = [played.row for played in state.rounds]
    assert len(set(rows)) == 6
    for i, row in enumerate(rows):
        assert log.outcome[i] == frame["y"][row]
        for j, test in enumerate(log.names):
            if log.shown[i, j]:
                assert log.values[i, j] == frame[test][row]
                assert f"{frame[test][row]:g}" in text
        off = abs(log.prediction[i] - log.outcome[i])
        assert f"It was {log.outcome[i]:.6g}: you were {off:.4g} too" in text
    # What it advised is what a tutor advises who sees the same record.
    tutor = pr.Tutor(state.tutor.problem)
    for entry in state.tutor.record:
        assert tutor.next() == entry.shown
        tutor = tutor.after(entry.shown, entry.values, entry.answer, entry.outcome)
    assert "ann: 6 rounds." in text
    assert "Who this may be:" in text
    assert {p.name for p in tmp_path.iterdir()} == {"cases.csv", "ann.json", "ann.csv"}


def test_beliefs_of_the_machine_are_not_shown_unless_asked_for(teach):
    silent = done(teach("20", "19", options=("--rounds", 2)))
    assert "because" not in silent
    asked = done(teach("why", "20", name="bob", options=("--rounds", 1)))
    assert "because" in asked
    shown = done(teach("20", name="eve", options=("--rounds", 1, "--show-why")))
    assert "because" in shown.split("Your prediction")[0]


def test_it_ends_anywhere_and_goes_on_as_if_it_had_not(teach, tmp_path):
    tests = ["bmi", "bp", "age"]
    whole = done(teach(*ANSWERS, options=("--rounds", 6), name="whole"))
    one, log = Session.load(tmp_path / "whole.json"), Log.read("whole.csv", tests)
    for answered in range(6):
        name = f"cut{answered}"
        first = done(teach(*ANSWERS[:answered], name=name))
        assert f"Case {answered + 1}" in first  # that was on the screen when the line was cut
        second = done(teach(*ANSWERS[answered:], name=name, options=("--rounds", 6 - answered)))
        assert ("Welcome back" in second) == (answered > 0)
        assert told(second)[-3:] == told(whole)[-3:]
        two, other = Session.load(tmp_path / f"{name}.json"), Log.read(f"{name}.csv", tests)
        assert one.tutor.to_json() == two.tutor.to_json()
        assert [(p.row, p.reason) for p in one.rounds] == [(p.row, p.reason) for p in two.rounds]
        assert np.array_equal(log.values, other.values, equal_nan=True)
        assert log.prediction.tolist() == other.prediction.tolist()


def test_options_may_be_left_out_when_it_goes_on(teach):
    done(teach("20", "21"))
    text = done(teach("19", table=(), begin=(), options=("--rounds", 1)))
    assert "Case 3" in text
    assert "ann: 3 rounds, 1 of them now." in text


def test_a_crash_between_two_files_is_mended(teach, monkeypatch, tmp_path):
    done(teach("20"))
    write = Session.write_log

    def broken(self, path):
        if len(self.rounds) == 2:
            raise OSError(28, "No space left on device", str(path))
        write(self, path)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "write_log", broken)
        failed = teach("21")
    assert failed.exit_code == 2
    assert "No space left" in failed.stderr
    assert "It was" not in failed.stdout.split("Case 2")[1]  # nobody saw a truth that is not kept
    assert len(Session.load(tmp_path / "ann.json").rounds) == 2
    assert len(Log.read("ann.csv", ["bmi", "bp", "age"])) == 1
    assert "Case 3" in done(teach())
    assert Log.read("ann.csv", ["bmi", "bp", "age"]).prediction.tolist() == [20.0, 21.0]


def test_all_is_on_the_disk_whenever_somebody_types(teach, monkeypatch, tmp_path):
    """What a killed process leaves behind is what its files hold while it waits."""
    names, kept, read = ("ann.json", "ann.csv"), [], _asking.read_line

    def waiting(prompt):
        kept.append({n: (tmp_path / n).read_bytes() for n in names if (tmp_path / n).exists()})
        return read(prompt)

    with monkeypatch.context() as patch:
        patch.setattr(_asking, "read_line", waiting)
        done(teach("20", "21", options=("--rounds", 3)))
    assert [len(files) for files in kept] == [0, 2, 2]
    for name, content in kept[2].items():
        (tmp_path / name).write_bytes(content)
    assert len(Session.load(tmp_path / "ann.json").rounds) == 2
    assert "Case 3" in done(teach("22.5", options=("--rounds", 1)))
    assert Log.read("ann.csv", ["bmi", "bp", "age"]).prediction.tolist() == [20.0, 21.0, 22.5]


@pytest.mark.slow  # a process of its own has to load everything
def test_killed_in_a_terminal_while_somebody_types(teach, cases, tmp_path):
    pty = pytest.importorskip("pty")
    options = [str(word) for word in (cases, "--outcome", "y", *ALONE, "--name", "ann")]
    command = [sys.executable, "-m", "preceptor.cli", "tutor", *options]
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
    assert len(Session.load(tmp_path / "ann.json").rounds) == 2
    text = done(teach("22.5", options=("--rounds", 1)))
    assert "Case 3" in text
    assert Log.read("ann.csv", ["bmi", "bp", "age"]).prediction.tolist() == [20.0, 21.0, 22.5]


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("abc", "'abc' is not a number. Type a plain number such as 12.5"),
        ("", "Nothing was typed"),
        ("1,234", "'1,234' could be 1.234 or 1234; write one of them"),
        ("25 %", "'25 %' is not a number"),
        ("nan", "'nan' is not a number"),
        ("inf", "is not a number"),
        ("1_000", "is not a number"),
        ("4000", "4000 looks like a slip"),
        ("?", "q     stop"),
    ],
)
def test_rubbish_is_asked_for_again(teach, typed, word):
    text = done(teach(typed, "20", options=("--rounds", 1)))
    assert word in text
    assert text.count("Your prediction: ") == 2
    assert Log.read("ann.csv", ["bmi", "bp", "age"]).prediction.tolist() == [20.0]


@pytest.mark.parametrize("typed", ["19,5", " 19.5 ", "+19.5"])
def test_decimal_points_and_commas_are_alike(teach, typed):
    done(teach(typed, options=("--rounds", 1)))
    assert Log.read("ann.csv", ["bmi", "bp", "age"]).prediction.tolist() == [19.5]


def test_a_slip_that_is_meant_counts_when_repeated(teach):
    done(teach("4000", "-4000", "-4000", options=("--rounds", 1)))
    assert Log.read("ann.csv", ["bmi", "bp", "age"]).prediction.tolist() == [-4000.0]


@pytest.mark.parametrize("word", ["q", "Q", "quit"])
def test_q_stops(teach, word):
    text = done(teach("20", word, "30"))
    assert "ann: 1 round." in text


def test_nothing_is_kept_of_no_rounds(teach, tmp_path):
    assert "No rounds yet." in done(teach("q"))
    assert [p.name for p in tmp_path.iterdir()] == ["cases.csv"]


def test_another_table_is_refused(teach, cases, tmp_path):
    done(teach("20"))
    lines = cases.read_text().splitlines()
    other = tmp_path / "other.csv"
    other.write_text("\n".join(lines[:-1]) + "\n")
    refused = teach("20", table=(other, "--outcome", "y"))
    assert refused.exit_code == 2
    words = no_traceback(refused)
    assert "begun with another table (cases.csv, 60 cases), not with other.csv" in words
    assert "--state" in words
    # Only what is in it counts, not where it lies.
    other.write_text(cases.read_text())
    done(teach("21", table=(other, "--outcome", "y"), options=("--rounds", 1)))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--half-life", 3), "--half-life: 3.0, but the session was begun without it"),
        (("--tests", 1), "--tests: the session was begun with 2, not with 1"),
        (("--seed", 5), "--seed: the session was begun with 0, not with 5"),
        (("--name", "bob", "--state", "ann.json"), "is the session of 'ann'"),
    ],
)
def test_other_options_are_refused(teach, options, word):
    done(teach("20"))
    refused = teach("20", begin=(), options=options)
    assert refused.exit_code == 2
    assert word in no_traceback(refused)


def test_files_that_make_no_sense_are_refused(teach, tmp_path):
    (tmp_path / "ann.json").write_text("{}")
    assert "is no session of `preceptor tutor`" in no_traceback(teach("20"))
    (tmp_path / "ann.json").write_text("{")
    assert "not valid JSON" in no_traceback(teach("20"))
    (tmp_path / "ann.json").unlink()
    assert "must end in .csv, .jsonl or .parquet" in no_traceback(teach(options=("--log", "a.txt")))
    assert "give --state and --log too" in no_traceback(teach(name="../ann"))
    assert "already uses that file" in no_traceback(teach(options=("--log", "cases.csv")))


def test_a_log_with_other_rounds_of_the_same_person_is_refused(teach, tmp_path):
    done(teach("20", "21"))
    (tmp_path / "ann.json").unlink()
    refused = no_traceback(teach("20"))
    assert "has 2 rounds of ann that are not in the state (0 rounds)" in refused


def meanwhile(monkeypatch, act):
    """Something happens while somebody sits before their first case."""
    read, before = _asking.read_line, [act]

    def waiting(prompt):
        while before:
            before.pop()()
        return read(prompt)

    monkeypatch.setattr(_asking, "read_line", waiting)


@pytest.mark.parametrize("begun", [False, True])
def test_two_sessions_on_one_state_lose_nothing(teach, monkeypatch, tmp_path, begun):
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
    assert "another session is using ann.json; its answers are kept, yours from this" in said
    assert "It was" not in refused.stdout.split("Case")[-1]
    kept = [20.0] * begun + [21.0, 22.0]
    state = Session.load(tmp_path / "ann.json")
    assert [entry.answer for entry in state.tutor.record] == kept
    assert Log.read("ann.csv", ["bmi", "bp", "age"]).prediction.tolist() == kept
    done(teach("23", options=("--rounds", 1)))  # and it goes on


def test_sessions_know_what_they_wrote_themselves(teach, tmp_path):
    done(teach("20"))
    path = tmp_path / "ann.json"
    one, two = Session.load(path), Session.load(path)
    entry = one.tutor.record[0]
    more = (5, entry.shown, list(entry.values), 21.0, 22.0, "because")
    one = one.after(*more).save(path)
    one = one.after(*more).save(path)
    content = path.read_bytes()
    with pytest.raises(pr.InvalidFile, match=r"another session is using ann\.json"):
        two.after(*more).save(path)
    assert path.read_bytes() == content
    path.unlink()
    with pytest.raises(pr.InvalidFile, match="was removed while this session went on"):
        one.after(*more).save(path)
    assert not path.exists()


def test_a_log_with_columns_that_would_be_lost_is_refused(teach, tmp_path):
    done(teach("20", name="bob", options=("--log", "all.csv")))
    header, row = (tmp_path / "all.csv").read_text().splitlines()
    noted = f"{header},comment,bmi\n{row},tired,3\n"
    (tmp_path / "all.csv").write_text(noted)
    refused = no_traceback(teach("20", options=("--log", "all.csv")))
    assert "all.csv has other columns (comment, bmi), which would be lost" in refused
    assert "give --log another file" in refused
    assert (tmp_path / "all.csv").read_text() == noted
    assert not (tmp_path / "ann.json").exists()
    # A column for each test is another way to write the same.
    frame = Log.read("all.csv", ["bmi", "bp", "age"]).to_frame()
    frame.to_csv(tmp_path / "all.csv", index=False)
    done(teach("20", options=("--log", "all.csv")))
    assert Log.read("all.csv", ["bmi", "bp", "age"]).prediction.tolist() == [20.0, 20.0]


def change(*keys, to):
    """What puts something else at a place of a state."""

    def put(data):
        *outer, last = keys
        for key in outer:
            data = data[key]
        data[last] = to

    return put


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        (change("seed", to="x"), "seed: 'x'"),
        (change("seed", to=-1), "seed: -1"),
        (change("name", to=3), "name: 3"),
        (change("table", to=None), "table: None"),
        (change("table", "path", to=5), "table: path is 5"),
        (change("choices", to=[1]), "choices: [1]"),
        (change("choices", "drop", to=7), "drop is 7"),
        (change("choices", "outcome", to=["y"]), "outcome is ['y']"),
        (change("rounds", to=None), "rounds: None"),
        (change("rounds", 0, to=1), "case 1: 1, must be an object"),
        (change("rounds", 1, "when", to="yesterday"), "case 2: when 'yesterday'"),
        (change("rounds", 1, "when", to="1999-01-01T00:00:00"), "is before"),
        (change("rounds", 0, "when", to="2024-01-01T00:00:00+02:00"), "must be a date"),
        (change("rounds", 0, "row", to="a"), "row 'a'"),
        (change("rounds", 0, "reason", to=None), "reason None"),
        (change("tutor", to=[]), "tutor: []"),
        (change("tutor", "problem", to=3), "tutor: problem: 3"),
        (change("tutor", "problem", "world", to=3), "tutor: "),
        (change("tutor", "problem", "learner", to=[3]), "tutor: "),
        (change("tutor", "record", to={}), "tutor"),
        (change("tutor", "record", 0, "shown", to=[99]), "shown (99,)"),
        (change("tutor", "record", 0, "answer", to="a"), "answer 'a'"),
        (change("tutor", "record", 0, "answer", to=None), "case 1: has no answer"),
        (change("tutor", "record", 1, "outcome", to=None), "no outcome"),
        (lambda data: data["tutor"]["record"].pop(), "2 rounds, but the tutor has 1"),
    ],
)
def test_a_state_changed_by_hand_is_refused_by_name(a_state, tmp_path, edit, word):
    data = json.loads(a_state)
    edit(data)
    path = tmp_path / "ann.json"
    path.write_text(json.dumps(data))
    with pytest.raises(pr.InvalidFile) as refused:
        Session.load(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert word in str(refused.value)


def test_an_outcome_taken_out_by_hand_is_an_error_not_a_traceback(teach, tmp_path):
    done(teach("20"))
    data = json.loads((tmp_path / "ann.json").read_text())
    data["tutor"]["record"][0] |= {"outcome": None, "heard": None}
    (tmp_path / "ann.json").write_text(json.dumps(data))
    refused = no_traceback(teach("21"))
    assert refused.startswith("Error: ann.json: was changed by hand or damaged")
    assert "case 1: has no outcome" in refused


def test_a_tutor_of_other_tests_is_refused(teach, tmp_path):
    done(teach("20"))
    data = json.loads((tmp_path / "ann.json").read_text())
    data["tutor"]["problem"]["world"]["names"][0] = "weight"
    (tmp_path / "ann.json").write_text(json.dumps(data))
    refused = no_traceback(teach("21"))
    assert refused.startswith("Error: ann.json: the tests of its tutor (weight, bp, age)")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--state", "no/ann.json"), "no: no such folder; make it first (--state)"),
        (("--log", "no/ann.csv"), "no: no such folder; make it first (--log)"),
        (("--log", "cases.csv/ann.csv"), "cases.csv: is not a folder (--log)"),
        (
            ("--state", "cases.csv"),
            "cases.csv: this command already uses that file; change --state",
        ),
        (("--name", "cases"), "already uses that file; change --log or --name"),
        (("--state", "ann.csv"), "ann.csv: this command already uses that file; change --log or"),
    ],
)
def test_files_that_cannot_be_written_are_found_at_once(teach, options, word):
    assert word in no_traceback(teach("20", options=options))


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs such a folder")
@pytest.mark.parametrize("option", ["--state", "--log"])
def test_a_folder_in_which_nothing_can_be_made_is_found_at_once(teach, option):
    file = "/proc/ann.json" if option == "--state" else "/proc/ann.csv"
    refused = no_traceback(teach("20", options=(option, file)))
    assert "/proc" in refused
    assert "choose another folder" in refused
    assert option in refused


def test_the_table_of_a_session_is_never_its_log(teach, cases):
    done(teach("20"))
    before = cases.read_text()
    refused = no_traceback(teach("20", table=(), begin=(), options=("--log", "cases.csv")))
    assert "cases.csv: this command already uses that file; change --log" in refused
    assert cases.read_text() == before


def test_people_are_told_how_to_answer_yes_or_no(teach, tmp_path):
    frame = pd.read_csv(tmp_path / "cases.csv")
    frame["y"] = (frame["y"] > 20).astype(int)
    frame.to_csv(tmp_path / "ill.csv", index=False)
    table = (tmp_path / "ill.csv", "--outcome", "y")
    text = done(teach("0.7", "yes", table=table))
    assert "Predict y of each case from what you see: yes or no.\n" in text.split("Case 1")[0]
    assert "'0.7' must be yes or no; type that, or q to stop." in text
    assert "It was yes: right." in text or "It was no: a false alarm." in text
    stated = done(teach("70%", name="eve", table=table, options=("--risk", "brier")))
    assert "yes or no, or a probability such as 0.7 or 70%.\n" in stated.split("Case 1")[0]
    assert "you gave that 70%" in stated or "you gave that 30%" in stated
    number = done(teach("0.7", name="dan", table=table, options=("--as-number",)))
    assert "Answer with a probability: how likely 1 is" in number.split("Case 1")[0]
    assert "probability" not in done(teach("20", name="bob"))
    assert "likely 2 is: 1 for never, 1.5 for half the time" in _asking.how_to_answer(1.0, 2.0)


def test_people_share_a_log(teach, tmp_path):
    shared = ("--log", "all.jsonl")
    done(teach("20", options=shared))
    done(teach("21", "22", name="bob", options=shared))
    done(teach("23", options=shared))
    log = Log.read("all.jsonl", ["bmi", "bp", "age"])
    assert log.for_participant("ann").prediction.tolist() == [20.0, 23.0]
    assert log.for_participant("bob").prediction.tolist() == [21.0, 22.0]


def test_clocks_that_are_set_back_do_no_harm(teach, tmp_path):
    done(teach("20"))
    data = json.loads((tmp_path / "ann.json").read_text())
    data["rounds"][0]["when"] = "2999-01-01T00:00:00"
    (tmp_path / "ann.json").write_text(json.dumps(data))
    done(teach("21"))
    log = Log.read("ann.csv", ["bmi", "bp", "age"])
    assert log.when.tolist()[0] == log.when.tolist()[1]


def test_cases_come_once_until_they_are_used_up(teach, tmp_path):
    lines = (tmp_path / "cases.csv").read_text().splitlines()
    small = tmp_path / "small.csv"
    small.write_text("\n".join(lines[:8]) + "\n")
    answers = [str(20 + i / 8) for i in range(9)]
    table = (small, "--outcome", "y")
    text = done(teach(*answers, table=table, options=("--rounds", 9)))
    rows = [played.row for played in Session.load(tmp_path / "ann.json").rounds]
    assert sorted(rows[:7]) == list(range(7))
    assert len(set(rows[7:])) == 2
    assert text.count("All cases have been used") == 1
    other = done(
        teach(*answers, table=(small, "--outcome", "y"), name="bob", options=("--seed", 1))
    )
    again = [played.row for played in Session.load(tmp_path / "bob.json").rounds]
    assert again != rows
    assert "Case 10" in other


def test_gaps_are_gone_round_and_categories_are_read_as_words(teach, tmp_path):
    frame = pd.read_csv(tmp_path / "cases.csv")
    frame["site"] = np.array(["north", "south", "west"])[np.arange(60) % 3]
    frame["y"] += 4.0 * (frame["site"] == "south")
    frame.loc[::2, "bmi"] = np.nan
    frame.loc[5, "y"] = np.nan
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    table = (tmp_path / "gaps.csv", "--outcome", "y")
    text = done(teach(*["20"] * 8, table=table, begin=("--person", "by-showings", "--cases", 5)))
    state = Session.load(tmp_path / "ann.json")
    known = frame[frame["y"].notna()].reset_index(drop=True)
    labels = state.tutor.problem.world.labels
    seen = set()
    for played, entry in zip(state.rounds, state.tutor.record, strict=True):
        row = known.loc[played.row]
        assert entry.outcome == row["y"]
        for test, value in zip(entry.shown, entry.values, strict=True):
            name = labels[test]
            seen.add(name)
            if "=" in name:
                assert value == float(row["site"] == name.split("=")[1])
                assert f"site {row['site']}" in " ".join(text.split())
            else:
                assert value == row[name]
    assert any("=" in name for name in seen)
    assert any(np.isnan(known.loc[played.row, "bmi"]) for played in state.rounds)
    assert any(not np.isnan(known.loc[played.row, "bmi"]) for played in state.rounds)


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
    shares = Session.load(tmp_path / "ann.json").tutor.kinds
    likeliest = max(shares, key=shares.__getitem__)
    assert f"{shares[likeliest]:>4.0%}  {likeliest}" in text
    page = (tmp_path / "run.html").read_text("utf-8")
    assert "ann after 9 rounds" in page


def test_the_built_in_example_has_units(teach):
    drop = [word for name in ("sex", "total cholesterol", "LDL", "HDL", "cholesterol ratio",
                              "triglycerides") for word in ("--drop", name)]  # fmt: skip
    result = teach("150", table=("--example", "diabetes", *drop), begin=ALONE)
    text = done(result)
    assert "Predict progression score of each case" in text
    assert any(f" {unit} (average " in text for unit in ("years", "kg/m²", "mg/dl"))
    assert "mmHg; average" in text or "blood pressure" not in text
    done(teach("151", table=(), begin=(), options=("--rounds", 1)))


def test_the_truth_is_told_exactly():
    assert _asking.verdict(12.5, 12.5) == "It was 12.5: exactly right."
    assert _asking.verdict(10.0, 12.5) == "It was 12.5: you were 2.5 too low."
    assert _asking.verdict(13.0, 12.5) == "It was 12.5: you were 0.5 too high."


def test_cases_are_counted_and_about_has_no_end(teach, tmp_path):
    done(teach("20", options=("--rounds", 1)))
    problem = Session.load(tmp_path / "ann.json").tutor.problem
    assert (problem.horizon, problem.discount) == (5, 1.0)
    begin = ("--person", "by-showings", "--about", 5, "--tests", 2)
    done(teach("20", options=("--rounds", 1), name="bob", begin=begin))
    problem = Session.load(tmp_path / "bob.json").tutor.problem
    assert (problem.horizon, problem.discount) == (None, pytest.approx(0.8))
