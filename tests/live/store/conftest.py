"""Databases of both kinds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from preceptor.live.store.database import Store
from tests.postgres import cluster, fresh_database

_NAMES = itertools.count()


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The address of a cluster; skips where Postgres is not installed."""
    with cluster() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "live.db")
    return fresh_database(request.getfixturevalue("postgres"), f"test{next(_NAMES)}")


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """A store that is open."""
    with Store(database) as opened:
        yield opened
