"""The live service: calls a second and how long the slowest take, beside the least there can be."""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import preceptor as pr
from benchmarks.measure import Row, best_time
from preceptor.live.service.guides import PlanGuide

CONNECTIONS, ROUNDS, REPEATS = 16, 12, 5
VALUES = {"bmi": 0.5, "bp": -0.25, "age": 1.5}


class Connection:
    """A connection that costs next to nothing, so that the server is what we measure."""

    def __init__(self, address: str) -> None:
        self._host, _, self._port = address.removeprefix("http://").partition(":")
        self.seconds: list[float] = []

    async def open(self) -> None:
        self._in, self._out = await asyncio.open_connection(self._host, int(self._port))

    async def call(self, method: str, path: str, body: Any) -> bytes:
        text = json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        began = time.perf_counter()
        self._out.write(head.encode() + text)
        got = await self._in.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", got)
        answer = await self._in.readexactly(int(length.group(1))) if length else b"null"
        self.seconds.append(time.perf_counter() - began)
        assert got.startswith(b"HTTP/1.1 20"), answer
        return answer

    async def close(self) -> None:
        self._out.close()
        await self._out.wait_closed()


async def whole_rounds(to: Connection, who: str) -> None:
    """Four calls a round: open, shown, answered, told."""
    rounds = f"/v1/people/{who}/rounds"
    await to.call("PUT", f"/v1/people/{who}", {})
    for number in range(ROUNDS):
        opened = json.loads(await to.call("POST", rounds, {}))
        seen = {name: VALUES[name] for name in opened["recommended"]}
        await to.call("PUT", f"{rounds}/{number}/shown", {"values": seen})
        await to.call("PUT", f"{rounds}/{number}/prediction", {"prediction": 0.5})
        await to.call("PUT", f"{rounds}/{number}/outcome", {"outcome": 0.25})


async def inserts(to: Connection, who: str) -> None:
    """As many calls, each of them one insert."""
    for number in range(4 * ROUNDS + 1):
        path = f"/v1/people/{who}/rounds/{number}/prediction"
        await to.call("PUT", path, {"prediction": 0.5})


async def loaded(address: str, play: Callable[..., Any], turn: int) -> tuple[float, float]:
    """Calls a second and the 99th percentile of their seconds, at 16 connections."""
    made = [Connection(address) for _ in range(CONNECTIONS)]
    await asyncio.gather(*(each.open() for each in made))
    began = time.perf_counter()
    await asyncio.gather(*(play(each, f"t{turn}-{i}") for i, each in enumerate(made)))
    took = time.perf_counter() - began
    await asyncio.gather(*(each.close() for each in made))
    seconds = [one for each in made for one in each.seconds]
    return len(seconds) / took, float(np.quantile(seconds, 0.99))


@contextmanager
def process(log: Path, *command: object) -> Iterator[str]:
    """A server in a process of its own, whose output goes to a file; its address."""
    with log.open("w") as file:
        run = [sys.executable, "-m", *map(str, command)]
        running = subprocess.Popen(run, stdout=file, stderr=file)
    try:
        while not (found := re.search(r"Listening at (http://\S+)", log.read_text())):
            if running.poll() is not None:
                raise RuntimeError(log.read_text())
            time.sleep(0.05)
        yield found.group(1)
    finally:
        running.terminate()
        running.wait()


async def until_ready(address: str, path: str) -> None:
    while True:
        try:
            one = Connection(address)
            await one.open()
            await one.call("GET", path, {})
            return await one.close()
        except (OSError, AssertionError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.1)


def service() -> Row:
    """Medians of repeats that take turns, on SQLite with synchronous FULL."""
    world = pr.World.equicorrelated([1.0, 0.8, 0.5], 0.6, names=list(VALUES))
    problem = pr.Problem(world, pr.Learner([0.2, 1.3, 0.0], pr.Geometric(1.1)), 2, horizon=60)
    plan = pr.solve(problem)
    guide = PlanGuide(plan, "0" * 64)
    alone = best_time(lambda: guide.wanted([3, 2, 1], 3), seconds=0.2)
    found: dict[str, list[tuple[float, float]]] = {"ours": [], "bare": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan.save(folder / "plan.json")
        ours = ("preceptor", "serve", "--port", 0, "--rate", 0, "--trust-this-machine")
        ours += ("--plan", folder / "plan.json")
        with (
            process(folder / "ours.log", *ours, "--database", folder / "ours.db") as here,
            process(folder / "bare.log", "benchmarks.bare_service", folder / "bare.db") as there,
        ):
            asyncio.run(until_ready(here, "/readyz"))
            asyncio.run(until_ready(there, "/openapi.json"))
            for turn in range(REPEATS + 1):
                measured = {
                    "ours": asyncio.run(loaded(here, whole_rounds, turn)),
                    "bare": asyncio.run(loaded(there, inserts, turn)),
                }
                if turn:  # the first time is for caches
                    for each, numbers in measured.items():
                        found[each].append(numbers)
    rates = {each: statistics.median(rate for rate, _ in got) for each, got in found.items()}
    slowest = {each: statistics.median(p99 for _, p99 in got) for each, got in found.items()}
    return Row(
        work="the service, whole rounds at 16 connections, SQLite FULL",
        against="bare FastAPI with one insert a call",
        ratio=statistics.median(
            a / b for (a, _), (b, _) in zip(found["ours"], found["bare"], strict=True)
        ),
        wanted=0.5,
        details={
            "calls a second": rates["ours"],
            "bare": rates["bare"],
            "p99 ms": 1000.0 * slowest["ours"],
            "bare p99 ms": 1000.0 * slowest["bare"],
            "policy call alone ms": 1000.0 * alone,
        },
    )


ROWS = {"service": service}
