"""A run that is killed and started again goes on where it was and writes the same files."""

import io
import os
import signal

import psutil
import pytest

from preceptor.paper.experiment import Scale
from preceptor.paper.reproduction import UNFINISHED, reproduce, run
from tests.paper.processes import end, is_over, preceptor, start, wait_until

DRAWS = 40
COMMAND = ("reproduce", "stationary", "--draws", DRAWS, "--rho", "0.5", "--workers", 2, "-o", "out")


def lines_of(path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def all_end(workers) -> bool:
    """Whether they end by themselves, soon; if not, they are ended here."""
    by_themselves = wait_until(lambda: all(map(is_over, workers)), 10)
    for worker in workers:
        if not is_over(worker):
            worker.kill()
    return by_themselves


def command(folder):
    again = preceptor(*COMMAND, folder=folder)
    assert again.returncode == 0, again.stderr


def one_process(folder):
    """Not even the number of processes has to be the same."""
    reproduce(["stationary"], output=folder / "out", scale=Scale(DRAWS, (0.5,)), workers=1)


@pytest.mark.parametrize(
    ("kill", "start_again"),
    [
        pytest.param(signal.SIGKILL, one_process, marks=pytest.mark.full),
        pytest.param(signal.SIGKILL, command, marks=pytest.mark.full),
        pytest.param(signal.SIGTERM, command, marks=pytest.mark.full),
    ],
)
def test_a_killed_run_goes_on_and_gives_the_same_file(tmp_path, kill, start_again):
    journal = tmp_path / "out" / f"stationary{UNFINISHED}"
    running = start("-m", "preceptor", *COMMAND, folder=tmp_path)
    try:
        assert wait_until(lambda: lines_of(journal) > 0 or running.poll() is not None)
        workers = psutil.Process(running.pid).children(recursive=True)
        assert running.poll() is None, "it was over before it could be killed"
        os.kill(running.pid, kill)
        running.wait(10)
    finally:
        end(running)
    assert len(workers) >= 2
    assert all_end(workers), "workers outlive a killed run"

    assert 0 < lines_of(journal) < 14 * DRAWS
    assert not (tmp_path / "out" / "stationary.parquet").exists()
    with journal.open("a") as file:  # what a kill in the middle of a line would have left
        file.write('{"by": "0.1.0 seed 0", "cell": "[\\"curv')

    start_again(tmp_path)
    assert not journal.exists()
    uninterrupted = io.BytesIO()
    run("stationary", draws=DRAWS, rho=[0.5], workers=1).to_parquet(uninterrupted, index=False)
    written = (tmp_path / "out" / "stationary.parquet").read_bytes()
    assert written == uninterrupted.getvalue()


@pytest.mark.full
def test_ctrl_c_ends_everything_and_keeps_what_is_done(tmp_path):
    journal = tmp_path / "out" / f"stationary{UNFINISHED}"
    running = start("-m", "preceptor", *COMMAND, folder=tmp_path)
    try:
        assert wait_until(lambda: lines_of(journal) > 0 or running.poll() is not None)
        workers = psutil.Process(running.pid).children(recursive=True)
        assert running.poll() is None, "it was over before it could be interrupted"
        for process in (*workers, running):  # as a terminal does: to all of them
            os.kill(process.pid, signal.SIGINT)
        assert running.wait(15) != 0
    finally:
        end(running)
    assert all_end(workers)
    assert 0 < lines_of(journal) < 14 * DRAWS
    assert "Traceback" not in (tmp_path / "said").read_text()
