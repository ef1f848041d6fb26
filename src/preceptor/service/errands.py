"""Kinds of jobs: what a desk is given to do, and what is kept of its answer.

`sent` reads within one moment of the store; what it gives goes to the desk. `kept` writes what came
back, in the transaction that ends the job, and gives the job's result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from preceptor.service.book import Book
from preceptor.service.following import log_of
from preceptor.store import people, plans, rounds
from preceptor.store.jobs import Job

Sent = dict[str, Any]
Answer = Mapping[str, Any]


@dataclass(frozen=True)
class Errand:
    """One kind of job: the task at the desk, what it is sent, what is kept."""

    task: str
    sent: Callable[[Connection, Book, Job], Sent]
    kept: Callable[[Connection, Book, Job, Sent, Answer], dict[str, Any]]


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


ERRANDS = {
    "solve": Errand("plan_anew", _solve_sent, _solve_kept),
    "replan": Errand("plan_from_here", _replan_sent, _replan_kept),
}
