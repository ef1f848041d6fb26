"""People who play rounds, for tests: thousands at once, all shown the same sets."""

from __future__ import annotations

import numpy as np

from preceptor.data.log import Log
from preceptor.learners.records import AnsweredRounds, simulate_answers


def rounds_with(world, shown, people, rng, told=None):
    """Cases for so many people; nobody has answered yet."""
    shown = np.asarray(shown, dtype=bool)
    length, n = shown.shape
    cases = world.sample(people * length, rng)
    values = np.where(shown, cases.features.reshape(people, length, n), 0.0)
    outcomes = cases.outcomes.reshape(people, length)
    told = np.ones(length, dtype=bool) if told is None else np.asarray(told, dtype=bool)
    return AnsweredRounds(shown, told, values, np.zeros_like(outcomes), outcomes)


def one_by_one(rounds):
    """The same as a list with one entry for each person."""
    return [
        AnsweredRounds(rounds.shown, rounds.told, *parts)
        for parts in zip(rounds.values, rounds.answers, rounds.outcomes, strict=True)
    ]


def random_pairs(n, length, rng):
    shown = np.zeros((length, n), dtype=bool)
    for row in shown:
        row[rng.choice(n, 2, replace=False)] = True
    return shown


def crowd(world, person, shown, people, rng, scatter=0.6, told=None):
    """People of one kind with scatter in standard deviations of the outcome, one by one."""
    rounds = rounds_with(world, shown, people, rng, told)
    sd = scatter * np.sqrt(world.outcome_variance)
    return one_by_one(simulate_answers(world, person, rounds, scatter=sd, rng=rng))


def log_of(world, people):
    """Rounds of people as a log."""
    rows = [(f"p{i}", t, r) for i, r in enumerate(people) for t in range(len(r))]
    return Log(
        world.labels,
        [name for name, _, _ in rows],
        [t + 1 for _, t, _ in rows],
        [r.shown[t] for _, t, r in rows],
        [np.where(r.shown[t], r.values[t], np.nan) for _, t, r in rows],
        [r.answers[t] for _, t, r in rows],
        [r.outcomes[t] if r.told[t] else np.nan for _, t, r in rows],
    )
