"""Jobs: planned beside the service, bounded in number and time, asked for again when lost."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

import preceptor as pr
from preceptor.plan import Plan
from preceptor.service.book import Book
from preceptor.service.desk import Desk, TookTooLong, WorkerDied
from preceptor.service.planner import Planner
from preceptor.service.pool import Pool
from preceptor.service.settings import Settings
from preceptor.store import Store, chain, jobs
from preceptor.store.jobs import Job
from preceptor.store.plans import body_of, sha256_of
from tests.service.servers import said, small_problem

PROBLEM = small_problem().to_dict()
HOW = {"method": "auto", "time_limit": 10.0, "seed": 0, "objective": None}
# Searched for as long as it may, because nothing is proven on the way.
LONG = {"method": "search", "time_limit": 60.0, "seed": 0, "objective": None}
PATIENCE = 90.0


def large_problem() -> pr.Problem:
    """Nine tests, so that a search always finds something more to try."""
    world = pr.World.equicorrelated([1.0 - 0.1 * i for i in range(9)], 0.5)
    return pr.Problem(world, pr.Learner([0.0] * 9, pr.Geometric(1.02)), 3, discount=0.99)


def ended(http, id: str) -> dict:
    """The job once it has ended."""
    end = time.monotonic() + PATIENCE
    while True:
        found = said(http.get(f"/v1/jobs/{id}"))
        if found["state"] in ("done", "failed"):
            return found
        assert time.monotonic() < end, found
        time.sleep(0.05)


def test_a_plan_is_made_beside_the_request_and_kept_under_its_hash(http):
    asked = {"problem": PROBLEM, "time_limit": 5}
    first = http.post("/v1/plans", json=asked)
    assert first.status_code == 202
    assert first.headers["location"] == f"/v1/jobs/{first.json()['job']}"
    assert said(http.post("/v1/plans", json=asked))["job"] == first.json()["job"]
    done = ended(http, first.json()["job"])
    assert done["state"] == "done"
    body = http.get(f"/v1/plans/{done['result']['plan']}").text
    assert sha256_of(body) == done["result"]["plan"]
    made, expected = Plan.from_json(body), pr.solve(small_problem())
    assert (made.value, made.lower_bound) == (expected.value, expected.lower_bound)
    assert done["result"]["gap"] == expected.gap
    said(http.put(f"/v1/people/{done['job']}", json={"plan": done["result"]["plan"]}))
    again = http.post("/v1/plans", json=asked)
    assert (again.status_code, again.json()["state"]) == (202, "done")


def test_the_example_of_the_document_can_be_planned(http):
    parts = said(http.get("/openapi.json"))["components"]["schemas"]
    [example] = parts["Planning"]["examples"]
    assert http.post("/v1/plans", json=example).status_code == 202


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"time_limit": 61}, "time_limit: 61 seconds, this service plans for 60"),
        ({"method": "magic"}, "method: 'magic' is not known"),
        ({"method": "independent"}, "method: 'independent' "),
        ({"objective": "mean"}, "objective: "),
        ({"problem": {"budget": 0}}, "world"),
        ({"time_limit": 0}, "time_limit"),
    ],
)
def test_what_cannot_be_planned_is_refused_at_once(http, changes, fault):
    refused = http.post("/v1/plans", json={"problem": PROBLEM, "method": "search", **changes})
    assert refused.status_code == 422, refused.text
    assert any(fault in each for each in refused.json()["errors"]), refused.text


def test_a_full_queue_says_when_to_come_back(serve):
    server = serve()
    most = Settings("").most_jobs
    long = {"problem": large_problem().to_dict(), "method": "search", "time_limit": 60}
    first = said(server.http.post("/v1/plans", json=long))
    until(lambda: state_of(server, first["job"]) == "running")
    for seed in range(most):
        said(server.http.post("/v1/plans", json={"problem": PROBLEM, "seed": seed}))
    full = server.http.post("/v1/plans", json={"problem": PROBLEM, "seed": most})
    assert full.status_code == 503
    assert full.headers["retry-after"] == "10"
    assert "32 are waiting" in full.json()["detail"]
    # What waits already is found again.
    again = said(server.http.post("/v1/plans", json={"problem": PROBLEM, "seed": 0}))
    assert again["state"] == "queued"
    numbers = server.http.get("/metrics").text
    assert 'preceptor_jobs{state="queued"} 32.0' in numbers
    assert "preceptor_job_queue_length 32.0" in numbers


def state_of(server, id: str) -> str:
    return said(server.http.get(f"/v1/jobs/{id}"))["state"]


def until(true) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def store(tmp_path):
    with Store(str(tmp_path / "live.db")) as opened:
        yield opened


def enqueued(store: Store, problem: pr.Problem, how: dict, seconds: float = 600.0) -> Job:
    args = {"problem": problem.to_dict(), **how}
    made, is_new = store.write(lambda c: jobs.enqueue(c, "solve", args, seconds=seconds))
    assert is_new
    return made


def done(store: Store, job: Job, while_running=lambda pool: None, **settings) -> Job:
    """The job after a planner of this process has worked on it."""

    async def work() -> None:
        told = Settings("", **settings)
        pool = Pool(told.job_workers + 1)
        planner = Planner(store, told, Book(), pool)
        planner.begin(job)
        async with asyncio.timeout(PATIENCE):
            while not pool.pids:
                await asyncio.sleep(0.01)
            while_running(pool)
            while found(store, job).is_live:
                await asyncio.sleep(0.02)
        await planner.stop()
        await pool.end()

    asyncio.run(work())
    return found(store, job)


def found(store: Store, job: Job) -> Job:
    return store.read(lambda c: jobs.find(c, job.id))


def test_a_job_whose_process_is_killed_fails_and_is_done_when_asked_for_again(store):
    how = {**LONG, "time_limit": 2.0}
    lost = done(
        store,
        enqueued(store, large_problem(), how),
        lambda pool: os.kill(pool.pids[0], signal.SIGKILL),
    )
    assert (lost.state, lost.result) == ("failed", None)
    assert "ask for it again" in lost.error
    again = done(store, enqueued(store, large_problem(), how))
    assert (again.id, again.state) == (lost.id, "done")
    plan = again.result["plan"]
    assert Plan.from_json(store.read(lambda c: body_of(c, plan))).problem.size == 9
    assert store.read(chain.verify).faults == ()


def test_a_job_beyond_its_time_is_ended(store):
    cap = {"job_grace": 1.0 - LONG["time_limit"]}
    ended = done(store, enqueued(store, large_problem(), LONG), **cap)
    assert (ended.state, ended.error) == ("failed", "took longer than 1 seconds")


def test_stopping_ends_jobs(store):
    running, waiting = (enqueued(store, large_problem(), {**LONG, "seed": i}) for i in (0, 1))

    async def stop_in_the_middle() -> None:
        pool = Pool(2)
        planner = Planner(store, Settings(""), Book(), pool)
        planner.begin(running)
        planner.begin(waiting)
        async with asyncio.timeout(PATIENCE):
            while not pool.pids:
                await asyncio.sleep(0.01)
        await planner.stop()
        assert pool.pids == []

    asyncio.run(stop_in_the_middle())
    for each in (running, waiting):
        assert found(store, each).state == "failed"
        assert found(store, each).error == "the service was stopped; ask for it again"


def test_a_job_that_nobody_wants_any_more_is_left_alone(store):
    """It has ended, or its person has been erased, while it waited."""
    ended = enqueued(store, small_problem(), HOW)
    assert store.write(lambda c: jobs.finish(c, ended.id, error="enough"))
    assert not store.write(lambda c: jobs.begin(c, ended.id, 60.0))
    assert not store.write(lambda c: jobs.finish(c, ended.id, result={}))
    assert found(store, ended).error == "enough"


def test_a_job_lost_in_a_crash_has_failed_once_its_time_is_over(store):
    lost = enqueued(store, small_problem(), HOW, seconds=-1.0)
    read = found(store, lost)
    assert (read.state, read.is_live) == ("failed", False)
    assert "ask for it again" in read.error
    assert store.read(jobs.waiting) == 0
    assert store.read(jobs.by_state) == {"queued": 0, "running": 0, "done": 0, "failed": 1}
    again = enqueued(store, small_problem(), HOW)
    assert (again.id, found(store, again).state) == (lost.id, "queued")
    assert store.read(chain.verify).faults == ()


def test_processes_that_plan_end_with_a_service_that_is_killed(serve):
    """Nobody waits for them any more; another service does the job once its time is over."""
    first = serve()
    asked = {"problem": large_problem().to_dict(), "method": "search", "time_limit": 20}
    id = said(first.http.post("/v1/plans", json=asked))["job"]
    until(lambda: state_of(first, id) == "running")
    until(lambda: children(first.process.pid))
    processes = children(first.process.pid)
    first.kill()
    until(lambda: not any(Path("/proc", pid).exists() for pid in processes))
    second = serve()
    assert state_of(second, id) == "running"
    assert said(second.http.post("/v1/plans", json=asked))["job"] == id


def children(pid: int) -> set[str]:
    """The processes that it has started, from any of its threads."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return {child for each in lists for child in each.read_text().split()}


def test_a_desk_refuses_dies_and_begins_again():
    async def one_desk() -> None:
        desk = Desk()
        with pytest.raises(pr.errors.InvalidInput, match="budget"):
            await desk.ask("plan_anew", {"problem": {**PROBLEM, "budget": -1}, **HOW}, 60.0)
        first = desk.pid
        problem = large_problem().to_dict()
        with pytest.raises(TookTooLong, match=r"longer than 0\.2 seconds"):
            await desk.ask("plan_anew", {"problem": problem, **LONG}, 0.2)
        assert desk.pid is None
        waiting = asyncio.create_task(desk.ask("plan_anew", {"problem": problem, **LONG}, 60.0))
        while desk.pid is None:
            await asyncio.sleep(0.01)
        os.kill(desk.pid, signal.SIGKILL)
        with pytest.raises(WorkerDied):
            await waiting
        assert await desk.ask("ready", {}, 60.0) == {}
        assert desk.pid not in (None, first)
        await desk.end()

    asyncio.run(one_desk())
