"""Exports: valid, whole, anonymous, and analysed by their own script as by the library."""

from __future__ import annotations

import csv
import itertools
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from preceptor._base.files import parse_toml
from preceptor.data.log import Log
from preceptor.errors import InvalidFile, InvalidInput
from preceptor.live.store import chain, participants, studies
from preceptor.live.store.database import Store
from preceptor.live.study.analysis import KindCounts, _signs
from preceptor.live.study.arms import make_arms
from preceptor.live.study.config import LookOfTest
from preceptor.live.study.export import Variable, export, script, table, tables
from preceptor.live.study.measures import outcome_share, unrelated_probability
from preceptor.live.study.registration import Registration, template
from preceptor.live.study.simulated_people import assumptions, make_stage, played, recruited
from preceptor.live.study.study import Study
from preceptor.live.web.study_forms import number
from tests.live.study.files import SMALL
from tests.live.study.played import opened, play
from tests.live.study.psych_ds import psych_ds_faults

PROBES = SMALL.replace(
    'show = [["bmi"], ["bp"], ["bmi", "bp"]]',
    'probe = [{ show = ["bmi"], values = [2.0] }, { show = ["bmi"], values = [-2.0] }]',
).replace(
    '[[block]]\nkind = "training"',
    '[[block]]\nkind = "test"\ntitle = "Before"\n'
    'probe = [{ show = ["bmi"], values = [2.0] }, { show = ["bmi"], values = [-2.0] }]\n\n'
    '[[block]]\nkind = "training"',
)


def with_analysis(text: str, **said: Any) -> str:
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in said.items())
    return f"{text.split('[analysis]')[0]}[analysis]\n{lines}\n"


def filled(folder: Path, text: str = SMALL) -> tuple[Store, Study]:
    """A study with people who finish, who fail a check, who leave, and with a bot."""
    store, study = opened(folder, text)
    play(store, study, 14, seed=1)
    play(store, study, 2, seed=2, fails=True)
    play(store, study, 3, seed=3, until=study.protocol.assigned_at + 5)
    play(store, study, 1, seed=4, until=1)
    play(store, study, 3, seed=5, kind="bot")
    store.write(lambda c: studies.raise_people(c, study.id, 30, "more money"))
    store.write(lambda c: studies.unblind(c, study.id, "me", "all are there"))
    return store, study


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Study, Path]]:
    folder = tmp_path_factory.mktemp("export")
    store, study = filled(folder)
    export(store, study.id, folder / "out", who="me")
    yield store, study, folder / "out"
    store.close()


def rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text().splitlines()))


def test_the_folder_is_psych_ds(here: tuple[Store, Study, Path]) -> None:
    _, _, out = here
    assert psych_ds_faults(out) == []
    assert sorted(file.name for file in (out / "data").iterdir()) == [
        "study-twotests_task-test1_data.csv",
        "study-twotests_task-training1_data.csv",
    ]
    said = json.loads((out / "dataset_description.json").read_text())
    assert said["schemaVersion"].startswith("Psych-DS 1.5")


def test_the_validator_finds_faults(tmp_path: Path, here: tuple[Store, Study, Path]) -> None:
    import shutil

    _, _, out = here
    broken = tmp_path / "broken"
    shutil.copytree(out, broken)
    said = json.loads((broken / "dataset_description.json").read_text())
    said["variableMeasured"] = said["variableMeasured"][1:]
    del said["name"]
    (broken / "dataset_description.json").write_text(json.dumps(said))
    (broken / "data" / "extra.csv").write_text("a,b\n1\n")
    found = "\n".join(psych_ds_faults(broken))
    for sentence in ("name is missing", "row_id", "keyword-value", "not as long"):
        assert sentence in found


