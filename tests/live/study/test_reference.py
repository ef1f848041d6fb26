"""The schema of study files fits the files, and the reference page is made from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from preceptor._base.files import parse_toml
from preceptor.cli._app import app
from preceptor.live.study.config import Configuration
from preceptor.live.study.reference import reference, study_schema
from preceptor.live.study.registration import template, template_names
from tests.commands import CliRunner

PAGE = Path(__file__).parents[3] / "docs" / "study_file.md"


def test_the_page_is_made_from_the_schema():
    remedy = "run: python docs/make_study_reference.py"
    assert PAGE.read_text("utf-8") == reference(), remedy


def test_the_page_names_every_table_and_key():
    text = reference()
    for part in (study_schema(), *study_schema()["$defs"].values()):
        for key in part["properties"]:
            assert f"| `{key}` |" in text or key == "problem"
    for heading in (
        "`[tests.NAME]`", "`[[arm.sets]]`", '`[[block]]` with `kind = "survey"`',
        '`[[block.question]]` with `kind = "likert"`', "`[block.confidence]`",
        "`[[assumed.kind]]`",
    ):  # fmt: skip
        assert f"## {heading}\n" in text


@pytest.mark.parametrize("name", template_names())
def test_templates_fit_the_schema(name):
    schema = study_schema()
    Draft202012Validator.check_schema(schema)
    given = parse_toml(template(name))
    assert not list(Draft202012Validator(schema).iter_errors(given))
    given["blok"] = []
    assert list(Draft202012Validator(schema).iter_errors(given))


def test_the_command_prints_it():
    run = CliRunner().invoke
    assert json.loads(run(app, ["schema", "study"]).stdout) == study_schema()
    assert "must be problem or study" in run(app, ["schema", "stud"]).stderr


def test_sources_describe_themselves():
    """Descriptions come from the sources; without them, there would be none."""
    assert Configuration.model_fields["people"].description
