"""Pages of a study: how many a second, beside oTree's for a study of the same shape.

oTree pins packages that Preceptor cannot share, so it needs an environment of its own:

    python -m venv otree-env && otree-env/bin/pip install otree
    OTREE=otree-env/bin/otree python -m benchmarks study-pages

Without it the row says how many pages a second there are, beside the 300 that a full lecture hall
asks for.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import httpx
import numpy as np
from tests.live.study.opened import open_study, small_study

from benchmarks.measure import Row
from benchmarks.service import process, until_ready
from preceptor.live.store.database import Store

PARTICIPANTS, CASES, REPEATS = 16, 10, 5
# Turns that are not counted: planning processes start meanwhile, and take processors with them.
WARMING = 4
FULL_HALL = 300.0

SETTINGS = """
SESSION_CONFIGS = [dict(name="guess", app_sequence=["guess"], num_demo_participants=16)]
SESSION_CONFIG_DEFAULTS = dict(real_world_currency_per_point=1.0, participation_fee=0.0, doc="")
LANGUAGE_CODE, REAL_WORLD_CURRENCY_CODE, USE_POINTS = "en", "USD", True
PARTICIPANT_FIELDS, SESSION_FIELDS, DEMO_PAGE_INTRO_HTML = [], [], ""
ADMIN_USERNAME, ADMIN_PASSWORD, SECRET_KEY = "admin", "x", "1"
"""
APP = f"""
from otree.api import *
class C(BaseConstants):
    NAME_IN_URL, PLAYERS_PER_GROUP, NUM_ROUNDS = "guess", None, {CASES}
class Subsession(BaseSubsession): pass
class Group(BaseGroup): pass
class Player(BasePlayer):
    answer = models.FloatField()
class Ask(Page):
    form_model, form_fields = "player", ["answer"]
