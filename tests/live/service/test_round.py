"""The round over HTTP: every step, every repetition, every wrong turn, against a real server."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import preceptor as pr
from tests.live.service.servers import play_round, said

pytestmark = pytest.mark.smoke  # of a real server

CASE = {"bmi": 1.25, "bp": -0.3, "age": 0.1 + 0.2}


def values_of(opened):
    return {name: CASE[name] for name in opened["recommended"]}


def steps(opened):
    """The calls of a whole round, in order."""
    return {
        "shown": {"values": values_of(opened)},
        "prediction": {"prediction": 0.1},
        "outcome": {"outcome": -0.2},
    }


def test_a_whole_round(http, who, plan_file: Path):
    plan = pr.Plan.load(plan_file)
    answer = http.post(f"/v1/people/{who}/rounds")
    opened = said(answer)
    assert answer.status_code == 201
    assert opened["status"] == "offered"
    assert opened["recommended"] == list(plan.problem.world.name_of(plan.policy.schedule(1)[0]))
    assert opened["reason"].startswith("Case 1 of 60: show ")
    assert opened["plan"] == hashlib.sha256(plan_file.read_bytes()).hexdigest()
    assert opened["gap"] == plan.gap
    there = f"/v1/people/{who}/rounds/0"
    statuses = []
    for step, body in steps(opened).items():
        statuses.append(said(http.put(f"{there}/{step}", json=body))["status"])
    assert statuses == ["shown", "predicted", "told"]
    last = said(http.get(there))
    assert last["values"] == values_of(opened)
    assert (last["prediction"], last["outcome"]) == (0.1, -0.2)
    person = said(http.get(f"/v1/people/{who}"))
    assert person["counts"] == {name: int(name in opened["recommended"]) for name in CASE}
    assert person["open_round"] is None
    assert [each["name"] for each in person["weights"]] == list(CASE)
    assert all(each["low"] < each["mean"] < each["high"] for each in person["weights"])


def test_an_open_round_is_opened_once(http, who):
    first = http.post(f"/v1/people/{who}/rounds")
    again = http.post(f"/v1/people/{who}/rounds", json={"case": "another"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()


@pytest.mark.parametrize("step", ["shown", "prediction", "outcome"])
def test_a_step_said_again_is_answered_alike_and_other_words_are_refused(http, who, step):
    opened = said(http.post(f"/v1/people/{who}/rounds"))
    there = f"/v1/people/{who}/rounds/0"
    for name, body in steps(opened).items():
        first = said(http.put(f"{there}/{name}", json=body))
        if name == step:
            break
    repeated = http.put(f"{there}/{step}", json=body)
    assert repeated.status_code == 200
    assert repeated.json() == first
    events = said(http.get(f"/v1/people/{who}/export"))["events"]
    assert [each["kind"] for each in events].count(first["status"]) == 1
    other = {
        "shown": {"values": dict.fromkeys(opened["recommended"], 9.0)},
        "prediction": {"prediction": 9.0},
        "outcome": {"outcome": 9.0},
    }[step]
    refused = http.put(f"{there}/{step}", json=other)
    assert refused.status_code == 409
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["round"] == first
    assert said(http.get(there)) == first


@pytest.mark.parametrize(
    ("done", "wrong"),
    [
        ([], "prediction"),
        ([], "outcome"),
        (["shown"], "outcome"),
    ],
)
def test_steps_come_in_order(http, who, done, wrong):
    opened = said(http.post(f"/v1/people/{who}/rounds"))
    there, bodies = f"/v1/people/{who}/rounds/0", steps(opened)
    for name in done:
        said(http.put(f"{there}/{name}", json=bodies[name]))
    before = said(http.get(there))
    refused = http.put(f"{there}/{wrong}", json=bodies[wrong])
    assert refused.status_code == 409
    assert refused.json()["round"] == before


def test_a_repetition_holds_even_when_the_round_has_moved_on(http, who):
    """A client that lost the answer to an early call sends it again at the end."""
    opened = said(http.post(f"/v1/people/{who}/rounds"))
    there = f"/v1/people/{who}/rounds/0"
    for name, body in steps(opened).items():
        last = said(http.put(f"{there}/{name}", json=body))
    for name, body in steps(opened).items():
        assert said(http.put(f"{there}/{name}", json=body)) == last


def test_what_was_recommended_and_what_was_shown_are_both_kept(http, who):
    opened = said(http.post(f"/v1/people/{who}/rounds"))
    other = [name for name in CASE if name not in opened["recommended"]]
    body = {"tests": other, "values": {name: CASE[name] for name in other}, "reason": "broken"}
    shown = said(http.put(f"/v1/people/{who}/rounds/0/shown", json=body))
    assert shown["recommended"] == opened["recommended"]
    assert shown["shown"] == other
    assert shown["override_reason"] == "broken"
    said(http.put(f"/v1/people/{who}/rounds/0/prediction", json={"prediction": 0.0}))
    said(http.put(f"/v1/people/{who}/rounds/0/outcome", json={"outcome": 0.0}))
    second = said(http.post(f"/v1/people/{who}/rounds"))
    assert "off the plan" in second["reason"]


def test_the_truth_may_come_after_later_rounds(http, who, plan_file: Path):
    """Rounds go on; the schedule is followed although no truth has been told yet."""
    plan = pr.Plan.load(plan_file)
    planned = [list(plan.problem.world.name_of(shown)) for shown in plan.policy.schedule(4)]
    recommended = []
    for number in range(4):
        opened = said(http.post(f"/v1/people/{who}/rounds"))
        assert opened["round"] == number
        recommended.append(opened["recommended"])
        there = f"/v1/people/{who}/rounds/{number}"
        said(http.put(f"{there}/shown", json={"values": values_of(opened)}))
        said(http.put(f"{there}/prediction", json={"prediction": float(number)}))
    assert recommended == planned
    for number in (2, 0):
        there = f"/v1/people/{who}/rounds/{number}"
        assert said(http.put(f"{there}/outcome", json={"outcome": 1.0}))["status"] == "told"
    lines = rows(http, who)
    assert [line["round"] for line in lines] == [1, 3, 2, 0]
    assert [line["feedback"] for line in lines] == [False, False, True, True]


def rows(http, who):
    text = http.get("/v1/log", params={"person": who, "limit": 10_000}).text
    return [json.loads(line) for line in text.splitlines()]


def test_a_round_without_feedback_ends_untold_and_does_not_count(http, who):
    opened = said(http.post(f"/v1/people/{who}/rounds", json={"feedback": False}))
    there = f"/v1/people/{who}/rounds/0"
    said(http.put(f"{there}/shown", json={"values": values_of(opened)}))
    ended = said(http.put(f"{there}/prediction", json={"prediction": 0.5}))
    assert ended["status"] == "untold"
    assert said(http.get(f"/v1/people/{who}"))["counts"] == dict.fromkeys(CASE, 0)
    again = said(http.post(f"/v1/people/{who}/rounds"))
    assert (again["round"], again["recommended"]) == (1, opened["recommended"])
    kept = said(http.put(f"{there}/outcome", json={"outcome": 3.0, "told": False}))
    assert (kept["status"], kept["outcome"]) == ("untold", None)
    assert rows(http, who)[-1]["outcome"] == 3.0


def test_who_is_not_going_to_hear_has_not_been_taught(http, who):
    opened = said(http.post(f"/v1/people/{who}/rounds"))
    there = f"/v1/people/{who}/rounds/0"
    said(http.put(f"{there}/shown", json={"values": values_of(opened)}))
    said(http.put(f"{there}/prediction", json={"prediction": 0.5}))
    assert sum(said(http.get(f"/v1/people/{who}"))["counts"].values()) == 2
    said(http.put(f"{there}/outcome", json={"outcome": None, "told": False}))
    assert sum(said(http.get(f"/v1/people/{who}"))["counts"].values()) == 0


def test_leaving_a_round(http, who):
    first = said(http.post(f"/v1/people/{who}/rounds"))
    there = f"/v1/people/{who}/rounds/0"
    left = said(http.delete(there))
    assert left["status"] == "abandoned"
    assert said(http.delete(there)) == left
    assert http.put(f"{there}/shown", json={"values": values_of(first)}).status_code == 409
    second = said(http.post(f"/v1/people/{who}/rounds"))
    assert (second["round"], second["recommended"]) == (1, first["recommended"])
    played = play_round(http, who, CASE, 0.0, 0.0)
    assert http.delete(f"/v1/people/{who}/rounds/{played['round']}").status_code == 409


def test_what_is_not_available_is_not_recommended(http, who):
    free = said(http.post("/v1/recommend", json={}))
    missing = free["show"][0]
    have = [name for name in CASE if name != missing]
    opened = said(http.post(f"/v1/people/{who}/rounds", json={"available": have}))
    assert missing not in opened["recommended"]
    assert opened["recommended"]
    assert missing in opened["reason"]
    assert opened["available"] == have


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("shown", {"tests": ["bmj"], "values": {"bmj": 1.0}}, "did you mean 'bmi'?"),
        ("shown", {"values": {}}, "has no result"),
        ("shown", {}, "values: missing"),
        ("shown", {"tests": ["bmi"], "values": {"bmi": 1e300}}, "check units"),
        ("shown", {"tests": ["bmi", "bmi"], "values": {"bmi": 1.0}}, "name each test once"),
        ("prediction", {"prediction": "much"}, "prediction: 'much'"),
        ("prediction", {}, "prediction: missing"),
        ("prediction", {"prediction": 1.0, "mood": 1}, "mood: is not known; there are prediction"),
        ("prediction", {"prediction": True}, "prediction: true, must be a valid number"),
        ("outcome", {"outcome": None}, "told: false"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(http, who, path, body, sentence):
    said(http.post(f"/v1/people/{who}/rounds"))
    refused = http.put(f"/v1/people/{who}/rounds/0/{path}", json=body)
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert any(sentence in each for each in refused.json()["errors"]), refused.text
    assert said(http.get(f"/v1/people/{who}/rounds/0"))["status"] == "offered"
