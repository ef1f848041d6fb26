"""On a real Dask cluster: a scheduler and two workers on loopback, each a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import time

import pandas as pd
import pytest

import preceptor as pr
from preceptor._base.parallel import DaskCluster, connect
from preceptor.errors import InvalidInput
from preceptor.paper.reproduction import run
from preceptor.paper.sweep import run_sweeps
from tests.paper import tasks
from tests.paper.processes import end, preceptor, start

distributed = pytest.importorskip("distributed")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Cluster:
    """A scheduler with workers; `close` ends every process by its id."""

    def __init__(self, folder):
        self.folder = folder
        port = free_port()
        self.address = f"tcp://127.0.0.1:{port}"
        here = ("--host", "127.0.0.1", "--no-dashboard")
        self.processes = [
            start("-m", "dask", "scheduler", *here, "--port", port, folder=self.folder)
        ]
        self.workers = []

    def start_worker(self):
        """One process with one thread; without a nanny, so that it is not restarted."""
        options = "--host 127.0.0.1 --no-dashboard --no-nanny --nthreads 1 --memory-limit 0"
        worker = start(
            *("-m", "dask", "worker", self.address, *options.split()),
            *("--death-timeout", "30", "--local-directory", self.folder),
            folder=self.folder,
        )
        self.processes.append(worker)
        self.workers.append(worker)

    def kill_worker(self):
        """Without a word to anybody."""
        victim = self.workers.pop(0)
        os.kill(victim.pid, signal.SIGKILL)
        victim.wait(10)

    def close(self):
        for process in reversed(self.processes):
            end(process)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    started = Cluster(tmp_path_factory.mktemp("dask"))
    try:
        started.start_worker()
        started.start_worker()
        yield started
    finally:
        started.close()


@pytest.fixture
def client(cluster):
    """A client of a cluster with two living workers."""
    while len(cluster.workers) < 2:
        cluster.start_worker()
    with distributed.Client(cluster.address, timeout=30) as connected:
        connected.wait_for_workers(2, timeout=30)
        yield connected


@pytest.mark.full
def test_an_experiment_has_the_same_bits_here_and_on_the_cluster(client):
    options = {"draws": 4, "rho": [0.99], "quick": True, "seed": 5}
    alone = tasks.untimed(run("stationary", workers=1, **options))
    assert len(alone) == 56
    assert tasks.untimed(run("stationary", client=client, **options)).equals(alone)


@pytest.mark.smoke
def test_rows_come_in_the_order_of_the_grid(client):
    sweep = tasks.sweep(draws=100, batch=7)
    assert run_sweeps([sweep], executor=DaskCluster(client)).equals(run_sweeps([sweep]))


@pytest.mark.full
def test_a_worker_killed_during_the_run_costs_only_time(client, cluster):
    sweep = tasks.sweep(tasks.slow_numbers, draws=150, pause=0.004, batch=2)
    told = []

    def progress(update):
        told.append(update.done)
        if len(told) == 30:
            cluster.kill_worker()

    frame = run_sweeps([sweep], executor=DaskCluster(client), progress=progress)
    assert len(cluster.workers) == 1
    assert len(client.scheduler_info()["workers"]) == 1
    assert told[-1] == 1.0
    assert told == sorted(told)
    assert frame.equals(run_sweeps([sweep]))


@pytest.mark.full
def test_the_command_runs_on_it(client, cluster, tmp_path):
    options = ("--draws", 1, "--rho", 0.5, "--cluster", cluster.address, "-o", "out")
    result = preceptor("reproduce", "stationary", *options, folder=tmp_path)
    assert result.returncode == 0, result.stderr
    expected = run("stationary", draws=1, rho=[0.5], workers=1)
    written = pd.read_parquet(tmp_path / "out" / "stationary.parquet")
    pd.testing.assert_frame_equal(written, expected, check_exact=True)
    assert "Traceback" not in result.stderr


def test_plans_for_many_people_are_the_same_there(client, cluster, tmp_path):
    """Through a client that stays open, or through an address; what is kept is read anywhere."""
    world = pr.World.equicorrelated([1.0, 0.8], 0.8)
    people = [pr.Learner([0.1 * i, 1.0 - 0.1 * i], pr.Geometric(1.1)) for i in range(9)]
    problems = [pr.Problem(world, person, 1, horizon=12) for person in people]
    wanted = [plan.policy for plan in pr.solve_many(problems, workers=1)]
    kept = tmp_path / "plans.jsonl"
    there = pr.solve_many(problems, cluster=client, resume=kept)
    assert [plan.policy for plan in there] == wanted
    assert client.status == "running"
    kept.write_text("".join(kept.read_text().splitlines(keepends=True)[:5]))
    again = pr.solve_many(problems, cluster=cluster.address, resume=kept)
    assert [plan.policy for plan in again] == wanted
    assert again == pr.solve_many(problems, workers=1, resume=kept)


def test_a_task_that_fails_is_reported(client):
    with pytest.raises(ZeroDivisionError, match="by this test"):
        run_sweeps([tasks.sweep(tasks.refuses)], executor=DaskCluster(client))


def test_nothing_is_left_on_the_cluster(client):
    run_sweeps([tasks.sweep(draws=5)], executor=DaskCluster(client))
    time.sleep(0.2)
    assert not client.futures


@pytest.mark.full
def test_an_address_without_a_scheduler_is_refused():
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(InvalidInput, match=f"no scheduler answers at '{address}'"):
        connect(address, seconds=1.0)


@pytest.mark.full
def test_the_command_says_so(tmp_path):
    address = f"tcp://127.0.0.1:{free_port()}"
    result = preceptor("reproduce", "--cluster", address, "-o", "out", folder=tmp_path, seconds=30)
    assert result.returncode == 2
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert f"no scheduler answers at '{address}'" in result.stderr
    assert not (tmp_path / "out").exists()
