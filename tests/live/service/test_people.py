"""People over HTTP: enrolled once, looked at, adapted to, handed over and forgotten."""

from __future__ import annotations

import json
import time

import preceptor as pr
from preceptor.live.store import chain
from preceptor.live.store.database import Store
from tests.live.service.servers import crowd_problem, play_round, said

CASE = {"bmi": 1.25, "bp": -0.3, "age": 0.5}


def test_enrolling_again_with_the_same_words_is_no_news(http):
    first = http.put("/v1/people/ann", json={"start": {"bmi": 3}})
    again = http.put("/v1/people/ann", json={"start": {"bmi": 3}})
    other = http.put("/v1/people/ann", json={"start": {"bmi": 4}})
    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 409)
    assert first.json() == again.json()
    assert first.json()["counts"] == {"bmi": 3, "bp": 0, "age": 0}


def test_what_cannot_be_is_refused(http):
    assert http.put("/v1/people/x", json={"plan": "0" * 64}).status_code == 404
    assert http.put("/v1/people/x", json={"start": {"bmj": 1}}).status_code == 422
    assert http.put("/v1/people/x", json={"start": {"bmi": -1}}).status_code == 422
    assert http.put("/v1/people/x%20y", json={}).status_code == 422
    assert http.get("/v1/people/nobody").status_code == 404
    assert http.post("/v1/people/nobody/rounds").status_code == 404


def as_often_as_told(call):
    """The answer; a tutor on a busy machine may ask the caller to come back."""
    for _ in range(60):
        answer = call()
        if answer.status_code != 503:
            break
        time.sleep(float(answer.headers["Retry-After"]))
    return answer


def test_a_tutor_advises_what_the_library_advises(http, crowd_plan_file):
    """Truths come late and out of order; a server and the library see the same person."""
    body = crowd_plan_file.read_text()
    from preceptor.live.store.plans import sha256_of

    sha = sha256_of(body)
    assert http.put(f"/v1/plans/{sha}", content=body).status_code == 201
    said(http.put("/v1/people/tim", json={"plan": sha, "policy": "tutor"}))
    tutor = pr.Tutor(crowd_problem())
    world = tutor.problem.world
    answers = [0.4, -0.2, 1.1, 0.3, 0.9]
    for number, answer in enumerate(answers):
        opened = said(as_often_as_told(lambda: http.post("/v1/people/tim/rounds")))
        expected = tutor.recommendation()
        assert opened["recommended"] == list(expected.names)
        assert opened["reason"] == expected.reason
        there = f"/v1/people/tim/rounds/{number}"
        values = {name: CASE[name] for name in opened["recommended"]}
        said(http.put(f"{there}/shown", json={"values": values}))
        said(http.put(f"{there}/prediction", json={"prediction": answer}))
        tutor = tutor.answered(opened["recommended"], list(values.values()), answer)
        if number % 2:  # the truth of the round before comes now
            said(http.put(f"/v1/people/tim/rounds/{number - 1}/outcome", json={"outcome": 0.7}))
            tutor = tutor.told(0.7, number - 1)
    person = said(http.get("/v1/people/tim"))
    assert person["kinds"] == tutor.kinds
    assert [each["mean"] for each in person["weights"]] == tutor.coefficients.tolist()
    assert world.labels == tuple(each["name"] for each in person["weights"])


def test_somebody_is_handed_over_and_then_forgotten(server, http, who, tmp_path):
    play_round(http, who, CASE, 0.123456, 0.654321)
    kept = said(http.get(f"/v1/people/{who}/export"))
    assert [each["kind"] for each in kept["events"]] == [
        "enrolled",
        "offered",
        "shown",
        "predicted",
        "told",
    ]
    assert kept["rounds"][0]["prediction"] == 0.123456
    assert http.delete(f"/v1/people/{who}").status_code == 204
    assert http.get(f"/v1/people/{who}").status_code == 404
    assert http.get(f"/v1/people/{who}/export").status_code == 404
    database = server.log.parent / "live.db"
    with Store(str(database), creates=False) as store:
        assert store.read(chain.verify).faults == ()
        assert who not in json.dumps(store.read(everything))
        assert "0.654321" not in json.dumps(store.read(everything))


def everything(connection):
    from sqlalchemy import select

    from preceptor.live.store.tables import metadata

    return [
        [str(cell) for cell in row]
        for table in metadata.sorted_tables
        for row in connection.execute(select(table))
    ]
