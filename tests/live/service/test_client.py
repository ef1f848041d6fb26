"""The client: one method for each call of the document, and what it makes of refusals."""

from __future__ import annotations

import hashlib
import http.server
import itertools
import json
import re
import threading
from contextlib import contextmanager

import httpx
import pytest

import preceptor as pr
from preceptor.live import client as client_package
from preceptor.live.client import (
    Client,
    Conflicting,
    Forbidden,
    NotThere,
    Unavailable,
    Unreachable,
    Unusable,
)
from preceptor.live.service.app import make_app
from preceptor.live.service.settings import Settings

NAMES = itertools.count()
# An answer to every call, but for what these two say otherwise.
ANYTHING = {
    "person": "ann",
    "round": 0,
    "status": "offered",
    "feedback": True,
    "policy": "plan",
    "plan": "0" * 64,
    "propensity": 1.0,
    "is_bot": True,
    "on_plan": True,
    **dict.fromkeys(["rounds", "answers"], 0),
    **dict.fromkeys(["created", "seen_at", "reason", "sure"], "x"),
    **dict.fromkeys(["gap", "cases", "open_round", "outcome"]),
    "recommended": ["bmi"],
    "show": ["bmi"],
    "tests": ["bmi"],
    "counts": {},
}
SPECIAL = {
    "plans": {"outcome": "progression"},
    "cases": {"cases": "list", "sha256": "0" * 64, "size": 1},
}


@pytest.fixture(scope="module")
def client(server):
    with Client(server.address) as made:
        yield made


@pytest.fixture
def ann(client):
    return client.enrol(f"client-{next(NAMES)}").person


@pytest.fixture(scope="module")
def document():
    return make_app(Settings("unused.db")).openapi()


def test_a_whole_person(client, ann):
    opened = client.open_round(ann, case="visit-1")
    assert (opened.status, opened.round, opened.case) == ("offered", 0, "visit-1")
    assert client.open_round(ann) == opened
    values = dict.fromkeys(opened.recommended, 0.5)
    assert client.show(ann, 0, values).values == values
    assert client.predict(ann, 0, 1.25).status == "predicted"
    told = client.tell(ann, 0, 2.5)
    assert (told.status, told.outcome) == ("told", 2.5)
    assert client.tell(ann, 0, 2.5) == told == client.round(ann, 0)
    client.open_round(ann, feedback=False)
    assert client.abandon(ann, 1).status == "abandoned"
    found = client.person(ann)
    assert (found.rounds, found.answers, found.open_round) == (2, 1, None)
    assert [weight.name for weight in found.weights] == ["bmi", "bp", "age"]
    [row] = client.log(person=ann)
    assert (row["prediction"], row["outcome"]) == (1.25, 2.5)
    assert client.export(ann)["person"]["id"] == ann
    client.erase(ann)
    with pytest.raises(NotThere, match=ann):
        client.person(ann)


def test_plans_cases_and_advice(client, plan_file):
    text = plan_file.read_text("utf-8")
    kept = client.put_plan(text)
    assert kept.plan == hashlib.sha256(text.encode()).hexdigest()
    assert client.plan_file(kept.plan) == text
    advice = client.recommend({"bmi": 3}, available=["bmi", "age"], round=3)
    assert set(advice.show) <= {"bmi", "age"}
    case = {"values": {"bmi": 1.0, "bp": 2.0, "age": None}, "outcome": 1.5}
    assert client.put_cases("client-list", [case], plan=kept.plan).size == 1
    held = client.enrol("client-held", cases="client-list").person
    client.open_round(held)
    assert client.show(held, 0).values == {"bmi": 1.0, "bp": 2.0}
    assert client.predict(held, 0, 0.0).outcome == 1.5
    bob = client.enrol(f"client-{next(NAMES)}", start={"bp": 2}, policy="tutor", is_bot=True).person
    assert client.person(bob).counts == {"bmi": 0, "bp": 2, "age": 0}


def test_refusals_have_the_sentences_of_the_service(client, ann):
    client.open_round(ann)
    with pytest.raises(Unusable) as refused:
        client.show(ann, 0, {"bmj": 1.0})
    assert refused.value.status == 422
    assert "values: 'bmj' has a result, but was not shown" in refused.value.errors
    shown = client.show(ann, 0, dict.fromkeys(client.round(ann, 0).recommended, 1.0))
    with pytest.raises(Conflicting) as conflict:
        client.show(ann, 0, dict.fromkeys(shown.shown, 2.0))
    assert conflict.value.round == shown
    assert isinstance(conflict.value, pr.PreceptorError)
    with pytest.raises(pr.InvalidInput, match="not finite"):
        client.predict(ann, 0, float("nan"))
    with Client(client.url, "pr_wrong") as stranger, pytest.raises(Forbidden, match="not valid"):
        stranger.person(ann)


