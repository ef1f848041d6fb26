"""Logs read into posteriors over kinds, and where people did not follow their block."""

from __future__ import annotations

import math

import numpy as np

from preceptor.diagnosis.blocks import Block
from preceptor.diagnosis.kind_posterior import (
    Reading,
    expected_changes,
    labels_of,
    person_readings,
)
from preceptor.diagnosis.likelihoods import usual_prior
from preceptor.diagnosis.suspects import suspects
from preceptor.evidence.lockstep import alike, rounds_of
from preceptor.logs import Log
from preceptor.model.world import World
from preceptor.people.crowd import Crowd


def read_log(
    world: World,
    log: Log,
    people: Crowd | None = None,
    *,
    scatter: float | None = None,
    block: Block | None = None,
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

    Returns
    -------
    Reading
        An exact posterior for everybody.

    Raises
    ------
    InvalidInput
        A log about other tests.

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
    crowd = suspects(world) if people is None else people
    prior = usual_prior(world, scatter)
    labels = labels_of(world, crowd)
    everybody = alike(rounds_of(world, log))
    found = {
        person.name: person
        for names, rounds in everybody
        for person in person_readings(world, crowd, names, rounds, prior, labels)
    }
    probed = [
        (len(names), expected_changes(world, crowd, rounds, labels[0]))
        for names, rounds in everybody
        if any(found[name].change is not None for name in names)
    ]
    expected: dict[str, float] = {}
    if probed:
        counts = [count for count, _ in probed]
        means = {g: [each[g] for _, each in probed] for g in probed[0][1]}
        expected = finite({g: float(np.average(m, weights=counts)) for g, m in means.items()})
    doubts = () if block is None else tuple(_departures(block, log))
    return Reading(tuple(found[name] for name in log.participants), expected, doubts)


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
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            doubts.append(f"Note: {said} {'; '.join(found[:3])}{more}.")
    return doubts


def finite(numbers: dict[str, float]) -> dict[str, float]:
    """Those that are numbers."""
    return {name: number for name, number in numbers.items() if math.isfinite(number)}
