"""Jobs get done: the service that is asked for one plans in its pool and writes the result down.

`sent` reads within one moment of the store; what it gives goes to the process that plans. `kept`
writes what came back, in the transaction that ends the job, and gives the job's result. A job that
is lost, because its process died or the service was stopped, fails; the caller asks for it again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from preceptor.errors import InvalidInput
from preceptor.service.book import Book
from preceptor.service.desk import TO_BEGIN, TookTooLong, WorkerDied
from preceptor.service.following import log_of
from preceptor.service.pool import Pool
from preceptor.service.settings import Settings
from preceptor.store import Store, jobs, people, plans, rounds
from preceptor.store.jobs import Job
from preceptor.store.refusals import NotThere

_LOG = logging.getLogger("preceptor.service")
Sent = dict[str, Any]
Answer = Mapping[str, Any]


class _Unwanted(Exception):
    """The job is gone or has ended: its person was erased, or another service was quicker."""


class Planner:
    """Does the jobs that this service is asked for.

    Parameters
    ----------
    store
        Where jobs are kept.
    settings
        How many jobs run at once, and how long one may take.
    book
        Plans in memory.
    pool
        Where jobs run; one process more than jobs may take, so that tutors need not wait for them.
    """

    def __init__(self, store: Store, settings: Settings, book: Book, pool: Pool) -> None:
        self._store, self._settings, self._book, self._pool = store, settings, book, pool
        self._turns = asyncio.Semaphore(settings.job_workers)
        self._tasks: dict[asyncio.Task[None], float] = {}

    def longest(self, args: Mapping[str, Any]) -> float:
        """Seconds after which a job that is asked for now has ended, whatever happens."""
        return sum(list(self._tasks.values())) + self._cap(args) + TO_BEGIN

    def begin(self, job: Job) -> None:
        """Do a job as soon as its turn has come."""
        task = asyncio.create_task(self._do(job))
        self._tasks[task] = self._cap(job.args) + TO_BEGIN
        task.add_done_callback(self._tasks.pop)

    async def stop(self) -> None:
        """End all jobs; those that were not done have failed."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _cap(self, args: Mapping[str, Any]) -> float:
        return float(args["time_limit"]) + self._settings.job_grace

    async def _do(self, job: Job) -> None:
        """One job from beginning to end, whatever happens."""
        try:
            async with self._turns:
                await self._plan(job)
            _say(job, "done")
        except (_Unwanted, NotThere):
            _say(job, "unwanted")
        except asyncio.CancelledError:
            await self._fail(job, "the service was stopped; ask for it again")
            raise
        except WorkerDied:
            await self._fail(job, "the process that worked on it died; ask for it again")
        except (InvalidInput, TookTooLong) as refused:
            await self._fail(job, str(refused))
        except Exception:
            _LOG.exception("a job could not be worked on")
            await self._fail(job, "the service could not work on it; ask for it again")

    async def _plan(self, job: Job) -> None:
        kind, cap = _KINDS[job.kind], self._cap(job.args)
        if not await self._store.writing(lambda c: jobs.begin(c, job.id, cap + TO_BEGIN)):
            raise _Unwanted
        sent = await self._store.reading(lambda c: kind.sent(c, self._book, job))
        args = {name: value for name, value in sent.items() if name != "since"}
        answer = await self._pool.ask(kind.task, args, cap)

        def keep(connection: Connection) -> None:
            result = kind.kept(connection, self._book, job, sent, answer)
            if not jobs.finish(connection, job.id, result=result):
                raise _Unwanted

        await self._store.writing(keep)

    async def _fail(self, job: Job, error: str) -> None:
        try:
            await self._store.writing(lambda c: jobs.finish(c, job.id, error=error))
            _say(job, "failed")
        except Exception:  # then it has failed once its time is over
            _LOG.exception("the end of a job could not be written down")


def _say(job: Job, event: str) -> None:
    _LOG.info({"event": f"job {event}", "job": job.id, "kind": job.kind})


# --- kinds of jobs -----------------------------------------------------------------------------


def _solve_sent(connection: Connection, book: Book, job: Job) -> Sent:
    return job.args


def _solve_kept(
    connection: Connection, book: Book, job: Job, sent: Sent, answer: Answer
) -> dict[str, Any]:
    name, _ = plans.keep(connection, answer["body"])
    return _result(name, answer)


def _replan_sent(connection: Connection, book: Book, job: Job) -> Sent:
    """Where the person is now, which may be further than when the job was asked for."""
    person = people.find(connection, job.args["person"])
    guide = book.guide(connection, person.plan)
    theirs = rounds.all_of(connection, person.id)
    waiting = next((each.number for each in theirs if each.is_open), person.rounds)
    start = [0] * len(person.counts)
    if people.is_on_first_plan(person):
        start = guide.words.counts(person.enrolled_with.get("start"), "start")
    return {
        "plan": plans.body_of(connection, person.plan),
        "start": start,
        "counts": person.counts,
        "position": person.position,
        "log": log_of(guide, [each for each in theirs if each.number >= person.plan_since]),
        "since": waiting,
        **{name: job.args[name] for name in ("method", "time_limit", "seed", "objective")},
    }


def _replan_kept(
    connection: Connection, book: Book, job: Job, sent: Sent, answer: Answer
) -> dict[str, Any]:
    """The new plan holds from the next round on; what came meanwhile counts as its first rounds."""
    person = people.find(connection, job.args["person"], to_change=True)
    words = book.guide(connection, person.plan).words
    name, _ = plans.keep(connection, answer["body"], person.id)
    since = sent["since"]
    meanwhile = rounds.all_of(connection, person.id)
    counts, position = rounds.counted(meanwhile, since, words.counted, [0] * len(words.labels))
    people.give_plan(connection, person, name, since=since, counts=counts, position=position)
    return {**_result(name, answer), "person": person.id, "from_round": person.rounds}


def _result(name: str, answer: Answer) -> dict[str, Any]:
    return {"plan": name, **{each: answer[each] for each in ("gap", "sure", "method", "seconds")}}


@dataclass(frozen=True)
class _JobKind:
    """One kind of job: the task in the pool, what it is sent, what is kept."""

    task: str
    sent: Callable[[Connection, Book, Job], Sent]
    kept: Callable[[Connection, Book, Job, Sent, Answer], dict[str, Any]]


_KINDS = {
    "solve": _JobKind("plan_anew", _solve_sent, _solve_kept),
    "replan": _JobKind("plan_from_here", _replan_sent, _replan_kept),
}
