"""Calls full of nonsense to every route of the site, in this process, without sockets.

Each call is a good one in which something was spoiled: a field of the form or of the JSON body, the
path, the query, the content type, the whole body. Whatever comes, the answer must be no failure of
the server, and what is stored must still follow from its events.

    python -m tests.live.service.fuzzing [calls] [seed]    prints how many calls got which status
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

import preceptor as pr
from preceptor.live.bot_pages import read_page
from preceptor.live.service.guides import PlanCache
from preceptor.live.service.settings import Settings
from preceptor.live.store import participants, plans
from preceptor.live.store.checking import check
from preceptor.live.store.database import Store
from preceptor.live.study.opening import open_study
from preceptor.live.web.site import make_site
from tests.live.service.servers import small_problem
from tests.live.study.opened import small_study
from tests.live.study.taking_part import GOOD

TEXTS = [
    *("", " ", "0", "-1", "1.5", "1e400", "-1e400", "nan", "inf", "1,234", "1e-400", "0x10", "1_0"),
    *("９", "٣", "∞", "\u202e1", "\x00", "a\x00b", "\x1b[2J", "\ud800", "\u0085", "%00", "<b>"),
    *("${7*7}", "=1+1", "'--", '"', "..", "../..", "x" * 5000, "\U0001f600", "e\u0301", "True"),
    *("null", "2000000001", "9" * 400, "\n", "a\r\nSet-Cookie: x=1", "__proto__", "{}", "[]"),
]  # fmt: skip
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 10**30, -(10**400), 0.5, 1e308, -1e308, float("nan")),
    *(float("inf"), [], {}, [[]], [None], {"a": {}}, ["bmi", "bmi"], {"bmi": None}, {"": 1}),
    *({"bmi": 1e400}, [0] * 2000, {str(i): i for i in range(300)}),
]
BODIES = [
    *(b"", b"{", b"null", b"[]", b"\xff\xfe", b"[" * 5000, b'{"a":' * 2000, b"\x00" * 100),
    *(b"=&=&;", b"a=%zz", b"%", b"a" * 70_000, b'{"a":1,"a":2}', b"\xef\xbb\xbf{}", b'"', b"1e999"),
    b"--x\r\nContent-Disposition: form-data; name=\"answer\"; filename=\"f\"\r\n\r\n1\r\n--x--\r\n",
    b"--x\r\nContent-Disposition: form-data\r\n\r\n\r\n--x",
]  # fmt: skip
KINDS = [
    *("application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"),
    *("multipart/form-data", "text/plain", "application/json; charset=utf-16", "", "x/\xff", "a;b"),
]
# Good values of path parameters, and good bodies by the end of a path.
NAMES = {"who": "ann", "number": "0", "name": "small", "study": "small", "file": "site.css"}
GOOD_BODIES: dict[str, dict[str, Any]] = {
    "{who}": {"start": {"bmi": 1}, "is_bot": True},
    "rounds": {"available": ["bmi", "bp"], "case": "c", "feedback": False},
    "shown": {"tests": ["bmi"], "values": {"bmi": 0.5}, "reason": "asked for"},
    "prediction": {"prediction": 0.5},
    "outcome": {"outcome": 1.5, "told": True},
    "recommend": {"counts": {"bmi": 3}, "round": 3, "available": ["bmi"]},
    "{name}": {"cases": [{"values": {"bmi": 1, "bp": 2, "age": None}, "outcome": 3}]},
}
FORMS = {"": {"recruiter": "r", "kind": "real"}, "enter": {"token": "t", "back": "/studies"}}
# Ends visits, waits for a worker process, or makes a whole file.
SKIPPED = ("/withdraw", "/leave", "/export.zip", "/explore", "/metrics")


class Fuzzer:
    """Spoils calls at random.

    Parameters
    ----------
    http
        Calls the site in this process.
    dice
        What is spoiled how.
    """

    def __init__(self, http: httpx.AsyncClient, dice: random.Random, sha256: str) -> None:
        self.http, self.dice = http, dice
        self.names = {**NAMES, "sha256": sha256, "secret": "nonsense"}
        self.cookies: list[str] = []

    def spoiled(self, good: Mapping[str, Any], values: list[Any]) -> dict[str, Any]:
        """A body with something missing, added or replaced."""
        made = dict(good)
        for _ in range(self.dice.randint(1, 2)):
            name = self.dice.choice([*made, "more"])
            if name in made and self.dice.random() < 0.2:
                del made[name]
            elif isinstance(made.get(name), dict) and self.dice.random() < 0.5:
                made[name] = self.spoiled(made[name], values)
            else:
                made[self.dice.choice([name, name, self.dice.choice(TEXTS[:20])])] = (
                    self.dice.choice(values)
                )
        return made

    def path(self, route: str) -> str:
        """The path of a route, sometimes with nonsense in it."""
        names = {
            name: _quoted(self.dice.choice(TEXTS)) if self.dice.random() < 0.1 else good
            for name, good in self.names.items()
        }
        found = route
        for name, value in names.items():
            found = found.replace(f"{{{name}}}", value or "%20")
        if self.dice.random() < 0.2:
            name = self.dice.choice(
                ["note", "kind", "arms", "seen", "limit", "after", "person", "v"]
            )
            found += f"?{name}={_quoted(self.dice.choice(TEXTS))}"
        return found[:8000]

    async def body(self, route: str) -> tuple[bytes, str]:
        """A spoiled body, and its content type."""
        dice = self.dice
        if dice.random() < 0.2:
            return dice.choice(BODIES), dice.choice(KINDS)
        if route.startswith("/v1/"):
            good = GOOD_BODIES.get(route.rsplit("/", 1)[1], {})
            made = json.dumps(self.spoiled(good, [*VALUES, *TEXTS])).encode()
            return made, "application/json"
        form = FORMS.get(route.rsplit("/", 1)[1] if "enter" in route else "", {})
        if route == "/s/{study}/now":
            form = await self._page_form()
        return _encoded(self.spoiled(form, TEXTS)), "application/x-www-form-urlencoded"

    async def _page_form(self) -> dict[str, str]:
        """The form of the page that the participant is at."""
        page = read_page((await self.http.get("/s/small/now")).text)
        return {} if page.form is None else page.form.filled()

    async def call(self, method: str, route: str) -> httpx.Response:
        """One call; a participant's cookie is sent along."""
        self.http.cookies.clear()
        if self.cookies and self.dice.random() < 0.95:
            self.http.cookies.set("participant", self.dice.choice(self.cookies))
        content, kind = b"", ""
        if method in ("POST", "PUT") or self.dice.random() < 0.05:
            content, kind = await self.body(route)
        accept = self.dice.choice(["text/html", "*/*", "application/json"])
        headers = {"Accept": accept, "Content-Type": kind.encode("latin-1")}
        return await self.http.request(method, self.path(route), content=content, headers=headers)


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


