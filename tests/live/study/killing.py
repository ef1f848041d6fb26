"""A study under load whose server or database is killed again and again.

Simulated participants go through its pages and write down each answer that the server has
acknowledged. Afterwards each of them must be stored, once.

    python -m tests.live.study.killing [kills] [participants at once] [answers of each in between]

prints what came of it.
"""

from __future__ import annotations

import copy
import itertools
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from sqlalchemy import Connection, select

from preceptor.live.bot_pages import read_page
from preceptor.live.service.guides import PlanCache
from preceptor.live.store import participants, rounds
from preceptor.live.store.checking import check
from preceptor.live.store.database import Store
from preceptor.live.store.tables import event
from preceptor.live.study.study import Study
from tests.live.service.servers import caller, start
from tests.live.study.opened import SMALL, open_study, small_study
from tests.live.study.taking_part import GOOD
from tests.postgres import running_cluster

# Seconds within which somebody must get on, whatever was killed.
_PATIENCE = 120.0
# Seconds between two calls of one participant, and until a call is tried again.
_PAUSE, _AGAIN = 0.01, 0.1
_ANSWERS = itertools.count(1)


@dataclass
class Written:
    """What one participant knows: their secret, answers sent and acknowledged by step."""

    secret: str
    sent: dict[int, list[float]] = field(default_factory=dict)
    acknowledged: dict[int, float] = field(default_factory=dict)


