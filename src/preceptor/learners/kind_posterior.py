"""Posterior over kinds for every participant of a log, with the families of `fit` or a crowd.

By default the posterior is that of `fit_learner`. The members of a crowd are hypotheses too, one
each: their answers are affine in the first weights (`Person.moves`), so that the likelihood is that
of `posterior.py`. A tutor that follows the same crowd gives the same round by round; this module is
for thousands of people who were shown the same sets.

Three groups are distinguished: people who do not learn, who learn by showings, and who learn from
outcomes. In the crowd of `candidate_learners` each group has the same prior weight, so that the
posterior reflects the answers; within a group, rates are those of published experiments.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.many import run_many
from preceptor._base.parallel import executor_of
from preceptor._base.progress import Progress
from preceptor._base.values import FloatArray, Value
from preceptor._base.words import first_few, listed
from preceptor.data.log import Log
from preceptor.errors import NotApplicable
from preceptor.learners.diagnostic_blocks import Block
from preceptor.learners.families import NONE, OUTCOMES, SHOWINGS, SURE, kappa_in_words
from preceptor.learners.populations import weigh_people
from preceptor.learners.posterior import (
    NONE_OF_THESE,
    PRIOR,
    PROCESS_NOISE,
    STRANGERS_KAPPA,
    Gaussian,
    ToldRounds,
    first_spread,
    over_widths,
    root_of,
    stranger_rows,
    with_nuisances,
)
from preceptor.learners.records import (
    FARTHEST,
    AnsweredRounds,
    affine_in_first_weights,
    alike,
    filled_in,
    last_told,
    rounds_of,
)
from preceptor.learners.weighing import Weighed
from preceptor.model.person import Person
from preceptor.model.world import World
from preceptor.people.acting import Imputer
from preceptor.people.by_showings import Learner
from preceptor.people.coordinatewise import NoLearning
from preceptor.people.crowd import Crowd
from preceptor.people.curves import Geometric
from preceptor.people.folding import Folding
from preceptor.people.outcome_learners import DeltaRule

KNOWING, IGNORING = "knowing correlations", "ignoring correlations"
# Medians of the fifths of ln rate ~ N(ln .05, 1.1).
USUAL_RATES = tuple(0.05 * math.exp(1.1 * z) for z in (-1.2816, -0.5244, 0.0, 0.5244, 1.2816))
# Share of the error that remains in people who learn by showings: none, and the usual one.
_FLOORS = (0.0, 0.4)


def candidate_learners(world: World, initial: npt.ArrayLike | None = None) -> Crowd:
    """Return all candidate learners.

    Parameters
    ----------
    world
        Joint distribution of tests and outcome.
    initial
        First weights, shape (n,); 0 by default.

    Returns
    -------
    Crowd
        A third for each group, divided among rates and ways to fill in hidden tests.
    """
    first = np.zeros(world.size) if initial is None else np.asarray(initial, dtype=np.float64)
    people: dict[str, tuple[Person, float]] = {}
    variance = float(np.mean(np.diag(world.covariance)))
    fills = ((KNOWING, 0.0), (IGNORING, 1.0))
    for how, kappa in fills:
        people[f"not learning, {how}"] = (NoLearning(first, kappa), 1 / (3 * len(fills)))
        for rate in USUAL_RATES:
            share = 1 / (3 * len(fills) * len(USUAL_RATES))
            step = DeltaRule(first, rate / variance, kappa)
            people[f"by outcomes, {how}, rate {rate:.2g}"] = (step, share)
            for floor in _FLOORS:
                # A curve gives what is left of squared errors, so shares are squared.
                curve = Geometric(1.0 / (1.0 - rate), floor=floor**2)
                name = f"by showings, {how}, rate {rate:.2g}, floor {floor:g}"
                people[name] = (Learner(first, curve, kappa), share / len(_FLOORS))
    return Crowd(people)


def posterior_over(
    world: World,
    people: Crowd,
    rounds: AnsweredRounds,
    spread: FloatArray,
    process_noise: float = 0.0,
) -> FloatArray:
    """Posterior probability of every member of a crowd, and last that none is right.

    Parameters
    ----------
    world
        Joint distribution of tests and outcome, which is a number.
    people
        The hypotheses, with their prior weights.
    rounds
        What people were shown and answered.
    spread
        Standard deviation (n,) of first weights around those of each member.
    process_noise
        Variance added to every weight per told round, as a share of its prior variance.

    Returns
    -------
    array of shape (..., members + 1)
        For each person.
    """
    unit, sds = np.sqrt(world.outcome_variance), np.sqrt(np.diag(world.covariance))
    said = np.clip(rounds.answers / unit, -FARTHEST, FARTHEST)
    off = rounds.outcomes / unit - said
    surprises = last_told(rounds.told, off)
    answers = said - PRIOR.follow_mean * surprises

    def log_evidence(
        rows: FloatArray, known: FloatArray, level: FloatArray | None = None
    ) -> FloatArray:
        columns = with_nuisances(rows, surprises, PRIOR, level)
        length, size = columns.shape[-2:]
        flat = (columns.reshape(-1, length, size), known.reshape(-1, length))
        logs = Gaussian().at_widths(*flat, answers.reshape(-1, length)).logs
        return over_widths(logs).log_evidence.reshape(answers.shape[:-1])

    logs, drift = [], np.sqrt(process_noise) * spread if process_noise else None
    firsts = [
        each.weights_of(world, each.fresh(world, (), None)) for each in people.people.values()
    ]
    for person, first in zip(people.people.values(), firsts, strict=True):
        design, offset, level = affine_in_first_weights(world, person, rounds, drift)
        known = (offset + design[..., : world.size] @ first) / unit
        if level is not None:
            known += level * (person.level_of(world, person.fresh(world, (), None)) / unit)
        rows = design / unit
        rows[..., : world.size] *= spread
        if drift is not None:
            rows = root_of(rows @ rows.swapaxes(-1, -2))
        logs.append(log_evidence(rows, known, level))
    mean = people.weights @ np.array(firsts)
    omega = NoLearning(mean, STRANGERS_KAPPA).imputing_covariance(world)
    filled = filled_in(Imputer(omega), rounds.shown, rounds.values)
    all_rounds = ToldRounds(rounds.values / sds, rounds.outcomes / unit, off)
    standard = spread * sds / unit
    rows = stranger_rows(
        all_rounds, rounds.shown, rounds.told, filled / sds, standard, process_noise=process_noise
    )
    logs.append(log_evidence(rows, filled @ mean / unit))
    prior = np.append((1.0 - PRIOR.none_of_these) * people.weights, PRIOR.none_of_these)
    found = np.stack(logs, axis=-1) + np.log(prior)
    shares_of = np.exp(found - found.max(axis=-1, keepdims=True))
    return np.asarray(shares_of / shares_of.sum(axis=-1, keepdims=True))


def group_of(world: World, person: Person) -> str:
    """Return which of the three groups a person belongs to, judged by how their weights move.

    People who fold hidden tests into shown ones count as learning from outcomes, whose weights they
    reach without looking at them. The level that some people learn too does not matter here.

    Examples
    --------
    >>> import preceptor as pr
    >>> group_of(pr.World([1.0], [[1.0]]), pr.DeltaRule([0.0], rate=0.1))
    'by outcomes'
    """
    n = world.size
    deviations = np.sqrt(np.diag(world.covariance))
    shown = np.ones(n, dtype=np.bool_)
    state = person.fresh(world, (), None)
    truths = (0.0, math.sqrt(world.outcome_variance))
    moves = [person.moves(world, state, deviations, shown, np.asarray(y)) for y in truths]
    turn, push = moves[0].turn[:n], moves[0].push[:n]
    if not np.allclose(push, moves[1].push[:n]):
        return OUTCOMES
    if np.allclose(turn, np.eye(n, turn.shape[1])) and np.allclose(push, 0.0):
        return NONE
    if isinstance(person, Folding) and person.folding > 0.5:
        return OUTCOMES
    return SHOWINGS


def fills_in(person: Person) -> str | None:
    """Whether a person knows or ignores correlations; None for anything in between."""
    if isinstance(person.imputation, np.ndarray) or person.imputation not in (0.0, 1.0):
        return None
    return KNOWING if person.imputation == 0.0 else IGNORING


def shares(labels: Sequence[str | None], weights: FloatArray) -> dict[str, FloatArray]:
    """Sum weights (..., members) by label, leaving out members without one."""
    names = list(dict.fromkeys(label for label in labels if label is not None))
    return {name: weights[..., [label == name for label in labels]].sum(axis=-1) for name in names}


class Labels(NamedTuple):
    """Group of every member of a crowd, and how they fill in hidden tests."""

    groups: list[str]
    fills: list[str | None]

    @property
    def both(self) -> list[str]:
        """Group and imputation as one label."""
        return [f"{group}, {fill}" for group, fill in zip(self.groups, self.fills, strict=True)]


def labels_of(world: World, people: Crowd) -> Labels:
    """Label the members of a crowd."""
    members = [member.person for member in people.members]
    return Labels([group_of(world, person) for person in members], [fills_in(p) for p in members])


@dataclass(frozen=True, eq=False)
class PersonReading(Value):
    """Posterior for one person: probabilities of groups, imputation, and members of the crowd."""

    name: str
    groups: dict[str, float]
    fills: dict[str, float]
    members: dict[str, float]
    rounds: int

    @property
    def group(self) -> str | None:
        """The group with a probability of at least 0.9, if any."""
        name, share = max(self.groups.items(), key=lambda item: item[1])
        return name if share >= SURE else None

    def in_words(self) -> str:
        """Summarise in one line."""
        parts = [f"{group} {share:.2f}" for group, share in self.groups.items()]
        fills = [f"{how} {share:.2f}" for how, share in self.fills.items()]
        text = f"{self.name}: {self.group or 'not decided'} ({', '.join(parts)}"
        return f"{text}; {', '.join(fills)})" if fills else f"{text})"


@dataclass(frozen=True, eq=False)
class LogReading(Value):
    """Posterior over kinds for every participant of a log.

    Attributes
    ----------
    people
        One reading for each person.
    doubts
        Caveats, one sentence each.
    """

    people: tuple[PersonReading, ...]
    doubts: tuple[str, ...] = ()

    def in_words(self) -> str:
        """One line per person, the average over people, and doubts."""
        lines = [person.in_words() for person in self.people]
        if len(self.people) > 1:
            names = list(self.people[0].groups)
            average = [np.mean([p.groups[g] for p in self.people]) for g in names]
            said = listed([f"{a:.2f} {g}" for g, a in zip(names, average, strict=True)])
            lines.append(f"On average over {len(self.people):,} people: {said}.")
        return "\n".join([*lines, *self.doubts])


def require_number(world: World) -> None:
    """Reject worlds whose outcome is yes or no: folding of hidden tests is known for numbers only.

    Raises
    ------
    NotApplicable
        The outcome is yes or no.
    """
    if world.is_binary:
        raise NotApplicable(
            "diagnose: the outcome is yes or no, and diagnostic blocks are available for numeric "
            "outcomes only; `fit_learner` weighs kinds from any log of probabilities or decisions"
        )


def read_log(
    world: World,
    log: Log,
    people: Crowd | None = None,
    *,
    spread: FloatArray | None = None,
    process_noise: float = PROCESS_NOISE,
    block: Block | None = None,
    workers: int | None = 1,
    cluster: Any = None,
    resume: str | Path | None = None,
    progress: Progress | None = None,
) -> LogReading:
    """Compute the posterior over kinds for every participant of a log, with unknown first weights.

    Parameters
    ----------
    world
        Joint distribution of tests and outcome.
    log
        What people were shown, answered and were told.
    people
        The hypotheses, if only these people are possible; by default the families of
        `fit_learner`, which gives the same probabilities.
    spread
        Standard deviation (n,) of first weights around those of `people`; by default that of
        `posterior.PRIOR`, as of a `Tutor`.
    process_noise
        As of a `Tutor`; matters only to `people`.
    block
        The intended schedule; a doubt reports where the log departs from it.
    workers
        Number of worker processes; None is one per core.
    cluster
        A `distributed.Client`, or the address of a scheduler, to use instead.
    resume
        A checkpoint file, so that an interrupted run can continue; not needed for `people`, who
        are read many at a time.
    progress
        Called as people are finished.

    Returns
    -------
    LogReading
        A posterior for every person, the same for any number of workers.

    Raises
    ------
    InvalidInput
        The log is about other tests.
    NotApplicable
        The outcome is yes or no and `people` are given.

    Examples
    --------
    >>> import preceptor as pr
    >>> from preceptor.simulation.rollouts import rollout
    >>> world, person = pr.World.equicorrelated([1.0, 0.8], 0.8), pr.DeltaRule([0.2, 1.3], rate=0.1)
    >>> problem = pr.Problem(world, person, budget=1, horizon=60)
    >>> ann = person.acting(world, response_noise=0.2)
    >>> log = rollout(problem, pr.Stationary((0,)), 60, people=1, rng=0, human=ann).log
    >>> [each.group for each in read_log(world, log).people]
    ['by outcomes']
    """
    if people is None:
        weighed = weigh_people(
            world, log, workers=workers, cluster=cluster, resume=resume, progress=progress
        )
        read = [_reading(name, each) for name, each in weighed.people.items()]
    else:
        require_number(world)
        around = first_spread(world) if spread is None else spread
        read_group = functools.partial(_crowd_readings, world, people, around, process_noise)
        groups = alike(rounds_of(world, log))
        with executor_of(workers, cluster) as executor:
            found = run_many(
                read_group, groups, executor=executor, progress=progress, noun="people"
            )
        by_name = {person.name: person for group in found for person in group}
        read = [by_name[name] for name in log.participants]
    doubts = () if block is None else tuple(_departures(block, log))
    return LogReading(tuple(read), doubts)


def _reading(name: str, weighed: Weighed) -> PersonReading:
    fills = {kappa_in_words(dial): share for dial, share in weighed.dials.items()}
    return PersonReading(name, weighed.groups, fills, weighed.families, weighed.rounds)


def _crowd_readings(
    world: World,
    people: Crowd,
    spread: FloatArray,
    process_noise: float,
    group: tuple[list[str], AnsweredRounds],
) -> list[PersonReading]:
    """Posteriors of people who were shown the same sets, one for each leading position."""
    names, rounds = group
    posterior = posterior_over(world, people, rounds, spread, process_noise)
    by_group, by_fill = (shares([*each, None], posterior) for each in labels_of(world, people))
    by_group |= {NONE_OF_THESE: posterior[:, -1]}
    known = np.sum(list(by_fill.values()), axis=0)
    members = (*people.names, NONE_OF_THESE)
    return [
        PersonReading(
            name,
            {group: float(share[i]) for group, share in by_group.items()},
            {how: float(share[i] / known[i]) for how, share in by_fill.items() if known[i] > 0},
            dict(zip(members, posterior[i].tolist(), strict=True)),
            len(rounds),
        )
        for i, name in enumerate(names)
    ]


def _departures(block: Block, log: Log) -> Iterator[str]:
    """Report where people were not shown or told what the block says, one sentence per kind."""
    told, shown, short = [], [], []
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
        (short, f"The block has {len(block)} rounds, but the log has another number for"),
        (shown, "The tests shown differ from the block for"),
        (told, "Whether the outcome was told differs from the block for"),
    ):
        if found:
            yield f"Note: {said} {first_few(found, 3, separator='; ')}."
