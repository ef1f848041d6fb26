"""People who play without a pause, whatever happens to the servers, and remember what was said."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

# Seconds within which one of the servers must answer.
_PATIENCE = 60.0
# Seconds between rounds: there must always be calls under way, but not as many as possible.
_PAUSE = 0.02
VALUES = {"bmi": 0.5, "bp": -0.25, "age": 1.5}


class Player(threading.Thread):
    """Somebody who plays rounds until told to stop; a call that is not answered is sent again.

    Parameters
    ----------
    who
        Their name, already enrolled.
    addresses
        Gives the servers of the moment; calls go to any of them.
    """

    def __init__(self, who: str, addresses: Callable[[], Sequence[str]]) -> None:
        super().__init__(name=who)
        self.who, self._addresses = who, addresses
        self._turn = itertools.count()
        self._stopping = threading.Event()
        self.acknowledged: dict[int, float] = {}
        self.sent_again = 0
        self.fault: BaseException | None = None

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        try:
            with httpx.Client(timeout=10.0) as http:
                for number in itertools.count():
                    if self._stopping.is_set():
                        return
                    self._play(http, number)
                    self._stopping.wait(_PAUSE)
        except BaseException as error:
            self.fault = error

    def _play(self, http: httpx.Client, number: int) -> None:
        rounds = f"/v1/people/{self.who}/rounds"
        opened = self._said(http, "POST", rounds)
        assert opened["round"] == number, opened
        seen = {name: VALUES[name] for name in opened["recommended"]}
        answer = number + 0.125
        self._said(http, "PUT", f"{rounds}/{number}/shown", {"values": seen})
        self._said(http, "PUT", f"{rounds}/{number}/prediction", {"prediction": answer})
        self.acknowledged[number] = answer
        self._said(http, "PUT", f"{rounds}/{number}/outcome", {"outcome": -answer})

    def _said(self, http: httpx.Client, method: str, path: str, body: Any = None) -> Any:
        """What a server answers, sooner or later; other servers are tried after a fault."""
        end = time.monotonic() + _PATIENCE
        while True:
            there = self._addresses()
            address = there[next(self._turn) % len(there)]
            try:
                got = http.request(method, address + path, json=body)
                if got.is_success:
                    return got.json()
                assert got.status_code == 503, got.text
            except httpx.TransportError:
                pass
            assert time.monotonic() < end, f"nobody answers {method} {path}"
            self.sent_again += 1
            time.sleep(0.05)


@contextmanager
def players(names: Sequence[str], addresses: Callable[[], Sequence[str]]) -> Iterator[list[Player]]:
    """These people play while the block runs, and finish their round when it ends."""
    playing = [Player(name, addresses) for name in names]
    for each in playing:
        each.start()
    try:
        yield playing
    finally:
        for each in playing:
            each.stop()
        for each in playing:
            each.join()
    for each in playing:
        if each.fault is not None:
            raise each.fault


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Make these calls at the same moment, each in a thread of its own."""
    start, answers = threading.Barrier(len(calls)), [None] * len(calls)

    def make(index: int) -> None:
        start.wait()
        answers[index] = calls[index]()

    threads = [threading.Thread(target=make, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None not in answers, "a call failed; see its thread"
    return answers