def test_rows_are_what_people_did(here: tuple[Store, Study, Path]) -> None:
    _, _, out = here
    people = rows(out / "participants.csv")
    assert len(people) == 20
    assert sum(row["status"] == "finished" for row in people) == 16
    why = [row["why_excluded"] for row in people if row["excluded"] == "yes"]
    assert sorted(why) == ["failed 1 checks"] * 2 + ["no arm"] + ["unfinished"] * 3
    training = rows(out / "data" / "study-twotests_task-training1_data.csv")
    tested = rows(out / "data" / "study-twotests_task-test1_data.csv")
    assert len(tested) == 16 * 3
    assert {row["feedback"] for row in training} == {"yes"}
    assert {row["feedback"] for row in tested} == {"no"}
    # Places are matched: whoever has the same place met the same cases in both arms.
    cases: dict[tuple[str, str], set[str]] = {}
    for row in (*training, *tested):
        cases.setdefault((row["place"], row["trial"]), set()).add(row["outcome"])
        assert float(row["error"]) == float(row["prediction"]) - float(row["outcome"])
        assert float(row["charge"]) == pytest.approx(float(row["error"]) ** 2)
    assert all(len(outcomes) == 1 for outcomes in cases.values())


def test_results_are_exported_as_they_were_read_and_exactly(
    here: tuple[Store, Study, Path],
) -> None:
    _, study, out = here
    played = [row for file in (out / "data").iterdir() for row in rows(file)]
    compared = 0
    for row in played:
        exact = dict(zip(row["shown"].split(";"), row["values"].split(";"), strict=True))
        for test in study.problem.world.tests:
            assert row[f"{test}_exact"] == exact.get(test, "")
            if test in exact:
                look = study.configuration.tests.get(test, LookOfTest())
                read = number(study.words, float(exact[test]), look.decimals)
                assert row[test] == read.replace("−", "-")
                compared += row[test] != exact[test]
        told = number(study.words, float(row["outcome"]), study.configuration.outcome.decimals)
        assert row["outcome_told"] == ("" if row["feedback"] == "no" else told.replace("−", "-"))
    assert compared > 20
    assert {row["outcome_told"] == "" for row in played} == {True, False}


def test_the_log_is_read_back(here: tuple[Store, Study, Path]) -> None:
    _, study, out = here
    log = Log.read(out / "log.csv", study.problem.world)
    parts = [rows(file) for file in sorted((out / "data").iterdir())]
    assert len(log) == sum(map(len, parts))
    assert set(log.participants) <= {row["participant"] for row in rows(out / "participants.csv")}


def test_anonymous_is_anonymous(here: tuple[Store, Study, Path], tmp_path: Path) -> None:
    store, study, out = here
    everyone = store.read(lambda c: participants.everyone(c, study.id))
    every_file = [file for file in out.rglob("*") if file.is_file()]
    text = "".join(file.read_bytes().decode("utf-8", "replace") for file in every_file)
    assert not any(who.id in text for who in everyone)
    assert "It was fun" not in text
    times = everyone[0].created[:10]
    assert not re.search(rf"{times}[T ]\d\d:", text)
    export(store, study.id, tmp_path / "again", who="me")
    names = {row["participant"] for row in rows(out / "participants.csv")}
    again = {row["participant"] for row in rows(tmp_path / "again" / "participants.csv")}
    assert not names & again


def test_full_has_everything(here: tuple[Store, Study, Path], tmp_path: Path) -> None:
    store, study, _ = here
    target = tmp_path / "full.zip"
    export(store, study.id, target, who="me", full=True, zipped=True)
    with zipfile.ZipFile(target) as packed:
        assert packed.testzip() is None
        packed.extractall(tmp_path / "unpacked")
    out = tmp_path / "unpacked" / "full"
    assert psych_ds_faults(out) == []
    people = rows(out / "participants.csv")
    real = store.read(lambda c: participants.everyone(c, study.id, "real"))
    assert [row["participant"] for row in people] == [who.id for who in real]
    events = rows(out / "events.csv")
    assert {"people raised", "unblinded", "joined", "assigned"} <= {row["event"] for row in events}


@pytest.mark.parametrize("zipped", [False, True])
def test_full_exports_are_for_their_owner_only(
    here: tuple[Store, Study, Path], tmp_path: Path, zipped: bool
) -> None:
    store, study, _ = here
    path = tmp_path / "full"
    export(store, study.id, path, who="test", kind="bot", full=True, zipped=zipped)
    modes = {each.is_dir(): each.stat().st_mode & 0o777 for each in (path, *path.rglob("*"))}
    assert modes == ({False: 0o600} if zipped else {False: 0o600, True: 0o700})


class _Jumping(datetime):
    """The clock of a machine that is set to and fro, once every 50 times that it is looked at."""

    by = timedelta(0)
    looks = itertools.count()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) + next(cls.looks) // 50 % 2 * cls.by


