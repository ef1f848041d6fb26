"""The command line: what goes where, with which exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import preceptor as pr
from preceptor.cli import app
from preceptor.planning import SOLVERS
from tests.commands import CliRunner

RUNNER = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"})
EXAMPLES = Path(__file__).parents[1] / "examples"
TWO_TESTS = EXAMPLES / "two_tests.toml"

PROBLEM = pr.Problem(
    pr.World.equicorrelated([1.0, 0.8], 0.8, names=["bmi", "bp"]),
    pr.Learner([0.2, 1.3], pr.Geometric(1.1)),
    budget=1,
    horizon=60,
)


def run(*arguments):
    return RUNNER.invoke(app, [str(a) for a in arguments])


@pytest.fixture
def problem_file(tmp_path):
    path = tmp_path / "problem.toml"
    PROBLEM.save(path)
    return path


def test_solve_prints_the_plan_and_nothing_else(problem_file):
    result = run("solve", problem_file)
    plan = pr.solve(PROBLEM)
    assert result.exit_code == 0
    assert f"{plan.value:.6g} in total" in result.stdout
    assert "No plan can do better" in result.stdout
    assert "compiling" not in result.stdout


def test_json_is_a_plan(problem_file):
    result = run("solve", problem_file, "--json")
    plan = pr.Plan.from_json(result.stdout)
    assert plan.value == pr.solve(PROBLEM).value
    assert plan.problem == PROBLEM


def test_json_problem_files_work_too(tmp_path):
    path = tmp_path / "problem.json"
    PROBLEM.save(path)
    assert run("solve", path).exit_code == 0


def test_files_are_written_and_named_on_stderr(problem_file, tmp_path):
    output, picture = tmp_path / "plan.json", tmp_path / "plan.png"
    result = run("solve", problem_file, "--output", output, "--plot", picture)
    assert result.exit_code == 0
    assert str(output) in result.stderr
    assert str(picture) in result.stderr
    assert str(output) not in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    again = run("explain", output)
    assert again.exit_code == 0
    assert again.stdout == result.stdout
    assert sorted(tmp_path.iterdir()) == sorted([problem_file, output, picture])


def test_options_reach_the_solver(problem_file):
    arguments = ("--method", "truncated", "--length", "7", "--suffix", "last")
    result = run("solve", problem_file, *arguments, "--memory-limit-gb", "0.5", "--json")
    assert json.loads(result.stdout)["options"] == {"length": 7, "suffix": "last"}


def good():
    return PROBLEM.to_toml()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("this is = = not toml", "not valid TOML"),
        (good().replace("[world]", "[world]\nnoise = 1.0"), "unknown key 'noise'"),
        (good().replace("[world]", "[world]\nnoise_variance = -1.0"), "noise_variance: -1.0"),
        (good().replace("k = 1", "k = 5"), "only 2"),
        (good().replace("horizon = 60", "horizon = 0"), "horizon: 0"),
        (good().replace("alpha = 1.1", "alpha = 0.5"), "alpha: 0.5"),
        (good().replace('"geometric"', '"magic"'), "'magic' is not known"),
        (good() + "\n[colour]\n", "colour"),
        ("", "world, learner, budget missing"),
    ],
)
def test_bad_problems_are_refused_in_one_block(tmp_path, text, complaint):
    path = tmp_path / "problem.toml"
    path.write_text(text)
    result = run("solve", path)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert str(path) in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_every_fault_is_listed(tmp_path):
    path = tmp_path / "problem.toml"
    path.write_text(good().replace("k = 1", "k = 5").replace("horizon = 60", "horizon = 0"))
    result = run("solve", path)
    assert "2 problems found" in result.stderr
    assert "horizon: 0" in result.stderr
    assert "only 2" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["missing.toml"], 2, "missing.toml: no such file"),
        (["."], 2, ".toml or .json"),
        (["folder.toml"], 2, "is a folder"),
        (["problem.yaml"], 2, ".toml or .json"),
        (["problem.toml", "--method", "magic"], 2, "'magic' is not known"),
        (["problem.toml", "--method", "stationary", "--length", "3"], 2, "no option length"),
        (["problem.toml", "--method", "truncated", "--suffix", "worst"], 2, "'worst'"),
        (["problem.toml", "--method", "independent"], 1, "correlated"),
        (["problem.toml", "--method", "finite", "--memory-limit-gb", "1e-9"], 1, "GiB"),
        (["problem.toml", "--output", "nowhere/plan.json"], 2, "no such folder"),
        (["problem.toml", "--output", "."], 2, "is a folder"),
        (["problem.toml", "--plot", "nowhere/plan.png"], 2, "no such folder"),
        (["problem.toml", "--plot", "plan.doc"], 2, ".png, .pdf or .svg"),
        (["problem.toml", "--length", "0"], 2, "--length"),
        (["problem.toml", "--colour"], 2, "--colour"),
        ([], 2, "PROBLEM"),
    ],
)
def test_bad_requests(problem_file, monkeypatch, arguments, code, complaint):
    monkeypatch.chdir(problem_file.parent)
    Path("problem.yaml").write_text("a: 1")
    Path("folder.toml").mkdir()
    before = sorted(Path().iterdir())
    result = run("solve", *arguments)
    assert result.exit_code == code
    assert complaint in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert sorted(Path().iterdir()) == before


def test_unwritable_folder_is_found_before_planning(problem_file, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    monkeypatch.setattr("preceptor.solve", lambda *_: pytest.fail("planned in vain"))
    result = run("solve", problem_file, "--output", problem_file.parent / "plan.json")
    assert result.exit_code == 2
    assert "may not write" in result.stderr


def test_unreadable_file_is_an_error_not_a_traceback(problem_file, monkeypatch):
    def denied(*_, **__):
        raise PermissionError(13, "Permission denied", str(problem_file))

    monkeypatch.setattr("pathlib.Path.open", denied)
    result = run("solve", problem_file)
    assert result.exit_code == 2
    assert f"{problem_file}: cannot be read (Permission denied)" in result.stderr


@pytest.mark.parametrize("text", ["[1]", "{}", "nonsense", '{"format": "preceptor-plan/9"}'])
def test_bad_plans(tmp_path, text):
    path = tmp_path / "plan.json"
    path.write_text(text)
    result = run("explain", path)
    assert result.exit_code == 2
    assert str(path) in result.stderr
    assert result.stdout == ""


def test_schema_and_methods_and_version():
    assert json.loads(run("schema").stdout) == pr.schema()
    listed = run("methods").stdout.splitlines()
    assert [line.split()[0] for line in listed[::2]] == list(SOLVERS)
    for summary, details, solver in zip(listed[::2], listed[1::2], SOLVERS.values(), strict=True):
        assert solver.summary in summary
        assert solver.proves in details
        assert all(option in details for option in solver.options)
    assert run("--version").stdout == f"preceptor {pr.__version__}\n"


def test_help_helps():
    text = run("--help").stdout
    for command in ("solve", "explain", "schema", "methods"):
        assert command in text
        assert run(command, "--help").exit_code == 0
    assert "preceptor solve examples/diabetes.toml" in text
    assert run().exit_code == 2  # without arguments: the help, as click does it


def test_a_real_process_keeps_stdout_clean(problem_file):
    command = [sys.executable, "-m", "preceptor", "solve", str(problem_file), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert pr.Plan.from_json(done.stdout).problem == PROBLEM
    assert "Error" not in done.stderr


def test_a_reader_that_leaves_early_is_no_error():
    command = [sys.executable, "-m", "preceptor", "schema"]
    # No reader at all: every write fails.
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr


def test_without_typer_the_extra_is_named():
    code = "import sys; sys.modules['typer'] = None\nfrom preceptor.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'preceptor[cli]'" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_spinner_on_a_terminal_never_reaches_stdout(problem_file, monkeypatch):
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    result = run("solve", problem_file, "--json")
    assert pr.Plan.from_json(result.stdout).problem == PROBLEM


def test_solve_overwrites_nothing_that_it_reads_or_writes(tmp_path):
    problem = tmp_path / "problem.toml"
    problem.write_text((EXAMPLES / "two_tests.toml").read_text("utf-8"))
    before = problem.read_bytes()
    for target in (["-o", problem], ["--plot", problem], ["-o", "a.png", "--plot", "a.png"]):
        result = run("solve", problem, *target)
        assert result.exit_code == 2, result.stdout
        assert problem.read_bytes() == before
