"""Local processes: the same bits as one process, and a worker that dies costs only time."""

import math
import os
import signal
import time

import psutil
import pytest

from preceptor._base.parallel import LocalProcesses, Serial, executor_of
from preceptor.errors import InvalidInput, NotApplicable
from preceptor.paper.reproduction import run
from preceptor.paper.sweep import run_sweeps
from tests.paper import tasks


def workers() -> list[int]:
    """Process ids of the spawned workers of this process."""
    children = psutil.Process().children()
    return [child.pid for child in children if "spawn_main" in " ".join(child.cmdline())]


def killing_one_after(count: int):
    """A progress callback that kills one worker after that many updates, and its victim."""
    killed, seen = [], []

    def progress(update):
        seen.append(update)
        if len(seen) % count == 0 and (alive := workers()):
            os.kill(alive[0], signal.SIGKILL)
            killed.append(alive[0])

    return progress, killed


@pytest.fixture(scope="module")
def two():
    """One pool for all tests: whatever one of them does to it, the next must not notice."""
    with LocalProcesses(2) as executor:
        yield executor


@pytest.mark.full
@pytest.mark.parametrize(
    "name", ["action-map", pytest.param("misspecification", marks=pytest.mark.full)]
)
def test_real_experiments_have_the_same_bits_in_one_and_two_processes(name):
    options = {"draws": 1, "rho": [0.5, 0.99], "quick": True}
    alone, together = (tasks.untimed(run(name, workers=workers, **options)) for workers in (1, 2))
    assert together.equals(alone)


def test_rows_come_in_the_order_of_the_grid(two):
    """The first cells take longest, so they are finished last."""
    pauses = (0.2, 0.1, 0.0, 0.0)
    settings = tuple({"scale": 1.0, "pause": pause} for pause in pauses)
    sweep = tasks.Sweep("slow first", tasks.slow_numbers, settings, 1)
    assert run_sweeps([sweep], executor=two).equals(run_sweeps([sweep]))


@pytest.mark.full
def test_a_worker_killed_during_the_run_costs_only_time(two):
    sweep = tasks.sweep(tasks.slow_numbers, draws=15, pause=0.02)
    progress, killed = killing_one_after(12)
    frame = run_sweeps([sweep], executor=two, progress=progress)
    assert killed
    assert frame.equals(run_sweeps([sweep]))


@pytest.mark.full
def test_a_worker_that_dies_by_itself_costs_only_time(two, tmp_path):
    sweep = tasks.sweep(tasks.kills_its_worker_once, draws=4, marker=str(tmp_path / "died"))
    frame = run_sweeps([sweep], executor=two)
    assert (tmp_path / "died").exists()
    assert frame.drop(columns="marker").equals(run_sweeps([tasks.sweep(draws=4)]))


@pytest.mark.full
def test_a_worker_killed_between_sweeps_costs_only_time(two):
    first = dict(two.run(math.sqrt, [4.0, 9.0]))
    os.kill(workers()[0], signal.SIGKILL)
    time.sleep(0.3)  # until the pool has noticed
    assert dict(two.run(math.sqrt, [4.0, 9.0])) == first == {4.0: 2.0, 9.0: 3.0}


@pytest.mark.full
def test_workers_killed_again_and_again_cost_only_time(two):
    """As long as something is finished in between, it is not the work that kills them."""
    sweep = tasks.sweep(tasks.slow_numbers, draws=40, pause=0.02)
    progress, killed = killing_one_after(12)
    frame = run_sweeps([sweep], executor=two, progress=progress)
    assert len(killed) >= 5
    assert frame.equals(run_sweeps([sweep]))


@pytest.mark.full
def test_work_that_kills_every_worker_is_given_up():
    with (
        LocalProcesses(1) as one,
        pytest.raises(NotApplicable, match="worker processes keep dying"),
    ):
        run_sweeps([tasks.sweep(tasks.kills_its_worker, draws=1)], executor=one)


def test_a_wrong_task_is_reported_not_repeated(two):
    with pytest.raises(ZeroDivisionError, match="by this test"):
        run_sweeps([tasks.sweep(tasks.refuses)], executor=two)
    # and the workers are still good
    assert dict(two.run(math.sqrt, [4.0])) == {4.0: 2.0}


@pytest.mark.full
def test_processes_end_with_the_block():
    others = workers()
    with LocalProcesses(2) as executor:
        list(executor.run(math.sqrt, [1.0, 2.0]))
        pids = set(workers()) - set(others)
        assert pids
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


def test_which_executor_is_chosen():
    with executor_of(1, None) as chosen:
        assert isinstance(chosen, Serial)
    with executor_of(3, None) as chosen:
        assert chosen.workers == 3
    with executor_of(None, None) as chosen:
        assert chosen.workers == os.cpu_count()
    with LocalProcesses(2) as mine, executor_of(1, mine) as chosen:
        assert chosen is mine
    with pytest.raises(InvalidInput, match=r"cluster: 8786, must be a distributed.Client or the"):
        executor_of(None, 8786).__enter__()


@pytest.mark.few(1)
@pytest.mark.parametrize("bad", [0, -1, 1.5])
def test_bad_numbers_of_workers_are_refused(bad):
    with pytest.raises(InvalidInput, match=f"workers: {bad}"):
        LocalProcesses(bad)
