"""The documentation runs: its code, its commands, its files, and the names it mentions.

Code blocks of a page share one namespace and are run in order. A `text` block right after a
block of code or commands is its output, to the last digit. `sh` blocks are run, `bash` blocks only
read: they are for commands that take long or need a cluster. After a change that is meant to change
outputs, `python -m tests.test_docs` writes the new ones into the pages.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

import preceptor as pr
from preceptor.cli._app import app
from preceptor.planning.solvers import SOLVERS
from tests.commands import CliRunner, command_of
from tests.registries import restored

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SHELL = {"sh", "console"}
RUNNER = CliRunner(env={"NO_COLOR": "1"})
NOT_RUN = {"bash"}

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[ ]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    span: tuple[int, int]
    output: Block | None = None


def blocks(page: str) -> list[Block]:
    """Fenced blocks in order; an output belongs to the block before it."""
    found: list[Block] = []
    for match in _FENCE.finditer(page):
        language, text = match.groups()
        line = page.count("\n", 0, match.start()) + 2
        block = Block(language, text, line, match.span(2))
        if language == "text" and found and found[-1].language in {"python", *SHELL}:
            between = page[found[-1].span[1] : match.start()].removeprefix("```")
            if not between.strip():
                found[-1] = Block(**{**vars(found[-1]), "output": block})
                continue
        found.append(block)
    return found


def commands(block: Block) -> list[str]:
    """The lines of a shell block that call our own command, if only at the end of a pipe."""
    lines = [line.removeprefix("$ ") for line in block.text.splitlines()]
    return [line for line in lines if line.startswith("preceptor ") or "| preceptor " in line]


def run(page: Path) -> Iterator[tuple[Block, str]]:
    """Run what can be run in the current folder; each block with what it printed."""
    namespace = {"__name__": "__main__"}
    for block in blocks(page.read_text("utf-8")):
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.text
            code = compile(source, str(page), "exec", dont_inherit=True)
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(code, namespace)
            yield block, printed.getvalue()
        elif block.language in SHELL and commands(block):
            yield block, "".join(map(shell, commands(block)))


def shell(command: str) -> str:
    """What a command prints; ours are run in this process, where everything is loaded already."""
    words = shlex.split(command, comments=True)
    typed = None
    if words[0] == "printf" and words[2:4] == ["|", "preceptor"]:  # what somebody types
        typed, words = words[1].replace("\\n", "\n"), words[3:]
    if words[0] == "preceptor" and not set(words) & {"|", ">", "&&", ";"}:
        subcommand = next((word for word in words[2:] if not word.startswith("-")), "")
        serves = words[1] in ("teach", "explore") or (
            words[1] == "serve" and subcommand not in ("token", "backup", "check")
        )
        assert not serves, f"{command}: never ends; mark its block `bash`, which is not run here"
        done = RUNNER.invoke(app, words[1:], input=typed)
        assert done.exit_code == 0, f"{command}\n{done.stderr}"
        return done.stdout
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    piped = subprocess.run(
        ["sh", "-c", command], env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    assert piped.returncode == 0, f"{command}\n{piped.stderr}"
    return piped.stdout


@contextlib.contextmanager
def scratch() -> Iterator[None]:
    """A folder with our examples in it, and registries that forget what pages added to them."""
    with restored(), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("examples").symlink_to(ROOT / "examples")
        yield


def tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def pages_with(*languages: str, quick: set[str] | None = None):
    """One case for each page that has a block in one of these languages; `full` if not quick."""
    having = [p for p in PAGES if {b.language for b in blocks(p.read_text("utf-8"))} & {*languages}]
    dear = {p.name for p in having if quick is not None and p.name not in quick}
    marks = [[pytest.mark.full] if p.name in dear else [] for p in having]
    pages = [pytest.param(p, id=p.name, marks=m) for p, m in zip(having, marks, strict=True)]
    return pytest.mark.parametrize("page", pages)


# Pages that take no time; all others take a minute together and are left to `make test-all`.
QUICK = {f"{n}.md" for n in ("files", "index", "model", "operating", "tutorial", "yes_or_no")}


@pages_with("python", *SHELL, quick=QUICK)
def test_code_runs_and_prints_what_the_page_says(page):
    with scratch():
        for block, printed in run(page):
            if block.output is not None:
                where = f"{page.name}, line {block.line}"
                assert tidy(printed) == tidy(block.output.text), where


@pages_with("toml")
def test_problem_files_load_and_fit_the_schema(page):
    import tomllib

    for block in blocks(page.read_text("utf-8")):
        if block.language == "toml":
            problem = pr.Problem.from_toml(block.text)
            assert pr.Problem.from_json(problem.to_json()) == problem
            jsonschema.validate(tomllib.loads(block.text), pr.schema())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_commands_and_targets_exist(page):
    text = page.read_text("utf-8")
    # In text, code is between backticks; in shell blocks, a line.
    named_in = SHELL | NOT_RUN
    shown = [line for b in blocks(text) if b.language in named_in for line in b.text.splitlines()]
    spoken = re.findall(r"`((?:make|preceptor) [^`\n]*)`", text)
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    known = command_of(app).commands
    lines = [line.removeprefix("$ ") for line in [*shown, *spoken]]
    for line in [each for each in lines if each.startswith(("make ", "preceptor "))]:
        words = shlex.split(line, comments=True)
        if words[:1] == ["make"]:
            named = [w for w in words[1:] if "=" not in w]
            assert set(named) <= targets, line
        elif words[:1] == ["preceptor"] and not words[1].startswith(("-", ".")):
            assert words[1] in known, line
            command = known[words[1]]
            for word in words[2:]:  # preceptor serve token create
                command = getattr(command, "commands", {}).get(word, command)
            options = {name for p in command.params for name in p.opts} | {"--help"}
            given = {w.split("=")[0] for w in words[2:] if w.startswith("--")}
            assert given <= options, line


def test_every_solver_is_described():
    text = (ROOT / "docs/planning.md").read_text("utf-8")
    missing = [name for name in SOLVERS if f"`{name}`" not in text]
    assert not missing, f"planning.md has no word on {missing}"


# Packages whose public names are in the reference, besides those of `preceptor` itself.
PACKAGES = [
    "advice",
    "data",
    "learners",
    "live.client",
    "paper",
    "planning",
    "proofs",
    "simulation",
    "testing",
    "theory",
]
# Modules without `__all__`, of which the reference lists what people are meant to call.
MODULES = ["live.bots", "people.beliefs", "report.html", "report.session"]


def referenced() -> list[str]:
    return re.findall(r"^::: preceptor\.([\w.]+)$", (ROOT / "docs/api.md").read_text(), re.M)


def test_every_public_name_is_in_the_reference():
    listed = referenced()
    assert len(listed) == len(set(listed))
    assert set(pr.__all__) == {name for name in listed if "." not in name}
    folders = {name.rpartition(".")[0] for name in listed}
    assert folders == {"", *PACKAGES, *MODULES}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_of_a_package_is_in_the_reference(package):
    listed = {n.removeprefix(f"{package}.") for n in referenced() if n.startswith(f"{package}.")}
    public = set(importlib.import_module(f"preceptor.{package}").__all__)
    assert public - set(pr.__all__) == listed  # what `preceptor` has is listed there


@pytest.mark.parametrize("module", MODULES)
def test_names_in_the_reference_exist(module):
    names = [n for n in referenced() if n.startswith(f"{module}.")]
    found = importlib.import_module(f"preceptor.{module}")
    assert names
    for name in names:
        assert getattr(found, name.rpartition(".")[2]).__module__.startswith(f"preceptor.{module}")


def test_every_belief_of_the_command_line_is_in_the_reference():
    from preceptor.people.beliefs import BELIEFS

    named = {f"people.beliefs.{belief.__name__}" for belief in BELIEFS.values()}
    assert named == {n for n in referenced() if n.startswith("people.beliefs.")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_pages_fit_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r"^  - \w+: (\w+\.md)$", text, re.MULTILINE))
    assert listed == {page.name for page in (ROOT / "docs").glob("*.md")}


def rewrite(page: Path) -> bool:
    """Put real outputs into a page; whether anything changed."""
    with scratch():
        printed = [(b.output, text) for b, text in run(page) if b.output is not None]
    old = new = page.read_text("utf-8")
    for output, text in reversed(printed):
        start, end = output.span
        new = new[:start] + tidy(text) + "\n" + new[end:]
    if new != old:
        page.write_text(new, "utf-8")
    return new != old


if __name__ == "__main__":
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or PAGES
    changed = [page.name for page in chosen if rewrite(page)]
    sys.stdout.write(f"rewrote {', '.join(changed) or 'nothing'}\n")
