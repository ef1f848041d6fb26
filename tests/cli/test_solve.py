"""`solve`, `explain`, `schema` and `methods`: what goes where, with which exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import preceptor as pr
from preceptor.cli._app import app
from preceptor.planning.solvers import SOLVERS
from tests.commands import CliRunner
from tests.registries import only_ours

RUNNER = CliRunner(env={"NO_COLOR": "1", "COLUMNS": "100"})
EXAMPLES = Path(__file__).parents[2] / "examples"
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
    arguments = ("--method", "truncated", "--length", "7")
    result = run("solve", problem_file, *arguments, "--memory-limit-gb", "0.5", "--json")
    assert json.loads(result.stdout)["options"] == {"length": 7, "suffix": "best"}


def good():
    return PROBLEM.to_toml()


BAD_PROBLEMS = {
    "no TOML": "this is = = not toml",
    "unknown key": good().replace("[world]", "[world]\nnoise = 1.0"),
    "negative noise": good().replace("[world]", "[world]\nnoise_variance = -1.0"),
    "large budget": good().replace("k = 1", "k = 5"),
    "no rounds": good().replace("horizon = 60", "horizon = 0"),
    "small alpha": good().replace("alpha = 1.1", "alpha = 0.5"),
    "unknown curve": good().replace('"geometric"', '"magic"'),
    "unknown table": good() + "\n[colour]\n",
    "empty": "",
    "two faults": good().replace("k = 1", "k = 5").replace("horizon = 60", "horizon = 0"),
}


@pytest.mark.parametrize("fault", BAD_PROBLEMS)
def test_bad_problems_are_refused_in_one_block(refuses, tmp_path, fault):
    (tmp_path / "problem.toml").write_text(BAD_PROBLEMS[fault])
    refuses("solve", "problem.toml")


@pytest.mark.parametrize(
    "words",
    [
        "missing.toml",
        ".",
        "folder.toml",
        "problem.yaml",
        "problem.toml --method magic",
        "problem.toml --method stationary --length 3",
        "problem.toml --method independent",
        "problem.toml --method finite --memory-limit-gb 1e-9",
        "problem.toml --output nowhere/plan.json",
        "problem.toml --output .",
        "problem.toml --plot nowhere/plan.png",
        "problem.toml --plot plan.doc",
        "problem.toml --length 0",
        "problem.toml --colour",
        "",
    ],
)
def test_bad_requests(refuses, problem_file, words):
    Path("problem.yaml").write_text("a: 1")
    Path("folder.toml").mkdir()
    refuses("solve", *words.split())


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
def test_bad_plans(refuses, tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    refuses("explain", "plan.json")


def test_schema_and_methods_and_version():
    with only_ours():
        assert json.loads(run("schema").stdout) == pr.schema()
    listed = run("methods").stdout.splitlines()
    assert [line.split()[0] for line in listed[::2]] == list(SOLVERS)
    for summary, details, solver in zip(listed[::2], listed[1::2], SOLVERS.values(), strict=True):
        assert solver.summary in summary
        assert solver.proves in details
        assert all(option in details for option in solver.options)
    assert run("--version").stdout == f"preceptor {pr.__version__}\n"


def test_without_arguments_it_shows_the_help():
    assert run().exit_code == 2  # as click does it
    assert "preceptor solve examples/diabetes.toml" in run("--help").stdout


def test_a_real_process_keeps_stdout_clean(problem_file):
    command = [sys.executable, "-m", "preceptor", "solve", str(problem_file), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert pr.Plan.from_json(done.stdout).problem == PROBLEM
    assert "Error" not in done.stderr


@pytest.mark.full
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
