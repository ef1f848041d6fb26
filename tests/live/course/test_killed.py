"""kill -9 under load: no acknowledged answer is lost or doubled, on SQLite and on Postgres."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import httpx
import pytest

from preceptor.live.service.guides import PlanCache
from preceptor.live.store import courses, rounds
from preceptor.live.store.checking import check
from preceptor.live.store.database import Store
from tests.live.course.classroom import TraineeClient, teach, write_table
from tests.postgres import cluster

# Trainees, kills, and seconds of load before each.
TRAINEES, KILLS, LOAD = 8, 3, 1.5


def _answers(client: TraineeClient, kept: list[float], number: int) -> None:
    """Answer until the server is gone; keep what was acknowledged by the page of the truth."""
    try:
        client.now()
        while True:
            if client.page.form is None or "answer" not in client.page.form.values:
                client.next()
                continue
            # The answer is told apart from all others of this trainee.
            given = 50.0 + number / 100.0 + len(kept)
            page = client.answer(repr(given))
            said = page.data.get("said")
            if said is not None:
                assert float(said) == given
            kept.append(given)
    except httpx.TransportError:
        return


def _survives(folder: Path, database: str) -> None:
    write_table(folder / "cases.csv")
    acknowledged: list[list[float]] = [[] for _ in range(TRAINEES)]
    cookies: list[dict[str, str]] = [{} for _ in range(TRAINEES)]
    for kill in range(KILLS):
        site = teach(folder, "--database", database)
        clients = []
        for number in range(TRAINEES):
            name = None if kill else f"Trainee {number}"
            clients.append(TraineeClient(site.address, name))
            clients[-1].http.cookies.update(cookies[number])
            cookies[number] = dict(clients[-1].http.cookies)
        given = zip(clients, acknowledged, range(TRAINEES), strict=True)
        threads = [threading.Thread(target=_answers, args=each) for each in given]
        for each in threads:
            each.start()
        time.sleep(LOAD)
        site.kill()
        for each in threads:
            each.join()
        site.http.close()
        with Store(database) as store:
            found = store.read(lambda c: check(c, PlanCache().columns_of))
            assert found.faults == ()
            for each in store.read(courses.everyone):
                number = int(each.name.split()[1])
                played = store.read(lambda c, who=each.id: rounds.all_of(c, who))
                stored = [one.prediction for one in played if one.prediction is not None]
                known = acknowledged[number]
                # At most one more: it was stored, but the server died before it said so.
                assert stored[: len(known)] == known
                assert len(stored) <= len(known) + 1
                acknowledged[number] = [x for x in stored if x is not None]
    assert all(len(each) > KILLS for each in acknowledged)


@pytest.mark.full
def test_sqlite_survives_kills(tmp_path: Path) -> None:
    _survives(tmp_path, str(tmp_path / "course.db"))


def test_postgres_survives_kills(tmp_path: Path) -> None:
    with cluster() as address:
        _survives(tmp_path, address)
