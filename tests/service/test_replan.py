"""Planning anew for one person, and tutors who plan beside the requests."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time

import numpy as np
import pytest

import preceptor as pr
from preceptor.advice.from_here import SoFar, from_here
from preceptor.logs import Log
from preceptor.plan import Plan
from preceptor.service.advising import Advising, Snapshot
from preceptor.service.guides import read_plan
from preceptor.service.pool import Pool
from preceptor.service.refusal import Refusal
from preceptor.service.settings import Settings
from preceptor.service.tasks import problem_from_here
from preceptor.store import Store, chain
from preceptor.store.people import Person
from tests.service.servers import WORLD, play_round, said, small_problem
from tests.service.test_jobs import children, ended, large_problem
from tests.service.test_people import everything

CASE = {"bmi": 1.25, "bp": -0.3, "age": 0.5}


def replanned(http, who: str) -> dict:
    asked = http.post(f"/v1/people/{who}/replan", json={"time_limit": 5})
    assert asked.status_code == 202, asked.text
    done = ended(http, asked.json()["job"])
    assert done["state"] == "done", done
    return done["result"]


def test_a_plan_made_anew_holds_from_the_next_round_on(server, http, who):
    for t in range(3):
        play_round(http, who, CASE, 0.1 * t, 0.2 * t)
    before = said(http.get(f"/v1/people/{who}"))
    open_round = said(http.post(f"/v1/people/{who}/rounds"))
    made = replanned(http, who)
    assert made["from_round"] == 4
    plan = Plan.from_json(http.get(f"/v1/plans/{made['plan']}").text)
    counts = [before["counts"][name] for name in WORLD.labels]
    assert plan.problem == small_problem(horizon=57, start=counts)
    assert plan.value == pr.solve(plan.problem).value
    # The round that was open stays as it was, and is the first that the new plan counts.
    there = f"/v1/people/{who}/rounds/3"
    assert said(http.get(there))["plan"] == before["plan"]
    assert said(http.get(there))["recommended"] == open_round["recommended"]
    values = {name: CASE[name] for name in open_round["recommended"]}
    said(http.put(f"{there}/shown", json={"values": values}))
    said(http.put(f"{there}/prediction", json={"prediction": 0.5}))
    after = said(http.get(f"/v1/people/{who}"))
    assert (after["plan"], after["plan_since"]) == (made["plan"], 3)
    expected = {name: int(name in values) for name in WORLD.labels}
    assert after["counts"] == expected
    opened = said(http.post(f"/v1/people/{who}/rounds"))
    assert opened["plan"] == made["plan"]
    assert opened["recommended"] == list(WORLD.name_of(plan.policy.schedule(2)[1]))
    # Once they are erased, nothing says where they were.
    kept = said(http.get(f"/v1/people/{who}/export"))
    assert [each["plan"] for each in kept["plans"]] == [made["plan"]]
    assert http.delete(f"/v1/people/{who}").status_code == 204
    assert http.get(f"/v1/plans/{made['plan']}").status_code == 404
    assert http.get(f"/v1/jobs/{kept['jobs'][0]['id']}").status_code == 404
    with Store(str(server.log.parent / "live.db"), creates=False) as store:
        kept = json.dumps(store.read(everything))
        assert store.read(chain.verify).faults == ()
    assert f'"{who}"' not in kept
    assert made["plan"] not in kept


def test_one_job_a_person_and_the_same_words_give_the_same(serve):
    busy = serve().http
    long = {"problem": large_problem().to_dict(), "method": "search", "time_limit": 60}
    said(busy.post("/v1/plans", json=long))  # others wait for it
    said(busy.put("/v1/people/ann", json={}))
    first = said(busy.post("/v1/people/ann/replan"))
    other = said(busy.post("/v1/people/ann/replan", json={"seed": 7}))
    assert first["job"] == other["job"]
    said(busy.put("/v1/people/tim", json={"policy": "tutor"}))
    refused = busy.post("/v1/people/tim/replan")
    assert refused.status_code == 409
    assert "plans anew by itself" in refused.json()["detail"]
    assert busy.post("/v1/people/nobody/replan").status_code == 404
    assert busy.post("/v1/people/ann/replan", json={"time_limit": 1e4}).status_code == 422
    # Erasing takes the job along, whoever may be at it.
    assert busy.delete("/v1/people/ann").status_code == 204
    assert busy.get(f"/v1/jobs/{first['job']}").status_code == 404


def rows(size: int, rng: np.random.Generator) -> dict:
    """Rounds as they go to a desk; the last has not been told."""
    drawn = WORLD.sample(size, rng=rng)
    shown = rng.random((size, 3)) < 0.5
    cells = zip(drawn.features.tolist(), shown.tolist(), strict=True)
    values = [[v if s else None for v, s in zip(*pair, strict=True)] for pair in cells]
    outcome: list[float | None] = drawn.outcomes.tolist()
    outcome[-1] = None
    return {
        "names": list(WORLD.labels),
        "participant": ["person"] * size,
        "rounds": list(range(1, size + 1)),
        "shown": shown.tolist(),
        "values": values,
        "prediction": [0.0] * size,
        "outcome": outcome,
        "feedback": [each is not None for each in outcome],
    }


def test_whoever_learns_by_showings_is_planned_for_from_their_counts():
    problem = small_problem(start=[1, 0, 2])
    found = problem_from_here(problem, [0, 0, 1], [4, 0, 3], 5, rows(5, np.random.default_rng(1)))
    assert found == small_problem(start=[5, 0, 5], horizon=55)
    over = problem_from_here(problem, [0, 0, 0], [80, 0, 0], 80, None)
    assert over.horizon == 1


def test_whoever_learns_from_outcomes_is_followed_through_their_rounds():
    """By hand: each told round moves the weights of what was shown along its results."""
    person = pr.DeltaRule([0.2, 1.3, 0.0], rate=0.1)
    problem = small_problem(learner=person, horizon=None, discount=0.9)
    log = rows(6, np.random.default_rng(2))
    found = problem_from_here(problem, [0, 0, 0], [3, 3, 3], 6, log)
    arrays = {name: np.array(log[name], dtype=float) for name in ("values", "outcome")}
    expected = from_here(problem, SoFar((3, 3, 3), Log(**{**log, **arrays}), 6))
    assert found == expected
    weights = np.array(person.initial)
    covariance = np.asarray(WORLD.covariance)
    for shown, values, outcome in zip(log["shown"], log["values"], log["outcome"], strict=True):
        if outcome is None:
            continue
        seen = [i for i, each in enumerate(shown) if each]
        known = np.array([values[i] for i in seen])
        filled = covariance[:, seen] @ np.linalg.solve(covariance[np.ix_(seen, seen)], known)
        weights = weights + 0.1 * (outcome - weights @ filled) * filled * np.array(shown)
    np.testing.assert_allclose(found.learner.initial, weights, rtol=1e-12)


@pytest.fixture(scope="module")
def snapshot(crowd_plan_file) -> Snapshot:
    guide = read_plan(crowd_plan_file.read_text())
    fields = {"plan": guide.sha256, "plan_since": 0, "policy": "tutor", "enrolled_with": {}}
    counted = {"counts": [0, 0, 0], "position": 0, "answers": 0, "rounds": 0, "version": 1}
    person = Person(
        "ann", **fields, case_list=None, **counted, is_bot=False, created="", seen_at=""
    )
    return Snapshot(guide, person, [], None)


def test_a_tutor_who_plans_for_long_lets_nobody_wait_and_is_not_asked_twice(snapshot):
    async def ask() -> None:
        pool = Pool(1)
        hasty = Advising(Settings("", patience=0.0), pool)
        with pytest.raises(Refusal) as refused:
            await hasty.advice(snapshot)
        assert refused.value.status_code == 503
        assert refused.value.headers == {"Retry-After": "1"}
        said_later = await hasty.begin(snapshot)
        # It is there now, for whoever asks again, however hasty.
        assert await hasty.advice(snapshot) == said_later
        expected = pr.Tutor(snapshot.guide.problem).recommendation()
        assert (said_later.columns, said_later.reason) == (expected.shown, expected.reason)
        hasty.forget("ann")
        await hasty.stop()
        await pool.end()

    asyncio.run(ask())


def test_a_tutor_whose_process_is_killed_is_asked_again(snapshot):
    async def ask() -> None:
        pool = Pool(1)
        advising = Advising(Settings("", patience=60.0), pool)
        first = await advising.advice(snapshot)
        os.kill(pool.pids[0], signal.SIGKILL)
        other = Snapshot(snapshot.guide, snapshot.person, [], (0, 1))
        with pytest.raises(Refusal, match="did not finish"):
            await advising.advice(other)
        assert set((await advising.advice(other)).columns) <= {0, 1}
        assert await advising.advice(snapshot) == first
        await advising.stop()
        await pool.end()

    asyncio.run(ask())


def test_advice_is_begun_before_anybody_asks_for_it(serve, crowd_plan_file):
    """Enrolling somebody with a tutor is enough for a process to begin."""
    server = serve()
    http = server.http
    body = crowd_plan_file.read_text()
    sha = read_plan(body).sha256
    http.put(f"/v1/plans/{sha}", content=body)
    before = children(server.process.pid)
    said(http.put("/v1/people/tim", json={"plan": sha, "policy": "tutor"}))
    end = time.monotonic() + 60.0
    while children(server.process.pid) <= before:
        assert time.monotonic() < end
        time.sleep(0.01)
    opened = http.post("/v1/people/tim/rounds")
    while opened.status_code == 503:
        assert time.monotonic() < end
        opened = http.post("/v1/people/tim/rounds")
    expected = pr.Tutor(pr.Plan.from_json(body).problem).recommendation()
    assert said(opened)["reason"] == expected.reason
