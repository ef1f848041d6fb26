"""A spy with every token calls everything there is, and learns nothing before having answered."""

from __future__ import annotations

import pytest

from tests.live.service.servers import said

HIDDEN = {"bmi": 1.111125, "bp": 2.222225, "age": 3.333325}
TRUTH = 4.444425


@pytest.fixture
def watched(http, who):
    """Somebody in the middle of a case that the service holds; what they have been shown."""
    cases = [{"values": HIDDEN, "outcome": TRUTH}, {"values": HIDDEN, "outcome": TRUTH}]
    said(http.put("/v1/cases/watched", json={"cases": cases}))
    name = f"{who}-watched"
    said(http.put(f"/v1/people/{name}", json={"cases": "watched"}))
    shown = said(http.post(f"/v1/people/{name}/rounds"))["recommended"]
    assert 0 < len(shown) < len(HIDDEN)
    return name, shown


def operations(http) -> list[tuple[str, str]]:
    paths = said(http.get("/openapi.json"))["paths"]
    return [(method.upper(), path) for path, found in paths.items() for method in found]


# In their order: what ends the round, or the person, comes after what only looks.
BODIES = {
    "POST /v1/recommend": [{"counts": {"bmi": 1}}, {"available": ["age"]}],
    "PUT /v1/people/{who}": [{"cases": "watched"}, {}],
    "POST /v1/people/{who}/rounds": [{}, {"available": ["age"]}],
    "PUT /v1/people/{who}/rounds/{number}/shown": [{"tests": list(HIDDEN)}, {"tests": ["age"]}],
    "PUT /v1/people/{who}/rounds/{number}/outcome": [{"outcome": 1.0}, {"outcome": None}],
    "PUT /v1/cases/{name}": [{"cases": [{"values": {"bmi": 0.0}, "outcome": 0.0}]}],
}
# The answer itself.
LEFT_OUT = ("PUT /v1/people/{who}/rounds/{number}/prediction",)


def spied(http, name: str, number: int) -> dict[str, str]:
    """What every call answers, with its headers."""
    plan = said(http.get(f"/v1/people/{name}"))["plan"]
    known = {"who": name, "number": number, "name": "watched", "sha256": plan, "id": "0" * 32}
    heard = {}
    everything = operations(http)
    for method, path in sorted(everything, key=lambda each: (each[0] == "DELETE", -len(each[1]))):
        call = f"{method} {path}"
        if call in LEFT_OUT:
            continue
        for body in BODIES.get(call, [None if method in ("GET", "DELETE") else {}]):
            got = http.request(method, path.format(**known), json=body)
            assert got.status_code != 429
            heard[f"{call} {body}"] = f"{got.status_code} {got.headers} {got.text}"
    assert len(heard) >= len(everything) - len(LEFT_OUT)
    return heard


def leaks(heard: dict[str, str], *allowed: str) -> list[str]:
    secrets = {**HIDDEN, "truth": TRUTH}
    return [
        f"{call}: {name}"
        for call, text in heard.items()
        for name, value in secrets.items()
        if name not in allowed and str(value) in text
    ]


def test_an_offered_case_is_seen_only_by_showing_it(server, http, watched):
    """The spy may choose what to show, once, and as much as may be shown: then it sees that."""
    name, _ = watched
    heard = spied(http, name, 0)
    first = "PUT /v1/people/{who}/rounds/{number}/shown"
    chosen = heard.pop(f"{first} {BODIES[first][1]}")
    assert chosen.startswith("200")
    assert str(HIDDEN["age"]) in chosen
    assert heard[f"{first} {BODIES[first][0]}"].startswith("422")  # all of them are too many
    assert leaks({**heard, "chosen": chosen, "log": server.log.read_text()}, "age") == []


def test_a_shown_case_shows_what_was_shown(server, http, watched):
    name, shown = watched
    said(http.put(f"/v1/people/{name}/rounds/0/shown"))
    assert leaks(spied(http, name, 0), *shown) == []
    assert leaks({"log": server.log.read_text()}) == []


def test_the_next_case_is_hidden_while_the_truth_of_this_one_is_told(http, watched):
    """Answering tells the truth of this case; nothing of the next, which has not been opened."""
    name, shown = watched
    rounds = f"/v1/people/{name}/rounds"
    said(http.put(f"{rounds}/0/shown"))
    told = http.put(f"{rounds}/0/prediction", json={"prediction": 0.0})
    assert said(told)["outcome"] == TRUTH
    assert leaks({"told": told.text}, *shown, "truth") == []
