"""What others feel while the record of a person with thousands of rounds is followed.

    python -m tests.live.service.long_record [rounds] [seconds]    prints times of calls

One worker process plans for four people with tutors, who play without a pause. After a while
somebody asks for the estimates of a person with many rounds, which the worker has to follow first.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np
from sqlalchemy import Connection

import preceptor as pr
from preceptor.live.service.guides import read_plan
from preceptor.live.store import people, plans, rounds
from preceptor.live.store.database import Store
from preceptor.live.store.rounds import Offer
from tests.live.service.load import VALUES
from tests.live.service.servers import caller, crowd_problem, start

OTHERS = 4


def many_rounds(connection: Connection, who: str, sha256: str, number: int) -> None:
    """Somebody who has answered this many rounds and was told the outcomes."""
    rng = np.random.default_rng(0)
    shown, taught = ["bmi", "bp"], [1, 1, 0]
    people.enrol(
        connection, who, plan=sha256, policy="plan", counts=[0, 0, 0], case_list=None,
        is_bot=True, enrolled_with={"plan": sha256},
    )  # fmt: skip
    for _ in range(number):
        values = rng.normal(size=2)
        offer = Offer(shown, "", {}, feedback=True)
        there = rounds.offer(connection, people.find(connection, who, to_change=True), offer)
        person = people.find(connection, who, to_change=True)
        there = rounds.show(connection, person, there, shown, values.tolist(), None)
        person = people.find(connection, who, to_change=True)
        said = float(values @ [0.5, 0.5] + rng.normal())
        rounds.predict(connection, person, there, said, taught, float(values.sum()))


class Other(threading.Thread):
    """Plays rounds with a tutor and writes down how long each call took, and what was refused."""

    def __init__(self, address: str, who: str, plan: str) -> None:
        super().__init__(daemon=True)
        self._address, self._who, self._plan = address, who, plan
        self.took: list[tuple[float, float]] = []
        self.refused: list[float] = []

    def run(self) -> None:
        with caller(self._address) as http:
            self._call(http, "PUT", "", {"plan": self._plan, "policy": "tutor"})
            for number in itertools.count():
                opened = self._call(http, "POST", "/rounds").json()
                seen = {name: VALUES[name] for name in opened["recommended"]}
                there = f"/rounds/{number}"
                self._call(http, "PUT", f"{there}/shown", {"values": seen})
                self._call(http, "PUT", f"{there}/prediction", {"prediction": 0.1 * number})
                self._call(http, "PUT", f"{there}/outcome", {"outcome": 1.0})
                time.sleep(0.2)

    def _call(self, http: httpx.Client, method: str, path: str, body: object = None):
        while True:
            began = time.monotonic()
            got = http.request(method, f"/v1/people/{self._who}{path}", json=body)
            self.took.append((began, time.monotonic() - began))
            if got.is_success:
                return got
            assert got.status_code == 503, got.text
            self.refused.append(began)


def told(others: list[Other], first: float, last: float) -> str:
    """Times of calls that began in between."""
    took = [s for each in others for at, s in each.took if first <= at < last]
    refused = sum(first <= at < last for each in others for at in each.refused)
    median, most, worst = 1000.0 * np.quantile(took, [0.5, 0.95, 1.0])
    said = f"median {median:.0f} ms, 95% within {most:.0f} ms, slowest {worst:.0f} ms"
    return f"{len(took)} calls, {said}, {refused} refused\n"


def main(number: int, seconds: float) -> None:
    """Print times of calls without and with the long record."""
    body = pr.solve(crowd_problem(), time_limit=0.2, objective="mean").to_json()
    sha256 = read_plan(body).sha256
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "live.db")
        with Store(database) as store:
            store.write(lambda c: plans.keep(c, body))
            store.write(lambda c: many_rounds(c, "long", sha256, number))
        server = start(Path(folder), "--database", database, "--rate", 0, "--planners", 1)
        others = [Other(server.address, f"other{i}", sha256) for i in range(OTHERS)]
        for each in others:
            each.start()
        time.sleep(10.0)  # processes start, kernels are loaded
        began = time.monotonic()
        time.sleep(seconds)
        sys.stdout.write(f"without: {told(others, began, time.monotonic())}")
        began = time.monotonic()
        while server.http.get("/v1/people/long").status_code == 503:
            pass
        ended = time.monotonic()
        sys.stdout.write(f"with, {ended - began:.1f} s: {told(others, began, ended)}")
        server.kill()


if __name__ == "__main__":
    main(*map(int, (sys.argv[1:] + ["10000", "15"][len(sys.argv) - 1 :])))
