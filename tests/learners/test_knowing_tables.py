"""Small versions of the tables about knowing the person."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def knowing():
    spec = importlib.util.spec_from_file_location("make_knowing", ROOT / "docs/make_knowing.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.full
def test_groups_and_kappa_are_found_from_eighty_rounds(knowing):
    """4 standard errors below what the full table has: .82 of people, and of two κ in .8."""
    people = 8
    found = knowing.confused(people, 80)
    assert found["all"] > 0.82 - 4 * np.sqrt(0.82 * 0.18 / (3 * people))
    assert found["κ of two"] > 0.8 - 4 * np.sqrt(0.8 * 0.2 / (3 * people))


@pytest.mark.parametrize(
    ("dials", "of_three", "of_two"),
    [
        # κ is 0 for half of the people and 1 for the others.
        ({0.0: 0.3, 0.5: 0.5, 1.0: 0.2}, 0.0, 0.5),
        ({0.0: 0.5, 0.5: 0.3, 1.0: 0.2}, 0.5, 0.5),
    ],
)
def test_kappa_is_found_if_it_is_the_likeliest(knowing, monkeypatch, dials, of_three, of_two):
    same = SimpleNamespace(group="none", dials=dials)
    monkeypatch.setattr(knowing, "weigh", lambda *_: same)
    found = knowing.confused(4, 3)
    assert found["κ of three"] == of_three
    assert found["κ of two"] == of_two


def test_the_page_has_the_columns_of_the_table(knowing, monkeypatch):
    nobody = dict.fromkeys((*knowing.GROUPS, "all", *knowing.KAPPAS), 0.0)
    monkeypatch.setattr(knowing, "confused", lambda *_: nobody)
    page = (ROOT / "docs/knowing.md").read_text("utf-8")
    assert knowing.confusion(0).splitlines()[0] in page.splitlines()


@pytest.mark.full
@pytest.mark.parametrize(("rounds", "share"), [(40, 0.70), (80, 0.82), (160, 0.90)])
def test_groups_are_found_as_often_as_the_table_says(knowing, rounds, share):
    people = 60
    found = knowing.confused(people, rounds)
    assert found["all"] > share - 2 * np.sqrt(share * (1 - share) / (3 * people))
    if rounds == 80:
        assert found["κ of two"] > 0.8 - 2 * np.sqrt(0.8 * 0.2 / (3 * people))


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say(knowing):
    for line in (knowing.coverage(100) + "\n" + knowing.population(30)).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not cells[1].isdigit():
            continue
        slack = 4 * np.sqrt(0.05 * 0.95 / int(cells[1]))
        assert float(cells[2]) > 0.95 - slack, line