@pytest.mark.few(2)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("days", [-400, -1e-4, 1e-4, 400])
def test_a_clock_that_is_set_changes_neither_order_nor_durations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: float, full: bool
) -> None:
    """Also where it is set by less than an answer takes: nothing shows it afterwards."""
    monkeypatch.setattr(chain, "datetime", _Jumping)
    ticks = iter(range(0, 10**15, 10**9))
    monkeypatch.setattr(chain, "tick", lambda: f"a:{next(ticks):x}")
    monkeypatch.setattr(_Jumping, "by", timedelta(days=days))
    store, study = opened(tmp_path)
    names = play(store, study, 4, kind="bot")
    made = export(store, study.id, tmp_path / "made", who="test", kind="bot", full=full)
    assert store.read(lambda c: chain.verify(c)).faults == ()
    store.close()
    played = [row for path in (made.path / "data").iterdir() for row in rows(path)]
    # One tick for the event, one to look at the clock.
    assert {(row["untimed"], row["seconds"]) for row in played} == {("no", "1.0")}
    people, events = rows(made.path / "participants.csv"), rows(made.path / "events.csv")
    if full:
        assert [row["participant"] for row in people] == names
        assert [int(row["seq"]) for row in events] == sorted(int(row["seq"]) for row in events)
    for row in people:
        own = [float(e["seconds"]) for e in events if e["participant"] == row["participant"]]
        assert own == sorted(own)
        assert (own[0], own[-1]) == (0.0, float(row["seconds"]))
    log = Log.read(made.path / "log.csv", study.problem.world)
    assert log.rounds.tolist() == [*range(len(study.protocol.trials))] * 4