def test_nobody_there_and_no_address():
    with (
        Client("http://127.0.0.1:9", patience=0.0) as lonely,
        pytest.raises(Unreachable, match=":9"),
    ):
        lonely.check_ready()
    for wrong in ("localhost", "http://", "http://127.0.0.1:port", "ftp://127.0.0.1"):
        with pytest.raises(pr.InvalidInput, match="must be an address such as"):
            Client(wrong)
    with pytest.raises(pr.InvalidInput, match="token: must be as"):
        Client("http://127.0.0.1:9", "pr_\N{BULLET}")


# --- calls that are repeated, against a server that misbehaves on purpose ----------------------


@contextmanager
def misbehaving(*answers):
    """Gives one answer after the other: a status with a body, or None, which hangs up."""
    left, seen = list(answers), []

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self):
            self.rfile.read(int(self.headers.get("content-length", 0)))
            seen.append(f"{self.command} {self.path}")
            status = left.pop(0)
            if status is None:
                self.close_connection = True
                return
            refused = {"errors": ["rate: slow down"]}
            body = json.dumps(refused if status >= 400 else ANYTHING).encode()
            if status == 204:
                body = b""
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_DELETE = answer

        def log_message(self, *_):
            pass

    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        with Client(f"http://127.0.0.1:{served.server_port}", patience=5.0) as made:
            yield made, seen
    finally:
        served.shutdown()
        thread.join()
        served.server_close()


@pytest.mark.parametrize("lost", [None, 429, 503])
def test_a_call_that_does_nothing_twice_is_repeated(lost):
    with misbehaving(lost, 200) as (client, seen):
        client.open_round("ann")
    assert seen == ["POST /v1/people/ann/rounds"] * 2


def test_a_call_that_might_have_been_done_is_not_repeated():
    with misbehaving(None, 200) as (client, seen), pytest.raises(Unreachable):
        client.erase("ann")
    assert len(seen) == 1
    with misbehaving(503, 201) as (client, seen):  # nothing was written, so it may
        client.erase("ann")
    assert len(seen) == 2


def test_a_full_disk_and_a_page_of_a_proxy_are_not_repeated():
    with misbehaving(507) as (client, _), pytest.raises(Unavailable, match="slow down"):
        client.enrol("ann")
    with misbehaving(502) as (client, seen), pytest.raises(client_package.Refused):
        client.enrol("ann")
    assert len(seen) == 1


def test_what_is_not_the_service_is_said():
    with misbehaving(204) as (client, _), pytest.raises(Unreachable, match="is not the service"):
        client.enrol("ann")
    with misbehaving(200) as (client, _), pytest.raises(Unreachable, match="another version"):
        client.put_cases("list", [])
    with misbehaving(301) as (client, _), pytest.raises(client_package.Refused, match="301"):
        client.enrol("ann")


# --- the client beside the document ------------------------------------------------------------


def test_every_call_of_the_document_has_a_method(document):
    """Each method is called with anything, and what it sends is looked up in the document."""
    sent = set()

    def record(request: httpx.Request) -> httpx.Response:
        sent.add((request.method, request.url.path))
        if request.url.path == "/v1/log":
            return httpx.Response(200, text="")
        of_its_own = SPECIAL.get(request.url.path.split("/")[-2], {})
        return httpx.Response(200, json=ANYTHING | of_its_own)

    client = Client("http://here")
    client._http = httpx.Client(base_url="http://here", transport=httpx.MockTransport(record))
    anything = {"number": 3, "cases": [], "counts": {}, "prediction": 1.0}
    for name, method in vars(Client).items():
        if name.startswith("_") or not callable(method) or name == "close":
            continue
        wanted = [
            each
            for each in method.__code__.co_varnames[1 : method.__code__.co_argcount]
            if each != "values"
        ]
        made = getattr(client, name)(*(anything.get(each, "x") for each in wanted))
        if name == "log":
            list(made)
    client.close()
    documented = {
        (method.upper(), path) for path, methods in document["paths"].items() for method in methods
    }
    patterns = {
        (method, path): re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "$")
        for method, path in documented
    }
    called = {
        key
        for key, pattern in patterns.items()
        for method, path in sent
        if key[0] == method and pattern.match(path)
    }
    assert called == documented - {("GET", "/livez"), ("GET", "/metrics")}
