"""Disks that are full, files that may only be read or are damaged: a clear answer, nothing half."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from preceptor.live.store import chain, people
from preceptor.live.store.database import Store
from preceptor.live.store.tables import StoreFailure
from tests.live.service.servers import Server, said, start
from tests.postgres import cluster, fresh_database


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"cannot make a small disk: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def enrol_until_refused(http: httpx.Client, most: int) -> tuple[list[str], httpx.Response]:
    """Everybody who was let in, and the first refusal."""
    joined: list[str] = []
    for number in range(most):
        got = http.put(f"/v1/people/p{number}", json={"start": {"bmi": number}})
        if not got.is_success:
            return joined, got
        joined.append(f"p{number}")
    raise AssertionError(f"{most} people fit")


def assert_whole(database: Path | str, joined: list[str]) -> None:
    """Those who were let in are there, nobody else is, and the chain of events holds."""
    with Store(str(database), creates=False) as store:
        assert store.read(chain.verify).faults == ()
        known = store.read(lambda c: [p for p in joined if people.look_up(c, p) is not None])
        assert known == joined
        beyond = f"p{len(joined)}"
        assert store.read(lambda c: people.look_up(c, beyond)) is None


def test_a_full_disk_is_said_and_room_cures_it(serve, small_disk, tmp_path):
    database = small_disk / "live.db"
    server: Server = serve("--database", database, "--rate", 0)
    (small_disk / "other").write_bytes(bytes(200_000))
    joined, refused = enrol_until_refused(server.http, 5_000)
    assert refused.status_code == 507
    assert refused.json()["errors"][0].startswith("database: the disk is full")
    assert said(server.http.get("/v1/people/p0"))["person"] == "p0"  # reading goes on
    assert_whole(database, joined)
    (small_disk / "other").unlink()
    assert server.http.get("/readyz").status_code == 200
    said(server.http.put(f"/v1/people/p{len(joined)}", json={}))


def test_a_file_that_may_not_grow_is_said(serve, tmp_path):
    """As a quota does; the limit is set and lifted while the server runs."""
    server: Server = serve("--rate", 0)
    database = tmp_path / "live.db"
    said(server.http.put("/v1/people/p0", json={"start": {"bmi": 0}}))
    size = (tmp_path / "live.db-wal").stat().st_size
    before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, -1))
    joined, refused = enrol_until_refused(server.http, 5_000)
    assert refused.status_code in (503, 507)
    assert refused.json()["detail"].startswith("database: ")
    assert server.http.get("/readyz").status_code in (503, 507)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)
    assert server.http.get("/readyz").status_code == 200
    assert_whole(database, joined)
    said(server.http.put(f"/v1/people/p{len(joined)}", json={}))


def test_a_damaged_file_is_said_and_left_as_it_is(serve, tmp_path):
    server: Server = serve("--rate", 0)
    for number in range(20):
        said(server.http.put(f"/v1/people/p{number}", json={}))
    assert server.stop() == 0
    database = tmp_path / "live.db"
    whole = database.read_bytes()
    page = 4096
    damaged = whole[:page] + os.urandom(len(whole) - page)
    database.write_bytes(damaged)
    with pytest.raises(StoreFailure, match="damaged"):
        Store(str(database))
    database.write_bytes(b"a spreadsheet, not a database; " * 1000)
    with pytest.raises(StoreFailure, match="not a SQLite database"):
        Store(str(database))
    assert database.read_bytes().startswith(b"a spreadsheet")


def test_damage_under_a_running_server_is_an_answer(serve, tmp_path):
    server: Server = serve("--rate", 0)
    said(server.http.put("/v1/people/p0", json={}))
    with Store(str(tmp_path / "live.db"), creates=False) as store:
        store.write(lambda c: c.exec_driver_sql("UPDATE person SET counts = '[' WHERE id = 'p0'"))
    for call in (
        server.http.get("/v1/people/p0"),
        server.http.post("/v1/people/p0/rounds"),
        server.http.get("/v1/people/p0/export"),
    ):
        assert call.status_code == 503
        assert "damaged" in call.json()["detail"]
    said(server.http.put("/v1/people/p1", json={}))  # others are served


def test_a_file_that_may_only_be_read_is_said(tmp_path, plan_file):
    database = tmp_path / "live.db"
    with Store(str(database)):
        pass
    with Store(f"sqlite:///file:{database}?mode=ro&uri=true", creates=False) as store:
        assert store.read(lambda c: people.look_up(c, "ann")) is None
        with pytest.raises(StoreFailure, match="read-only"):
            store.write(lambda c: chain.append(c, "kind", None, {}))


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(StoreFailure, match="cannot be opened"):
        Store(str(tmp_path / "nowhere" / "live.db"))


@pytest.mark.full
def test_postgres_that_only_reads_or_goes_away(tmp_path, plan_file):
    with cluster() as address:
        database = fresh_database(address, "live")
        options = ("--plan", plan_file, "--database", database, "--rate", 0)
        server = start(tmp_path, *options)
        said(server.http.put("/v1/people/p0", json={}))
        with Store(database, creates=False) as store:
            store.write(
                lambda c: c.exec_driver_sql(
                    "ALTER DATABASE live SET default_transaction_read_only = on"
                )
            )
            store.write(lambda c: c.exec_driver_sql(_OTHERS_OUT))
        said(server.http.get("/v1/people/p0"))
        refused = server.http.put("/v1/people/p1", json={})
        assert refused.status_code == 503
        assert "read-only" in refused.json()["detail"]
    refused = server.http.get("/v1/people/p0")
    assert refused.status_code == 503
    assert refused.headers["retry-after"]
    assert "database: " in refused.json()["detail"]
    assert server.stop() == 0


_OTHERS_OUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = 'live' AND pid <> pg_backend_pid()"
)
