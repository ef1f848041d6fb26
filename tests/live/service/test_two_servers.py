"""Two servers on one database: one winner of every race, and nothing lost when they are killed.

The tests share their servers, so those that kill them come last.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import httpx
import pytest

from preceptor.live.store import chain
from preceptor.live.store.database import Store
from tests.live.service.load import VALUES, Player, at_once, players
from tests.live.service.servers import Server, said, start
from tests.postgres import cluster, fresh_database

pytestmark = pytest.mark.full

_NAMES = itertools.count()
RACES = 12
JOINING = 200


@dataclass
class Pair:
    """Servers on one database; `start` starts one more."""

    database: str
    start: Callable[[], Server]
    servers: list[Server]

    def addresses(self) -> list[str]:
        return [each.address for each in self.servers]

    def enrolled(self, count: int = 1) -> list[str]:
        names = [f"p{next(_NAMES)}" for _ in range(count)]
        for name in names:
            said(self.servers[0].http.put(f"/v1/people/{name}", json={}))
        return names


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path_factory.mktemp("two") / "live.db")
        return
    with cluster() as address:
        yield fresh_database(address, "live")


@pytest.fixture(scope="module")
def pair(database, tmp_path_factory, plan_file) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("served")

    def one() -> Server:
        options = ("--plan", plan_file, "--database", database, "--rate", 0)
        return start(folder, *options, ready=False)

    made = Pair(database, one, [one(), one()])
    for each in made.servers:
        each.wait_until_ready()
    yield made
    for each in made.servers:
        assert each.stop() == 0, each.log.read_text()


def test_one_of_two_wins_every_step(pair):
    """Each server takes one of two calls of the same moment that say different things."""
    left, right = (each.http for each in pair.servers)
    [who] = pair.enrolled()
    path = f"/v1/people/{who}/rounds"
    for number in range(RACES):
        opened = at_once(*(partial(http.post, path) for http in (left, right)))
        assert sorted(each.status_code for each in opened) == [200, 201]
        assert opened[0].json() == opened[1].json()
        seen = {name: VALUES[name] for name in opened[0].json()["recommended"]}
        bodies = [
            ("shown", {"values": seen}, {"values": dict.fromkeys(seen, 9.0)}),
            ("prediction", {"prediction": 1.0}, {"prediction": 2.0}),
            ("outcome", {"outcome": 1.0}, {"outcome": 2.0}),
        ]
        for step, *said_twice in bodies:
            put = [
                partial(http.put, f"{path}/{number}/{step}", json=body)
                for http, body in zip((left, right), said_twice, strict=True)
            ]
            first, second = sorted(at_once(*put), key=lambda each: each.status_code)
            assert (first.status_code, second.status_code) == (200, 409), step
            assert second.json()["round"] == first.json(), step


def test_two_who_enrol_one_person_differently(pair):
    for _ in range(RACES):
        path = f"/v1/people/p{next(_NAMES)}"
        put = [
            partial(each.http.put, path, json={"start": {"bmi": count}})
            for count, each in enumerate(pair.servers)
        ]
        assert sorted(each.status_code for each in at_once(*put)) == [201, 409]


def test_many_enrol_at_once(pair):
    """Nobody is refused, nobody is there twice, and the log of events has one end."""
    names = [f"p{next(_NAMES)}" for _ in range(JOINING)]
    before = events_of(pair)

    async def join() -> list[int]:
        limits = httpx.Limits(max_connections=JOINING)
        async with httpx.AsyncClient(timeout=60.0, limits=limits) as http:
            turns = zip(names, itertools.cycle(pair.addresses()), strict=False)
            calls = [http.put(f"{there}/v1/people/{name}", json={}) for name, there in turns]
            return [each.status_code for each in await asyncio.gather(*calls)]

    assert asyncio.run(join()) == [201] * JOINING
    assert events_of(pair) == before + JOINING


def test_kill_nine_loses_nothing_and_doubles_nothing(pair):
    killed_in_a_loop(pair, kills=2, people=6)


@pytest.mark.full
def test_kill_nine_for_longer(pair):
    killed_in_a_loop(pair, kills=20, people=16)


def killed_in_a_loop(pair: Pair, kills: int, people: int) -> None:
    dice = random.Random(kills)
    with players(pair.enrolled(people), pair.addresses) as playing:
        for turn in range(kills):
            already = answers_of(playing)
            while answers_of(playing) < already + people:
                time.sleep(0.01)
            time.sleep(0.2 * dice.random())
            hit = pair.servers[turn % 2]
            hit.kill()
            hit.http.close()
            pair.servers[turn % 2] = pair.start()
        for each in pair.servers:
            each.wait_until_ready()
    assert sum(each.sent_again for each in playing), "no call was ever in the way of a kill"
    assert_kept(pair, playing)


def answers_of(playing: list[Player]) -> int:
    assert all(each.fault is None for each in playing), [each.fault for each in playing]
    return sum(len(each.acknowledged) for each in playing)


def assert_kept(pair: Pair, playing: list[Player]) -> None:
    """Every answer that was acknowledged is in the log, once, and the rest follows from it."""
    for each in playing:
        got = pair.servers[0].http.get("/v1/log", params={"person": each.who, "limit": 10_000})
        lines = [json.loads(line) for line in got.text.splitlines()]
        assert {line["round"]: line["prediction"] for line in lines} == each.acknowledged
        shown = [name for line in lines for name in line["shown"]]
        person = said(pair.servers[1].http.get(f"/v1/people/{each.who}"))
        assert person["counts"] == {name: shown.count(name) for name in VALUES}
        assert person["answers"] == person["rounds"] == len(lines) == len(each.acknowledged)
    events_of(pair)


def events_of(pair: Pair) -> int:
    with Store(pair.database, creates=False) as store:
        found = store.read(chain.verify)
    assert found.faults == ()
    return found.events
