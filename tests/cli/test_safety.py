"""Commands end in a sentence, whatever they are given and wherever they write."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from preceptor._base import files
from preceptor._base.many import Journal
from preceptor._base.progress import Update
from preceptor.cli import fit
from preceptor.cli._console import _OPTIONS, _shortened, in_options, spinner
from preceptor.cli._console import run as run_safely
from preceptor.errors import InvalidFile, TooLarge
from preceptor.model.problem import schema
from tests.cli.conftest import no_traceback
from tests.cli.small_and_bad import BAD_FILES

ROOT = Path(__file__).parents[2]
QUICK = ("--half-life", 1, "--cases", 4, "--person", "by-showings")


# --- what is written, and where ---


@pytest.fixture
def reads(cases, plan_file, tmp_path):
    """Every kind of file that a command reads."""
    table = cases.read_text()
    (tmp_path / "problem.toml").write_text(
        "budget = 1\n[world]\ncoefficients = [1.0, 0.8]\ncorrelation = 0.8\n[learner]\n"
        'initial = [0.2, 1.3]\ncurves = {kind = "geometric", alpha = 1.1}\n'
    )
    (tmp_path / "log.csv").write_text(
        "participant,round,shown,values,prediction,outcome\nann,1,bmi,100,20,21\n"
    )
    (tmp_path / "costs.csv").write_text("name,cost\nbmi,1\nbp,1\nage,1\n")
    (tmp_path / "beliefs.csv").write_text("name,weight\nbmi,1\nbp,1\nage,1\n")
    (tmp_path / "learner.json").write_text("{}")
    assert table.startswith("bmi,bp,age,y")
    return tmp_path


WRITERS = {
    ("plan", "cases.csv", "--outcome", "y", "-o"): ["cases.csv"],
    ("plan", "cases.csv", "--outcome", "y", "--report"): ["cases.csv"],
    ("plan", "cases.csv", "--outcome", "y", "--costs", "costs.csv", "-o"): ["costs.csv"],
    ("plan", "cases.csv", "--outcome", "y", "--beliefs", "beliefs.csv", "-o"): ["beliefs.csv"],
    ("plan", "cases.csv", "--outcome", "y", "--learner", "learner.json", "-o"): ["learner.json"],
    ("solve", "problem.toml", "-o"): ["problem.toml"],
    ("solve", "problem.toml", "--plot"): ["problem.toml"],
    ("simulate", "plan.json", "--log"): ["plan.json"],
    ("next", "plan.json", "--log", "log.csv", "--tutor", "--report"): ["plan.json", "log.csv"],
    ("fit", "log.csv", "--data", "cases.csv", "--outcome", "y", "-o"): ["log.csv", "cases.csv"],
    ("diagnose", "cases.csv", "--outcome", "y", "-o"): ["cases.csv"],
    ("tutor", "cases.csv", "--outcome", "y", "--name", "ann", "--log"): ["cases.csv"],
    ("tutor", "cases.csv", "--outcome", "y", "--name", "ann", "--report"): ["cases.csv"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("command", "target"),
    [(command, target) for command, targets in WRITERS.items() for target in targets],
)
@pytest.mark.parametrize("by", ["name", "symlink", "hard link"])
def test_no_command_overwrites_what_it_reads(run, reads, command, target, by):
    if by == "symlink":
        (reads / f"link{Path(target).suffix}").symlink_to(target)
    elif by == "hard link":
        (reads / f"link{Path(target).suffix}").hardlink_to(reads / target)
    before = {path.name: path.read_bytes() for path in reads.iterdir()}
    named = target if by == "name" else f"link{Path(target).suffix}"
    result = run(*command, named)
    message = no_traceback(result)
    assert result.exit_code == 2, message
    # A picture must also end in .png, which is found out first.
    assert "already uses that file" in message or "must end in .png" in message
    assert {path.name: path.read_bytes() for path in reads.iterdir()} == before


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("plan", "cases.csv", "--outcome", "y", "-o", "plan.txt"), "must end in .json"),
        (("plan", "cases.csv", "--outcome", "y", "--report", "r.pdf"), "end in .html or .htm"),
        (("solve", "problem.toml", "-o", "plan.toml"), "must end in .json"),
        (("solve", "problem.toml", "--plot", "plan.txt"), "must end in .png"),
        (("simulate", "plan.json", "--log", "log.txt"), "must end in .csv, .jsonl"),
        (("next", "plan.json", "--log", "log.csv", "--tutor", "--report", "r"), "in .html or .htm"),
        (("fit", "log.csv", "--data", "cases.csv", "--outcome", "y", "-o", "l"), "end in .json"),
        (("diagnose", "cases.csv", "--outcome", "y", "-o", "b.txt"), "must end in .csv"),
        (("examples", "--write", "diabetes", "-o", "d.doc"), "must end in .csv"),
        (("tutor", "cases.csv", "--outcome", "y", "--name", "a", "--report", "r"), "(--report)"),
    ],
)  # fmt: skip
def test_endings_are_checked_before_work_begins(run, reads, command, words):
    before = sorted(reads.iterdir())
    result = run(*command)
    assert (result.exit_code, words in no_traceback(result)) == (2, True), result.stderr
    assert sorted(reads.iterdir()) == before


def test_two_names_that_differ_in_capitals_only(run, cases):
    result = run("plan", cases, "--outcome", "y", "-o", "a.html", "--report", "A.html")
    assert result.exit_code == 2


def test_a_plan_without_a_report(run, cases, tmp_path):
    result = run("plan", cases, "--outcome", "y", *QUICK, "--no-report")
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cases.csv", "plan.json"]
    assert "Wrote the plan to plan.json\n" in result.stderr
    assert "Replaced" not in result.stderr
    again = run("plan", cases, "--outcome", "y", *QUICK, "--no-report")
    assert "Replaced plan.json\n" in again.stderr


def full_disk_for(name, monkeypatch):
    """There is no room for the content of this file."""
    beside = files._staged

    def broken(path, content, private=False):
        if content and Path(path).name == name:
            raise OSError(28, "No space left on device")
        return beside(path, content, private)

    monkeypatch.setattr(files, "_staged", broken)


def test_neither_file_if_the_second_cannot_be_written(run, cases, tmp_path, monkeypatch):
    full_disk_for("report.html", monkeypatch)
    result = run("plan", cases, "--outcome", "y", *QUICK)
    assert "report.html: the disk is full" in no_traceback(result)
    assert [path.name for path in tmp_path.iterdir()] == ["cases.csv"]


def test_a_report_into_a_device_leaves_it_one(run, cases):
    result = run(
        "plan", cases, "--outcome", "y", *QUICK, "-o", "/dev/null", "--report", "/dev/null"
    )
    assert result.exit_code == 0, result.stderr
    assert Path("/dev/null").is_char_device()


def test_a_plan_and_its_picture_are_written_together_or_not(run, reads, monkeypatch):
    full_disk_for("drawn.png", monkeypatch)
    before = sorted(reads.iterdir())
    result = run("solve", "problem.toml", "-o", "solved.json", "--plot", "drawn.png")
    assert "drawn.png: the disk is full" in no_traceback(result)
    assert sorted(reads.iterdir()) == before
    monkeypatch.undo()
    monkeypatch.chdir(reads)
    result = run("solve", "problem.toml", "-o", "solved.json", "--plot", "drawn.png")
    assert result.exit_code == 0, result.stderr
    assert {"solved.json", "drawn.png"} <= {path.name for path in reads.iterdir()}


def mode_of(path):
    return path.stat().st_mode & 0o777


def test_files_with_names_of_people_are_private(run, plan_file, tmp_path):
    drawn = run("simulate", plan_file, "--people", 2, "--rounds", 2, "--human", "paper",
                "--log", "drawn.csv")  # fmt: skip
    assert drawn.exit_code == 0, drawn.stderr
    Journal(tmp_path / "journal").write("1", "ann", [])
    for name in ("drawn.csv", "journal"):
        assert mode_of(tmp_path / name) == 0o600, name
    assert "private=True" in Path(fit.__file__).read_text("utf-8")  # takes a whole fit to see


def test_a_log_that_others_may_read_stays_so(run, plan_file, tmp_path):
    (tmp_path / "log.csv").touch()
    (tmp_path / "log.csv").chmod(0o664)
    drawn = run("simulate", plan_file, "--people", 2, "--rounds", 2, "--human", "paper",
                "--log", "log.csv")  # fmt: skip
    assert drawn.exit_code == 0, drawn.stderr
    assert mode_of(tmp_path / "log.csv") == 0o664


def test_a_journal_on_a_full_disk_is_named(tmp_path):
    journal = Journal("/dev/full")
    journal._checked = True  # a device would be refused, but nothing else is full for certain
    with pytest.raises(InvalidFile, match="/dev/full: the disk is full"):
        journal.write("1", "cell", [])


# --- small files that ask for much ---


DRIVER = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
from tests.commands import CliRunner
from preceptor.cli import app
runner = CliRunner(env={"NO_COLOR": "1"})
for line in sys.stdin:
    name, command = json.loads(line)
    result = runner.invoke(app, command)
    what = type(result.exception).__name__
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps([name, result.exit_code, what, result.stderr[:9000], peak]), flush=True)
"""


