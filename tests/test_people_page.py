"""The tables of `docs/people.md` come out of `docs/make_people.py`."""

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

pytest.importorskip("sklearn")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script():
    spec = spec_from_file_location("make_people", ROOT / "docs" / "make_people.py")
    module = module_from_spec(spec)
    sys.modules["make_people"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["make_people"]


def page():
    return (ROOT / "docs" / "people.md").read_text("utf-8")


def test_every_table_of_numbers_is_between_markers(script):
    text = page()
    for name in script.TABLES:
        assert script.marked(text, name).startswith("| "), name
    left = text
    for name in script.TABLES:
        left = script.with_table(left, name, "")
    assert "±" not in "".join(re.findall(r"^\|.*$", left, re.MULTILINE))


def test_writing_a_table_changes_nothing_else(script):
    text = page()
    name = next(iter(script.TABLES))
    changed = script.with_table(text, name, "| new |")
    assert script.marked(changed, name) == "| new |"
    assert script.with_table(changed, name, script.marked(text, name)) == text


def test_a_row_of_the_page_is_played_again_to_the_digit(script):
    assert script.differing_rows(["paper"]) == []


@pytest.mark.slow
def test_a_table_of_the_page_is_played_again_to_the_digit(script):
    assert script.differing_rows() == []


def test_a_row_that_differs_is_found(script, monkeypatch, tmp_path):
    wrong = tmp_path / "people.md"
    wrong.write_text(script.with_table(page(), "diabetes", "| paper | 1.0 |"), "utf-8")
    monkeypatch.setattr(script, "PAGE", wrong)
    monkeypatch.setattr(script, "contest", lambda *_: "| paper | 2.0 |")
    assert script.differing_rows() == ["| paper | 2.0 |"]
