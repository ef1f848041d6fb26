"""Planning from where somebody is: after so many showings, or after the rounds of a log.

People who learn by showings need counts only. Whoever learns from outcomes is followed through the
log, round by round; where there are only counts, through cases drawn like those of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from preceptor._base.checks import is_count
from preceptor._base.values import FloatArray
from preceptor._base.words import as_known, first_few
from preceptor.errors import InvalidInput
from preceptor.evaluation.expectations import people_of
from preceptor.logs import Log
from preceptor.logs.in_world import in_world_units, require_tests
from preceptor.model.world import World
from preceptor.people.acting import Imputer
from preceptor.people.crowd import Crowd
from preceptor.people.followed import Followed
from preceptor.people.person import Person
from preceptor.plan import Plan
from preceptor.problem import Problem
from preceptor.tables import Reading

# Counts alone do not say which cases somebody saw: so many typical histories are averaged.
_HISTORIES = 128
# After so many rounds another one changes next to nothing.
_MOST_ROUNDS = 400


@dataclass(frozen=True, eq=False)
class SoFar:
    """What one person has been through.

    Attributes
    ----------
    counts
        How often they were shown each column and told the outcome, n of them.
    log
        Their rounds; None where only counts are known, or there have been none.
    rounds
        How many cases they have had; None where only counts are known.
    """

    counts: tuple[int, ...]
    log: Log | None = None
    rounds: int | None = None

    @classmethod
    def nothing(cls, world: World) -> SoFar:
        """Somebody new."""
        return cls((0,) * world.size, None, 0)


def so_far_from(
    world: World,
    *,
    shown: Mapping[str, int] | None = None,
    log: Log | str | Path | None = None,
    participant: str | None = None,
    reading: Reading | None = None,
) -> SoFar | None:
    """What is known about somebody, from counts by name or from a log; None if neither is given.

    Parameters
    ----------
    world
        Whose tests they are.
    shown
        How often they have seen each test, by name; tests that are not named were never shown.
    log
        What they were shown and told, or the path of such a file.
    participant
        Who in the log, if there are several.
    reading
        How the table is read; files of logs are written alike.

    Returns
    -------
    SoFar or None
        Their showings, and their rounds where there is a log.

    Raises
    ------
    InvalidInput
        Both are given, a test or a participant is not known, or a count makes no sense.
    """
    if shown is not None and log is not None:
        raise InvalidInput("shown: `log` says already what was shown; leave one of them out")
    if shown is not None:
        return SoFar(_counts_by_name(world, shown))
    if log is None:
        return None
    found = log
    if not isinstance(found, Log):
        how = None if reading is None else reading.for_log(found)
        found = Log.read(found, world, reading=how)
    require_tests(world, found)
    if participant is None and len(found.participants) > 1:
        people = first_few(found.participants, 8)
        raise InvalidInput(f"participant: say who; in the log are {people}")
    return after_log(found if participant is None else found.for_participant(participant))


def after_log(log: Log) -> SoFar:
    """What one person has been through by the end of their log."""
    taught = log.shown & log.told[:, None]
    return SoFar(tuple(taught.sum(axis=0).tolist()), log, len(log))


def from_here(problem: Problem, so_far: SoFar) -> Problem:
    """The same problem for somebody who has been through this; its cases count from now.

    Parameters
    ----------
    problem
        As it would be for somebody new.
    so_far
        What they have seen.

    Returns
    -------
    Problem
        With showings before (`start`) for people who learn by showings; for others with a person
        who goes on as this one would.

    Raises
    ------
    NotApplicable
        A kind of person that does not say how it goes on.
    """
    if problem.learns_by_showings:
        before = np.add(problem.start_counts, so_far.counts)
        return problem.replace(start=before.tolist())
    now = {
        name: _person_now(problem, person, so_far) for name, person in people_of(problem).items()
    }
    if not isinstance(problem.learner, Crowd):
        return problem.replace(learner=next(iter(now.values())), start=None)
    shares = problem.learner.weights.tolist()
    crowd = Crowd({name: (now[name], share) for name, share in zip(now, shares, strict=True)})
    return problem.replace(learner=crowd, start=None)


def remembering(plan: Plan, so_far: SoFar) -> Plan:
    """The plan, knowing what its person had been through before its first case."""
    return replace(plan, seen_before=so_far.counts, rounds_before=so_far.rounds or 0)


def since_the_plan(plan: Plan, so_far: SoFar) -> SoFar:
    """What somebody has been through since a plan was made for them.

    Raises
    ------
    InvalidInput
        The rounds after which the plan was made are not in the log.
    """
    log, before = so_far.log, plan.rounds_before
    if not before:
        return so_far
    if log is None or len(log) < before or after_log(log.head(before)).counts != plan.seen_before:
        raise InvalidInput(
            f"log: the plan was made after {before} rounds of this person, which are not how this "
            "log begins; give the log that it was planned with, or plan again"
        )
    if len(log) == before:
        return SoFar.nothing(plan.problem.world)
    return after_log(log.tail(len(log) - before))


def _counts_by_name(world: World, shown: Mapping[str, int]) -> tuple[int, ...]:
    known = list(dict.fromkeys((*world.tests, *world.labels)))
    called, faults = as_known("shown", shown, known)
    faults += [
        f"shown: {name!r} {count!r} times, must be a whole number of at least 0"
        for name, count in shown.items()
        if not is_count(count, least=0)
    ]
    InvalidInput.raise_if(faults)
    counts = [0] * world.size
    for name, count in shown.items():
        for column in world.columns_of([called[name]]):
            counts[column] = int(count)
    return tuple(counts)


def _person_now(problem: Problem, person: Person, so_far: SoFar) -> Person:
    """Somebody who goes on as this person would after what they have been through."""
    world = problem.world
    start = None if person.start_faults(problem.start) else problem.start
    if so_far.log is not None:
        return _through(Followed.begin(world, person, start=start), so_far.log).now()
    counts = np.add(start or (0,) * world.size, so_far.counts)
    if not person.start_faults(counts.tolist()):
        state = person.fresh(world, (), counts.tolist())
        return person.from_here(world, state, person.weights_of(world, state))
    return _after_a_typical_history(world, person, counts)


def _through(followed: Followed, log: Log) -> Followed:
    """After all rounds of a log whose outcome was told."""
    values, _, outcomes = in_world_units(followed.world, log)
    for row in np.flatnonzero(log.told).tolist():
        seen = tuple(np.flatnonzero(log.shown[row]).tolist())
        filled = followed.filled(seen, values[row, list(seen)])
        followed = followed.told(filled, log.shown[row], float(outcomes[row]))
    return followed


def _after_a_typical_history(world: World, person: Person, counts: FloatArray) -> Person:
    """Somebody with the average weights of people who saw so many cases of this world."""
    most = int(counts.max())
    rounds = min(most, _MOST_ROUNDS)
    turns = np.arange(rounds + 1)[:, None] * (counts / max(most, 1))
    shown = np.diff(np.floor(turns + 1e-9), axis=0) > 0
    imputer = Imputer(person.imputing_covariance(world))
    drawn = world.sample(_HISTORIES * rounds, rng=0)
    features = drawn.features.reshape(rounds, _HISTORIES, world.size)
    outcomes = drawn.outcomes.reshape(rounds, _HISTORIES)
    everybody, one = person.fresh(world, (_HISTORIES,), None), person.fresh(world, (), None)
    for t in range(rounds):
        seen = tuple(np.flatnonzero(shown[t]).tolist())
        filled = features[t][:, list(seen)] @ imputer.fill(seen)
        mask = np.broadcast_to(shown[t], filled.shape)
        everybody = person.learn(world, everybody, filled, mask, outcomes[t])
        one = person.learn(world, one, filled[0], shown[t], outcomes[t, 0])
    weights = person.weights_of(world, everybody).mean(axis=0)
    return person.from_here(world, one, weights)