@pytest.mark.full
def test_a_small_file_cannot_exhaust_the_machine(tmp_path):
    commands = []
    for name, (_, write) in BAD_FILES.items():
        (tmp_path / name).mkdir()
        command = write(tmp_path / name)
        size = sum(path.stat().st_size for path in (tmp_path / name).iterdir())
        assert size < 1_000_000, name
        commands.append([name, [str(part) for part in command]])
    ran = subprocess.run(
        [sys.executable, "-c", DRIVER],
        cwd=ROOT,
        input="\n".join(map(json.dumps, commands)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(answers) == len(commands), ran.stderr[-2000:]
    for name, code, what, message, peak in answers:
        words = BAD_FILES[name][0]
        assert (code in (1, 2), what) == (True, "SystemExit"), (name, what, message)
        assert words in message, (name, message)
        assert peak < 2_000, (name, peak)


# --- streams and signals ---


def preceptor(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "preceptor", *arguments],
        **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options),
    )


@pytest.mark.full
def test_streams_that_fail_and_places_that_are_gone(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    ascii_only = {k: v for k, v in os.environ.items() if k != "HOME"} | {
        "PYTHONIOENCODING": "ascii",
        "LC_ALL": "C",
    }
    with Path("/dev/full").open("wb") as full:
        started = {
            "ascii": preceptor("schema", env=ascii_only),
            "full": preceptor("methods", stdout=full),
            "closed": preceptor("methods"),
            "gone": preceptor("solve", "x.toml", "-o", "y.json", cwd=gone),
        }
    gone.rmdir()
    started["closed"].stdout.close()
    said = {}
    for name, process in started.items():
        out = b"" if process.stdout is None or process.stdout.closed else process.stdout.read()
        errors = process.stderr.read()
        code = process.wait()
        process.stderr.close()
        if process.stdout is not None:
            process.stdout.close()
        said[name] = (code, out, errors.decode())
        assert "Traceback" not in said[name][2], said[name]
        assert "Exception ignored" not in said[name][2], said[name]
    assert said["ascii"][0] == 0
    assert json.loads(said["ascii"][1]) == schema()
    assert "φ" in json.dumps(schema(), ensure_ascii=False)
    assert said["full"][0] == 1
    assert said["full"][2] == "Error: standard output: cannot be written, the disk is full\n"
    assert (said["closed"][0], said["closed"][2]) == (1, "")
    assert said["gone"][0] == 2
    assert said["gone"][2].startswith("Error: ")


def test_control_c_during_a_command(run, plan_file, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("preceptor.Plan.load", stopped)
    result = run("explain", plan_file)
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.endswith("Stopped.\n")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "Stopped."),
        (BrokenPipeError(32, "Broken pipe"), 1, ""),
        (MemoryError(), 1, "Error: out of memory; try fewer tests"),
        (RecursionError("too deep"), 70, "(RecursionError: too deep)"),
        (OverflowError("much"), 70, "Please report it"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), 70, "PRECEPTOR_TRACEBACK=1"),
        (OSError(5, "Input/output error", "a.csv"), 1, "Error: a.csv: Input/output error"),
        (SystemExit(3), 3, ""),
    ],
)
def test_the_net_catches_what_is_left(capsys, monkeypatch, error, code, words):
    monkeypatch.setattr("os.dup2", lambda *_: None)
    monkeypatch.delenv("PRECEPTOR_TRACEBACK", raising=False)

    def command():
        raise error

    with pytest.raises(SystemExit) as left:
        run_safely(command)
    said = capsys.readouterr().err
    assert (left.value.code, words in said) == (code, True), said
    assert "Traceback" not in said


