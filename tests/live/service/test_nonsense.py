"""Calls that make no sense: each is refused with a sentence, and changes nothing."""

from __future__ import annotations

import json

import pytest

from preceptor.live.store import tokens
from preceptor.live.store.database import Store
from tests.live.service.servers import said

ROUND = "/v1/people/{who}/rounds/0"
NOT_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400, '"1"', "true", "[1]", "{}"]
# Text that would break a terminal, a line of a log or a database: NUL, escape, half a character.
NOT_TEXT = ["a\\u0000b", "\\u001b[2J", "\\ud800", "\\u202e", "\\u0085", ""]


@pytest.fixture
def playing(http, who):
    """Somebody who is about to answer."""
    said(http.post(f"/v1/people/{who}/rounds"))
    return who


def sent(http, method: str, path: str, text: str | bytes):
    return http.request(method, path, content=text, headers={"Content-Type": "application/json"})


def assert_refused(got, status: int = 422) -> list[str]:
    assert got.status_code == status, got.text
    assert got.headers["content-type"] == "application/problem+json"
    said_back = got.json()
    assert said_back["errors"]
    assert said_back["detail"] == said_back["errors"][0]
    assert all(each.isprintable() for each in said_back["errors"]), said_back["errors"]
    return said_back["errors"]


@pytest.mark.parametrize("number", NOT_NUMBERS)
def test_what_is_no_finite_number_is_refused(http, playing, number):
    there = ROUND.format(who=playing)
    names = said(http.get(there))["recommended"]
    values = json.dumps({"values": dict.fromkeys(names, "?")})
    if number != '"1"':
        text = values.replace('"?"', number)
        assert_refused(sent(http, "PUT", f"{there}/shown", text))
    assert said(http.get(there))["status"] == "offered"
    said(http.put(f"{there}/shown", json={"values": dict.fromkeys(names, 0.0)}))
    assert_refused(sent(http, "PUT", f"{there}/prediction", f'{{"prediction": {number}}}'))
    assert said(http.get(there))["status"] == "shown"
    said(http.put(f"{there}/prediction", json={"prediction": 0.0}))
    assert_refused(sent(http, "PUT", f"{there}/outcome", f'{{"outcome": {number}}}'))
    assert said(http.get(there))["status"] == "predicted"


@pytest.mark.parametrize("text", NOT_TEXT)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/v1/people/new", '{"start": {"TEXT": 1}}'),
        ("PUT", "/v1/people/new", '{"cases": "TEXT"}'),
        ("POST", "/v1/people/{who}/rounds", '{"case": "TEXT"}'),
        ("POST", "/v1/people/{who}/rounds", '{"available": ["TEXT"]}'),
        ("PUT", ROUND + "/shown", '{"tests": ["TEXT"], "values": {"TEXT": 1}}'),
        ("PUT", ROUND + "/shown", '{"reason": "TEXT", "tests": [], "values": {}}'),
        ("PUT", ROUND + "/shown", '{"tests": ["bmi"], "values": {"bmi": "TEXT"}}'),
    ],
)
def test_what_is_no_text_is_refused(http, playing, method, path, body, text):
    assert_refused(sent(http, method, path.format(who=playing), body.replace("TEXT", text)))
    assert http.get("/v1/people/new").status_code == 404
    assert said(http.get(ROUND.format(who=playing)))["status"] == "offered"


@pytest.mark.parametrize(
    ("method", "path", "body", "sentence"),
    [
        ("PUT", ROUND + "/shown", {"tests": ["bmj"], "values": {"bmj": 1}}, "did you mean 'bmi'"),
        (
            "PUT",
            ROUND + "/shown",
            {"tests": ["bmi", "bmi"], "values": {"bmi": 1}},
            "each test once",
        ),
        ("PUT", ROUND + "/shown", {"tests": ["bmi"], "values": {}}, "has no result"),
        ("PUT", ROUND + "/shown", {"tests": [], "values": {"bmi": 1}}, "was not shown"),
        ("PUT", ROUND + "/prediction", {"prediction": 1, "sure": True}, "sure"),
        ("PUT", ROUND + "/prediction", {"prediction": 1e300}, "prediction"),
        ("POST", "/v1/people/idle/rounds", {"available": ["bmj"]}, "did you mean 'bmi'"),
        ("PUT", "/v1/people/new", {"start": {"bmi": -1}}, "start.bmi"),
        ("PUT", "/v1/people/new", {"start": {"bmi": 1.5}}, "start.bmi"),
        ("POST", "/v1/recommend", {"counts": {"bmj": 1}}, "did you mean 'bmi'"),
    ],
)
def test_what_the_plan_does_not_know_is_refused_by_name(
    http, playing, method, path, body, sentence
):
    said(http.put("/v1/people/idle", json={}))
    got = http.request(method, path.format(who=playing), json=body)
    if "prediction" in path and "sure" not in body:
        http.put(ROUND.format(who=playing) + "/shown", json={"tests": [], "values": {}})
        got = http.request(method, path.format(who=playing), json=body)
    assert any(sentence in each for each in assert_refused(got))


@pytest.mark.parametrize(
    "text", ["", "{", "null", "[]", b"\xff\xfe", "[" * 30_000, '{"prediction": ' * 4_000]
)
def test_a_body_that_is_no_object_is_refused(http, playing, text):
    assert_refused(sent(http, "PUT", ROUND.format(who=playing) + "/prediction", text))
    for path in (f"/v1/plans/{'0' * 64}", "/v1/cases/x"):
        assert_refused(sent(http, "PUT", path, text))


@pytest.mark.parametrize("name", ["a%00b", "a%0Ab", "a b", "%E2%80%AE", "x" * 129, "-x", "a%2Fb"])
def test_names_are_plain(http, name):
    assert http.put(f"/v1/people/{name}", json={}).status_code in (404, 422)


@pytest.mark.parametrize("number", ["-1", "1.5", "x", "9" * 30, "%00", "2000000001"])
def test_rounds_are_numbers(http, who, number):
    assert_refused(http.get(f"/v1/people/{who}/rounds/{number}"))


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=0", "limit=99999", "person=%00"])
def test_cursors_are_numbers(http, query):
    assert_refused(http.get(f"/v1/log?{query}"))


def test_a_token_of_another_service_is_foreign(tmp_path, serve):
    """Theirs is a good token; only not here. And ours stays good after a restart."""
    secrets = {}
    for name in ("here", "there"):
        with Store(str(tmp_path / f"{name}.db")) as store:
            secrets[name], _ = store.write(lambda c: tokens.create(c, "admin"))
    server = serve("--database", tmp_path / "here.db")
    calls = ["GET /v1/log", "PUT /v1/people/ann", "DELETE /v1/people/ann"]
    calls += ["POST /v1/recommend", "GET /v1/nothing"]
    for call in calls:
        method, path = call.split()
        for wrong in ("", secrets["there"], secrets["here"][:-1], f"{secrets['here']}x"):
            headers = {"Authorization": f"Bearer {wrong}"} if wrong else {}
            assert_refused(server.http.request(method, path, headers=headers), 401)
    mine = {"Authorization": f"bearer  {secrets['here']}"}  # schemes have no case (RFC 9110)
    assert server.http.get("/v1/log", headers=mine).status_code == 200
    in_the_address = server.http.get(f"/v1/log?token={secrets['here']}")
    assert in_the_address.status_code == 401
    assert not any(secret in server.log.read_text() for secret in secrets.values())
