"""Tutors plan beside the requests, in processes that may die and that end with their service."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

import preceptor as pr
from preceptor.learners.tutor_record import TutorRound
from preceptor.live.service import tutors
from preceptor.live.service.access import Refusal
from preceptor.live.service.guides import read_plan
from preceptor.live.service.live import Advising, Snapshot
from preceptor.live.service.pool import Pool, TookTooLong, Unwanted, WorkerDied
from preceptor.live.service.records import PersonRecord
from preceptor.live.service.settings import Settings
from preceptor.live.service.tutors import advise, beliefs_of, believe
from preceptor.live.store.people import AdvisedPerson
from tests.live.service.servers import crowd_problem, said

PATIENCE = 90.0


def asked(who: str = "ann") -> dict:
    problem = crowd_problem().to_dict()
    news = {"after": 0, "seq": 0, "rounds": []}
    return {"plan": "0" * 64, "problem": problem, "who": who, "news": news, "available": None}


@pytest.mark.full
def test_a_process_refuses_dies_and_begins_again():
    async def one_process() -> None:
        pool = Pool(1)
        wrong = {**asked(), "problem": {**crowd_problem().to_dict(), "budget": -1}}
        with pytest.raises(pr.errors.InvalidInput, match="budget"):
            await pool.ask("advise", wrong, 60.0)
        [first] = pool.pids
        with pytest.raises(TookTooLong, match=r"longer than 0\.001 seconds"):
            await pool.ask("advise", asked(), 0.001)
        assert pool.pids == []
        waiting = asyncio.create_task(pool.ask("advise", asked(), 60.0))
        while not pool.pids:
            await asyncio.sleep(0.01)
        os.kill(pool.pids[0], signal.SIGKILL)
        with pytest.raises(WorkerDied):
            await waiting
        assert await pool.ask("ready", {}, 60.0) == {}
        assert pool.pids not in ([], [first])
        await pool.end()

    asyncio.run(one_process())


def test_whoever_went_away_loses_their_turn():
    async def gone() -> bool:
        return False

    async def ask() -> None:
        pool = Pool(1)
        with pytest.raises(Unwanted):
            await pool.ask("ready", {}, 60.0, is_wanted=gone)
        assert (pool.pids, pool.waiting) == ([], 0)

    asyncio.run(ask())


def test_a_long_task_lets_others_in_between():
    async def ask() -> None:
        pool = Pool(1, "tests.live.service.long_tasks")
        long = asyncio.create_task(pool.ask("long", {"left": 5}, 60.0))
        await asyncio.sleep(0)  # it is first
        short = await pool.ask("short", {}, 60.0)
        assert not long.done()
        assert (short, await long) == ({"turn": 3}, {"turn": 7})
        await pool.end()

    asyncio.run(ask())


def test_a_long_record_is_followed_in_parts(monkeypatch):
    """What a worker answers in the end is what a tutor says who follows the record in one go."""
    problem = crowd_problem()
    rng = np.random.default_rng(0)
    rounds = [
        TutorRound((0, 1), tuple(rng.normal(size=2).tolist()), float(rng.normal()), 1.0, i + 1)
        for i in range(6)
    ]
    whole = dataclasses.replace(pr.Tutor(problem), record=tuple(rounds))
    rows = [(i, each.to_dict()) for i, each in enumerate(rounds)]
    monkeypatch.setattr(tutors, "_AT_ONCE", 0.0)
    for seq in (40, 0):
        news = {"after": 0, "seq": seq, "rounds": rows}
        args, turns = {"plan": "1" * 64, "problem": problem.to_dict(), "who": f"w{seq}"}, 0
        said_last = believe(**args, news=news)
        while "more" in said_last:
            turns += 1
            said_last = believe(**{**args, "news": news, **said_last["more"]})
        assert turns == len(rounds)
        assert said_last == beliefs_of(whole)


@pytest.fixture(scope="module")
def snapshot(crowd_plan_file) -> Snapshot:
    guide = read_plan(crowd_plan_file.read_text())
    fields = {"plan": guide.sha256, "policy": "tutor", "enrolled_with": {}}
    counted = {"counts": [0, 0, 0], "position": 0, "answers": 0, "rounds": 0, "version": 1}
    person = AdvisedPerson("ann", "real", "", "", **fields, case_list=None, **counted)
    return Snapshot(guide, person, PersonRecord(), None)


@pytest.mark.full
def test_a_tutor_who_plans_for_long_lets_nobody_wait_and_is_not_asked_twice(snapshot):
    async def ask() -> None:
        pool = Pool(1)
        hasty = Advising(Settings("", patience=0.0), pool)
        with pytest.raises(Refusal) as refused:
            await hasty.advice(snapshot)
        assert refused.value.status_code == 503
        assert refused.value.headers == {"Retry-After": "1"}
        await hasty.begin(snapshot)
        # It is there now, for whoever asks again, however hasty.
        said_later = await hasty.advice(snapshot)
        expected = pr.Tutor(snapshot.guide.problem).recommendation()
        assert (said_later.columns, said_later.reason) == (expected.shown, expected.reason)
        hasty.forget("ann")
        await hasty.stop()
        await pool.end()

    asyncio.run(ask())


@pytest.mark.full
def test_a_tutor_whose_process_is_killed_is_asked_again(snapshot):
    async def ask() -> None:
        pool = Pool(1)
        advising = Advising(Settings("", patience=60.0), pool)
        first = await advising.advice(snapshot)
        os.kill(pool.pids[0], signal.SIGKILL)
        other = Snapshot(snapshot.guide, snapshot.person, PersonRecord(), (0, 1))
        with pytest.raises(Refusal, match="did not finish"):
            await advising.advice(other)
        assert set((await advising.advice(other)).columns) <= {0, 1}
        assert await advising.advice(snapshot) == first
        await advising.stop()
        await pool.end()

    asyncio.run(ask())


def test_advice_is_begun_before_anybody_asks_and_processes_end_with_the_service(
    serve, crowd_plan_file
):
    """Enrolling somebody with a tutor is enough for a process to begin."""
    server = serve()
    http = server.http
    body = crowd_plan_file.read_text()
    sha = read_plan(body).sha256
    http.put(f"/v1/plans/{sha}", content=body)
    before = children(server.process.pid)
    said(http.put("/v1/people/tim", json={"plan": sha, "policy": "tutor"}))
    until(lambda: not children(server.process.pid) <= before)
    opened = http.post("/v1/people/tim/rounds")
    end = time.monotonic() + PATIENCE
    while opened.status_code == 503:
        assert time.monotonic() < end
        opened = http.post("/v1/people/tim/rounds")
    expected = pr.Tutor(pr.Plan.from_json(body).problem).recommendation()
    assert said(opened)["reason"] == expected.reason
    planning = children(server.process.pid) - before
    server.kill()
    until(lambda: not any(Path("/proc", pid).exists() for pid in planning))


def until(true) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def children(pid: int) -> set[str]:
    """The processes that it has started, from any of its threads."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return {child for each in lists for child in each.read_text().split()}