def test_the_net_shows_more_if_asked(capsys, monkeypatch):
    monkeypatch.setenv("PRECEPTOR_TRACEBACK", "1")
    from preceptor import World

    with pytest.raises(SystemExit):
        run_safely(lambda: World.equicorrelated(object(), "x"))
    said = capsys.readouterr().err
    assert "Traceback" in said


def test_nobody_needs_a_terminal_or_an_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as left:
        run_safely(lambda: None)
    assert left.value.code == 0


# --- work that takes long ---


def test_long_work_says_so_at_growing_intervals(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr("preceptor.cli._console.time.monotonic", lambda: now[0])
    said = {}
    with spinner("planning") as tell:
        for second in range(40):
            now[0] = float(second)
            tell(Update("proving", value=8.0, lower_bound=4.0, sentence="Once." * (second == 1)))
            if line := capsys.readouterr().err:
                said[second] = line
    assert said.pop(1) == "Once.\n"
    assert list(said) == [2, 6, 14, 30]
    assert set(said.values()) == {"planning: proving, best 8, lower bound 4, gap 100%\n"}


# --- words of the command line ---


def test_messages_name_options():
    _OPTIONS.set({"method": "--method", "width": "--width", "memory_limit": "--memory-limit-gb"})
    said = "use width=12 or less, method='search', or raise `memory_limit`; loss=ClosedForm()"
    assert in_options(said) == (
        "use --width 12 or less, --method search, or raise --memory-limit-gb; loss=ClosedForm()"
    )
    assert in_options("drop one (in Python: or impute, missing=SimpleImputer()); go on") == (
        "drop one; go on"
    )
    _OPTIONS.set({})


def test_too_much_memory_names_the_option(run, reads):
    arguments = ("--method", "beam", "--memory-limit-gb", 1e-5)
    result = run("solve", "problem.toml", *arguments)
    message = no_traceback(result)
    assert result.exit_code == 1
    assert "use --width 74 or less" in message
    assert "width=" not in message
    assert issubclass(TooLarge, MemoryError)


def test_a_message_that_fills_pages_is_cut():
    assert len(_shortened("x" * 100_000)) < 2_100
    many = _shortened("\n".join(f"  - {i}" for i in range(1000)))
    assert many.endswith("  - and 960 more")


# --- plans that were changed by hand, and proofs ---


def test_verify_on_the_command_line(run, reads, plan_file):
    result = run("explain", plan_file, "--verify")
    assert result.exit_code == 0, result.stderr
    assert "Verified. The policy is allowed." in result.stderr
    data = json.loads(plan_file.read_text())
    plan_file.write_text(json.dumps(data | {"lower_bound": data["value"], "status": "optimal"}))
    result = run("explain", plan_file, "--verify")
    assert result.exit_code == 1
    assert "verification failed" in no_traceback(result)
    result = run("solve", "problem.toml", "--method", "truncated", "--length", 3, "--verify")
    assert result.exit_code == 0, result.stderr
    assert "Verified" in result.stderr


def test_input_that_never_ends_is_refused(monkeypatch, run, tmp_path):
    monkeypatch.setattr("preceptor._base.files._MOST_BYTES", 1000)
    result = run("explain", "/dev/zero")
    assert "/dev/zero: more than" in no_traceback(result)