def _encoded(fields: Mapping[str, Any]) -> bytes:
    pairs = ((str(name), str(value)) for name, value in fields.items())
    return "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in pairs).encode()


async def _stages(http: httpx.AsyncClient, fuzzer: Fuzzer) -> None:
    """Somebody at every step of the study."""
    study, steps = small_study(), 0
    while steps < study.protocol.end:
        http.cookies.clear()
        await http.post("/s/small", data={"recruiter": f"r{steps}"})
        fuzzer.cookies.append(http.cookies["participant"])
        for _ in range(steps):
            page = read_page((await http.get("/s/small/now")).text)
            assert page.form is not None
            asks = "answer" in page.form.values
            given = GOOD.get(page.title, {"answer": "1.5"} if asks else {})
            await http.post(page.form.action, data=page.form.filled(**given))
        steps += 1


async def _fuzz(folder: Path, calls: int, seed: int) -> Counter[int]:
    database = str(folder / "live.db")
    plan = pr.solve(small_problem()).to_json()
    with Store(database) as store:
        sha256, _ = store.write(lambda c: plans.keep(c, plan))
        open_study(store, small_study())
    app = make_site(
        Settings(database, plan=sha256, rate=0.0, trusts_loopback=True, explorer="nobody")
    )
    found: Counter[int] = Counter()
    routes = [
        (method, route.path)
        for route in app.routes
        for method in sorted(getattr(route, "methods", None) or {"GET"})
        if not route.path.endswith(SKIPPED)
    ]
    dice = random.Random(seed)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        fuzzer = Fuzzer(http, dice, sha256)
        await _stages(http, fuzzer)
        while not app.state.live.ready:
            await asyncio.sleep(0.01)
        for number in range(calls):
            # Forms of participants are a third of all calls.
            route = ("POST", "/s/{study}/now") if number % 3 == 0 else dice.choice(routes)
            got = await fuzzer.call(*route)
            assert got.status_code < 500, (seed, number, got.request, got.text)
            found[got.status_code] += 1
    with Store(database, creates=False) as store:
        assert store.read(lambda c: check(c, PlanCache().columns_of)).faults == ()
        assert store.read(lambda c: participants.everyone(c, "small"))
    return found


def fuzz(folder: Path, calls: int, seed: int = 0) -> Counter[int]:
    """Send this many calls to all routes; return how many got which status."""
    return asyncio.run(_fuzz(folder, calls, seed))


def main(calls: int, seed: int) -> None:
    """Print what calls got."""
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(f"{dict(sorted(fuzz(Path(folder), calls, seed).items()))}\n")


if __name__ == "__main__":
    main(*map(int, (sys.argv[1:] + ["12200", "0"][len(sys.argv) - 1 :])))
