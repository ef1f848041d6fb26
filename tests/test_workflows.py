"""The files that services and hooks read: they parse, and call nothing that does not exist."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
HOOKS = ROOT / ".pre-commit-config.yaml"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(
    set((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) - {GITHUB / "ISSUE_TEMPLATE/config.yml"}
)
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def read(path):
    return yaml.safe_load(path.read_text("utf-8"))


def targets():
    return set(re.findall(r"^([a-z-]+):.*##", MAKEFILE, re.M))


def steps(workflow):
    return [step for job in read(workflow)["jobs"].values() for step in job["steps"]]


def commands(workflow):
    return [line for step in steps(workflow) for line in step.get("run", "").splitlines()]


def test_there_is_something_to_check():
    assert {"lint", "test", "test-all", "test-slow", "docs", "bench", "run", "dist"} <= targets()
    assert WORKFLOWS
    assert {form.stem for form in FORMS} == {"bug", "idea"}


@pytest.mark.parametrize("path", [*GITHUB.rglob("*.yml"), HOOKS], ids=lambda path: path.name)
def test_it_parses_to_a_mapping(path):
    assert isinstance(read(path), dict)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_only_call_targets_of_the_makefile(workflow):
    assert commands(workflow)
    for command in commands(workflow):
        program, *arguments = shlex.split(command)
        assert program == "make", command
        assert {word for word in arguments if "=" not in word} <= targets(), command
        for word in arguments:
            if "=" in word:
                assert re.search(rf"^{word.split('=')[0]} *\?=", MAKEFILE, re.M), command


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_read_only_and_pin_the_actions_they_use(workflow):
    assert read(workflow)["permissions"] == {"contents": "read"}
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in used), used


def test_every_python_that_is_promised_is_tested():
    promised = {
        word.rsplit(" ", 1)[1]
        for word in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", word)
    }
    tested = read(GITHUB / "workflows" / "ci.yml")["jobs"]["fast"]["strategy"]["matrix"]["python"]
    assert set(tested) == promised


def test_hooks_run_the_tools_that_are_locked():
    hooks = [hook for repo in read(HOOKS)["repos"] for hook in repo["hooks"]]
    assert all(repo["repo"] == "local" for repo in read(HOOKS)["repos"])
    entries = [hook["entry"] for hook in hooks]
    assert {"ruff-check", "ruff-format", "mypy"} <= {hook["id"] for hook in hooks}
    tools = set(re.findall(r"\.venv/bin/(\w+)", "\n".join(entries)))
    locked = (ROOT / "requirements" / "dev.lock").read_text("utf-8")
    assert tools
    for tool in tools:
        assert re.search(rf"^{tool}==", locked, re.M), tool


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_forms_ask_questions(form):
    content = read(form)
    assert content["name"]
    assert content["description"]
    questions = [part for part in content["body"] if part["type"] != "markdown"]
    names = [part["id"] for part in questions]
    assert len(names) == len(set(names)) > 0
    assert all(part["attributes"]["label"] for part in questions)
    assert any(part.get("validations", {}).get("required") for part in questions)
