"""People who answer exactly as the model says, written from its formulas and nothing else."""

from __future__ import annotations

import numpy as np

import preceptor as pr
from preceptor.data.log import Log


def world_of(size: int = 3, seed: int = 0) -> pr.World:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size)) + 1.5 * np.eye(size)
    covariance = root @ root.T
    scale = np.sqrt(np.diag(covariance))
    names = [f"t{i}" for i in range(size)]
    return pr.World(
        rng.uniform(0.5, 1.5, size), covariance / np.outer(scale, scale), 0.1, names=names
    )


def simulate(
    world: pr.World,
    *,
    initial,
    retention,
    rng,
    people: int = 1,
    rounds: int = 100,
    dial: float = 0.0,
    bias: float = 0.0,
    noise: float = 0.3,
    shows=None,
    told: bool = True,
) -> Log:
    """`retention(m)` is one number for one count; `shows(rng)` draws the set of a round.

    `initial` is one vector, or a function of the person's number.
    """
    n = world.size
    shows = shows or (lambda rng: np.flatnonzero(rng.random(n) < 0.6))
    omega = (1 - dial) * world.covariance + dial * np.diag(np.diag(world.covariance))
    rows = []
    for person in range(people):
        begin = np.asarray(initial(person) if callable(initial) else initial)
        cases = world.sample(rounds, rng)
        counts = np.zeros(n, dtype=int)
        for t in range(rounds):
            x, seen = cases.features[t], np.asarray(shows(rng))
            filled = np.zeros(n)
            for i in range(n):
                if i in seen:
                    filled[i] = x[i]
                elif seen.size:
                    inverse = np.linalg.inv(omega[np.ix_(seen, seen)])
                    filled[i] = omega[i, seen] @ inverse @ x[seen]
            a = world.coefficients
            beliefs = [a[i] - (a[i] - begin[i]) * retention(counts[i]) for i in range(n)]
            answer = bias + float(np.dot(filled, beliefs)) + noise * rng.standard_normal()
            shown = np.isin(np.arange(n), seen)
            values = np.where(shown, x, np.nan)
            outcome = cases.outcomes[t] if told else np.nan
            rows.append((f"p{person}", t, shown, values, answer, outcome))
            if told:
                counts[seen] += 1
    who, when, shown, values, answers, outcomes = zip(*rows, strict=True)
    return Log(world.labels, who, when, shown, values, answers, outcomes)


def told_in(units, log):
    """The same log as people read it, in these units."""
    return Log(
        log.names,
        log.participant,
        log.rounds,
        log.shown,
        units.restore(log.values),
        units.uncentre(log.prediction),
        units.uncentre(log.outcome),
    )
