"""Who may call, how often and how much; and what is written about it."""

from __future__ import annotations

import asyncio
import json
import re

import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState

from preceptor.cli import app
from preceptor.live.service import app as service_app
from preceptor.live.service import gate
from preceptor.live.service.access import Refusal
from preceptor.live.service.app import PunctualHttp
from preceptor.live.store import tokens
from preceptor.live.store.database import Store
from tests.commands import CliRunner
from tests.live.service.servers import said, sign_in, start

PERSON = "/v1/people/ann"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory):
    """A database with a token of each scope, and two that have ended."""
    path = tmp_path_factory.mktemp("gate") / "live.db"
    with Store(str(path)) as store:
        made = {
            scope: store.write(lambda c, scope=scope: tokens.create(c, scope))
            for scope in tokens.SCOPES
        }
        made["expired"] = store.write(lambda c: tokens.create(c, "admin", days=1e-9))
        made["revoked"] = store.write(lambda c: tokens.create(c, "admin"))
        store.write(lambda c: tokens.revoke(c, made["revoked"][1].id))
    return path, {name: secret for name, (secret, _) in made.items()}


@pytest.fixture(scope="module")
def guarded(secrets, plan_file):
    path, _ = secrets
    server = start(path.parent, "--database", path, "--plan", plan_file, "--rate", 20)
    yield server
    assert server.stop() == 0


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        (bearer("pr_wrong"), 401),
        ({"Authorization": "Basic YWRtaW46YWRtaW4="}, 401),
        ({"Authorization": "Bearer \xe9"}, 401),
    ],
)
def test_without_a_valid_token_nothing_is_answered(guarded, headers, status):
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}
    refused = guarded.http.get(PERSON, headers=encoded)
    assert refused.status_code == status
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("name", ["expired", "revoked"])
def test_tokens_that_have_ended_are_refused(guarded, secrets, name):
    assert guarded.http.get(PERSON, headers=bearer(secrets[1][name])).status_code == 401


@pytest.mark.parametrize(
    ("scope", "statuses"),
    [("read", [200, 403, 403]), ("write", [200, 200, 403]), ("admin", [200, 200, 200])],
)
def test_each_scope_may_do_what_it_may(guarded, secrets, scope, statuses):
    said(guarded.http.put(PERSON, json={}, headers=bearer(secrets[1]["admin"])))
    mine = bearer(secrets[1][scope])
    got = [
        guarded.http.get(PERSON, headers=mine),
        guarded.http.put(PERSON, json={}, headers=mine),
        guarded.http.get(f"{PERSON}/export", headers=mine),
    ]
    assert [each.status_code for each in got] == statuses


def test_too_many_calls_are_told_to_wait(guarded, secrets):
    """Each token has a bucket of its own; those who look after the service need none."""
    mine = bearer(secrets[1]["write"])
    got = [guarded.http.get(PERSON, headers=mine) for _ in range(120)]
    refused = [each for each in got if each.status_code == 429]
    assert refused
    assert int(refused[0].headers["retry-after"]) >= 1
    assert guarded.http.get(PERSON, headers=bearer(secrets[1]["read"])).status_code != 429
    assert guarded.http.get("/livez").status_code == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_have_a_limit(http, who, chunked):
    body = b'{"prediction": ' + b" " * 70_000 + b"1}"
    content = iter([body[:40_000], body[40_000:]]) if chunked else body
    headers = {"Content-Type": "application/json"}
    refused = http.put(f"/v1/people/{who}/rounds/0/prediction", content=content, headers=headers)
    assert refused.status_code == 413
    assert http.get("/livez").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}],
)
def test_without_tokens_no_foreign_page_may_call(http, headers):
    assert http.put("/v1/people/eve", json={}, headers=headers).status_code == 403


def test_the_log_has_no_addresses_and_no_names(server, http, who):
    http.get(f"/v1/people/{who}")
    lines = [
        json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")
    ]
    calls = [line for line in lines if "route" in line]
    assert calls[-1]["route"] == "/v1/people/{who}"
    text = "\n".join(map(json.dumps, lines))
    assert "127.0.0.1" not in text
    assert f'"{who}"' not in text
    assert "python-httpx" not in text


def test_metrics_count_calls(http, who):
    text = http.get("/metrics").text
    assert 'preceptor_requests_total{method="PUT",route="/v1/people/{who}",status="201"}' in text
    assert who not in text


def test_what_is_not_there(http):
    assert http.get("/nothing").status_code == 404
    assert http.get("/nothing").headers["content-type"] == "application/problem+json"
    assert http.patch(PERSON).status_code == 405


