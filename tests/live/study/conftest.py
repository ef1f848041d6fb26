"""A site with small studies that tests of a file share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from preceptor.live.store import studies
from preceptor.live.store.database import Store
from preceptor.live.study import opening
from preceptor.live.study.export import export
from preceptor.live.study.study import Study
from tests.live.service.servers import Server, start
from tests.live.study.opened import open_study, small_study
from tests.live.study.taking_part import Somebody

_NAMES = itertools.count()


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file behind the site of a module."""
    return tmp_path_factory.mktemp("study") / "live.db"


@pytest.fixture(scope="module")
def site(database: Path) -> Iterator[Server]:
    """One site for all tests of a file, with the small study open."""
    with Store(str(database)) as store:
        open_study(store, small_study())
    running = start(database.parent, "--database", database, "--rate", 0)
    yield running
    assert running.stop() == 0, running.log.read_text()


@pytest.fixture
def opened(database: Path, site: Server) -> Callable[..., Study]:
    """Opens another study on the same site: `opened(people=1)`."""

    def one(**changes: object) -> Study:
        made = small_study(**{"id": f"study-{next(_NAMES)}", **changes})
        with Store(str(database)) as store:
            return open_study(store, made)

    return one


@pytest.fixture
def registered(database: Path, site: Server) -> Callable[..., Study]:
    """Opens another study with its registration, without which there is no export."""

    def one(**changes: object) -> Study:
        made = small_study(**{"id": f"study-{next(_NAMES)}", **changes})
        with Store(str(database)) as store:
            opening.open_study(store, made)
        return made

    return one


@pytest.fixture
def exported(database: Path, tmp_path: Path) -> Callable[..., Path]:
    """Exports a study, unblinded if need be: `exported(study, kind="bot", full=True)`."""

    def one(study: Study, **options: Any) -> Path:
        folder = tmp_path / f"export-{next(_NAMES)}"
        with Store(str(database)) as store:
            if options.get("kind", "real") == "real":
                store.write(lambda c: studies.unblind(c, study.id, "test", "all are there"))
            return export(store, study.id, folder, who="test", **options).path

    return one


@pytest.fixture
def somebody(site: Server) -> Iterator[Callable[..., Somebody]]:
    """Makes participants, each with a browser of their own."""
    made: list[Somebody] = []

    def one(study: str = "small") -> Somebody:
        made.append(Somebody(site.address, study))
        return made[-1]

    yield one
    for each in made:
        each.close()
