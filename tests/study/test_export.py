"""Exports: valid, whole, anonymous, and analysed by their own script as by the library."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from preceptor.errors import InvalidFile, InvalidInput
from preceptor.logs import Log
from preceptor.store import Store, participants, studies
from preceptor.study import Study
from preceptor.study.export import export, table
from preceptor.study.exported_rows import Column, tables
from preceptor.study.freezing import Registration
from tests.study.files import SMALL
from tests.study.played import opened, play
from tests.study.psych_ds import psych_ds_faults

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
        (
            PROBES,
            {
                "measure": "slope change",
                "probe": "bmi",
                "compare": ["plan", "fixed"],
                "test": "mixed",
            },
        ),
        (
            SMALL,
            {
                "measure": "training error",
                "compare": ["fixed", "plan"],
                "test": "welch",
                "alternative": "less",
            },
        ),
        (PROBES, {"measure": "slope change", "compare": ["plan"], "probe": "bmi"}),
        (PROBES, {"measure": "kind", "compare": ["plan", "fixed"], "probe": "bmi"}),
    ],
    ids=["permutation", "mixed", "welch", "slope", "kind"],
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


def test_what_is_refused_leaves_nothing_behind(tmp_path: Path) -> None:
    store, study = opened(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InvalidInput, match="preceptor study unblind two-tests"):
        export(store, study.id, tmp_path / "out", who="me")
    with pytest.raises(InvalidInput, match=r"nobody \(bot\) has answered"):
        export(store, study.id, tmp_path / "out", who="me", kind="bot")
    play(store, study, 2, kind="bot")
    with pytest.raises(InvalidFile, match="is there already"):
        export(store, study.id, tmp_path / "study.toml", who="me", kind="bot")
    with pytest.raises(InvalidFile, match="choose another folder"):
        export(store, study.id, tmp_path / "nowhere" / "out", who="me", kind="bot")
    assert sorted(tmp_path.iterdir()) == before
    export(store, study.id, tmp_path / "out", who="me", kind="bot")
    assert psych_ds_faults(tmp_path / "out") == []
    store.close()


def test_words_of_people_never_become_formulas() -> None:
    columns = [Column("comment", "What they wrote"), Column("number", "A number")]
    said = [{"comment": '=cmd|"/c calc"!A1', "number": -2.5}, {"comment": "fine", "number": None}]
    text = table(columns, said)
    read = list(csv.reader(text.splitlines()))[1:]
    assert read == [['\'=cmd|"/c calc"!A1', "-2.5"], ["fine", ""]]
