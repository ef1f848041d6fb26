"""`preceptor reproduce`: what it writes and prints, and what it says about wrong input."""

import functools
import gc
import json
import os
import socket
import socketserver
import sys
import threading

import pandas as pd
import pytest

from preceptor import paper as experiments
from preceptor._base.parallel import connect
from preceptor.errors import InvalidInput
from preceptor.paper.reproduction import EXPERIMENTS
from tests.cli.conftest import no_traceback

SMALL = ("--draws", 1, "--rho", "0.5,0.99", "--quick", "--workers", 1)


def refuse(run_command, folder, complaint, *arguments):
    before = sorted(folder.rglob("*"))
    result = run_command("reproduce", *arguments)
    message = no_traceback(result)
    assert result.exit_code == 2, message
    assert complaint in message
    assert message.count("Error: ") <= 1
    assert sorted(folder.rglob("*")) == before


def test_one_experiment(run, tmp_path):
    result = run("reproduce", "misspecification", *SMALL, "-o", "out")
    assert result.exit_code == 0, result.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "misspecification.json",
        "misspecification.parquet",
        "misspecification.pdf",
        "misspecification.png",
        "report.json",
        "report.md",
    ]
    for printed in ("Planning with a wrong input", "19.0%", "imputation wrong"):
        assert printed in result.stdout
    assert "Wrote data, figures and report.md to out" in result.stderr
    assert "misspecification" in result.stderr


@pytest.mark.full
def test_the_usual_folder_and_the_same_table_as_in_a_script(run, tmp_path):
    result = run("reproduce", "action-map", *SMALL)
    assert result.exit_code == 0, result.stderr
    written = pd.read_parquet(tmp_path / "reproduction" / "action-map.parquet")
    frame = experiments.run("action-map", draws=1, rho=[0.5, 0.99], quick=True, workers=1)
    pd.testing.assert_frame_equal(written, frame, check_exact=True)


@pytest.mark.full
def test_json_is_all_that_is_printed(run, tmp_path):
    result = run("reproduce", "action-map", "misspecification", *SMALL, "--json", "--seed", 3)
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    scales = [one["scale"] for one in told["experiments"]]
    assert scales[0] == {"draws": None, "rho": [0.5, 0.99], "quick": True, "seed": 3}
    assert scales[1] == {"draws": 1, "rho": None, "quick": True, "seed": 3}
    assert "misspecification does not vary --rho" in result.stderr
    assert [one["name"] for one in told["experiments"]] == ["action-map", "misspecification"]
    assert all(one["findings"] for one in told["experiments"])
    assert told == json.loads((tmp_path / "reproduction" / "report.json").read_text("utf-8"))


@pytest.mark.parametrize(
    "words",
    [
        "stationery",
        "--draws 0",
        "--rho half",
        "--rho 0:0.99",
        "--rho 0:0.99:0",
        "--rho 0:0.99:1e3",
        "--rho 0.5,1",
        "--rho -0.5",
        "--rho nan",
        "--draws 0 --rho 2",
        "--workers 0",
        "--seed -1",
        "--cluster nonsense",
        "--cluster carrier://pigeon:1",
    ],
)
def test_wrong_input(refuses, words):
    refuses("reproduce", *words.split())


def test_every_fault_is_named_at_once(refuses):
    refuses("reproduce", "--draws", 0, "--rho", "2,3")
    refuses("reproduce", "--rho", "")


def test_an_output_that_is_a_file(refuses, tmp_path):
    (tmp_path / "out").write_text("mine")
    refuses("reproduce", "action-map", *SMALL, "-o", "out")
    refuses("reproduce", "action-map", *SMALL, "-o", "out/below")
    assert (tmp_path / "out").read_text() == "mine"


def test_an_output_that_may_not_be_written(run, tmp_path, monkeypatch):
    """Found with the first cell, not after an hour."""
    (tmp_path / "out").mkdir()

    def refused(path, flags):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("preceptor._base.many.owner_only_opener", refused)
    complaint = "action-map.unfinished.jsonl: you may not write there; choose another folder"
    refuse(run, tmp_path, complaint, "action-map", *SMALL, "-o", "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(run, tmp_path):
    (tmp_path / "out").mkdir(mode=0o500)
    refuse(run, tmp_path, "you may not write there", "action-map", *SMALL, "-o", "out")


@pytest.fixture
def hasty(monkeypatch):
    """Clusters are given up sooner."""
    impatient = functools.partial(connect, seconds=0.5)
    monkeypatch.setattr("preceptor._base.parallel.connect", impatient)


@pytest.mark.usefixtures("hasty")
def test_a_cluster_at_which_nobody_listens(run, tmp_path):
    # The port stays taken: whoever calls a free one of this machine may be answered by themselves.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        refuse(run, tmp_path, f"no scheduler answers at '{address}'", "--cluster", address)


@pytest.mark.full
def test_a_client_that_could_not_connect_does_not_linger():
    """Thrown away while the next one is made, it would wait for that one's lock for ever."""
    distributed = pytest.importorskip("distributed")

    def clients():
        return [each for each in gc.get_objects() if isinstance(each, distributed.Client)]

    gc.collect()
    before = clients()
    gc.disable()
    try:
        for address in ("nonsense", "carrier://pigeon:1"):
            with pytest.raises(InvalidInput, match="no scheduler answers"):
                connect(address, seconds=0.5)
        assert clients() == before
    finally:
        gc.enable()


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while heard := self.request.recv(65_536):
            self.request.sendall(heard)


@pytest.mark.usefixtures("hasty")
def test_a_cluster_at_which_something_else_answers(run, tmp_path):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.server_address[1]}"
        complaint = f"no scheduler answers at '{address}' (another program answered)"
        refuse(run, tmp_path, complaint, "--cluster", address)
        server.shutdown()


def test_a_cluster_without_the_extra(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = run("reproduce", "--cluster", "tcp://127.0.0.1:8786")
    message = no_traceback(result)
    assert result.exit_code != 0
    assert "pip install 'preceptor[cluster]'" in message


def test_experiments_that_the_help_names_exist():
    assert {"stationary", "misspecification", "action-map"} <= set(EXPERIMENTS)


def test_an_assumption_can_be_changed(run, tmp_path):
    change = ["--assume", "alpha=1.3", "--assume", "horizon=40", "--assume", "budget=exactly 1"]
    result = run("reproduce", "misspecification", *SMALL, *change, "--json", "-o", "out")
    (told,) = json.loads(result.stdout)["experiments"]
    assert told["scale"]["assume"] == {"alpha": 1.3, "budget": "exactly 1", "horizon": 40}
    assert {finding["verdict"] for finding in told["findings"]} == {"not comparable"}


def test_an_assumption_that_is_not_made_is_refused_by_its_option(run):
    result = run("reproduce", "theorems", "--assume", "imputation=0.5", "--assume", "budget=2")
    assert result.exit_code == 2
    assert "--assume imputation: not an assumption of theorems" in result.stderr
    assert "--assume budget: not an assumption of theorems" in result.stderr
    assert "alpha, discount" in result.stderr
