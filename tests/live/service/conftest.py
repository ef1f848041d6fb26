"""Servers that tests share, and a way to start one's own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

import preceptor as pr
from tests.live.service.servers import Server, crowd_problem, small_problem, start

_NAMES = itertools.count()


@pytest.fixture(scope="session")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan for three tests, two shown."""
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    pr.solve(small_problem()).save(path)
    return path


@pytest.fixture(scope="session")
def crowd_plan_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan for somebody who may be of two kinds."""
    path = tmp_path_factory.mktemp("plans") / "crowd.json"
    pr.solve(crowd_problem(), time_limit=0.2, objective="mean").save(path)
    return path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, plan_file: Path) -> Iterator[Server]:
    """One server for all tests of a file, on SQLite, without tokens."""
    folder = tmp_path_factory.mktemp("served")
    running = start(folder, "--plan", plan_file, "--database", folder / "live.db")
    yield running
    assert running.stop() == 0, running.log.read_text()


@pytest.fixture
def http(server: Server) -> httpx.Client:
    """Calls the server of the file."""
    return server.http


@pytest.fixture
def who(http: httpx.Client) -> str:
    """Somebody new, enrolled."""
    name = f"p{next(_NAMES)}"
    assert http.put(f"/v1/people/{name}", json={}).status_code == 201
    return name


@pytest.fixture
def serve(tmp_path: Path, plan_file: Path) -> Iterator[Callable[..., Server]]:
    """Start servers of one's own: `serve("--rate", 0)`; all of them end with the test."""
    started: list[Server] = []

    def one(*arguments: object, **options: object) -> Server:
        given = [*arguments]
        if "--database" not in given:
            given += ["--database", tmp_path / "live.db"]
        if "--plan" not in given:
            given += ["--plan", plan_file]
        started.append(start(tmp_path, *given, **options))
        return started[-1]

    yield one
    for each in started:
        each.stop()
