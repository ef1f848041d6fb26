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


@contextmanager
def cluster() -> Iterator[str]:
    """The address of an empty cluster, which ends with the block; skips where there is none."""
    initdb, postgres, ready = program("initdb"), program("postgres"), program("pg_isready")
    if initdb is None or postgres is None or ready is None:
        pytest.skip("Postgres is not installed (apt-get install postgresql)")
    # It refuses to run as root, and the socket's path must be short.
    user = "postgres" if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="pr-pg-"))
    if user is not None:
        shutil.chown(folder, user)
    try:
        make = [initdb, "-D", folder / "data", "-U", "preceptor", "-A", "trust", "-E", "UTF8"]
        subprocess.run([*make, "--no-sync"], check=True, capture_output=True, user=user, cwd=folder)
        serve = [postgres, "-D", folder / "data", "-k", folder, "-c", "listen_addresses="]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(serve, stdout=log, stderr=log, user=user, cwd=folder)
        try:
            _wait(ready, folder, process)
            yield f"postgresql://preceptor@/postgres?host={folder}"
        finally:
            process.send_signal(signal.SIGQUIT)  # at once: nobody needs what is in it
            process.wait(timeout=60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
