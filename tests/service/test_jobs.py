"""Jobs: planned beside the service, taken up again when workers die, bounded in number and time."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
from sqlalchemy import update

import preceptor as pr
from preceptor.plan import Plan
from preceptor.service.book import Book
from preceptor.service.desk import Desk, TookTooLong, WorkerDied
from preceptor.service.settings import Settings
from preceptor.service.working import Foreman
from preceptor.store import Store, chain, jobs
from preceptor.store.plans import body_of, sha256_of
from preceptor.store.tables import job
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


def test_a_full_queue_says_when_to_come_back_and_another_service_takes_it_up(serve, tmp_path):
    idle = serve("--job-workers", 0)
    most = Settings("").most_jobs
    for seed in range(most):
        said(idle.http.post("/v1/plans", json={"problem": PROBLEM, "seed": seed}))
    full = idle.http.post("/v1/plans", json={"problem": PROBLEM, "seed": most})
    assert full.status_code == 503
    assert full.headers["retry-after"] == "10"
    assert "32 are waiting" in full.json()["detail"]
    # What waits already is found again.
    first = said(idle.http.post("/v1/plans", json={"problem": PROBLEM, "seed": 0}))
    assert first["state"] == "queued"
    numbers = idle.http.get("/metrics").text
    assert 'preceptor_jobs{state="queued"} 32.0' in numbers
    assert "preceptor_job_queue_length 32.0" in numbers
    with Store(str(tmp_path / "live.db")) as store:
        asyncio.run(_until(store, first["job"]))
        assert store.read(lambda c: jobs.find(c, first["job"])).state == "done"


async def _until(store: Store, id: str, **settings: object) -> None:
    """Have jobs done in this process until one of them has ended."""
    foreman = Foreman(store, Settings("", **settings), Book())
    foreman.start()
    try:
        async with asyncio.timeout(PATIENCE):
            while (await store.reading(lambda c: jobs.find(c, id))).is_live:
                await asyncio.sleep(0.02)
    finally:
        await foreman.stop()


@pytest.fixture
def store(tmp_path):
    with Store(str(tmp_path / "live.db")) as opened:
        yield opened


def enqueued(store: Store, problem: pr.Problem, how: dict) -> str:
    args = {"problem": problem.to_dict(), **how}
    return store.write(lambda c: jobs.enqueue(c, "solve", args)).id


def test_a_worker_that_is_killed_is_replaced_and_the_job_done(store):
    id = enqueued(store, large_problem(), {**LONG, "time_limit": 2.0})

    async def kill_the_first() -> None:
        foreman = Foreman(store, Settings(""), Book())
        foreman.start()
        async with asyncio.timeout(PATIENCE):
            while not (pids := foreman.pids) or store.read(lambda c: jobs.waiting(c)):
                await asyncio.sleep(0.01)
            os.kill(pids[0], signal.SIGKILL)
            while (found := store.read(lambda c: jobs.find(c, id))).is_live:
                await asyncio.sleep(0.05)
        await foreman.stop()
        assert (found.state, found.attempts) == ("done", 2)
        assert pids != foreman.pids

    asyncio.run(kill_the_first())
    result = store.read(lambda c: jobs.find(c, id)).result
    assert Plan.from_json(store.read(lambda c: body_of(c, result["plan"]))).problem.size == 9
    assert store.read(chain.verify).faults == ()


def test_a_job_that_takes_three_workers_with_it_fails(store):
    id = enqueued(store, small_problem(), HOW)
    for _ in range(3):
        assert store.write(lambda c: jobs.take(c, "w", 60.0)).id == id
        assert store.write(lambda c: jobs.give_back(c, id, "w", tried=True))
    asyncio.run(_until(store, id))
    assert "not tried again" in store.read(lambda c: jobs.find(c, id)).error


def test_a_job_beyond_its_time_is_ended(store):
    id = enqueued(store, large_problem(), LONG)
    cap = {"job_grace": 1.0 - LONG["time_limit"]}
    asyncio.run(_until(store, id, **cap))
    assert store.read(lambda c: jobs.find(c, id)).error == "took longer than 1 seconds"


def test_stopping_gives_the_job_back_as_if_it_had_not_been_tried(store):
    id = enqueued(store, large_problem(), LONG)

    async def stop_in_the_middle() -> None:
        foreman = Foreman(store, Settings(""), Book())
        foreman.start()
        async with asyncio.timeout(PATIENCE):
            while not foreman.pids:
                await asyncio.sleep(0.01)
        await foreman.stop()
        assert foreman.pids == []

    asyncio.run(stop_in_the_middle())
    found = store.read(lambda c: jobs.find(c, id))
    assert (found.state, found.attempts, found.worker) == ("queued", 0, None)


def test_somebody_else_who_took_the_job_up_keeps_it(store):
    """A service that slept too long finds its lease gone, and leaves the job alone."""
    id = enqueued(store, large_problem(), LONG)

    async def be_robbed() -> None:
        foreman = Foreman(store, Settings("", job_lease=0.3), Book())
        foreman.start()
        async with asyncio.timeout(PATIENCE):
            while store.read(lambda c: jobs.find(c, id)).state == "queued":
                await asyncio.sleep(0.01)
            stolen = {"worker": "other", "lease_until": "9999"}
            store.write(lambda c: c.execute(update(job).values(stolen)) and None)
            while foreman.pids or not store.read(lambda c: True):
                await asyncio.sleep(0.05)
        await foreman.stop()

    asyncio.run(be_robbed())
    found = store.read(lambda c: jobs.find(c, id))
    assert (found.state, found.worker) == ("running", "other")


def test_a_service_that_is_killed_leaves_its_job_to_the_next(serve, tmp_path):
    """And the process that planned for it ends, because nobody waits for it any more."""
    first = serve()
    asked = {"problem": large_problem().to_dict(), "method": "search", "time_limit": 20}
    id = said(first.http.post("/v1/plans", json=asked))["job"]
    database = str(tmp_path / "live.db")
    with Store(database) as store:
        end = time.monotonic() + PATIENCE
        while store.read(lambda c: jobs.find(c, id)).state != "running":
            assert time.monotonic() < end
            time.sleep(0.02)
        processes = children(first.process.pid)
        first.kill()
        while any(Path("/proc", pid).exists() for pid in processes):
            assert time.monotonic() < end
            time.sleep(0.02)
        left = store.read(lambda c: jobs.find(c, id))
        assert (left.state, left.attempts) == ("running", 1)
        # As if the lease had run out meanwhile; the planning is made short for the test.
        short = {"lease_until": "2000", "args": {**left.args, "time_limit": 0.5}}
        store.write(lambda c: c.execute(update(job).values(short)) and None)
        asyncio.run(_until(store, id))
        again = store.read(lambda c: jobs.find(c, id))
        assert (again.state, again.attempts) == ("done", 2)


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
