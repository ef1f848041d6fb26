"""Freezing: one text, one hash, on any day; and what a study may still change once it is open."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from preceptor.errors import InvalidInput
from preceptor.live.store import studies
from preceptor.live.store.database import Store
from preceptor.live.study.opening import open_study
from preceptor.live.study.registration import Registration, differences, freeze, markdown
from preceptor.live.study.study import Study
from tests.live.study.files import SMALL, small_file
from tests.live.study.played import arms_of, opened

POWER = {
    "cells": [
        {
            "kind": "everybody",
            "people": 20,
            "power": {"share": 0.83, "low": 0.77, "high": 0.88},
            "standardised": -0.9,
            "excluded": 0.12,
        }
    ],
    "simulations": 200,
    "level": 0.05,
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study.load(small_file(tmp_path_factory.mktemp("file")))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Registration:
    store, study = opened(tmp_path_factory.mktemp("kept"))
    row = store.read(lambda c: studies.find(c, study.id))
    again = freeze(study, tuple(arms_of(store, study).values()))
    store.close()
    assert again.text == row.registration
    return again


def test_the_hash_is_that_of_the_file(kept: Registration, tmp_path: Path) -> None:
    (tmp_path / "preregistration.json").write_text(kept.text)
    read = (tmp_path / "preregistration.json").read_bytes()
    assert hashlib.sha256(read).hexdigest() == kept.sha256


def test_another_database_gives_the_same_hash(kept: Registration, tmp_path: Path) -> None:
    store, study = opened(tmp_path)
    assert store.read(lambda c: studies.find(c, study.id)).registration_sha256 == kept.sha256
    store.close()


def test_it_says_all_that_is_decided(kept: Registration, study: Study) -> None:
    content = kept.content
    assert content["study_sha256"] == study.sha256
    assert Study.from_dict(content["study"]).sha256 == study.sha256
    assert content["seed"] == 7
    assert content["analysis"]["test"] == "permutation"
    assert content["exclusions"]["failed_checks"] == 1
    assert content["stopping"]["people"] == 20
    assert {"preceptor", "numpy", "scipy"} <= content["versions"].keys()
    for arm in content["arms"]:
        assert len(arm["plan_sha256"]) == 64
        assert arm["gap"] >= 0.0
        assert sum(run["rounds"] for run in arm["shows"]) == 6


def test_the_markdown_says_it_in_words(kept: Registration) -> None:
    text = markdown(kept)
    for words in (kept.sha256, "permutation test that", "who do not finish", "20 participants"):
        assert words in text


def test_power_is_registered(study: Study) -> None:
    text = markdown(freeze(study, (), POWER))
    assert "| everybody | 20 | 0.83 (0.77 to 0.88) | -0.90 | 12% |" in text
    with pytest.raises(InvalidInput, match="study power FILE --json"):
        freeze(study, (), {"anything": 1})


def test_drafts_are_refused_before_anything_is_solved(tmp_path: Path) -> None:
    draft = SMALL.replace("lab@example.org", "[[your name]]")
    study = Study.load(small_file(tmp_path, draft))
    with Store(str(tmp_path / "live.db")) as store:
        with pytest.raises(InvalidInput, match=r"\[\[your name\]\]: has to be filled in"):
            open_study(store, study)
        assert store.read(studies.everyone) == []
    assert freeze(study, (), is_draft=True).content["contact"] == "[[your name]]"


def test_a_file_that_changed_is_refused_with_what_differs(tmp_path: Path) -> None:
    store, study = opened(tmp_path)
    assert not open_study(store, study).is_new
    changed = Study.load(small_file(tmp_path, SMALL.replace("seed = 7", "seed = 8")))
    with pytest.raises(InvalidInput, match='\\+  "seed": 8'):
        open_study(store, changed)
    store.close()


def test_differences_are_lines_of_a_diff() -> None:
    before, after = {"a": {"b": [1, 2]}, "c": 1}, {"a": {"b": [1, 3]}, "c": 1}
    found = differences(before, after)
    assert found == ["--- when opened", "+++ now", "-      2", "+      3"]


def test_codes_are_not_registered(study: Study) -> None:
    """Whoever reads the registration before the end could be paid without having taken part."""
    said = study.to_dict()
    said["completion"] = {"code": "SECRET-1", "screened_out": "SECRET-2", "redirect": "https://r.x"}
    made = freeze(Study.from_dict(said), ())
    assert "SECRET" not in made.text
    assert made.content["study"]["completion"] == {"redirect": "https://r.x"}