@pytest.fixture(scope="module")
def untrusting(tmp_path_factory):
    """A new database, without tokens, and nothing said about who may call."""
    folder = tmp_path_factory.mktemp("untrusting")
    server = start(folder, "--database", folder / "live.db", trusts=False)
    yield server
    assert server.stop() == 0


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]", "study.example.org"])
def test_no_host_header_makes_a_stranger_the_owner(untrusting, host):
    """A proxy may send its own name for the service, whoever called it."""
    calls = {"/v1/log": 401, "/v1/people/eve": 401, "/studies": 303}
    got = {path: untrusting.http.get(path, headers={"Host": host}).status_code for path in calls}
    assert got == calls
    put = untrusting.http.put("/v1/people/eve", json={}, headers={"Host": host})
    assert put.status_code == 401


def test_the_link_of_the_start_signs_in_once(untrusting):
    link = re.search(r"Owner, to sign in once: (\S+)", untrusting.log.read_text()).group(1)
    opened = untrusting.http.get(link)
    assert opened.status_code == 200
    assert untrusting.http.get("/studies").status_code == 303, "looking at the link does nothing"
    secret = httpx.URL(link).params["secret"]
    with sign_in(link) as owner:
        assert owner.get("/studies").status_code == 200
        again = untrusting.http.post("/studies/enter", data={"token": secret})
        assert again.status_code == 403
        assert "was used already" in again.text
        assert owner.cookies["owner"] != secret
        copied = {"Cookie": f"owner={owner.cookies['owner']}"}
        assert untrusting.http.get("/studies", headers=copied).status_code == 200
        owner.post("/studies/leave")
    assert untrusting.http.get("/studies", headers=copied).status_code == 303


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--host", "0.0.0.0", "--trust-this-machine"], "strangers would need no token"),
        (["--public-url", "https://x.org", "--trust-this-machine"], "strangers would need no"),
        (["--public-url", "x.org"], "must be scheme and host without a path"),
        (["--public-url", "https://x.org/study"], "must be scheme and host without a path"),
    ],
)
def test_options_that_would_open_the_door_are_refused(tmp_path, given, sentence):
    done = CliRunner().invoke(app, ["serve", "--database", str(tmp_path / "live.db"), *given])
    assert done.exit_code == 2
    assert sentence in " ".join(done.output.split())


def test_a_server_that_is_told_to_stop_answers_what_is_under_way(serve):
    server = serve()
    with httpx.Client(base_url=server.address) as other:
        assert other.get("/livez").status_code == 200
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


def test_a_body_that_does_not_come_is_given_up(monkeypatch):
    """The rest of a body is awaited for a while; what comes after it, such as the end, for ever."""
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.05)
    scope = {"headers": [(b"content-length", b"2")]}

    async def first_part():
        return {"type": "http.request", "body": b"1", "more_body": True}

    async def nothing():
        await asyncio.sleep(30.0)

    async def read(parts):
        queue = iter(parts)
        receive = gate.limited(lambda: next(queue)(), scope, 100)
        for _ in parts:
            await receive()

    with pytest.raises(Refusal, match="did not come within") as refused:
        asyncio.run(read([first_part, nothing]))
    assert refused.value.status_code == 408


_WHOLE = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"


@pytest.mark.parametrize("sent", [[b""], [b"GET / HTTP/1.1\r\nHost"], [_WHOLE, b"GET"]])
def test_headers_that_do_not_come_are_given_up(monkeypatch, sent):
    """On a new connection, in the middle of them, and after a call that was answered."""
    monkeypatch.setattr(service_app, "HEADER_SECONDS", 1e6 if _WHOLE in sent else 0.05)

    async def application(scope, receive, send):
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def closed() -> bytes:
        config = uvicorn.Config(application, log_config=None, timeout_keep_alive=10**6)
        state, loop = ServerState(), asyncio.get_running_loop()

        def made() -> PunctualHttp:
            return PunctualHttp(config=config, server_state=state, app_state={}, _loop=loop)

        server = await loop.create_server(made, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        got = b""
        for part in sent:
            writer.write(part)
            if part == _WHOLE:
                got += await reader.readuntil(b"\r\n\r\n")
                monkeypatch.setattr(service_app, "HEADER_SECONDS", 0.05)
        got += await reader.read()  # until the other side closes
        writer.close()
        server.close()
        return got

    got = asyncio.run(closed())
    assert got.startswith(b"HTTP/1.1 204") == (sent[0] == _WHOLE)