def test_a_machine_that_was_restarted_leaves_durations_blank_with_a_flag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, study = opened(tmp_path)
    play(store, study, 2, kind="bot", until=len(study.protocol.steps) // 2)
    ticks = itertools.count()
    monkeypatch.setattr(chain, "tick", lambda: f"{next(ticks)}:0")  # another clock every time
    play(store, study, 1, kind="bot")
    made = export(store, study.id, tmp_path / "made", who="test", kind="bot", full=True)
    store.close()
    played = [row for path in (made.path / "data").iterdir() for row in rows(path)]
    last = rows(made.path / "participants.csv")[-1]["participant"]
    found = {(r["participant"] == last, r["untimed"], r["seconds"] == "") for r in played}
    assert found == {(True, "yes", True), (False, "no", False)}
    people = rows(made.path / "participants.csv")
    assert [(row["untimed"], row["seconds"] == "") for row in people] == [
        ("no", False), ("no", False), ("yes", True)
    ]  # fmt: skip


def test_the_registration_travels_along(here: tuple[Store, Study, Path]) -> None:
    store, study, out = here
    kept = store.read(lambda c: studies.find(c, study.id))
    text = (out / "materials" / "preregistration.json").read_text()
    assert Registration(text).sha256 == kept.registration_sha256
    assert Study.from_json((out / "materials" / "study.json").read_text()).sha256 == study.sha256
    readme = (out / "README.md").read_text()
    assert kept.registration_sha256 in readme
    assert "people raised (from 20, to 30, reason more money)" in readme


def test_every_column_is_in_the_codebook(here: tuple[Store, Study, Path]) -> None:
    _, _, out = here
    book = json.loads((out / "documentation" / "codebook.json").read_text())
    text = (out / "documentation" / "codebook.md").read_text()
    files = {
        "participants.csv": out / "participants.csv",
        "events.csv": out / "events.csv",
        "data/": next((out / "data").iterdir()),
    }
    for part, file in files.items():
        head = file.read_text().splitlines()[0].split(",")
        assert [each["name"] for each in book[part]] == head
        assert all(each["description"] for each in book[part])
        assert all(f"| `{name}` |" in text for name in head)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SMALL, {"measure": "test error", "compare": ["plan", "fixed"]}),
        pytest.param(
            PROBES,
            {"measure": "slope change", "probe": "bmi", "compare": ["plan", "fixed"]},
            marks=pytest.mark.full,
        ),
        pytest.param(
            SMALL,
            {
                "measure": "training error",
                "compare": ["fixed", "plan"],
                "test": "welch",
                "alternative": "less",
            },
            marks=pytest.mark.full,
        ),
        pytest.param(
            PROBES,
            {"measure": "slope change", "compare": ["plan"], "probe": "bmi"},
            marks=pytest.mark.full,
        ),
        pytest.param(
            PROBES,
            {"measure": "kind", "compare": ["plan", "fixed"], "probe": "bmi"},
            marks=pytest.mark.full,
        ),
    ],
    ids=["permutation", "two slopes", "welch", "slope", "kind"],
)
def test_the_script_finds_what_the_library_finds(
    tmp_path: Path, text: str, said: dict[str, Any]
) -> None:
    store, study = filled(tmp_path, with_analysis(text, **said))
    export(store, study.id, tmp_path / "out", who="me")
    kept = store.read(lambda c: studies.find(c, study.id))
    expected = store.read(lambda c: tables(c, kept, study, kind="real", full=True)).result
    store.close()
    ran = subprocess.run(
        [sys.executable, "-I", str(tmp_path / "out" / "analysis" / "analysis.py")],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    found = json.loads(ran.stdout)
    assert found["people"] == list(expected.people)
    assert found["means"] == pytest.approx(list(expected.means))
    assert expected.p > 0.0, expected.doubts
    for name in ("effect", "low", "high", "effect_deviation", "standardised", "p"):
        assert found[name] == pytest.approx(getattr(expected, name), rel=1e-4), name
    assert "preceptor" not in re.findall(
        r"^(?:import|from) (\w+)", (tmp_path / "out" / "analysis" / "analysis.py").read_text(), re.M
    )


def test_the_script_tells_noise_from_answers() -> None:
    study = Study.from_dict(parse_toml(template("decisive")))
    stage, kinds = make_stage(study, make_arms(study), 12), assumptions(study)
    rng = np.random.default_rng(1)
    records = played(stage, kinds, recruited(stage, kinds, 12, rng), rng)
    records.answers[::3] = rng.uniform(40.0, 160.0, records.answers[::3].shape)
    labels = np.array(study.problem.world.labels)
    rounds = [
        {
            "participant": records.participants[i],
            "shown": ";".join(labels[shown]),
            "values": ";".join(map(repr, records.values[i, t, shown].tolist())),
            "prediction": records.answers[i, t],
        }
        for i in range(len(records))
        for t, shown in enumerate(records.shown[i])
        if np.isfinite(records.answers[i, t])
    ]
    made: dict[str, Any] = {"__name__": "script", "__file__": "analysis/analysis.py"}
    exec(script(study), made)
    people = pd.DataFrame({"participant": records.participants})
    found = made["unrelated"](people, pd.DataFrame(rounds))
    expected = unrelated_probability(records)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert (expected >= 0.9).any()
    assert (expected <= 0.1).any()
    shares = outcome_share(study, records)
    test = _signs(KindCounts.of(shares, expected), 20, 0.05)
    assert made["signs"](shares, expected, 20)[:4] == (test.effect, test.low, test.high, test.p)


def test_what_is_refused_leaves_nothing_behind(tmp_path: Path) -> None:
    store, study = opened(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InvalidInput, match="preceptor study unblind two-tests"):
        export(store, study.id, tmp_path / "out", who="me")
    with pytest.raises(InvalidInput, match="no answers of bot"):
        export(store, study.id, tmp_path / "out", who="me", kind="bot")
    play(store, study, 2, kind="bot")
    with pytest.raises(InvalidFile, match="exists already"):
        export(store, study.id, tmp_path / "study.toml", who="me", kind="bot")
    with pytest.raises(InvalidFile, match="choose another folder"):
        export(store, study.id, tmp_path / "nowhere" / "out", who="me", kind="bot")
    assert sorted(tmp_path.iterdir()) == before
    export(store, study.id, tmp_path / "out", who="me", kind="bot")
    assert psych_ds_faults(tmp_path / "out") == []
    store.close()


def test_words_of_people_never_become_formulas() -> None:
    columns = [
        Variable("comment", "What they wrote", is_free_text=True),
        Variable("number", "A number"),
    ]
    said = [{"comment": '=cmd|"/c calc"!A1', "number": -2.5}, {"comment": "fine", "number": None}]
    text = table(columns, said)
    read = list(csv.reader(text.splitlines()))[1:]
    assert read == [['\'=cmd|"/c calc"!A1', "-2.5"], ["fine", ""]]
