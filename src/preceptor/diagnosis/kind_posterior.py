"""Who somebody is, by their answers: an exact posterior over kinds and ways to fill in.

Every member of a crowd is one hypothesis. Given the record, weights are affine in the first ones
(`Person.moves`), so answers are

    answers = A h_0 + c + constant + g x last surprise + scatter,

and everything unknown but the scatter is normal: it integrates out exactly, for all scatters at
once after one decomposition; the scatter is summed over a grid. `people/followed.py` gives the same
round by round; this is for thousands of people who were shown the same sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from preceptor._base.values import FloatArray, Value
from preceptor._base.words import counted, listed
from preceptor.diagnosis.suspects import fills_in, group_of, shares
from preceptor.evidence.families import SURE as SURE
from preceptor.evidence.lockstep import Rounds, affine_in_first_weights, last_told
from preceptor.model.world import World
from preceptor.people.crowd import Crowd
from preceptor.people.person import Person


class Prior(NamedTuple):
    """What is known before the first answer.

    `spread` is the standard deviation of each first weight (n,) around those of the kind,
    `constant` that of a constant by which answers are off; `level` are mean and standard deviation
    of the share of the last surprise that answers follow. `scatters` (s,) are the standard
    deviations of answers that are thought possible, with probabilities `weights` (s,).
    """

    spread: FloatArray
    constant: float
    level: tuple[float, float]
    scatters: FloatArray
    weights: FloatArray


def usual_prior(world: World, scatter: float | None = None) -> Prior:
    """What published experiments make likely, in the units of a world.

    First weights lie within half a standard deviation of the outcome of what they are taken to be,
    per standard deviation of a test; a constant within a quarter. Answers follow a fifth of the
    last surprise, give or take 0.3. Scatter is log-normal around half a standard deviation of the
    outcome, or around `scatter`.
    """
    deviation = np.sqrt(world.outcome_variance)
    middle = 0.5 * deviation if scatter is None else scatter
    steps = np.linspace(-1.5, 1.5, 7)
    weights = np.exp(-0.5 * steps**2)
    return Prior(
        0.5 * deviation / np.sqrt(np.diag(world.covariance)),
        0.25 * float(deviation),
        (0.2, 0.3),
        middle * np.exp(0.5 * steps),
        weights / weights.sum(),
    )


def log_evidence(world: World, person: Person, rounds: Rounds, prior: Prior) -> FloatArray:
    """Logarithm of the density of all answers (..., s), for each scatter.

    Parameters
    ----------
    world
        How tests and outcomes come about.
    person
        Kind, its parameters, and the mean of the first weights.
    rounds
        What they were shown and answered.
    prior
        What is not known about them.

    Returns
    -------
    array of shape (..., s)
        For each person and each scatter of the prior.
    """
    design, offset = affine_in_first_weights(world, person, rounds)
    surprise = last_told(rounds.told, rounds.outcomes - rounds.answers)
    first = person.weights_of(world, person.fresh(world, (), None))
    left = rounds.answers - offset - design @ first - prior.level[0] * surprise
    columns = np.concatenate(
        [
            design * prior.spread,
            np.full((*surprise.shape, 1), prior.constant),
            prior.level[1] * surprise[..., None],
        ],
        axis=-1,
    )
    # With C the columns, answers vary by CC' + s²: in the eigenvectors of C'C that is diagonal.
    inner = np.swapaxes(columns, -1, -2) @ columns
    values, vectors = np.linalg.eigh(inner)
    values = np.maximum(values, 0.0)
    along = np.squeeze(left[..., None, :] @ columns @ vectors, -2)
    scatter = prior.scatters**2
    total = values[..., None, :] + scatter[:, None]
    explained = np.sum(along[..., None, :] ** 2 / total, axis=-1)
    squares = (np.sum(left**2, axis=-1)[..., None] - explained) / scatter
    length, size = columns.shape[-2:]
    logs = np.sum(np.log(total), axis=-1) + (length - size) * np.log(scatter)
    density: FloatArray = -0.5 * (squares + logs + length * np.log(2.0 * np.pi))
    return density


def posterior_over(world: World, people: Crowd, rounds: Rounds, prior: Prior) -> FloatArray:
    """Probability of every member of a crowd (..., members), given the answers."""
    logs = [log_evidence(world, m.person, rounds, prior) for m in people.members]
    evidence = np.stack(logs, axis=-2) + np.log(prior.weights)
    most = evidence.max(axis=(-1, -2), keepdims=True)
    by_member = np.exp(evidence - most).sum(axis=-1) * people.weights
    posterior: FloatArray = by_member / by_member.sum(axis=-1, keepdims=True)
    return posterior


def labels_of(world: World, people: Crowd) -> tuple[list[str | None], list[str | None]]:
    """The group of every member, and how they fill in."""
    members = [member.person for member in people.members]
    return [group_of(world, person) for person in members], [fills_in(p) for p in members]


@dataclass(frozen=True, eq=False)
class PersonReading(Value):
    """What is known about one person: probabilities of groups, ways to fill in, and members."""

    name: str
    groups: dict[str, float]
    fills: dict[str, float]
    members: dict[str, float]
    rounds: int

    @property
    def group(self) -> str | None:
        """The group with a probability of at least 0.9, if there is one."""
        name, share = max(self.groups.items(), key=lambda item: item[1])
        return name if share >= SURE else None

    def in_words(self) -> str:
        """One line."""
        parts = [f"{group} {share:.2f}" for group, share in self.groups.items()]
        fills = [f"{how} {share:.2f}" for how, share in self.fills.items()]
        verdict = f"{self.group}" if self.group is not None else "not decided"
        text = f"{self.name}: {verdict} ({', '.join(parts)}"
        return f"{text}; {', '.join(fills)})" if fills else f"{text})"


@dataclass(frozen=True, eq=False)
class Reading(Value):
    """What a log says about the kind of everybody in it.

    Attributes
    ----------
    people
        One reading for each person.
    doubts
        What to be wary of, in sentences.
    """

    people: tuple[PersonReading, ...]
    doubts: tuple[str, ...] = ()

    def in_words(self) -> str:
        """Everybody's line, the average over people, and doubts."""
        lines = [person.in_words() for person in self.people]
        if len(self.people) > 1:
            names = list(self.people[0].groups)
            average = [np.mean([p.groups[g] for p in self.people]) for g in names]
            said = listed([f"{a:.2f} {g}" for g, a in zip(names, average, strict=True)])
            lines.append(f"On average over {counted(len(self.people), 'person')}: {said}.")
        return "\n".join([*lines, *self.doubts])


def person_readings(
    world: World,
    people: Crowd,
    names: Sequence[str],
    rounds: Rounds,
    prior: Prior,
    labels: tuple[list[str | None], list[str | None]],
) -> list[PersonReading]:
    """The posteriors of people who were shown the same sets, one for each leading position."""
    posterior = posterior_over(world, people, rounds, prior)
    by_group, by_fill = (shares(each, posterior) for each in labels)
    known = np.sum(list(by_fill.values()), axis=0)
    return [
        PersonReading(
            name,
            {group: float(share[i]) for group, share in by_group.items()},
            {how: float(share[i] / known[i]) for how, share in by_fill.items() if known[i] > 0},
            dict(zip(people.names, posterior[i].tolist(), strict=True)),
            len(rounds),
        )
        for i, name in enumerate(names)
    ]
