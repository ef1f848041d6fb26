"""Cases that the service holds: nobody sees a hidden result or the truth before they answer."""

from __future__ import annotations

import pytest

from tests.live.service.servers import said

SECRET = {"bmi": 1.111125, "bp": 2.222225, "age": 3.333325}
TRUTH = 4.444425
CASES = [
    {"values": SECRET, "outcome": TRUTH},
    {"values": {"bmi": 0.5, "bp": None, "age": 0.25}, "outcome": 1.0},
]


@pytest.fixture
def held(http, who):
    """Somebody who goes through cases that the service holds."""
    assert http.put("/v1/cases/two", json={"cases": CASES}).status_code in (200, 201)
    name = f"{who}-held"
    said(http.put(f"/v1/people/{name}", json={"cases": "two"}))
    return name


def leaks(text: str, *allowed: str) -> list[str]:
    hidden = {name: str(value) for name, value in SECRET.items()} | {"truth": str(TRUTH)}
    return [name for name, value in hidden.items() if name not in allowed and value in text]


def test_results_appear_when_shown_and_the_truth_when_answered(http, held):
    rounds = f"/v1/people/{held}/rounds"
    opened = http.post(rounds)
    assert leaks(opened.text) == []
    seen = opened.json()["recommended"]
    shown = http.put(f"{rounds}/0/shown")
    assert leaks(shown.text, *seen) == []
    assert said(shown)["values"] == {name: SECRET[name] for name in seen}
    for spying in (
        http.get(f"/v1/people/{held}"),
        http.get(f"{rounds}/0"),
        http.put(f"{rounds}/0/shown", json={"tests": list(SECRET)}),
        http.put(f"{rounds}/0/outcome", json={"outcome": 1.0}),
        http.get("/v1/log", params={"person": held}),
        http.get(f"/v1/people/{held}/export"),
        http.post(rounds),
    ):
        assert leaks(spying.text, *seen) == [], spying.url
    answered = said(http.put(f"{rounds}/0/prediction", json={"prediction": 1.0}))
    assert (answered["status"], answered["outcome"]) == ("told", TRUTH)


def test_without_feedback_the_truth_stays(http, held):
    rounds = f"/v1/people/{held}/rounds"
    said(http.post(rounds, json={"feedback": False}))
    said(http.put(f"{rounds}/0/shown"))
    ended = http.put(f"{rounds}/0/prediction", json={"prediction": 1.0})
    assert said(ended)["status"] == "untold"
    assert "truth" not in leaks(ended.text)
    assert said(http.get(f"{rounds}/0"))["outcome"] is None


def test_what_a_case_misses_is_not_recommended_and_cases_end(http, held):
    rounds = f"/v1/people/{held}/rounds"
    said(http.post(rounds))
    said(http.delete(f"{rounds}/0"))
    second = said(http.post(rounds))
    assert "bp" not in second["recommended"]
    refused = http.put(f"{rounds}/1/shown", json={"tests": ["bp"]})
    assert refused.status_code == 422
    too_many = http.put(f"{rounds}/1/shown", json={"tests": list(SECRET)})
    assert too_many.status_code == 422
    said(http.put(f"{rounds}/1/shown"))
    said(http.put(f"{rounds}/1/prediction", json={"prediction": 1.0}))
    over = http.post(rounds)
    assert over.status_code == 409
    assert "all 2 of 'two' have been" in over.json()["detail"]


def test_a_list_is_never_changed(http, held):
    other = [{"values": {"bmi": 1.0}, "outcome": 0.0}]
    assert http.put("/v1/cases/two", json={"cases": other}).status_code == 409
    assert http.put("/v1/cases/two", json={"cases": CASES}).status_code == 200
    wrong = [{"values": {"bmj": 1.0}, "outcome": 0.0}]
    refused = http.put("/v1/cases/three", json={"cases": wrong})
    assert refused.status_code == 422
    assert "case 0, values: 'bmj' is not known; did you mean 'bmi'?" in refused.json()["errors"]
