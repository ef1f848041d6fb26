"""What people did, round by round, in the world's units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from preceptor._base.values import FloatArray
from preceptor.logs import Log
from preceptor.logs.in_world import in_world_units
from preceptor.model.world import World
from preceptor.people.acting import Imputer
from preceptor.people.person import Person


@dataclass(frozen=True, eq=False)
class Rounds:
    """Rounds of one person, or of many who were shown the same tests in every round.

    `shown` (T, n) and `told` (T,) are the same for all; `values` (..., T, n), 0 where a test was
    hidden, `answers` (..., T) and `outcomes` (..., T), NaN where nobody knows, are their own.
    """

    shown: npt.NDArray[np.bool_]
    told: npt.NDArray[np.bool_]
    values: FloatArray
    answers: FloatArray
    outcomes: FloatArray

    def __len__(self) -> int:
        return int(self.told.size)


def rounds_of(world: World, log: Log) -> dict[str, Rounds]:
    """The rounds of every person in a log, by name.

    Raises
    ------
    InvalidInput
        A log about other tests.
    """
    values, answers, outcomes = in_world_units(world, log)
    if world.is_binary and log.decided:
        # As scores: what decides moves a share of yes about as it moves the chance of it.
        answers = (answers - 0.5) / mean_slope(world)
    found = {}
    for name in log.participants:
        rows = log.participant == name
        found[name] = Rounds(
            log.shown[rows], log.told[rows], values[rows], answers[rows], outcomes[rows]
        )
    return found


def mean_slope(world: World) -> float:
    """How much the chance of yes rises per unit of score, over all cases; 1 for numbers."""
    if world.outcome is None:
        return 1.0
    link, spread = world.outcome.from_score, world.score_variance
    width = np.sqrt(link.scales**2 + spread)
    density = np.exp(-0.5 * (world.base_score / width) ** 2) / np.sqrt(2.0 * np.pi)
    return float(np.sum(link.weights * density / width))


def surprises(world: World, rounds: Rounds) -> FloatArray:
    """Outcomes minus what the best reader of the shown tests foresees (T,), of one person.

    Where outcomes are yes or no, the reader foresees the chance of yes, and a surprise counts as
    what it would take in scores.
    """
    reading = best_reading(world, rounds.shown)
    added_up = np.sum(reading * rounds.values, axis=1)
    if world.outcome is None:
        return np.asarray(rounds.outcomes - added_up)
    hidden = world.score_variance - reading @ world.covariance @ world.coefficients
    link = world.outcome.from_score
    chance = link.mean_probability(world.base_score + added_up, np.maximum(hidden, 0.0))
    return np.asarray((rounds.outcomes - chance) / mean_slope(world))


def alike(everybody: dict[str, Rounds]) -> list[tuple[list[str], Rounds]]:
    """People who were shown and told the same together: their names, and rounds (people, T)."""
    groups: dict[tuple[bytes, bytes], list[str]] = {}
    for name, rounds in everybody.items():
        groups.setdefault((rounds.shown.tobytes(), rounds.told.tobytes()), []).append(name)
    return [(names, together([everybody[name] for name in names])) for names in groups.values()]


def together(people: Sequence[Rounds]) -> Rounds:
    """Rounds of people who were shown and told the same, one after the other (people, T)."""
    n, length = people[0].shown.shape[1], len(people[0])
    return replace(
        people[0],
        values=np.concatenate([each.values.reshape(-1, length, n) for each in people]),
        answers=np.concatenate([each.answers.reshape(-1, length) for each in people]),
        outcomes=np.concatenate([each.outcomes.reshape(-1, length) for each in people]),
    )


def best_reading(world: World, shown: npt.NDArray[np.bool_]) -> FloatArray:
    """Weights (T, n) that predict best from what was shown in each round, 0 on what was hidden."""
    weights = np.zeros(shown.shape)
    covariance, target = world.covariance, world.covariance @ world.coefficients
    for pattern in np.unique(shown, axis=0):
        seen = np.flatnonzero(pattern)
        rows = np.all(shown == pattern, axis=1)
        if seen.size:
            best = np.linalg.solve(covariance[np.ix_(seen, seen)], target[seen])
            weights[np.ix_(rows, seen)] = best
    return weights


def filled_in(imputer: Imputer, shown: npt.NDArray[np.bool_], values: FloatArray) -> FloatArray:
    """All tests (..., T, n) as somebody has them in mind, from `values` (..., T, n)."""
    filled = np.zeros(values.shape)
    for pattern in np.unique(shown, axis=0):
        seen = np.flatnonzero(pattern)
        if seen.size:
            rows = np.flatnonzero(np.all(shown == pattern, axis=1))
            there = values[..., rows, :][..., seen]
            filled[..., rows, :] = there @ imputer.fill(tuple(seen.tolist()))
    return filled


def last_told(told: npt.NDArray[np.bool_], numbers: FloatArray) -> FloatArray:
    """Of `numbers` (..., T), in every round that of the last told round before; at first 0."""
    last = np.maximum.accumulate(np.where(told, np.arange(told.size), -1))
    before = np.concatenate([[-1], last])[:-1]
    return np.where(before >= 0, numbers[..., before], 0.0)


class Affine(NamedTuple):
    """Answers are `design` (..., T, n) times the first weights, plus `offset` (..., T)."""

    design: FloatArray
    offset: FloatArray


def affine_in_first_weights(world: World, person: Person, rounds: Rounds) -> Affine:
    """How answers follow from first weights, for people of one kind."""
    filled = filled_in(Imputer(person.imputing_covariance(world)), rounds.shown, rounds.values)
    people, n = rounds.values.shape[:-2], world.size
    state = person.fresh(world, people, None)
    turned = np.broadcast_to(np.eye(n), (*people, n, n)).copy()
    moved = np.zeros((*people, n))
    design, offset = np.empty(filled.shape), np.empty(filled.shape[:-1])
    for t in range(len(rounds)):
        case = filled[..., t, :]
        design[..., t, :] = np.squeeze(case[..., None, :] @ turned, -2)
        offset[..., t] = np.sum(case * moved, axis=-1)
        if rounds.told[t]:
            shown = np.broadcast_to(rounds.shown[t], (*people, n))
            truth = rounds.outcomes[..., t]
            turn, push = person.moves(world, state, case, shown, truth)
            state = person.learn(world, state, case, shown, truth)
            turned = turn @ turned
            moved = np.squeeze(turn @ moved[..., None], -1) + push
    return Affine(design, offset)


def played(
    world: World,
    person: Person,
    rounds: Rounds,
    initial: FloatArray | None = None,
    scatter: float = 0.0,
    rng: np.random.Generator | int | None = None,
) -> Rounds:
    """The same rounds with the answers of people of one kind, one for each leading position.

    `initial` (..., n) are their first weights if they differ from those of `person`; `scatter` is
    the standard deviation of answers around what weights say.
    """
    filled = filled_in(Imputer(person.imputing_covariance(world)), rounds.shown, rounds.values)
    people = rounds.values.shape[:-2]
    state = person.fresh(world, people, None)
    # The state says how fast weights move; the weights themselves may begin elsewhere.
    usual = person.weights_of(world, state)
    weights = usual if initial is None else np.broadcast_to(initial, usual.shape)
    answers = np.empty(rounds.values.shape[:-1])
    for t in range(len(rounds)):
        answers[..., t] = np.sum(weights * filled[..., t, :], axis=-1)
        if rounds.told[t]:
            shown = np.broadcast_to(rounds.shown[t], (*people, world.size))
            truth = rounds.outcomes[..., t]
            turn, push = person.moves(world, state, filled[..., t, :], shown, truth)
            state = person.learn(world, state, filled[..., t, :], shown, truth)
            weights = np.squeeze(turn @ weights[..., None], -1) + push
    if scatter:
        answers += scatter * np.random.default_rng(rng).standard_normal(answers.shape)
    return replace(rounds, answers=answers)
