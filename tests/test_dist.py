"""What is built can be installed: the wheel works outside the repository, the archive is whole."""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import time
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import httpx
import numpy as np
import pytest
import yaml

from preceptor._base.version import VERSION
from tests.live.study.files import small_file

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "preceptor"
TABLES = {".csv", ".tsv", ".gz", ".xlsx", ".parquet", ".npz", ".npy"}
COMPILED = {".pyc", ".nbi", ".nbc"}


def files_below(folder):
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in COMPILED and "node_modules" not in path.parts
    }


def build(target, source, directory):
    command = [sys.executable, "-m", "hatchling", "build", "--target", target]
    subprocess.run([*command, "--directory", directory], cwd=source, check=True)
    (built,) = directory.iterdir()
    return built


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The source archive, built and unpacked."""
    archive = build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / f"preceptor-{VERSION}"


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory):
    """Built from the source archive, as an installer would do."""
    return build("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The scripts of an environment that holds the wheel.

    What the wheel depends on is borrowed from the environment that runs the tests. Only its path is
    added: its own .pth files, among them that of an editable install, are not read.
    """
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    paths = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
    borrowed = Path(paths["purelib"]) / "borrowed.pth"
    borrowed.write_text(sysconfig.get_path("purelib") + "\n")
    scripts = Path(paths["scripts"])
    command = [sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--no-deps"]
    # --ignore-installed: an editable install in the borrowed folder must stay as it is
    quick = ["--no-index", "--no-compile", "--ignore-installed", "--quiet"]
    subprocess.run([*command, *quick, wheel], check=True)
    return scripts


def run(installed, *command, cwd, **more):
    """Run a script of the environment with nothing of the repository in sight."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [installed / command[0], *command[1:]],
        cwd=cwd,
        env={**kept, "COLUMNS": "200", **more},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    pulse = rng.normal(size=40)
    weight = 0.5 * pulse + rng.normal(size=40)
    outcome = pulse + 0.5 * weight + 0.3 * rng.normal(size=40)
    lines = [f"{a:.3f},{b:.3f},{y:.3f}" for a, b, y in zip(pulse, weight, outcome, strict=True)]
    (tmp_path / "cases.csv").write_text("\n".join(["pulse,weight,risk", *lines]) + "\n")
    return tmp_path / "cases.csv"


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    packed = {name.removeprefix("preceptor/") for name in names if name.startswith("preceptor/")}
    assert packed == files_below(PACKAGE)
    assert {"py.typed", "report/templates/report.css", "data/datasets.py"} <= packed
    assert {name.split("/")[0] for name in names} == {"preceptor", f"preceptor-{VERSION}.dist-info"}


def test_no_table_of_somebody_else_is_in_the_wheel(wheel):
    """Terms of data differ from ours: the body-fat table asks for non-commercial use."""
    with zipfile.ZipFile(wheel) as archive:
        tables = [name for name in archive.namelist() if Path(name).suffix in TABLES]
    assert tables == []
    assert (ROOT / "tests" / "body_fat" / "TERMS.md").exists()


def test_the_wheel_says_what_it_is(wheel):
    with zipfile.ZipFile(wheel) as archive:
        about = Parser().parsestr(
            archive.read(f"preceptor-{VERSION}.dist-info/METADATA").decode("utf-8")
        )
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert about["Version"] == VERSION
    assert about["Requires-Python"] == project["requires-python"]
    assert set(about.get_all("Provides-Extra")) == set(project["optional-dependencies"])


def test_the_citation_has_the_version_of_the_package():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == VERSION


def test_the_source_archive_holds_what_the_tests_need(unpacked):
    folders = ["src", "tests", "docs", "examples", "benchmarks", "requirements", ".ci", ".github"]
    for folder in folders:
        missing = files_below(ROOT / folder) - files_below(unpacked / folder)
        assert not missing, f"{folder}: {sorted(missing)}"
    pages = {
        path.name for path in ROOT.iterdir() if path.suffix in {".md", ".toml", ".cff", ".yml"}
    }
    wanted = {*pages, "Makefile", "LICENSE", ".pre-commit-config.yaml"}
    assert wanted <= {path.name for path in unpacked.iterdir()}


def test_its_own_files_are_imported(installed, tmp_path):
    code = "import preceptor; from importlib.metadata import version; "
    code += "print(preceptor.__file__); print(version('preceptor'))"
    where, version = run(installed, "python", "-c", code, cwd=tmp_path).splitlines()
    assert Path(where).is_relative_to(installed.parent)
    assert version == VERSION


def test_small_commands_answer(installed, tmp_path):
    assert run(installed, "preceptor", "--version", cwd=tmp_path).split()[-1] == VERSION
    assert '"$schema"' in run(installed, "preceptor", "schema", cwd=tmp_path)


def test_shells_complete_commands(installed, tmp_path):
    script = run(installed, "preceptor", cwd=tmp_path, _PRECEPTOR_COMPLETE="source_bash")
    assert "complete -o default -F _preceptor_completion preceptor" in script
    typed = {"COMP_WORDS": "preceptor pl", "COMP_CWORD": "1"}
    answer = run(installed, "preceptor", cwd=tmp_path, _PRECEPTOR_COMPLETE="complete_bash", **typed)
    assert answer.split() == ["plan"]


def plan(installed, table, **more):
    options = ["--outcome", "risk", "--tests", "1", "--cases", "3", "--time-limit", "0.1"]
    words = run(installed, "preceptor", "plan", table.name, *options, cwd=table.parent, **more)
    assert "What to show" in words
    report = (table.parent / "report.html").read_text("utf-8")
    style = (PACKAGE / "report" / "templates" / "report.css").read_text("utf-8")
    assert style.strip().splitlines()[-1] in report
    assert "pulse" in report
    assert (table.parent / "plan.json").exists()


def test_a_table_is_planned(installed, table):
    # A new environment has nothing compiled. Two tests are so few that Python itself will do.
    plan(installed, table, NUMBA_DISABLE_JIT="1")


def test_a_table_is_planned_with_compiled_kernels(installed, table, tmp_path):
    plan(installed, table, NUMBA_CACHE_DIR=str(tmp_path / "kernels"))


def test_install_lines_name_extras_that_exist():
    """Nothing is in a registry: all lines install a checkout."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*")]
    texts = [page.read_text("utf-8") for page in pages if page.suffix in {".md", ".service", ""}
             and page.is_file() and "node_modules" not in page.parts]  # fmt: skip
    lines = [found for text in texts for found in re.findall(r"pip install ([^\n`]+)", text)]
    named = [re.search(r"'\.\[([a-z,]+)\]'", line) for line in lines if "[" in line]
    assert len(named) >= 8
    assert all(named), lines
    used = {name for found in named if found for name in found.group(1).split(",")}
    assert used <= set(extras)


@pytest.mark.full
def test_the_wheel_serves_a_study(installed, tmp_path):
    small_file(tmp_path)
    run(installed, "preceptor", "study", "open", "study.toml", cwd=tmp_path)
    log = tmp_path / "said.txt"
    with log.open("w") as file:
        command = [installed / "preceptor", "serve", "--port", "0"]
        serving = subprocess.Popen(command, cwd=tmp_path, stderr=file, env={"PATH": os.defpath})
    try:
        end = time.monotonic() + 60.0
        while (found := re.search(r"Participants: (\S+)\n", log.read_text())) is None:
            assert serving.poll() is None, log.read_text()
            assert time.monotonic() < end
            time.sleep(0.05)
        assert "Begin" in httpx.get(found.group(1), timeout=60.0).text
    finally:
        serving.terminate()
        assert serving.wait(60.0) == 0


@pytest.mark.slow
def test_all_tests_can_be_collected_from_the_source_archive(unpacked):
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-m", "slow or not slow"],
        cwd=unpacked,
        env={**os.environ, "PYTHONPATH": str(unpacked / "src")},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout
