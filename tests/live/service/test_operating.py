"""Running it: stopping under load, numbers that are counted, lines of the log."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import httpx

from preceptor.cli._app import app
from preceptor.live.store import people
from preceptor.live.store.database import Store
from tests.commands import command_of
from tests.live.service.servers import Server, caller, said

ROOT = Path(__file__).parents[3]


def load(server: Server, name: str, acknowledged: list[str], other: list[int]) -> None:
    """Enrol people until nobody answers any more."""
    number = 0
    while True:
        who = f"{name}-{number}"
        try:
            with caller(server.address) as http:
                status = http.put(f"/v1/people/{who}", json={}).status_code
        except httpx.TransportError:
            return
        acknowledged.append(who) if status == 201 else other.append(status)
        number += 1


def test_told_to_stop_under_load_it_answers_what_it_took_and_refuses_the_rest(serve, tmp_path):
    server = serve("--rate", 0)
    acknowledged: list[str] = []
    other: list[int] = []
    threads = [
        threading.Thread(target=load, args=(server, f"t{i}", acknowledged, other)) for i in range(6)
    ]
    for thread in threads:
        thread.start()
    while len(acknowledged) < 100:
        time.sleep(0.01)
    server.process.send_signal(signal.SIGTERM)
    for thread in threads:
        thread.join(60.0)
    assert server.process.wait(60.0) == 0, server.log.read_text()
    assert other == []
    with Store(str(tmp_path / "live.db"), creates=False) as store:
        for who in acknowledged:
            assert store.read(lambda c, who=who: people.find(c, who)).id == who
    assert "Traceback" not in server.log.read_text()


def test_every_line_of_the_log_is_a_json_object(server, http, who):
    said(http.get(f"/v1/people/{who}"))
    text = server.log.read_text()
    lines = [
        line for line in text.splitlines() if not line.startswith(("Listening", "Plan:", "Owner"))
    ]
    read = [json.loads(line) for line in lines]
    assert all({"at", "level"} <= each.keys() for each in read)
    assert any(each.get("event") == "ready" for each in read)
    assert any(each.get("route") == "/v1/people/{who}" for each in read)


def test_numbers_for_prometheus(http, who):
    text = http.get("/metrics").text
    for name in (
        'preceptor_requests_total{method="PUT",route="/v1/people/{who}",status="201"}',
        'preceptor_request_seconds_bucket{le="0.1",method="PUT",route="/v1/people/{who}"}',
    ):
        assert name in text


def test_options_in_the_examples_exist():
    """The unit, the container file and the page name nothing that is not there."""
    known = {
        option
        for command in [_serve(), *_serve().commands.values()]
        for parameter in command.params
        for option in parameter.opts
    }
    known |= {"--scope", "--name", "--days"}  # of `serve token create`
    files = [ROOT / "examples/serving" / name for name in ("preceptor.service", "Containerfile")]
    for path in [*files, ROOT / "docs/operating.md"]:
        text = path.read_text("utf-8")
        calls = re.findall(r"preceptor serve[^\n`]*|\"serve\"[^\n]*", text)
        assert calls, path
        named = {option for call in calls for option in re.findall(r"--[a-z-]+", call)}
        assert named <= known, (path, named - known)


def test_the_page_names_every_number_that_is_counted(http):
    page = (ROOT / "docs/operating.md").read_text("utf-8")
    text = http.get("/metrics").text
    counted = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    named = set(re.findall(r"^\| `(preceptor_\w+)` \|", page, re.MULTILINE))
    assert {name for name in counted if not name.endswith("_created")} == named


def _serve() -> Any:
    return command_of(app).commands["serve"]