def test_a_tutor_looks_at_what_is_known_of_the_case():
    tutor = pr.Tutor(crowd_problem())
    shown = set()
    for bmi in (-2.0, -0.5, 0.5, 2.0):
        found = advise(**asked(), known=[bmi, None, 1.5])
        expected = tutor.recommendation(case=[bmi, float("nan"), 1.5])
        assert (tuple(found["columns"]), found["reason"]) == (expected.shown, expected.reason)
        shown.add(expected.shown)
    assert len(shown) > 1
    policy = pr.CaseAware(2.0, ("bmi",))
    found = advise(**asked("bob"), known=[1.0, None, None], policy=policy.to_dict())
    expected = policy.tutor(crowd_problem()).recommendation(case={"bmi": 1.0})
    assert (tuple(found["columns"]), found["reason"]) == (expected.shown, expected.reason)


def test_known_results_come_with_the_request_for_a_round(serve, crowd_plan_file):
    http = serve().http
    body = crowd_plan_file.read_text()
    sha = read_plan(body).sha256
    http.put(f"/v1/plans/{sha}", content=body)
    problem = pr.Plan.from_json(body).problem
    for number, policy in enumerate(("tutor", "plan")):
        said(http.put(f"/v1/people/p{number}", json={"plan": sha, "policy": policy}))
    where, known = "/v1/people/p0/rounds", {"bmi": 2.0, "age": 1.5}
    wrong = http.post(where, json={"known": {"height": 1.0}})
    assert (wrong.status_code, "height" in wrong.text) == (422, True)
    opened = http.post(where, json={"known": known})
    end = time.monotonic() + PATIENCE
    while opened.status_code == 503:
        assert time.monotonic() < end
        opened = http.post(where, json={"known": known})
    assert said(opened)["reason"] == pr.Tutor(problem).recommendation(case=known).reason
    refused = http.post("/v1/people/p1/rounds", json={"known": known})
    assert "a plan does not look at results; enrol with a tutor" in refused.text
