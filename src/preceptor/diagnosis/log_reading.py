"""Logs read into posteriors over kinds, and where people did not follow their block."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from preceptor._base.executors import executor_of
from preceptor._base.many import run_many
from preceptor._base.progress import Progress
from preceptor._base.words import first_few
from preceptor.diagnosis.blocks import Block
from preceptor.diagnosis.kind_posterior import (
    PersonReading,
    Prior,
    Reading,
    labels_of,
    person_readings,
    usual_prior,
)
from preceptor.diagnosis.suspects import require_number, suspects
from preceptor.evidence.lockstep import Rounds, alike, rounds_of
from preceptor.logs import Log
from preceptor.model.world import World
from preceptor.people.crowd import Crowd

# People who are read at once, at most.
_COMPANY = 32
_Company: TypeAlias = tuple[list[str], Rounds]


def read_log(
    world: World,
    log: Log,
    people: Crowd | None = None,
    *,
    scatter: float | None = None,
    block: Block | None = None,
    workers: int | None = 1,
    cluster: Any = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
) -> Reading:
    """What any log says about the kind of everybody in it, with first weights unknown.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    log
        What people were shown, answered and were told.
    people
        Whom to tell apart; everybody of `diagnose` if left out.
    scatter
        About how far answers scatter, in units of the outcome; the log says how far in fact.
    block
        The schedule that was to be followed; where the log differs, a doubt says so.
    workers
        In how many processes people are read; None is one for each core.
    cluster
        A `distributed.Client`, or the address of a scheduler, to read them on instead.
    resume
        A file that keeps who has been read, so that a run that was stopped goes on.
    progress
        Called as people are read.

    Returns
    -------
    Reading
        An exact posterior for everybody, the same wherever it was worked out.

    Raises
    ------
    InvalidInput
        A log about other tests.
    NotApplicable
        The outcome is yes or no; `fit_learner` weighs kinds then.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.simulation import rollout
    >>> world, person = pr.World.equicorrelated([1.0, 0.8], 0.8), pr.DeltaRule([0.2, 1.3], rate=0.1)
    >>> problem = pr.Problem(world, person, budget=1, horizon=60)
    >>> ann = person.acting(world, response_noise=0.2)
    >>> log = rollout(problem, pr.Stationary((0,)), 60, people=1, rng=0, human=ann).log
    >>> [each.group for each in read_log(world, log).people]
    ['by outcomes']
    """
    require_number(world)
    crowd = suspects(world) if people is None else people
    prior = usual_prior(world, scatter)
    labels = labels_of(world, crowd)
    companies = [part for each in alike(rounds_of(world, log)) for part in _companies(*each)]
    with executor_of(workers, cluster) as executor:
        answers = run_many(
            functools.partial(_read_company, world=world, crowd=crowd, prior=prior, labels=labels),
            companies,
            executor=executor,
            journal=resume,
            key=functools.partial(_key, asked=(world.to_json(), crowd.to_json(), repr(scatter))),
            pack=lambda people: [person.to_dict() for person in people],
            unpack=lambda people: [PersonReading.from_dict(person) for person in people],
            progress=progress,
            noun="people",
        )
    found = {person.name: person for people in answers for person in people}
    doubts = () if block is None else tuple(_departures(block, log))
    return Reading(tuple(found[name] for name in log.participants), doubts)


def _companies(names: list[str], rounds: Rounds) -> Iterator[_Company]:
    """People who were shown the same, so many at a time; sizes do not depend on who reads them."""
    for first in range(0, len(names), _COMPANY):
        some = slice(first, first + _COMPANY)
        part = replace(
            rounds,
            values=rounds.values[some],
            answers=rounds.answers[some],
            outcomes=rounds.outcomes[some],
        )
        yield names[some], part


def _read_company(
    company: _Company, world: World, crowd: Crowd, prior: Prior, labels: Any
) -> list[PersonReading]:
    return person_readings(world, crowd, *company, prior, labels)


def _key(company: _Company, asked: tuple[str, ...]) -> str:
    """Covers the people, their rounds, and whom to tell apart."""
    names, rounds = company
    digest = hashlib.sha256("\n".join([*asked, *names]).encode())
    for array in (rounds.shown, rounds.told, rounds.values, rounds.answers, rounds.outcomes):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _departures(block: Block, log: Log) -> list[str]:
    """Where people were not shown or told what the block says; one sentence for each kind."""
    doubts, told, shown, short = [], [], [], []
    for name in log.participants:
        rows = np.flatnonzero(log.participant == name)
        if rows.size != len(block):
            short.append(f"{name} ({rows.size})")
        for row, planned in zip(rows, block.rounds, strict=False):
            where = f"{name}, round {log.rounds[row]}"
            if bool(log.told[row]) != planned.feedback:
                told.append(where)
            if {log.names[i] for i in np.flatnonzero(log.shown[row])} != set(planned.show):
                shown.append(where)
    for found, said in (
        (short, f"The block has {len(block)} rounds, but there are others for"),
        (shown, "Other tests were shown than the block says to"),
        (told, "Whether the outcome was told differs from the block for"),
    ):
        if found:
            doubts.append(f"Note: {said} {first_few(found, 3, separator='; ')}.")
    return doubts
