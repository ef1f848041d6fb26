"""Real servers for tests: processes on loopback, on ports that the system gives out."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

import preceptor as pr

# Seconds that a server may take to be ready, on a machine that is busy with other tests.
_PATIENCE = 60.0

WORLD = pr.World.equicorrelated([1.0, 0.8, 0.5], 0.6, names=["bmi", "bp", "age"])
LEARNER = pr.Learner([0.2, 1.3, 0.0], pr.Geometric(1.1))


def small_problem(**changes: Any) -> pr.Problem:
    """Three tests of which two may be shown."""
    return pr.Problem(WORLD, LEARNER, 2, horizon=60).replace(**changes)


def crowd_problem() -> pr.Problem:
    """The same for somebody who may be of two kinds."""
    kinds = {"by showings": LEARNER, "by outcomes": pr.DeltaRule([0.2, 1.3, 0.0], rate=0.1)}
    return small_problem(learner=pr.Crowd(kinds))


# Importing takes longer than serving: a process that has imported everything is forked for each
# server that needs nothing else of its own.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.live.service.warmed"])


class Forked:
    """A forked process, with what tests need of `subprocess.Popen`."""

    def __init__(self, log: Path, folder: Path, arguments: list[str]) -> None:
        self._process = _FORKS.Process(target=_run, args=(log, folder, arguments), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("preceptor serve", timeout or 0.0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()


def _run(log: Path, folder: Path, arguments: list[str]) -> None:
    """In the forked process: as the command line, with its output in a file."""
    with log.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.argv = ["preceptor", *arguments]
    from preceptor.cli import main

    main()


def caller(address: str, **options: Any) -> httpx.Client:
    """Calls a server. Nothing is encrypted, and reading certificates would take longer."""
    return httpx.Client(base_url=address, timeout=30.0, verify=False, **options)


@dataclass
class Server:
    """A process that serves; `http` calls it."""

    process: Forked
    address: str
    log: Path
    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.http = caller(self.address)

    def wait_until_ready(self) -> None:
        """It says where it listens before it has started."""
        end = time.monotonic() + _PATIENCE
        while not self._is_ready():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)

    def _is_ready(self) -> bool:
        try:
            return self.http.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """As systemd would; gives the exit code."""
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=_PATIENCE)


def start(
    folder: Path,
    *arguments: object,
    ready: bool = True,
    name: str = "server",
    command: str = "serve",
    trusts: bool = True,
) -> Server:
    """Start `preceptor serve` with these arguments; its output goes to a file in the folder.

    Another `command` may be one that listens in the same way; `ready` asks what only `serve` knows.
    With `trusts` it needs no token while there is none.
    """
    log = folder / f"{name}-{time.monotonic_ns()}.log"
    trusting = ["--trust-this-machine"] if trusts and command == "serve" else []
    given = [command, "--port", "0", *trusting, *map(str, arguments)]
    log.touch()
    process = Forked(log, folder, given)
    end = time.monotonic() + _PATIENCE
    while True:
        found = re.search(r"Listening at (http://\S+)", log.read_text())
        if found:
            break
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.02)
    server = Server(process, found.group(1), log)
    if ready:
        server.wait_until_ready()
    return server


@contextmanager
def sign_in(link: str) -> Iterator[httpx.Client]:
    """The owner, after the form that the link of the start leads to."""
    url = httpx.URL(link)
    with caller(str(url.join("/"))) as http:
        done = http.post("/studies/enter", data={"token": url.params["secret"]})
        assert done.status_code == 303, done.text
        yield http


def play_round(
    http: httpx.Client, who: str, values: dict[str, float], prediction: float, outcome: float
) -> dict[str, Any]:
    """A whole round of a caller who has the case; `values` are those of all tests."""
    rounds = f"/v1/people/{who}/rounds"
    opened = said(http.post(rounds))
    there = f"{rounds}/{opened['round']}"
    seen = {name: values[name] for name in opened["recommended"]}
    said(http.put(f"{there}/shown", json={"values": seen}))
    said(http.put(f"{there}/prediction", json={"prediction": prediction}))
    return said(http.put(f"{there}/outcome", json={"outcome": outcome}))


def said(response: httpx.Response) -> Any:
    """The body of an answer that must be good."""
    assert response.is_success, response.text
    return response.json()
