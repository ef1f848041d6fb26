"""A class of 30: seconds from sending an answer to the next page, with the tutor choosing cases."""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from benchmarks.measure import Row
from benchmarks.service import process, until_ready

TRAINEES, CASES, TABLE = 30, 15, 500  # half of the four fifths that are taught: 200 cases each
# Seconds that a trainee looks at a page, at least and at most: shorter than people do.
LOOKS = (0.5, 2.5)
# Seconds within which the next page should come.
WANTED = 0.3


class Visitor:
    """A trainee whose own work costs next to nothing, so that the server is what we measure."""

    def __init__(self, address: str, name: str) -> None:
        self._host, _, self._port = address.removeprefix("http://").partition(":")
        self._name, self._cookie, self.page = name, "", ""
        self.seconds: dict[str, list[float]] = {"truth": [], "case": []}

    async def _call(self, method: str, path: str, form: dict[str, str] | None = None) -> str:
        body = urlencode(form or {}).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Cookie: {self._cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._out.write(head.encode() + body)
        got = (await self._in.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"(?i)content-length: (\d+)", got)
        text = (await self._in.readexactly(int(length.group(1)))).decode() if length else ""
        if cookie := re.search(r"(?i)set-cookie: (trainee=[^;]+)", got):
            self._cookie = cookie.group(1)
        assert got.startswith(("HTTP/1.1 200", "HTTP/1.1 303")), got + text
        return text

    async def send(self, **given: str) -> None:
        """Send the form of the page, and load the next page."""
        fields = dict(re.findall(r'name="(step|csrf)" value="([^"]*)"', self.page))
        await self._call("POST", "/c/now", {**fields, **given})
        self.page = await self._call("GET", "/c/now")

    async def play(self, looks: tuple[float, float], seed: int) -> None:
        """Join, and answer cases."""
        pauses = np.random.default_rng(seed)
        self._in, self._out = await asyncio.open_connection(self._host, int(self._port))
        await self._call("POST", "/c", {"name": self._name})
        self.page = await self._call("GET", "/c/now")
        for _ in range(CASES):
            for what, given in (("case", {"do": "next"}), ("truth", {"do": "answer"})):
                await asyncio.sleep(float(pauses.uniform(*looks)))
                began = time.perf_counter()
                await self.send(**given, **({"answer": "100"} if what == "truth" else {}))
                self.seconds[what].append(time.perf_counter() - began)
        self._out.close()
        await self._out.wait_closed()


def write_table(path: Path) -> None:
    """Ten tests and an outcome."""
    drawn = np.random.default_rng(0)
    values = drawn.normal(size=(TABLE, 10))
    outcome = 100.0 + values @ np.linspace(3.0, -3.0, 10) + drawn.normal(size=TABLE)
    rows = np.column_stack([values, outcome]).round(2)
    head = ",".join([*(f"test{i}" for i in range(10)), "y"])
    np.savetxt(path, rows, delimiter=",", header=head, comments="", fmt="%g")


async def taught(address: str, looks: tuple[float, float], turn: int) -> dict[str, list[float]]:
    """Seconds of all trainees until the next page, by what it shows."""
    made = [Visitor(address, f"Trainee {turn}-{i}") for i in range(TRAINEES)]
    await asyncio.gather(*(each.play(looks, i) for i, each in enumerate(made)))
    return {what: [s for each in made for s in each.seconds[what]] for what in made[0].seconds}


def teach() -> Row:
    """On SQLite with synchronous FULL; all trainees also without any pause."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "cases.csv")
        given = ("preceptor", "teach", folder / "cases.csv", "--outcome", "y", "--rate", 0)
        given = (
            *given,
            "--trust-this-machine",
            "--port",
            0,
            "--tests",
            3,
            "--database",
            folder / "course.db",
        )
        with process(folder / "teach.log", *given) as address:
            asyncio.run(until_ready(address, "/readyz"))
            found = asyncio.run(taught(address, LOOKS, 0))
            rushed = asyncio.run(taught(address, (0.0, 0.0), 1))
    p95 = {what: float(np.quantile(seconds, 0.95)) for what, seconds in found.items()}
    both = [*found["truth"], *found["case"]]
    return Row(
        work="teach: answer to next page, 30 trainees, p95, tutor choosing among 200 cases",
        against=f"{1000 * WANTED:.0f} ms",
        ratio=WANTED / float(np.quantile(both, 0.95)),
        wanted=1.0,
        details={
            "p95 to the truth, ms": 1000 * p95["truth"],
            "p95 to the next case, ms": 1000 * p95["case"],
            "p95 without pauses, ms": 1000
            * float(np.quantile([*rushed["truth"], *rushed["case"]], 0.95)),
        },
    )


ROWS = {"teach": teach}
