"""A Postgres of one's own for tests: a cluster in a fresh folder, reached by a socket file."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def program(name: str) -> str | None:
    """Debian keeps these out of the path."""
    return shutil.which(name, path=os.pathsep.join([*map(str, _FOLDERS), os.environ["PATH"]]))


class Cluster:
    """A cluster that can be stopped and started again.

    Parameters
    ----------
    folder
        For its data, its log and its socket.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.address = f"postgresql://preceptor@/postgres?host={folder}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        # It refuses to run as root.
        user = "postgres" if os.getuid() == 0 else None
        ready, there = str(program("pg_isready")), {"user": user, "cwd": self._folder}
        data = self._folder / "data"
        if not data.exists():
            make = [program("initdb"), "-D", data, "-U", "preceptor", "-A", "trust", "-E", "UTF8"]
            subprocess.run([*make, "--no-sync"], check=True, capture_output=True, **there)
        serve = [program("postgres"), "-D", data, "-k", self._folder, "-c", "listen_addresses="]
        with (self._folder / "log").open("a") as log:
            self._process = subprocess.Popen(serve, stdout=log, stderr=log, **there)
        _wait(ready, self._folder, self._process)

    def stop_at_once(self) -> None:
        """As `pg_ctl stop -m immediate`: nothing is finished or written to disk."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(timeout=60)


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """An empty cluster, which ends with the block; skips where Postgres is not installed."""
    if None in map(program, ("initdb", "postgres", "pg_isready")):
        pytest.skip("Postgres is not installed (apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="pr-pg-"))  # the socket's path must be short
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    made = Cluster(folder)
    try:
        made.start()
        yield made
    finally:
        made.stop_at_once()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def cluster() -> Iterator[str]:
    """The address of an empty cluster, which ends with the block; skips where there is none."""
    with running_cluster() as made:
        yield made.address


def _wait(ready: str, folder: Path, process: subprocess.Popen[bytes]) -> None:
    asked = [ready, "-h", str(folder), "-q", "-t", "1"]
    for _ in range(300):
        assert process.poll() is None, (folder / "log").read_text()
        if subprocess.run(asked, check=False).returncode == 0:
            return
        try:
            process.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError((folder / "log").read_text())


def fresh_database(cluster_address: str, name: str) -> str:
    """A new database in the cluster."""
    import psycopg

    with psycopg.connect(cluster_address, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')  # type: ignore[call-overload]
    return cluster_address.replace("/postgres?", f"/{name}?")