class Told(Page): pass
page_sequence = [Ask, Told]
"""
ASK = """{{ block title }}Case{{ endblock }}{{ block content }}
<p>BMI 1.2, blood pressure 0.4</p>{{ formfields }}{{ next_button }}{{ endblock }}"""
TOLD = """{{ block title }}Truth{{ endblock }}{{ block content }}
<p>The truth was 1.4.</p>{{ next_button }}{{ endblock }}"""


class Browser:
    """A participant whose own work costs next to nothing, so that the server is what we measure."""

    def __init__(self, address: str) -> None:
        self._address = urlsplit(address)
        self._cookies: dict[str, str] = {}
        self.seconds: list[float] = []

    async def open(self) -> None:
        host, port = self._address.hostname, self._address.port
        self._in, self._out = await asyncio.open_connection(host, port)

    async def call(
        self, method: str, path: str, form: dict[str, str] | None = None
    ) -> tuple[str, str]:
        """The address that a reply redirects to, and its text."""
        began, body = time.perf_counter(), urlencode(form or {}).encode()
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self._address.netloc}\r\nCookie: {cookies}\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._out.write(head.encode() + body)
        got = (await self._in.readuntil(b"\r\n\r\n")).decode("latin-1")
        text = (await self._body(got)).decode()
        self._cookies |= dict(re.findall(r"(?i)set-cookie: ([^=]+)=([^;\r]*)", got))
        assert re.match(r"HTTP/1.1 (200|30[237])", got), got + text
        self.seconds.append(time.perf_counter() - began)
        goes_to = re.search(r"(?i)\nlocation: (\S+)", got)
        return (urlsplit(goes_to.group(1)).path if goes_to else ""), text

    async def _body(self, head: str) -> bytes:
        if length := re.search(r"(?i)content-length: (\d+)", head):
            return await self._in.readexactly(int(length.group(1)))
        body = b""
        while "chunked" in head and (size := int(await self._in.readline(), 16)):
            body += (await self._in.readexactly(size + 2))[:-2]
        if "chunked" in head:
            await self._in.readline()
        return body

    def close(self) -> None:
        self._out.close()


async def take_part(who: Browser) -> None:
    """In our study, to the end."""
    await who.call("POST", "/s/small", {"recruiter": ""})
    while True:
        _, page = await who.call("GET", "/s/small/now")
        if "Thank you" in page:
            return
        hidden = r'<input[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"'
        form = dict(re.findall(hidden, page))
        if 'name="answer"' in page:
            form["answer"] = "1.5"
        await who.call("POST", "/s/small/now", form)


async def take_part_in_otree(who: Browser, join: str) -> None:
    """The same number of cases and truths."""
    path, page = await who.call("GET", join)
    for _ in range(2 * CASES):
        here = path
        while path:
            here = path
            path, page = await who.call("GET", path)
        form = {"answer": "1.5"} if 'name="answer"' in page else {}
        path, _ = await who.call("POST", here, form)


async def loaded(address: str, play: Callable[[Browser], Awaitable[None]]) -> tuple[float, float]:
    """Pages a second, and the 95th percentile of their seconds."""
    everyone = [Browser(address) for _ in range(PARTICIPANTS)]
    await asyncio.gather(*(each.open() for each in everyone))
    began = time.perf_counter()
    await asyncio.gather(*(play(each) for each in everyone))
    took = time.perf_counter() - began
    seconds = [one for each in everyone for one in each.seconds]
    for each in everyone:
        each.close()
    return len(seconds) / took, float(np.quantile(seconds, 0.95))


@contextmanager
def otree(folder: Path) -> Iterator[str]:
    """A production server of oTree with an app of one question; its address, or nothing."""
    program = os.environ.get("OTREE")
    if not program:
        yield ""
        return
    (folder / "guess").mkdir()
    (folder / "settings.py").write_text(SETTINGS)
    (folder / "guess" / "__init__.py").write_text(APP)
    (folder / "guess" / "Ask.html").write_text(ASK)
    (folder / "guess" / "Told.html").write_text(TOLD)
    (folder / "_static").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = Path(program).absolute()
    run = [str(where), "prodserver1of2", f"127.0.0.1:{port}"]
    # It starts itself again by its name.
    path = f"{where.parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"OTREE_PRODUCTION": "1", "PATH": path}
    with (folder / "log").open("w") as log:
        running = subprocess.Popen(
            run, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        address = f"http://127.0.0.1:{port}"
        while True:
            if running.poll() is not None:
                raise RuntimeError((folder / "log").read_text())
            try:
                httpx.get(address, timeout=5.0)
                break
            except httpx.TransportError:
                time.sleep(0.2)
        yield address
    finally:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait()


def study_pages() -> Row:
    """Whole participations of 16 at once without pauses, ours and oTree's taking turns."""
    found: dict[str, list[tuple[float, float]]] = {"ours": [], "oTree": []}
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        database = Path(ours) / "live.db"
        study = small_study(
            block=[{"kind": "training", "rounds": CASES}],
            recruiting={"parameter": None},
            analysis={"measure": "training error"},
        )
        with Store(str(database)) as store:
            open_study(store, study)
        serve = ("preceptor", "serve", "--port", 0, "--rate", 0, "--database", database)
        with process(Path(ours) / "log", *serve) as here, otree(Path(theirs)) as there:
            asyncio.run(until_ready(here, "/readyz"))
            for turn in range(REPEATS + WARMING):
                measured = {"ours": asyncio.run(loaded(here, take_part))}
                if there:
                    asked = {"session_config_name": "guess", "num_participants": PARTICIPANTS}
                    made = httpx.post(f"{there}/api/sessions", json=asked, timeout=60.0).json()
                    join = urlsplit(made["session_wide_url"]).path
                    measured["oTree"] = asyncio.run(
                        loaded(there, lambda who, join=join: take_part_in_otree(who, join))
                    )
                if turn >= WARMING:
                    for each, numbers in measured.items():
                        found[each].append(numbers)
    rates = {each: statistics.median(rate for rate, _ in got) for each, got in found.items() if got}
    beside = rates.get("oTree", FULL_HALL)
    return Row(
        work="pages of a study, 16 participants without pauses",
        against="oTree" if "oTree" in rates else "300 pages a second",
        ratio=rates["ours"] / beside,
        wanted=10.0 if "oTree" in rates else 1.0,
        details={f"{each} pages a second": rate for each, rate in rates.items()}
        | {
            f"{each} p95 ms": 1000.0 * statistics.median(p for _, p in found[each])
            for each in rates
        },
    )


ROWS = {"study-pages": study_pages}