class Taker(threading.Thread):
    """Takes part in the study, and again as somebody else, until told to stop."""

    def __init__(self, name: str, address: str) -> None:
        super().__init__(name=name, daemon=True)
        self._address = address
        self._stopping = threading.Event()
        self.written: list[Written] = []
        self.unanswered = 0
        self.fault: BaseException | None = None

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        try:
            headers = {"Accept": "text/html"}
            with caller(self._address, headers=headers) as http:
                for number in itertools.count():
                    if self._stopping.is_set():
                        return
                    http.cookies.clear()
                    self._take_part(http, f"{self.name}-{number}")
        except BaseException as error:
            self.fault = error

    def _take_part(self, http: httpx.Client, recruiter: str) -> None:
        self._said(303, lambda: http.post("/s/small", data={"recruiter": recruiter}))
        own = Written(http.cookies["participant"])
        self.written.append(own)
        while not self._stopping.is_set():
            page = read_page(self._said(200, lambda: http.get("/s/small/now")).text)
            stage, form = page.stage, page.form
            if stage is None or form is None:
                return
            given, answer = GOOD.get(page.title, {}), None
            if not given and "answer" in form.values:
                # No answer is like another, so that one in place of another would be found.
                answer = next(_ANSWERS) / 1000.0
                given = {"answer": repr(answer)}
                own.sent.setdefault(stage, []).append(answer)
            try:
                got = http.post(form.action, data=form.filled(**given))
            except httpx.TransportError:
                self.unanswered += 1
                continue  # perhaps it was stored: the page will tell
            if got.status_code == 303 and "note=" not in got.headers["location"]:
                if answer is not None:
                    own.acknowledged[stage] = answer
            else:
                assert got.status_code in (303, 503), got.text
                self.unanswered += 1
            self._stopping.wait(_PAUSE)

    def _said(self, status: int, call: Callable[[], httpx.Response]) -> httpx.Response:
        """What the server says, sooner or later."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                got = call()
                if got.status_code == status:
                    return got
                assert got.status_code == 503, got.text
            except httpx.TransportError:
                pass
            self.unanswered += 1
            time.sleep(_AGAIN)
        raise AssertionError("nobody answers")


@dataclass(frozen=True)
class Tally:
    """What became of all answers.

    Attributes
    ----------
    kills
        How often the server or the database was killed.
    people
        Participants.
    acknowledged
        Answers that the server has acknowledged.
    unsaid
        Further answers that were stored, but the response was lost.
    lost, doubled, changed
        Acknowledged answers that are not stored, that are in the log twice, or are another number.
    unanswered
        Calls without a response, or refused for the moment.
    """

    kills: int
    people: int
    acknowledged: int
    unsaid: int
    lost: int
    doubled: int
    changed: int
    unanswered: int


def long_study() -> Study:
    """The small study with forty rounds of training, and nothing but cases in between."""
    blocks = copy.deepcopy(SMALL["block"])
    blocks[3] = {"kind": "training", "rounds": 40}
    return small_study(people=100_000, block=blocks)


def survived(
    folder: Path,
    database: str,
    kill: Callable[[], None] | None,
    kills: int,
    people: int,
    answers: int,
) -> Tally:
    """Let people take part while `kill` is called again and again; None kills the server.

    `answers` is how many answers of each person, on average, are acknowledged in between.
    """
    study, dice = long_study(), random.Random(kills)
    with Store(database) as store:
        open_study(store, study)
    given = ("--database", database, "--rate", 0)
    server = start(folder, *given)
    port = urlsplit(server.address).port
    takers = [Taker(f"taker{i}", server.address) for i in range(people)]
    for each in takers:
        each.start()
    for _ in range(kills):
        wait_for_more(takers, answers * people)
        time.sleep(0.3 * dice.random())
        if kill is not None:
            kill()
        else:
            server.kill()
            server.http.close()
            server = start(folder, *given, "--port", port)
    wait_for_more(takers, answers * people)
    for each in takers:
        each.stop()
    for each in takers:
        each.join(_PATIENCE)
        assert not each.is_alive()
    _no_faults(takers)
    assert server.stop() == 0, server.log.read_text()
    with Store(database, creates=False) as store:
        assert store.read(lambda c: check(c, PlanCache().columns_of)).faults == ()
        return store.read(lambda c: counted(c, study, takers, kills))


def wait_for_more(takers: list[Taker], answers: int) -> None:
    """Wait until this many more answers are acknowledged."""
    end, before = time.monotonic() + _PATIENCE, _known(takers)
    while _known(takers) < before + answers:
        _no_faults(takers)
        assert time.monotonic() < end, "nobody gets on"
        time.sleep(0.02)


def _known(takers: list[Taker]) -> int:
    return sum(len(own.acknowledged) for each in takers for own in list(each.written))


def _no_faults(takers: list[Taker]) -> None:
    faults = [each.fault for each in takers if each.fault is not None]
    if faults:
        raise faults[0]


def counted(connection: Connection, study: Study, takers: list[Taker], kills: int) -> Tally:
    """Compare what is stored with what participants know."""
    asked = select(event.c.subject, event.c.payload).where(event.c.kind == "predicted")
    events = Counter(
        (row.subject, json.loads(row.payload)["round"]) for row in connection.execute(asked)
    )
    lost = changed = unsaid = 0
    everybody = [own for each in takers for own in each.written]
    for own in everybody:
        who = participants.by_link(connection, own.secret)
        assert who is not None
        found = {each.number: each.prediction for each in rounds.all_of(connection, who.id)}
        stored = {
            stage: found.get(study.protocol.steps[stage].index)
            for stage in range(study.protocol.end)
            if study.protocol.steps[stage].kind == "ask"
        }
        for stage, answer in own.acknowledged.items():
            lost += stored[stage] is None
            changed += stored[stage] not in (None, answer)
        for stage, answer in stored.items():
            if answer is not None and stage not in own.acknowledged:
                assert answer in own.sent[stage]
                unsaid += 1
    return Tally(
        kills,
        len(everybody),
        sum(len(own.acknowledged) for own in everybody),
        unsaid,
        lost,
        sum(number - 1 for number in events.values()),
        changed,
        sum(each.unanswered for each in takers),
    )


@contextmanager
def killable(kind: str, folder: Path) -> Iterator[tuple[str, Callable[[], None] | None]]:
    """A database, and what to kill: on SQLite the server (None), otherwise Postgres itself."""
    if kind == "sqlite":
        yield str(folder / "live.db"), None
        return
    with running_cluster() as cluster:

        def stopped() -> None:
            cluster.stop_at_once()
            cluster.start()

        yield cluster.address, stopped


def main(*numbers: int) -> None:
    """Print what came of it, on both databases."""
    for kind in ("sqlite", "postgres"):
        with (
            tempfile.TemporaryDirectory() as folder,
            killable(kind, Path(folder)) as (database, one),
        ):
            sys.stdout.write(f"{kind}: {survived(Path(folder), database, one, *numbers)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, (sys.argv[1:] + ["20", "16", "2"][len(sys.argv) - 1 :])))
